package console

import (
	"fmt"
	"net/http"

	"github.com/campaignd/campaignd/examples"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/problem"
)

// beginPage is where a campaign begins: the examples, a table of one's own, another
// campaign, or an empty file.
type beginPage struct {
	*shell
	Gallery   []examples.Example
	CanDefine bool
	// Others are the campaigns from which one can go on, those of this visitor.
	Others []string
	// First is set where the visitor has no campaign yet.
	First bool
}

// first serves the first page of the lab: the list, and where that is empty what to
// begin with, to those who may.
func (c *Console) first(w http.ResponseWriter, r *http.Request) {
	v := visitorOf(r.Context())
	if v.may(Define, "") == nil && c.seenBy(v) == nil {
		http.Redirect(w, r, "/begin", http.StatusSeeOther)
		return
	}
	c.campaigns(w, r)
}

// seenBy returns the names of the campaigns that a visitor may see.
func (c *Console) seenBy(v Visitor) (names []string) {
	for _, each := range c.lab.Campaigns() {
		if v.may(See, each.Name()) == nil {
			names = append(names, each.Name())
		}
	}
	return names
}

// beginning serves the page.
func (c *Console) beginning(w http.ResponseWriter, r *http.Request) {
	c.write(w, http.StatusOK, drawBegin(c.beginPageOf(r)))
}

func (c *Console) beginPageOf(r *http.Request) *beginPage {
	p := &beginPage{shell: c.shellOf(r, "Begin"), Gallery: examples.Gallery()}
	p.CanDefine = p.Visitor.may(Define, "") == nil
	p.Others = c.seenBy(p.Visitor)
	p.First = p.Others == nil
	return p
}

// beginExample begins a campaign of the gallery under a free name and leads to its page.
func (c *Console) beginExample(w http.ResponseWriter, r *http.Request) {
	v := visitorOf(r.Context())
	if err := v.may(Define, ""); err != nil {
		v.refused(Define, "")
		c.fail(w, r, err)
		return
	}
	if err := r.ParseForm(); err != nil {
		c.fail(w, r, err)
		return
	}
	example, ok := examples.Find(text(r, "example"))
	if !ok {
		c.fail(w, r, problem.New(problem.Invalid, "there is no example %q", text(r, "example")))
		return
	}
	begun, err := c.exampleAs(r, example)
	if err != nil && begun == nil {
		forgetRequest(r, err)
		p := c.beginPageOf(r)
		p.refused(err, "", example.Name, r.PostForm)
		c.write(w, statusOf(err), drawBegin(p))
		return
	}
	redirect(w, r, address(begun), "begun") // where it does not run, its page says why
}

// exampleAs begins an example under its own name, or where that is taken with the first
// number behind it that is free. A form that was sent before has begun it already, under
// whichever of these names; one of another person that takes the name meanwhile makes it
// the next.
func (c *Console) exampleAs(r *http.Request, example examples.Example) (*lab.Campaign, error) {
	request := requested(r, engine.Request{})
	for n := 1; ; n++ {
		name := example.Name
		if n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		there, err := c.lab.Campaign(name)
		if err == nil {
			done, err := alreadyRecorded(r.Context(), there, request)
			if done || err != nil {
				return there, err
			}
			continue
		}
		if problem.CodeOf(err) != problem.NoCampaign {
			continue // several stores hold one
		}
		file, err := c.lab.Parse(r.Context(), fileName, []byte(example.Source(name)))
		if err != nil {
			return nil, err
		}
		if err := visitorOf(r.Context()).mayDefine(&file.Definition, nil); err != nil {
			return nil, err
		}
		begun, err := c.lab.Define(r.Context(), file, request)
		if problem.CodeOf(err) == problem.Conflict && begun == nil {
			continue
		}
		return begun, err
	}
}
