package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/yamledit"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/markup"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
)

// edited is the editor's view of a campaign file as it is typed: its content, and its faults or
// else its meaning.
type edited struct {
	// Source is the file after a change of the form; empty where the file is only checked.
	Source string `json:"source,omitempty"`
	// Tree is the content of the file, with keys in its order; null where it cannot be read.
	Tree    *yamltree.Node `json:"tree"`
	Faults  []fault        `json:"faults"`
	Text    string         `json:"text"`
	Meaning string         `json:"meaning"`
	Remarks []string       `json:"remarks"`
	// Changes are what would become of the campaign that the file amends; nil where it
	// amends none.
	Changes []string `json:"changes,omitempty"`
	// First is the beginning of the campaign; nil of a campaign that is amended.
	First *firstExperiments `json:"first,omitempty"`
	// Along is the part of the page that says what becomes of the rows of a table, as HTML;
	// empty where none is brought.
	Along string `json:"along,omitempty"`
}

// firstExperiments are the first of the initial design, as a table. Total is how many it has;
// Before names the first questions to experts, Then the policy after the design. Why says why none
// can be shown.
type firstExperiments struct {
	Before []string   `json:"before"`
	Head   []string   `json:"head"`
	Rows   [][]string `json:"rows"`
	Total  int        `json:"total"`
	Then   string     `json:"then,omitempty"`
	Why    string     `json:"why,omitempty"`
}

// mostFirst is how many experiments of the initial design the editor shows.
const mostFirst = 6

// sendSchema serves the schema of campaign files. The editor makes its form from it: so a plug-in's
// settings are in the form, too.
func sendSchema(v *visit) error {
	text, err := campaignfile.Schema(v.lab.Registry())
	if err != nil {
		return err
	}
	return v.send("application/schema+json", text)
}

// mayEdit refuses visitors who may neither begin a campaign nor amend one.
func (v *visit) mayEdit() error {
	if v.amends(v.visitor()) {
		return nil
	}
	return v.defines()
}

// validate checks a file as it is typed, to begin a campaign or to amend one, and answers with JSON
// for the script. Faults do not make the request fail: the status is 200. It is open to those who
// may amend a campaign too, without being allowed to begin one; of the campaign that is amended it
// shows the changes only to those who may.
func validate(v *visit) error {
	if err := v.mayEdit(); err != nil {
		return err
	}
	var answer edited
	if err := v.r.ParseForm(); err != nil {
		answer.Text = "The text cannot be read."
	} else {
		v.check(v.r, sourceOf(v.r), &answer)
	}
	return v.answer(answer)
}

// editFile changes one value of a file, at the form's request, and checks the result. The file is
// changed where the value stands, and nowhere else (package yamledit). Nothing is recorded.
func editFile(v *visit) error {
	if err := v.mayEdit(); err != nil {
		return err
	}
	var answer edited
	change, err := changeOf(v.r)
	if err == nil {
		answer.Source, err = yamledit.Apply(string(sourceOf(v.r)), change)
	}
	if err != nil {
		answer.Text = view.Sentence(err.Error())
	} else {
		v.check(v.r, []byte(answer.Source), &answer)
	}
	return v.answer(answer)
}

// changeOf reads which value of the file is to be changed: path and value are JSON, and
// without a value it is removed.
func changeOf(r *http.Request) (yamledit.Change, error) {
	change := yamledit.Change{Order: campaignfile.Keys()}
	if err := r.ParseForm(); err != nil {
		return change, err
	}
	steps, err := yamltree.FromJSON([]byte(r.PostForm.Get("path")))
	if err != nil || len(steps.Items) == 0 {
		return change, problem.New(problem.Invalid, "it is not said which value is to be changed")
	}
	for _, step := range steps.Items {
		switch value := step.Value.(type) {
		case string:
			change.Path = append(change.Path, value)
		case json.Number:
			at, err := value.Int64()
			if err != nil {
				return change, problem.New(problem.Invalid, "%s is not a place in a list", value)
			}
			change.Path = append(change.Path, int(at))
		}
	}
	if r.PostForm.Has("value") {
		change.Value, err = yamltree.FromJSON([]byte(r.PostForm.Get("value")))
	}
	return change, err
}

