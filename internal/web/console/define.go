package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
)

// fileTemplate is the text that a new campaign's file starts from. Its comments
// are the only instructions on the page.
const fileTemplate = `name: my-campaign
description: What is sought, and why.

# What may be varied: a number with min and max, values: [1, 2, 5], or
# categories: [A, B].
parameters:
  - {name: salt, unit: mol/kg, description: molality of the salt, min: 0.2, max: 2.0}
  - {name: temperature, unit: °C, min: 20, max: 60}

# What is measured, and which way is better: maximize or minimize.
objective: {name: conductivity, unit: mS/cm, goal: maximize}

# Experiments spread over the space before the first decision, and in all.
initial: {experiments: 4}
budget: {experiments: 20}

# Who measures: manual asks a person and waits for the result.
instrument: manual

# Who knows something about it: asked in the browser what they expect of
# compositions, when they come by. What their answers are worth is learned.
# experts:
#   - {name: ada, web: {}}
`

// fileName stands for the typed text in faults.
const fileName = "the campaign file"

// filePage is a page with a campaign file to be edited: of a new campaign, or
// of one under way. The text is never rewritten by the server: comments and
// order are its author's.
type filePage struct {
	*shell
	Source, Meaning, Reason string
	Remarks                 []string
	Checked                 bool // Meaning and Remarks are of this file
	CanDefine               bool
	// Along is a campaign whose measurements can be taken along, WithAlong
	// whether they are, Measured how many.
	Along     string
	WithAlong bool
	Measured  int
	// Brought is the table whose rows are taken along; nil for none.
	Brought *brought
	// Reworded is set where the file that is shown is not the campaign's, Changes are its effects
	// on that.
	Reworded bool
	Changes  []string
	// Becomes is the effect of the shown file on the campaign's findings; nil where they stay the
	// same, and for a campaign of one quantity.
	Becomes *view.Becomes
}

// sourceOf is the file that was typed, with line ends as faults count them. It
// is not trimmed: a first empty line counts.
func sourceOf(r *http.Request) []byte {
	return []byte(unixLines(r.PostForm.Get(fieldTyped)))
}

// number writes line ends as faults count them, so that the line number of a
// fault is that of the editor.
func (p *filePage) number() {
	p.Source = unixLines(p.Source)
}

// showNew shows the form of a new campaign: the template, or a copy of another campaign's file
// (?from=). If the visitor may not see that campaign, the address gives the template, as for one
// that does not exist.
func showNew(v *visit) error {
	p := &filePage{shell: v.shell("New campaign"), Source: fileTemplate}
	p.CanDefine = p.Visitor.may(Define, "") == nil
	if from := v.r.URL.Query().Get("from"); from != "" { // a copy of another one's file
		of, err := v.lab.Campaign(from)
		if err == nil && p.Visitor.may(See, of.Name()) == nil {
			of.Read(func(core *engine.Core) {
				p.Source = core.State().Source
				p.Measured = measuredIn(core)
			})
			p.Source = v.renamed(p.Source)
			p.Along, p.WithAlong = from, p.Measured > 0
		}
	}
	p.number()
	return v.write(drawNew(p))
}

