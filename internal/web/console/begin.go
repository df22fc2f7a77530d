package console

import (
	"fmt"

	"github.com/campaignd/campaignd/examples"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
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

// showFirst serves the first page of the lab: the list, or for an empty lab the ways to begin, to
// those who may.
func showFirst(v *visit) error {
	if v.visitor().may(Define, "") == nil && v.seenBy(v.visitor()) == nil {
		return v.redirect("/begin", "")
	}
	return showCampaigns(v)
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

func showBegin(v *visit) error {
	return v.write(drawBegin(v.beginPage()))
}

func (v *visit) beginPage() *beginPage {
	p := &beginPage{shell: v.shell("Begin"), Gallery: examples.Gallery()}
	p.CanDefine = p.Visitor.may(Define, "") == nil
	p.Others = v.seenBy(p.Visitor)
	p.First = p.Others == nil
	return p
}

// beginExample begins a campaign of the gallery under a free name and leads to its page.
func beginExample(v *visit) error {
	if err := v.defines(); err != nil {
		return err
	}
	if err := v.r.ParseForm(); err != nil {
		return err
	}
	example, ok := examples.Find(text(v.r, "example"))
	if !ok {
		return problem.New(problem.Invalid, "there is no example %q", text(v.r, "example"))
	}
	begun, err := v.begun(example)
	if err != nil && begun == nil {
		forgetRequest(v.r, err)
		v.refusal, v.action = err, example.Name
		return showBegin(v)
	}
	return v.redirect(address(begun), "begun") // where it does not run, its page says why
}

// begun begins an example under its own name, or where that is taken with the first
// number behind it that is free. A form that was sent before has begun it already, under
// whichever of these names; one of another person that takes the name meanwhile makes it
// the next.
func (v *visit) begun(example examples.Example) (*lab.Campaign, error) {
	request := requested(v.r, engine.Request{})
	for n := 1; ; n++ {
		name := example.Name
		if n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		there, err := v.lab.Campaign(name)
		if err == nil {
			done, err := alreadyRecorded(v.r.Context(), there, request)
			if done || err != nil {
				return there, err
			}
			continue
		}
		if problem.CodeOf(err) != problem.NoCampaign {
			continue // several stores hold one
		}
		file, err := v.lab.Parse(v.r.Context(), fileName, []byte(example.Source(name)))
		if err != nil {
			return nil, err
		}
		if err := v.visitor().mayDefine(&file.Definition, nil); err != nil {
			return nil, err
		}
		begun, err := v.lab.Define(v.r.Context(), file, request)
		if problem.CodeOf(err) == problem.Conflict && begun == nil {
			continue
		}
		return begun, err
	}
}