// check reads a file, and returns its faults or else its meaning.
func (c *Console) check(r *http.Request, source []byte, answer *edited) {
	if root, faults := yamltree.Read(source, campaignfile.Format); len(faults) == 0 {
		answer.Tree = root
	}
	visitor := visitorOf(r.Context())
	file, err := c.lab.Parse(r.Context(), fileName, source)
	if err != nil {
		answer.refuse(err, "")
		return
	}
	answer.Meaning = campaignfile.Explain(r.Context(), c.lab.Registry(), file.Definition)
	answer.Remarks = c.remarks(r.Context(), visitor, file)
	of, err := c.lab.Campaign(r.Form.Get("amends"))
	switch {
	case err != nil:
		rows, table, err := c.takenAlong(r, visitor, file)
		if table != nil {
			text, err := markup.Page{Name: "fates", Draw: func(w *bytes.Buffer) { htmlFates(w, table) }}.Bytes()
			if err != nil {
				c.options.Log("%v", err)
			}
			answer.Along = string(text)
		}
		if err != nil && (table == nil || table.Fates == nil) {
			answer.refuse(err, "")
			return
		}
		if err == nil && r.Context().Err() == nil { // otherwise it is not read
			answer.First = c.firstOf(visitor, file, rows)
		}
	case visitor.may(Run, of.Name()) == nil:
		if answer.Changes, err = c.changes(r, of, source); err != nil {
			answer.refuse(err, of.Name())
		}
	}
}

// refuse names the faults of a file.
func (e *edited) refuse(err error, campaign string) {
	f := failureOf(err, campaign)
	e.Faults, e.Text = f.Faults, f.Title
}

// firstOf returns the beginning of a campaign as far as it is still to be made, given the
// measurements that it takes along. It opens the files that the campaign names, as beginning it
// does, and so is only for those who may.
func (c *Console) firstOf(v Visitor, file *campaignfile.File, rows []engine.Tell) *firstExperiments {
	def := &file.Definition
	if !def.Measures() || v.mayDefine(def, nil) != nil {
		return nil
	}
	first := new(firstExperiments)
	core, err := c.rehearse(v, file)
	if err == nil && rows != nil {
		core, err = core.Rehearsed(engine.Request{Actor: v.Actor(), Import: rows}, clock.Now())
	}
	var points []definition.Point
	if err == nil {
		points, err = engine.Designed(core)
	}
	if err != nil {
		first.Why = view.Sentence(err.Error())
		return first
	}
	def = core.State().Definition
	first.Before, first.Then = askedFirst(def), afterDesign(def, len(points), len(rows))
	write := format.CompositionsToMake(def)
	first.Head, first.Total = write.Headings(), len(points)
	for _, point := range points[:min(len(points), mostFirst)] {
		first.Rows = append(first.Rows, write.Values(point, ""))
	}
	return first
}

// askedFirst names the questions to each expert before the first decision.
func askedFirst(def *definition.Campaign) []string {
	said := []string{} // null in JSON otherwise
	in := def.Initial
	var asks []string
	add := func(n *int, format func(n int) string) {
		if n != nil && *n > 0 {
			asks = append(asks, format(*n))
		}
	}
	add(in.Estimates, func(n int) string {
		return fmt.Sprintf("what they expect of %s", format.Count(n, "composition"))
	})
	add(in.Labels, func(n int) string { return format.Count(n, "label") })
	add(in.Comparisons, func(n int) string { return format.Count(n, "comparison") })
	if asks == nil {
		return said
	}
	for _, e := range def.Experts {
		said = append(said, fmt.Sprintf("%s is asked first: %s.", view.ExpertName(def, e.Name), format.List(asks...)))
	}
	return said
}

// afterDesign says what follows the initial design, where design of its experiments are still to be
// made and along measurements were taken along.
func afterDesign(def *definition.Campaign, design, along int) string {
	chooses := def.Policy.Next.Name + " chooses"
	switch {
	case design == 0 && along == 0:
		return "There is no initial design: " + chooses + " from the start."
	case design == 0:
		return fmt.Sprintf("The first is what %s from the %s taken along.", chooses, format.Count(along, "measurement"))
	case along > 0:
		return fmt.Sprintf("With the %s taken along they are the initial design; what follows %s.",
			format.Count(along, "measurement"), chooses)
	}
	return "What follows " + chooses + "."
}

// amends reports whether a visitor may amend some campaign.
func (c *Console) amends(v Visitor) bool {
	return slices.ContainsFunc(c.lab.Campaigns(),
		func(of *lab.Campaign) bool { return v.may(Run, of.Name()) == nil })
}
