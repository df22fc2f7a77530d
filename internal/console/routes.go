package console

import (
	"net/http"
	"net/url"

	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/server/gate"
)

// Route is a pattern of [http.ServeMux] and what is served there.
type Route struct {
	Pattern string
	Handle  http.HandlerFunc
}

// AccountRoutes returns the routes of the pages by which people log in, show again
// who they are, look after their account, and by which an admin looks after
// everyone's; none where there are no accounts. Who may use one is part of it here,
// in one place for all: login for anyone, one's own account for people in person,
// and the rest by permission.
func (c *Console) AccountRoutes() []Route {
	if c.gate == nil || c.gate.Accounts() == nil {
		return nil
	}
	all := c.loginRoutes()
	for _, d := range c.accountRoutes() {
		all = append(all, Route{d.Pattern, c.gate.InPerson(d.Handle, c.Fail)})
	}
	for _, d := range c.peopleRoutes() {
		all = append(all, Route{d.Pattern, c.gate.Needs(accounts.Administer, d.Handle, c.Fail)})
	}
	for _, d := range c.auditLogRoutes() {
		all = append(all, Route{d.Pattern, c.gate.Needs(accounts.Audit, d.Handle, c.Fail)})
	}
	return all
}

// Fail shows an error as a page of its own. Where the visitor came too often,
// it says when they may come again.
func (c *Console) Fail(w http.ResponseWriter, r *http.Request, err error) {
	gate.RetryAfter(w, err)
	c.fail(w, r, err)
}

// Refuse shows an error as a page of its own, with a status: for what was
// refused before a page was known, such as a form that did not come whole.
func (c *Console) Refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	s := c.shellOf(r, "That did not work")
	s.Failure = failureOf(err, "")
	c.write(w, status, drawFailure(failurePage{s}))
}

// after begins a page that says why what was asked for before was refused, nil
// for nothing, and returns its status. Who has to show again who they are
// before that comes back to a path.
func (c *Console) after(
	w http.ResponseWriter, r *http.Request, title string, failure error, back string,
) (*shell, int) {
	s := c.shellOf(r, title)
	if failure == nil {
		return s, http.StatusOK
	}
	gate.RetryAfter(w, failure)
	s.Failure = failureOf(failure, "")
	// Showing again who they are must lead back to the page that was refused.
	for i, remedy := range problem.RemediesOf(failure) {
		if remedy.Action == problem.Confirm && i < len(s.Failure.Ways) {
			s.Failure.Ways[i].Link = "/confirm?next=" + url.QueryEscape(back)
		}
	}
	return s, statusOf(failure)
}