// beginFile begins a campaign, or only checks its file. With measurements of another campaign to
// take along, the campaign begins without running, imports them, and runs then: else it would
// decide without them.
//
// Checking alone records nothing, and opens nothing that the file names for those who may not begin
// it. Once the campaign has begun, the visitor is sent to its page, also where its measurements or
// its start have failed: the campaign exists, and its page names the missing parts.
func beginFile(v *visit) error {
	if err := v.defines(); err != nil {
		return err
	}
	if err := v.r.ParseForm(); err != nil {
		return err
	}
	source := string(sourceOf(v.r))
	p := &filePage{
		shell: v.shell("New campaign"), Source: source, CanDefine: true,
		Along: text(v.r, fieldFrom), WithAlong: text(v.r, fieldAlong) != "",
	}
	if of, err := v.lab.Campaign(p.Along); err == nil && p.Visitor.may(See, of.Name()) == nil {
		of.Read(func(core *engine.Core) { p.Measured = measuredIn(core) })
	}
	file, err := v.lab.Parse(v.r.Context(), fileName, []byte(source))
	if err != nil {
		file = nil
	}
	rows, table, wrong := v.takenAlong(v.r, p.Visitor, file)
	p.Brought = table
	if err == nil {
		err = wrong
	}
	if err == nil && text(v.r, "check") != "" {
		p.Checked = true
		p.Meaning = campaignfile.Explain(v.r.Context(), v.lab.Registry(), file.Definition)
		p.Remarks = v.remarks(v.r.Context(), p.Visitor, file)
		p.number()
		return v.write(drawNew(p))
	}
	var begun *lab.Campaign
	if err == nil {
		err = p.Visitor.mayDefine(&file.Definition, nil)
	}
	switch {
	case err != nil:
	case rows == nil:
		begun, err = v.lab.Define(v.r.Context(), file, requested(v.r, engine.Request{}))
	default: // nothing is decided before they are there
		if begun, err = v.lab.Begin(v.r.Context(), file, requested(v.r, engine.Request{})); err == nil {
			err = v.bringAlong(v.r, begun, rows)
		}
	}
	if err != nil && begun == nil {
		forgetRequest(v.r, err)
		v.refuse(p.shell, err, "new")
		if table != nil && table.Fates != nil && table.Fates.Wrong != nil {
			p.Failure.Ways = waysOfRows
		}
		p.number()
		return v.write(drawNew(p))
	}
	return v.redirect(address(begun), "begun") // where it does not run, its page says why
}

// waysOfRows are the remedies for rows of a table that a campaign cannot take.
var waysOfRows = []way{
	{Text: "Mend the rows: go back to what the columns are, where the table can be changed"},
	{Text: "Or tick that rows which cannot be taken are left out"},
}

// bringAlong imports measurements into a campaign that has just begun, and runs it. A form that was
// sent before has done so already; another person may have halted the campaign since, so it is not
// run again. The form makes two requests, and each needs its own identifier: the second one's is
// that of the first, with a suffix, so that it is the same each time the form is sent.
func (c *Console) bringAlong(r *http.Request, begun *lab.Campaign, rows []engine.Tell) error {
	request := requested(r, engine.Request{Import: rows})
	if request.ID != "" {
		request.ID += ", its measurements"
	}
	done, err := alreadyRecorded(r.Context(), begun, request)
	if done || err != nil {
		return err
	}
	if _, err := begun.Submit(r.Context(), request); err != nil {
		return err
	}
	return begun.Start(r.Context(), request)
}

// measuredIn counts the measurements that another campaign could take along.
func measuredIn(core *engine.Core) (n int) {
	for range core.State().Results() {
		n++
	}
	return n
}

// nameLine is the line of a campaign file with its name, unquoted and without a
// comment behind it.
var nameLine = regexp.MustCompile(`(?m)^name:[ \t]*([A-Za-z0-9._-]+)[ \t]*$`)

// renamed gives a campaign file a name that no campaign of the lab has, by a
// number at its end. It changes that line alone and leaves a file that it does
// not understand as it is: the name is then refused when the campaign is to
// begin. Two people who copy at once may get the same name; the second to begin
// is refused.
func (c *Console) renamed(source string) string {
	at := nameLine.FindStringSubmatchIndex(source)
	if at == nil {
		return source
	}
	name := source[at[2]:at[3]]
	for n := 2; ; n++ {
		another := fmt.Sprintf("%s-%d", name, n)
		if _, err := c.lab.Campaign(another); problem.CodeOf(err) == problem.NoCampaign {
			return source[:at[2]] + another + source[at[3]:]
		}
	}
}

// remarks are about content that a file may have but probably does not mean. Finding them opens the
// files that it names, so they are only for visitors who may run it.
func (c *Console) remarks(ctx context.Context, v Visitor, file *campaignfile.File) []string {
	if v.mayDefine(&file.Definition, nil) != nil {
		return nil
	}
	return campaignfile.Remarks(ctx, c.lab.Registry(), file.Definition, c.lab.Folder())
}

// showDefinition shows a campaign's file to be read and amended, and why an
// amendment was refused.
func showDefinition(v *visit) error {
	p := v.definitionPage()
	if v.refusal != nil {
		p.reword(v.r)
	}
	return v.write(drawDefinition(p))
}

