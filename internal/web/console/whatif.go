package console

import (
	"fmt"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/whatif"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/projections/campaign"
)

// otherwise is the what-if form on a decision's page, with the runs that were
// asked for before. May says whether the form is shown; runs are shown to all
// who see the campaign.
type otherwise struct {
	May     bool
	Policy  string
	Choices []whatif.Choice
	Experts []string
	Least   int // bounds of the number of experiments
	Most    int
	Runs    []whatif.Run // of this decision
	// Several is set where the campaign has several quantities: then its objectives and constraints
	// can be changed too.
	Several     bool
	Sought      string
	Constraints string         // a line each
	Numbers     []soughtNumber // worst values, or weights
}

// soughtNumber is a number of the objective in the form: the worst value that is of
// interest, or a weight. Key is the name of its field.
type soughtNumber struct{ Key, Label, Now string }

// otherwiseOf returns the form for a decision. def is the definition that was in force when it was
// made, so that the offered changes are those that were possible then.
func (c *Console) otherwiseOf(
	s *shell, of *lab.Campaign, decision string, def *definition.Campaign,
) otherwise {
	o := otherwise{May: s.May(AnswerIt), Least: whatif.Least, Most: whatif.Most}
	for _, r := range c.whatIf.Of(of.Name(), of.Place()) {
		if r.Decision == decision {
			o.Runs = append(o.Runs, r)
		}
	}
	if !o.May {
		return o
	}
	o.Choices = whatif.Choices(c.lab.Registry(), *def)
	o.Policy = policyName(def.Policy)
	for _, e := range def.Experts {
		o.Experts = append(o.Experts, e.Name)
	}
	if o.Several = def.Measures() && (def.Several() || len(def.ConstraintsOnOutcomes) > 0); !o.Several {
		return o
	}
	o.Sought, o.Numbers = view.Seeks(def), soughtNumbers(def)
	o.Constraints = strings.Join(constraintsOf(def), "\n")
	return o
}

// constraintsOf are the constraints on outcomes, a text each.
func constraintsOf(def *definition.Campaign) (lines []string) {
	for _, c := range def.ConstraintsOnOutcomes {
		lines = append(lines, c.Require)
	}
	return lines
}

