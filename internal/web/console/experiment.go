package console

import (
	"net/http"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// experimentPage is an experiment with its whole record, and its remedies: the page of those whose
// fate is unknown and of those in doubt. It shows every event about it, since settling a fate needs
// all of them.
type experimentPage struct {
	*shell
	campaign.Experiment
	Class                  string
	Previous, Next         string // the experiments before and after it; empty for none
	Rows                   []cardRow
	Made                   bool // the made composition differs from the requested one
	Facts                  []view.Row
	Value, Unit, Objective string
	Cause, Instrument      string
	Doubt                  string // why it is in doubt
	Why, Predicted         string
	Tradeoff               bool
	// Quantities are the measured and the expected values of several quantities; Required is how
	// probably the constraints were expected to be kept.
	Quantities         []quantityOutcome
	Required           []view.Row
	Scale              [1]card     // the prediction among the measurements
	Acts               []string    // what became of its acts, in a procedure
	Lines              []view.Line // events about it
	ByHand, CanResolve bool
	CanRepeat          bool
	Also               string // other experiments whose fate is unknown too
	Measured           measuredFields
	Files              []fileView
	MoreFiles          int // how many are not shown; none below 1
}

// showExperiment shows an experiment, and why a request about it was refused.
// The form of a refused request names the experiment, since its address does
// not.
func showExperiment(v *visit) error {
	id := v.r.PathValue("experiment")
	if v.refusal != nil {
		id = text(v.r, "experiment")
	}
	p := &experimentPage{shell: v.shell(id + " of " + v.of.Name())}
	p.Watch = p.Campaign
	log, err := v.of.Timeline(v.r.Context())
	if err != nil {
		return err
	}
	found := false
	stands := v.of.Standing()
	best, _ := stands.Leading()
	v.of.Read(func(core *engine.Core) {
		if x := core.State().Experiment(id); x != nil {
			found = true
			p.fill(core, best, x, log)
			p.among(core.State())
		}
	})
	showTables(v.r.Context(), v.of, p.Files)
	if !found {
		if v.refusal == nil {
			return problem.New(problem.NotFound, "%s has no experiment %q", v.of.Name(), id)
		}
		return v.refusal
	}
	if p.Unresolved() {
		others := slices.DeleteFunc(slices.Clone(stands.Unresolved), func(x string) bool { return x == id })
		p.Also = events.ExperimentList(others)
	}
	p.CanResolve = p.May(Resolve)
	for _, l := range log.Lines {
		if l.Subject == id {
			p.Lines = append(p.Lines, l)
		}
	}
	slices.Reverse(p.Lines)
	return v.write(drawExperiment(p))
}

// among says which experiments stand before and after it, in the order of requests.
func (p *experimentPage) among(s *campaign.State) {
	at := slices.IndexFunc(s.Experiments, func(x campaign.Experiment) bool { return x.ID == p.ID })
	if at > 0 {
		p.Previous = s.Experiments[at-1].ID
	}
	if at < len(s.Experiments)-1 {
		p.Next = s.Experiments[at+1].ID
	}
}

// fill copies the page's data from the core. best is the experiment to highlight. The core is
// locked meanwhile, so that x is copied: the page outlives the lock.
func (p *experimentPage) fill(
	core *engine.Core, best string, x *campaign.Experiment, log *view.Timeline,
) {
	s := core.State()
	def := s.Definition
	p.Experiment = *x
	p.Class = classOf(s, x, best)
	sought := def.Sought()
	p.Objective, p.Unit = sought.Name, sought.Unit
	p.Instrument = instrumentName(def, x)
	p.Cause = view.Sentence(x.Cause)
	p.ByHand = def.ByHand()
	p.Files = filesOf(s, x.ID, p.Path)
	if p.MoreFiles = len(p.Files) - shownFiles; p.MoreFiles > 0 {
		p.Files = p.Files[:shownFiles]
	}
	p.CanRepeat = !s.Status.Ended()
	if x.Flag != nil {
		p.Doubt = view.Sentence(x.Flag.Reason)
	}
	var value *float64
	if measured, ok := s.Value(x); ok {
		value = &measured.Value
		p.Value = format.Short(*value)
	}
	p.compose(def)
	p.several(s, log)
	p.Measured = p.measuredFieldsOf("", s, x, p.WasTyped("resolve") || p.WasTyped("correct"))
	p.describe(core)
	p.Why = log.Why(s, x)
	if b := s.Batch(x.Batch); b != nil {
		p.Acts = view.ActTexts(s, b, x.ID)
	}
	// The expectation is the one recorded before the measurement: today's model knows the result.
	if expected, _ := log.Predicted(s, x); expected != nil {
		p.Predicted = format.PlusMinus(expected.Mean, expected.SD, expected.Unit)
		b := newReference(core)
		shown := b.span([]events.Option{{Prediction: expected}})
		p.Scale[0].Scale = scale(b.values, value, shown, expected)
	}
}

// compose shows the requested composition and, where it was measured, the one that was made
// instead. Values are written with the digits for a person who makes the composition; a difference
// is one of the recorded values, also where the digits shown agree.
func (p *experimentPage) compose(def *definition.Campaign) {
	var actual definition.Point
	if p.Measurement != nil {
		actual = p.Measurement.Actual
	}
	write := format.CompositionsToMake(def)
	p.Rows = cardRows(def, write, p.Parameters)
	for k, par := range def.Parameters {
		if actual != nil && actual[par.Name] != p.Parameters[par.Name] {
			p.Rows[k].Incumbent, _ = write.Value(k, actual)
			p.Rows[k].Differs = true
			p.Made = true
		}
	}
}

// cardRows are the rows of a composition, without another one to compare it
// with.
func cardRows(
	def *definition.Campaign, write format.Compositions, point definition.Point,
) (rows []cardRow) {
	at := positions(def, point)
	for k, par := range def.Parameters {
		value, _ := write.Value(k, point)
		rows = append(rows, cardRow{Name: par.Name, Unit: par.Unit, Value: value,
			Description: par.Description, Bar: bar(par.Name+" "+value, at[k], nan)})
	}
	return rows
}

// describe lists the further data of the experiment. Usual facts (a first run, a real measurement,
// one that the models use) are not mentioned.
func (p *experimentPage) describe(core *engine.Core) {
	s := core.State()
	add := func(name, text string) {
		if text != "" {
			p.Facts = append(p.Facts, view.Row{Name: name, Text: text})
		}
	}
	add("instrument", p.Instrument)
	add("used up", format.Drawn(s.Used(&p.Experiment)))
	if p.Replicate > 1 {
		add("replicate", format.Count(p.Replicate, "run")+" of this composition")
	}
	if p.Status.Open() {
		add("known", view.AlreadyText(engine.MeasuredAs(core.At(engine.World{}), &p.Experiment)))
	}
	p.describeResult(s, add)
	if p.Simulated {
		add("world", "simulated")
	}
	if p.Excluded {
		add("models", "left out of them")
	}
	add("outside", p.Outside)
}

// describeResult lists the measured values besides the objective's, and the missing ones.
func (p *experimentPage) describeResult(s *campaign.State, add func(name, text string)) {
	m := p.Measurement
	if m == nil {
		return
	}
	sought := s.Definition.Sought()
	for _, q := range m.All() {
		text := format.Quantity(q.Value, q.Unit)
		if q.SD != nil {
			text = format.PlusMinus(q.Value, *q.SD, q.Unit)
		}
		switch {
		case p.Quantities != nil && s.Definition.Quantity(q.Name) != nil: // it is in the table
		case q.Name != sought.Name && !p.Counts(q.Name) && !p.Excluded:
			add(q.Name, text+", left out of the models")
		case q.Name != sought.Name:
			add(q.Name, text)
		case q.SD != nil:
			add("its standard deviation", format.ValueOf(sought, *q.SD))
		}
	}
	for _, missing := range m.Missing {
		if p.Quantities != nil && s.Definition.Quantity(missing.Name) != nil {
			continue
		}
		add(missing.Name, "missing: "+missing.Reason)
	}
	for _, a := range s.Awaited(&p.Experiment) {
		text := "still to arrive"
		if !a.Until.IsZero() {
			text += "; missing from " + format.Time(a.Until) + " UTC on"
		}
		add(a.Quantity, text)
	}
}

// Ongoing reports whether it has no outcome yet.
func (p *experimentPage) Ongoing() bool { return p.Status.Open() }

// Unresolved reports whether its fate is unknown.
func (p *experimentPage) Unresolved() bool { return p.Status == campaign.Unresolved }

// experimentOf finds an experiment of a campaign. It is a copy, which the
// campaign does not change any more. What a form does with it is judged again
// when it is recorded.
func experimentOf(of *lab.Campaign, id string) (x campaign.Experiment, err error) {
	of.Read(func(core *engine.Core) {
		if found := core.State().Experiment(id); found != nil {
			x = *found
		} else {
			err = problem.New(problem.NotFound, "%s has no experiment %q", of.Name(), id)
		}
	})
	return x, err
}

// resolution reads the form that settles the fate of an experiment. A value without a choice means
// that it was measured; no choice without a value is a fault, since the form is there so that no
// one guesses a fate. Several experiments can be settled by one form, where they were lost
// together.
func resolution(r *http.Request, of *lab.Campaign) (engine.Request, error) {
	id := text(r, "experiment")
	if events.ActNumber(id) > 0 {
		return settledAct(r, of, id)
	}
	x, err := experimentOf(of, id)
	if err != nil {
		return engine.Request{}, err
	}
	result, err := resultOf(r, of, x.Parameters)
	if err != nil {
		return engine.Request{}, err
	}
	how := events.Resolution(text(r, "resolution"))
	switch {
	case how == "" && result.hasValue(): // an experiment with a value was measured
		how = events.ResolvedMeasured
	case how == "":
		return engine.Request{}, problem.New(problem.Invalid, "choose what became of %s", id).About(id)
	}
	switch how {
	case events.ResolvedFailed:
		result = result.named(definitionOf(of))
	case events.ResolvedMeasured:
		if err := whole(r, definitionOf(of), id); err != nil {
			return engine.Request{}, err
		}
	}
	if also := text(r, "also"); also != "" {
		id += "," + also
	}
	return engine.Request{Resolve: &engine.Resolve{
		Experiment: id, Resolution: how, Value: result.Value, SD: result.SD, Actual: result.Actual,
		Quantities: result.Quantities, Missing: result.Missing, Further: result.Further,
		Repeat: text(r, "repeat") != "", Reason: text(r, "reason"), Anyway: text(r, "anyway") != "",
		Voided: events.Voided(text(r, "voided")),
	}}, nil
}

// correction reads the form that corrects an outcome. Fields that were left
// empty stay as recorded. That no reason was given is for the engine to refuse,
// as it does for a program.
func correction(r *http.Request, of *lab.Campaign) (engine.Request, error) {
	id := text(r, "experiment")
	x, err := experimentOf(of, id)
	if err != nil {
		return engine.Request{}, err
	}
	c := &engine.Correct{Experiment: id, Reason: text(r, "reason"), Anyway: text(r, "anyway") != ""}
	result, err := resultOf(r, of, madeIn(&x))
	if err != nil {
		return engine.Request{}, err
	}
	if text(r, "how") == string(events.ResolvedFailed) {
		result = result.named(definitionOf(of))
	}
	c.Value = result.Value
	c.SD = result.SD
	c.Actual = result.Actual
	c.Quantities = result.Quantities
	c.LeaveOut = result.LeaveOut
	c.Further = result.Further
	switch how := text(r, "how"); how {
	case "include":
	case "exclude":
		c.Exclude = true
	case "":
		// Input is meant to count. A measurement that was left out of the models stays so, unless
		// it gets a new value.
		if !result.any() {
			return engine.Request{}, problem.New(problem.Invalid,
				"choose what to correct about %s", id).About(id)
		}
		c.Exclude = x.Excluded && !result.hasValue()
	default:
		c.Outcome = events.Resolution(how)
	}
	return engine.Request{Correct: c}, nil
}
