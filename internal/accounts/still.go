package accounts

import "context"

// Still returns what [Book.Authenticate] does, without keeping the session alive: whoever holds
// a stream open asks whether they still may, and does nothing by that.
func (b *Book) Still(ctx context.Context, sessionToken string) (Identity, error) {
	_, s, a := b.session(sessionToken)
	if s == nil {
		return Identity{}, noSession()
	}
	return s.identity(a, addressOf(ctx)), nil
}

// StillToken returns what [Book.AuthenticateToken] does, and notes neither use nor refusal.
func (b *Book) StillToken(ctx context.Context, bearer string) (Identity, error) {
	_, t, a, why := b.token(bearer)
	if why != "" {
		return Identity{}, noToken(why)
	}
	return t.identity(a, addressOf(ctx)), nil
}
