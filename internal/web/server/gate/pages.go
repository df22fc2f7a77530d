package gate

import (
	"net/http"
	"net/url"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/accounts"
)

// Fail answers a refused request for a page.
type Fail func(w http.ResponseWriter, r *http.Request, err error)

// Known admits only known callers: others are asked to log in, and come back.
func (g *Gate) Known(next http.HandlerFunc, fail Fail) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if IdentityOf(r.Context()).Known() {
			next(w, r)
			return
		}
		err := g.Unidentified(problem.New(problem.Unauthenticated, "You are not logged in, or not any more."))
		if r.Method == http.MethodGet && problem.CodeOf(err) == problem.Unauthenticated {
			http.Redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
			return
		}
		fail(w, r, err)
	}
}

// InPerson admits people who are logged in, not their tokens: only the logged-in owner can manage
// accounts.
func (g *Gate) InPerson(next http.HandlerFunc, fail Fail) http.HandlerFunc {
	return g.Known(func(w http.ResponseWriter, r *http.Request) {
		if IdentityOf(r.Context()).Method == accounts.ByToken {
			fail(w, r, problem.New(problem.Forbidden,
				"a person looks after their own account, and no API token does").
				With(problem.Remedy{Text: "log in", Action: problem.LogIn}))
			return
		}
		next(w, r)
	}, fail)
}

// Needs admits callers with a permission in the whole lab.
func (g *Gate) Needs(p accounts.Permission, next http.HandlerFunc, fail Fail) http.HandlerFunc {
	return g.Known(func(w http.ResponseWriter, r *http.Request) {
		if err := g.Allowed(r.Context(), p, ""); err != nil {
			fail(w, r, err)
			return
		}
		next(w, r)
	}, fail)
}
