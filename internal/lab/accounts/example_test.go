package accounts_test

import (
	"context"
	"fmt"
	"os"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/accounts"
)

// What a server does: a person logs in, and each request of theirs is asked what it may.
func Example() {
	folder, err := os.MkdirTemp("", "lab-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	book, err := accounts.Open(accounts.Dir(folder), accounts.Options{})
	if err != nil {
		panic(err)
	}
	defer book.Close()

	// On the command line, whoever works in the folder makes the first accounts.
	ctx, system := context.Background(), accounts.SystemIdentity("root (uid 0)")
	for _, n := range []accounts.NewAccount{
		{Name: "ada", Grants: []accounts.Grant{{Role: accounts.Admin}}},
		{Name: "bob", Grants: []accounts.Grant{{Role: accounts.Expert, Campaign: "lfp"}}, Password: accounts.NewSecret("every crow likes salt")},
	} {
		if _, err := book.Add(ctx, system, n); err != nil {
			panic(err)
		}
	}

	token, _, err := book.Login(ctx, "bob", "every crow likes salt", "192.0.2.1")
	if err != nil {
		panic(err)
	}
	bob, err := book.Authenticate(ctx, token) // with each request
	fmt.Println(bob.Actor(), err)
	fmt.Println(bob.AnswersAs("bob", "lfp"))
	if err := bob.May(accounts.Run, "lfp"); err != nil {
		book.Refused(bob, accounts.Run, "lfp", "192.0.2.1")
		fmt.Println(problem.CodeOf(err) == problem.Forbidden, err)
	}

	entries, err := book.AuditLog(system, accounts.Page{Limit: 1})
	fmt.Println(entries[0], err)
	// Output:
	// person:bob <nil>
	// <nil>
	// true bob may not run campaigns in lfp
	// bob was refused: to run campaigns in lfp, from 192.0.2.1 <nil>
}
