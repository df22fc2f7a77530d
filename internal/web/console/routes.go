package console

import (
	"net/http"
	"net/url"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/web/server/gate"
)

// Route is a pattern of [http.ServeMux] and its handler.
type Route struct {
	Pattern string
	Handle  http.HandlerFunc
}

// AccountRoutes returns the routes of the pages by which people log in, confirm who they are, look
// after their account, and by which an admin looks after everyone's; empty for a lab without
// accounts. The permission is part of each route here, in one place for all: login for anyone,
// one's own account for people in person, and the rest by permission.
func (c *Console) AccountRoutes() []Route {
	if c.gate == nil || c.gate.Accounts() == nil {
		return nil
	}
	var all []Route
	for _, d := range loginRoutes {
		all = append(all, Route{d.pattern, c.page(d.serve)})
	}
	for _, d := range accountRoutes {
		all = append(all, Route{d.pattern, c.gate.InPerson(c.page(d.serve), c.Fail)})
	}
	for _, d := range peopleRoutes {
		all = append(all, Route{d.pattern, c.gate.Needs(accounts.Administer, c.page(d.serve), c.Fail)})
	}
	for _, d := range auditLogRoutes {
		all = append(all, Route{d.pattern, c.gate.Needs(accounts.Audit, c.page(d.serve), c.Fail)})
	}
	return all
}

// accountRoute is a route of a page about accounts.
type accountRoute struct {
	pattern string
	serve   func(*visit) error
}

// Fail shows an error as a page of its own. Where the visitor came too often,
// it says when they may come again.
func (c *Console) Fail(w http.ResponseWriter, r *http.Request, err error) {
	gate.RetryAfter(w, err)
	c.Refuse(w, r, statusOf(err), err)
}

// Refuse shows an error as a page of its own, with a status: for requests that were refused before
// a page was known, such as a form that did not come whole.
func (c *Console) Refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	s := c.shellOf(r, "That did not work")
	s.Failure = failureOf(err, r.PathValue("campaign"))
	c.write(w, status, drawFailure(failurePage{s}))
}

// after begins a page about accounts, with the reason why the request before was refused. A visitor
// who has to confirm who they are returns to the path back afterwards.
func (v *visit) after(title, back string) *shell {
	s := v.shellOf(v.r, title)
	if v.refusal == nil {
		return s
	}
	gate.RetryAfter(v.w, v.refusal)
	s.Failure = failureOf(v.refusal, "")
	// Showing again who they are must lead back to the page that was refused.
	for i, remedy := range problem.RemediesOf(v.refusal) {
		if remedy.Action == problem.Confirm && i < len(s.Failure.Ways) {
			s.Failure.Ways[i].Link = "/confirm?next=" + url.QueryEscape(back)
		}
	}
	return s
}