// soughtNumbers are the numbers of a trade-off, or of a desirability.
func soughtNumbers(def *definition.Campaign) (numbers []soughtNumber) {
	for _, a := range def.Tradeoff() {
		n := soughtNumber{Key: "worst-" + a.Name, Label: "Worst " + format.HeadingOf(def.ObjectiveOf(a)), Now: "inferred"}
		if a.Worst != nil {
			n.Now = format.Setting(*a.Worst)
		}
		numbers = append(numbers, n)
	}
	for _, d := range def.Objective.Desirability {
		n := soughtNumber{Key: "weight-" + d.Quantity, Label: "Weight of " + d.Quantity, Now: "1"}
		if d.Weight != nil {
			n.Now = format.Setting(*d.Weight)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// soughtOf reads the other objectives and constraints from the form. def is the definition when the
// decision was made.
func soughtOf(r *http.Request, def *definition.Campaign) (w whatif.Sought, err error) {
	if r.PostForm.Has("constraints") {
		var lines []string
		for line := range strings.Lines(text(r, "constraints")) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
		w.Require, w.WithoutConstraints = whatif.Constrained(def, lines)
	}
	switch of, goal := text(r, "of"), text(r, "goal"); {
	case of == "" && goal != "":
		return w, problem.New(problem.Invalid, "name the quantity or formula to be %sd", goal)
	case goal == definition.Maximize:
		w.Maximize = of
	case goal == definition.Minimize:
		w.Minimize = of
	case of != "":
		return w, problem.New(problem.Invalid, "say whether %s is to be maximized or minimized", of)
	}
	w.Worst, w.Weight = make(map[string]float64), make(map[string]float64)
	for _, n := range soughtNumbers(def) {
		typed := text(r, n.Key)
		if typed == "" || typed == n.Now {
			continue
		}
		x, err := format.ReadNumber(typed)
		if err != nil {
			return w, problem.New(problem.Invalid, "%s: %w", n.Label, err)
		}
		what, name, _ := strings.Cut(n.Key, "-")
		map[string]map[string]float64{"worst": w.Worst, "weight": w.Weight}[what][name] = x
	}
	return w, nil
}

// policyName names those of a policy's three rules that have an effect, as the form calls the
// actual policy.
func policyName(p definition.Policy) string {
	if !p.Duel.IsZero() {
		return p.Duel.Name
	}
	name := p.Next.Name
	if p.Trust.Name != "" && p.Trust.Name != "none" {
		name += ", " + p.Trust.Name
	}
	if p.Handover.Name != "" && p.Handover.Name != "never" {
		name += ", " + p.Handover.Name
	}
	return name
}

// askWhatIf begins to imagine a campaign from a decision on, in the background,
// and goes to the page that shows how far it is. It records nothing, and needs
// the permission to answer: it takes a processor for a while.
func askWhatIf(v *visit) error {
	run, err := v.beginWhatIf()
	if err != nil {
		v.refusal, v.action = err, "whatif"
		return showDecision(v)
	}
	return v.redirect(address(v.of)+"/whatif/"+run.ID, "")
}

// beginWhatIf reads the form and queues its request, once for a form. The input is checked before
// it is queued; its meaning for this campaign, when its turn comes.
func (v *visit) beginWhatIf() (whatif.Run, error) {
	q := whatif.Question{Decision: v.r.PathValue("decision"), Method: text(v.r, "method"),
		Without: text(v.r, "without")}
	if typed := text(v.r, "experiments"); typed != "" {
		n, err := strconv.Atoi(typed)
		if err != nil || n < 1 || n > whatif.Most {
			return whatif.Run{}, problem.New(problem.Invalid,
				"%q is not a number of experiments from 1 to %d", typed, whatif.Most)
		}
		q.Experiments = n
	}
	def, err := v.definitionAt(q.Decision)
	if err != nil {
		return whatif.Run{}, err
	}
	if q.Sought, err = soughtOf(v.r, def); err != nil {
		return whatif.Run{}, err
	}
	v.of.Read(func(core *engine.Core) { err = whatif.Check(v.lab.Registry(), core.State(), q) })
	switch {
	case q.Method == "" && q.Without == "" && q.Sought.IsZero():
		return whatif.Run{}, problem.New(problem.Invalid,
			"name a change: another policy, or an expert to be left out")
	case !q.Sought.IsZero() && err != nil: // said where it was typed
		return whatif.Run{}, err
	}
	by := v.visitor().Name
	key := requested(v.r, engine.Request{}).Key()
	return v.whatIf.Begin(v.of.Name(), v.of.Place(), by, key, q, v.of.WhatIf)
}

// definitionAt is a campaign's definition when a decision was made.
func (v *visit) definitionAt(decision string) (*definition.Campaign, error) {
	log, err := v.of.Log()
	if err != nil {
		return nil, err
	}
	d, err := v.of.Record().Decision(v.r.Context(), log, decision)
	if err != nil {
		return nil, err
	}
	return d.Definition, nil
}

// cancelWhatIf ends a run that is not over.
func cancelWhatIf(v *visit) error {
	run, err := v.whatIf.Cancel(v.r.Context(), v.of.Name(), v.of.Place(), v.r.PathValue("run"))
	if err != nil {
		return err
	}
	return v.redirect(address(v.of)+"/whatif/"+run.ID, "")
}

// imaginedPage is the page of a what-if run, over or not. Imagined results are drawn and worded
// differently from measured ones everywhere on it, and its caveats come with it.
type imaginedPage struct {
	*shell
	Words      string
	Run        whatif.Run
	State      state
	Share      int
	CanCancel  bool
	Why        *failure
	Caveats    []string
	Sides      []side
	Rows       []versusRow
	Curve      template.HTML
	Front      bool // fronts of both courses can be compared
	Bounded    bool // the campaign has constraints on outcomes
	Verdict    string
	Verdicts   []whatif.Verdict // for several quantities
	Changes    []string
	Quantities []string
	Columns    []string
	Objective  string
	Imagined   []imaginedRow
	Ended      string
}

// side is a decision, as it really was or imagined.
type side struct{ Head, What, Reason, Policy string }

// versusRow compares the next measured compositions, parameter by parameter.
type versusRow struct {
	Name, Really, Imagined string
	Differs                bool
}

// imaginedRow is an imagined experiment: where its result comes from, and the real measurement
// there.
type imaginedRow struct {
	ID, Result, From, Was string
	Cells                 []string
	Quantities            []string // for several quantities
}

// showWhatIf shows the imagined course, and how far it has come. Runs are forgotten when the server
// ends, or when many others came after; their pages are not found then.
func showWhatIf(v *visit) error {
	run, err := v.whatIf.Now(v.of.Name(), v.of.Place(), v.r.PathValue("run"))
	if err != nil {
		return err
	}
	p := &imaginedPage{shell: v.shell("What if: " + run.Words()), Words: run.Words(), Run: run}
	p.State = map[string]state{
		whatif.Waiting: {"waits for its turn", "paused"},
		whatif.Running: {"is worked out", "running"}, whatif.Done: {"imagined", "done"},
		whatif.Failed: {"failed", "trouble"}, whatif.Cancelled: {"cancelled", "trouble"},
	}[run.State]
	p.CanCancel = !run.Over() && p.May(AnswerIt)
	if run.Of > 0 {
		p.Share = min(100*run.Done/run.Of, 100)
	}
	if run.Err != nil {
		p.Why = failureOf(run.Err, v.of.Name())
	}
	if run.Answer != nil {
		p.fill(run.Answer)
	}
	return v.write(drawWhatif(p))
}

// fill writes the result of a run into the page.
func (p *imaginedPage) fill(a *whatif.Answer) {
	def := a.Definition
	sought := def.Sought()
	p.Caveats, p.Ended = a.Caveats(), a.Ended
	p.Objective = format.HeadingOf(sought)
	sideOf := func(head string, d *events.DecisionMade) side {
		return side{head, view.Sentence(view.ActionText(d)), view.Compared(d.Reason), view.Policy(d.Policy)}
	}
	p.Sides = append(p.Sides, sideOf("Really, in "+a.From, a.Decided))
	if a.Suggested != nil {
		p.Sides = append(p.Sides, sideOf("Imagined", a.Suggested))
	} else {
		p.Sides = append(p.Sides, side{Head: "Imagined",
			What: "Nothing: the campaign would have ended.", Reason: view.Sentence(a.Ended)})
	}
	for _, change := range a.Changes {
		p.Changes = append(p.Changes, view.Change(a.Changed, change))
	}
	p.versus(a)
	if len(a.Imagined) == 0 {
		return
	}
	if p.Verdicts = a.Verdicts(); p.Verdicts != nil {
		p.Quantities, p.Front = a.Columns(), a.Definition.Tradeoff() != nil
	}
	if a.Definition.Single() && len(a.Judged) < 2 { // else the courses do not seek the same
		p.Curve, p.Bounded = imagined(a), len(a.Definition.ConstraintsOnOutcomes) > 0
	}
	if n, really, other := a.Bests(); p.Verdicts == nil && really != nil && other != nil {
		p.Verdict = fmt.Sprintf("Best after %s: really %s (%s), imagined %s (%s%s).",
			format.Count(n, "experiment"),
			really.Result(sought.Unit), really.ID,
			other.Result(sought.Unit), other.ID, fromWords(*other))
	}
	write := format.CompositionsOf(def)
	p.Columns = write.Headings()
	for _, x := range a.Imagined {
		row := imaginedRow{ID: x.ID, Result: x.Result(""), From: x.Source(), Was: x.Was, Cells: write.Values(x.Parameters, "")}
		if p.Verdicts != nil {
			row.Quantities = a.Cells(x)
		}
		p.Imagined = append(p.Imagined, row)
	}
}

// fromWords says where an imagined result comes from; empty for a real one.
func fromWords(x whatif.Experiment) string {
	if source := x.Source(); source != "" {
		return ", " + source
	}
	return ""
}

// versus compares the experiment that was requested next with the one that would have been, with as
// many digits as it takes to see where they differ. A dash stands for a missing one.
func (p *imaginedPage) versus(a *whatif.Answer) {
	if a.Next == nil && a.ReallyNext == nil {
		return
	}
	write := format.CompositionsOf(a.Definition)
	if a.Next != nil && a.ReallyNext != nil {
		write = write.Apart(a.Next.Parameters, a.ReallyNext.Parameters)
	}
	for k, par := range a.Definition.Parameters {
		row := versusRow{Name: format.Heading(par.Name, par.Unit), Really: "–", Imagined: "–"}
		if a.ReallyNext != nil {
			row.Really, _ = write.Value(k, a.ReallyNext.Parameters)
		}
		if a.Next != nil {
			row.Imagined, _ = write.Value(k, a.Next.Parameters)
		}
		row.Differs = row.Really != row.Imagined
		p.Rows = append(p.Rows, row)
	}
}

// imagined draws the real course and the imagined one, which share the
// experiments before the decision. Both start at the fork from the same best;
// further real experiments than imagined ones are drawn too.
func imagined(a *whatif.Answer) template.HTML {
	sought := a.Definition.Sought()
	ended := a.RealOutcomes()
	really, bestReally := valuesOf(a.Definition, a.Before, ended)
	other, bestImagined := valuesOf(a.Definition, a.Before, a.Imagined)
	title := fmt.Sprintf("%s: measured, and imagined from %s on",
		format.HeadingOf(sought), a.From)
	f := courseOf(title, sought, max(len(really), len(other)), slices.Concat(really, other), 290, 74, 34)
	fork := f.X(float64(len(a.Before)) + 0.5)
	f.Line(figure.Role("fork"), fork, f.top-8, fork, f.bottom)
	f.Text(tick, "middle", fork, f.top-11, a.From)

	for i := range len(a.Before) - 1 { // there it is the actual course
		bestImagined[i] = nan
	}
	one := f.steps("best", bestReally)
	two := f.steps("best imagined", bestImagined)
	dots := func(standing figure.Role, key, what string, list []whatif.Experiment, from int) {
		for i, e := range list {
			at := f.X(float64(from + i + 1))
			switch {
			case e.Value != nil:
				drawn, title := standing, e.ID+what+": "+format.ValueOf(sought, *e.Value)
				switch {
				case e.Excluded:
					drawn = "left-out"
				case e.Breaks():
					drawn, title = "breaks "+standing, title+", breaks a constraint on outcomes"
				}
				dot(f.Canvas, drawn, key+e.ID, title, at, f.Y(*e.Value))
			case !e.Status.Open():
				dot(f.Canvas, "failed", key+e.ID, e.ID+what+": "+string(e.Status), at, f.bottom-2)
			}
		}
	}
	dots("done", "", "", a.Before, 0)
	dots("done", "", "", ended, len(a.Before))
	dots("imagined", "imagined-", ", imagined", a.Imagined, len(a.Before))

	if math.Abs(one-two) < 16 { // the words must not cover each other
		middle, apart := (one+two)/2, 8.0
		if one > two {
			apart = -8
		}
		one, two = middle-apart, middle+apart
	}
	if !math.IsNaN(one) {
		f.Text(figure.Role("end"), "start", f.right+8, one+4, "really")
	}
	if !math.IsNaN(two) {
		f.Text(figure.Role("end imagined"), "start", f.right+8, two+4, "imagined")
	}
	return f.SVG()
}

// valuesOf returns the values of experiments, and the best of them so far, of those that keep the
// constraints of today; NaN for a missing one, so that they keep their places.
func valuesOf(def *definition.Campaign, lists ...[]whatif.Experiment) (values, best []float64) {
	var judged []campaign.Judged
	for _, x := range slices.Concat(lists...) {
		v := nan
		if x.Value != nil {
			v = *x.Value
		}
		values, judged = append(values, v), append(judged, x.Judged(def))
	}
	return values, campaign.ValuesAt(campaign.BestSoFar(judged, def.Sought()), judged)
}
