package accounts

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// BenchmarkLogin is a login with the parameters of argon2id that are used, and a disk that is
// waited for.
func BenchmarkLogin(b *testing.B) {
	book, _ := full(b)
	for b.Loop() {
		token, _, err := book.Login(b.Context(), "ada", adasPassword, "192.0.2.1")
		if err == nil {
			err = book.Logout(b.Context(), token)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAuthenticate is the question that each request begins with.
func BenchmarkAuthenticate(b *testing.B) {
	book, token := full(b)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := book.Authenticate(b.Context(), token); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkVerify checks a trail of 10,000 entries.
func BenchmarkVerify(b *testing.B) {
	book, _ := full(b)
	c := change{}
	for n := range 10_000 {
		c.entries = append(c.entries, Entry{Kind: KindLogin, By: "ada", Account: "ada", Method: ByPassword, From: fmt.Sprint("192.0.2.", n%250), Credential: randomID()})
	}
	must.Do(b, book.ledger.commit(c))
	for b.Loop() {
		must.Get(book.Verify(system))(b)
	}
}

// full is a book as it is used, with somebody who is logged in.
func full(b *testing.B) (*Directory, string) {
	book := must.Get(Open(filepath.Join(b.TempDir(), "lab"), Options{}))(b)
	b.Cleanup(func() { _ = book.Close() })
	must.Get(book.Add(b.Context(), system, NewAccount{
		Name: "ada", Grants: []Grant{{Role: Admin}}, Password: NewSecret(adasPassword),
	}))(b)
	token, _ := must.Get2(book.Login(b.Context(), "ada", adasPassword, "192.0.2.1"))(b)
	return book, token
}
