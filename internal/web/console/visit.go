package console

import (
	"encoding/json"
	"net/http"

	"github.com/campaignd/campaignd/internal/ground/markup"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/web/server/gate"
)

// visit is a request for a page. A page is a function of a visit, which writes the page, sends the
// visitor to another one, or returns why it could not; the error is then a page of its own.
type visit struct {
	*Console
	w http.ResponseWriter
	r *http.Request
	// of is the campaign of a campaign's page; the visitor has the page's permission in it.
	of *lab.Campaign
	// refusal is why a form of the page, by its action, was refused; nil for none.
	refusal error
	action  string
}

// page serves a page of the lab.
func (c *Console) page(serve func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := serve(&visit{Console: c, w: w, r: r}); err != nil {
			c.Fail(w, r, err)
		}
	}
}

// pageOf serves a page of a campaign to those who have a permission in it.
func (c *Console) pageOf(permission string, serve func(*visit) error) http.HandlerFunc {
	return c.page(func(v *visit) (err error) {
		if v.of, err = v.find(permission); err != nil {
			return err
		}
		return serve(v)
	})
}

// formOf serves a form of a campaign to those who have a permission in it.
func (c *Console) formOf(permission string, serve func(*visit) error) http.HandlerFunc {
	return c.pageOf(permission, func(v *visit) error {
		if err := v.r.ParseForm(); err != nil {
			return problem.New(problem.Invalid, "the form cannot be read: %w", err)
		}
		return serve(v)
	})
}

// accounts is the directory of accounts, identity the account that asks for the page.
func (v *visit) accounts() *accounts.Directory { return v.gate.Accounts() }
func (v *visit) identity() accounts.Identity   { return gate.IdentityOf(v.r.Context()) }

func (v *visit) visitor() Visitor { return visitorOf(v.r.Context()) }

// find returns the campaign of the address, if the visitor has the permission in it. Every page of
// a campaign begins with it: it is the pages' only guard. A refusal is noted for the audit log,
// also where the answer hides that the campaign exists.
func (v *visit) find(permission string) (*lab.Campaign, error) {
	id := v.r.PathValue("campaign")
	campaign, err := v.lab.Campaign(id)
	if err != nil {
		return nil, err
	}
	visitor := v.visitor()
	if err = visitor.may(permission, campaign.Name()); err == nil {
		return campaign, nil
	}
	visitor.refused(permission, campaign.Name())
	if visitor.may(See, campaign.Name()) != nil { // the answer must not reveal that it exists
		err = problem.New(problem.NoCampaign, "there is no campaign %q here", id)
	}
	return nil, err
}

// shell begins the page, with the reason why its form was refused.
func (v *visit) shell(title string) *shell {
	s := v.shellOf(v.r, title)
	if v.of != nil {
		s.Campaign, s.Path = v.of.Name(), address(v.of)
	}
	if v.refusal != nil {
		s.refused(v.refusal, s.Campaign, v.action, v.r.PostForm)
	}
	return s
}

// refuse says on a page that was begun why its form was refused.
func (v *visit) refuse(s *shell, err error, action string) {
	v.refusal = err
	s.refused(err, s.Campaign, action, v.r.PostForm)
}

// refuseAnew is refuse of a form that is shown again as another request.
func (v *visit) refuseAnew(s *shell, err error, action string) {
	v.refusal = err
	s.refused(err, s.Campaign, action, nil)
}

// defines refuses visitors who may not begin a campaign.
func (v *visit) defines() error {
	err := v.visitor().may(Define, "")
	if err != nil {
		v.visitor().refused(Define, "")
	}
	return err
}

// write writes the page; its status is that of a refusal.
func (v *visit) write(page markup.Page) error {
	if v.refusal != nil {
		return v.writeAs(statusOf(v.refusal), page)
	}
	return v.writeAs(http.StatusOK, page)
}

func (v *visit) writeAs(status int, page markup.Page) error {
	v.Console.write(v.w, status, page)
	return nil
}

// send answers with a text that does not form a page.
func (v *visit) send(contentType string, text []byte) error {
	v.w.Header().Set("Content-Type", contentType)
	_, _ = v.w.Write(text) // the visitor may have gone
	return nil
}

// answer answers a script.
func (v *visit) answer(value any) error {
	v.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(v.w).Encode(value) // the visitor may have gone
	return nil
}

// redirect sends the visitor to another page, see [redirect].
func (v *visit) redirect(path, said string) error {
	redirect(v.w, v.r, path, said)
	return nil
}
