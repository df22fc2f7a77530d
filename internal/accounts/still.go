package accounts

import "context"

// Still returns what [Directory.Authenticate] does, without keeping the session
// alive: a program that holds a stream open asks whether it still may, and does
// nothing by that.
func (d *Directory) Still(ctx context.Context, sessionToken string) (Identity, error) {
	s, a, err := d.sure(sessionToken)
	if err != nil {
		return Identity{}, err
	}
	if s == nil {
		return Identity{}, noSession()
	}
	return s.identity(a, addressOf(ctx)), nil
}

// StillToken returns what [Directory.AuthenticateToken] does, and notes neither
// use nor refusal.
func (d *Directory) StillToken(ctx context.Context, bearer string) (Identity, error) {
	t, a, why, err := d.sureToken(bearer)
	if err != nil {
		return Identity{}, err
	}
	if why != "" {
		return Identity{}, noToken(why)
	}
	return t.identity(a, addressOf(ctx)), nil
}