// showChanges shows the effect of a changed file on a campaign, and amends nothing. The input stays
// in the form, to be sent as it is or changed again.
func showChanges(v *visit) error {
	p := v.definitionPage()
	var err error
	if p.Changes, err = v.changes(v.r, v.of, sourceOf(v.r)); err == nil {
		p.Becomes, err = v.becomes(v.r, v.of)
	}
	if err != nil {
		v.refusal = err
		return showDefinition(v)
	}
	p.reword(v.r)
	return v.write(drawDefinition(p))
}

// becomes compares the findings of a campaign of several quantities with those it would have under
// a changed file. Models take a while, so that it is worked out on request, and not with each
// letter.
func (c *Console) becomes(r *http.Request, of *lab.Campaign) (*view.Becomes, error) {
	request, err := c.amendment(r, of)
	if errors.Is(err, errNothing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	core, err := of.Load(r.Context())
	if err != nil {
		return nil, err
	}
	amended, err := core.Amended(*request.Amend)
	if err != nil {
		return nil, err
	}
	return view.BecomesOf(r.Context(), core, amended)
}

// reword shows the input in place of the campaign's file.
func (p *filePage) reword(r *http.Request) {
	p.Source = r.PostForm.Get("source")
	p.Reason = r.PostForm.Get("reason")
	p.Reworded = true
	p.number()
}

// definitionPage is the page with a campaign's file, as it was sent last, and its meaning now.
func (v *visit) definitionPage() *filePage {
	p := &filePage{shell: v.shell("The file of " + v.of.Name())}
	p.in(v.of, pageDefinition)
	v.of.Read(func(core *engine.Core) {
		s := core.State()
		p.Source = s.Source
		p.Meaning = campaignfile.Explain(v.r.Context(), v.lab.Registry(), *s.Definition)
	})
	p.CanDefine = p.May(Define)
	p.number()
	return p
}

// changes describes the effect of a changed file on a campaign. It fails where the campaign would
// refuse the amendment: it is the same request that would be sent, and is not sent.
func (c *Console) changes(r *http.Request, of *lab.Campaign, source []byte) ([]string, error) {
	request, err := c.amendmentBy(r, of, source)
	if errors.Is(err, errNothing) {
		return []string{"nothing: the campaign is defined like that already"}, nil
	}
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, change := range request.Amend.Changes {
		lines = append(lines, view.Change(&request.Amend.Definition, change))
	}
	return lines, nil
}

// amendment reads the form of a changed file: see [Console.amendmentBy].
func (c *Console) amendment(r *http.Request, of *lab.Campaign) (engine.Request, error) {
	return c.amendmentBy(r, of, sourceOf(r))
}

// amendmentBy returns the request of a changed file. It returns errNothing where the file agrees
// with the campaign already. The changes are worked out against the campaign as it is now; where
// another amendment comes between, the engine judges the request by that.
func (c *Console) amendmentBy(
	r *http.Request, of *lab.Campaign, source []byte,
) (engine.Request, error) {
	file, err := c.lab.Parse(r.Context(), fileName, source)
	if err != nil {
		return engine.Request{}, err
	}
	// Rights are checked against the file's content before any file that it names is opened.
	if err := visitorOf(r.Context()).mayDefine(&file.Definition, of.Defined()); err != nil {
		return engine.Request{}, err
	}
	def, err := c.lab.Definition(r.Context(), of, file)
	if err != nil {
		return engine.Request{}, err
	}
	core, err := of.Load(r.Context())
	if err != nil {
		return engine.Request{}, err
	}
	changes, err := campaignfile.Amend(c.lab.Registry(), *core.State().Definition, def)
	if err != nil {
		return engine.Request{}, err
	}
	if len(changes) == 0 {
		return engine.Request{}, errNothing
	}
	return engine.Request{Amend: &events.CampaignAmended{
		Definition: def, Changes: changes, Reason: text(r, "reason"), Source: file.Source,
	}}, nil
}

// Place says where a fault is: "line 12".
func (f fault) Place() string {
	if f.Line == 0 {
		return f.Field
	}
	place := "line " + strconv.Itoa(f.Line)
	if f.Field != "" {
		place += ", " + f.Field
	}
	return place
}
