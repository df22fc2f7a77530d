package console

import (
	"net/http"
	"net/url"

	"github.com/campaignd/campaignd/internal/problem"
)

// foreign is a page whose data belongs to the package that mounts the console.
type foreign struct {
	*shell
	Data any
}

// Page is a page that the package which mounts the console shows in its frame.
type Page struct {
	// Name is the template's: login, confirm, account, people, trail.
	Name  string
	Title string
	// Status is the answer's; 200 by default.
	Status int
	// Failure is why what was asked for before was refused, nil for nothing.
	// Its status is the page's where that has none.
	Failure error
	// Back is the path to return to after a login that a refusal asked for.
	Back string
	Data any
}

// Show writes a page of another package in the frame of the console's own.
func (c *Console) Show(w http.ResponseWriter, r *http.Request, p Page) {
	s := c.shellOf(r, p.Title)
	if p.Failure != nil {
		s.Failure = failureOf(p.Failure, "")
		// Logging in again must lead back to the page that was refused, which
		// only the caller knows.
		for i, r := range problem.RemediesOf(p.Failure) {
			if r.Action == problem.Confirm && i < len(s.Failure.Ways) {
				s.Failure.Ways[i].Link = "/confirm?next=" + url.QueryEscape(p.Back)
			}
		}
		if p.Status == 0 {
			p.Status = statusOf(p.Failure)
		}
	}
	if p.Status == 0 {
		p.Status = http.StatusOK
	}
	c.write(w, p.Status, p.Name, foreign{s, p.Data})
}

// Fail shows an error as a page of its own.
func (c *Console) Fail(w http.ResponseWriter, r *http.Request, err error) { c.fail(w, r, err) }
