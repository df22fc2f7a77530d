package accounts

import "context"

// Still is [Directory.Authenticate] without keeping the session alive: a program that holds a
// stream open checks whether it still may, and that check must not count as use.
func (d *Directory) Still(ctx context.Context, sessionToken string) (Identity, error) {
	s, a, err := d.ledger.sure(sessionToken)
	if err != nil {
		return Identity{}, err
	}
	return s.identity(a, addressOf(ctx)), nil
}

// StillToken is [Directory.AuthenticateToken] without noting use or refusal.
func (d *Directory) StillToken(ctx context.Context, bearer string) (Identity, error) {
	t, a, why, err := d.ledger.sureToken(bearer)
	if err != nil {
		return Identity{}, err
	}
	if why != "" {
		return Identity{}, noToken(why)
	}
	return t.identity(a, addressOf(ctx)), nil
}
