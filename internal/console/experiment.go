package console

import (
	"net/http"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// experimentPage is an experiment with all that is known of it, and what can be
// done about it: the page of those whose fate is unknown and of those in doubt.
type experimentPage struct {
	*shell
	Path, ID, Status, Class  string
	Rows                     []cardRow
	Made                     bool // what was made is not what was asked for
	Facts                    []view.Row
	Value, Unit, Objective   string
	Cause, Instrument        string
	Flag, FlagSince          string // why it is in doubt
	Doubtful, Unresolved     bool
	Excluded, Ongoing, Ended bool
	Decision, Why            string
	Predicted                string
	Scale                    [1]card     // the prediction among what was measured
	Lines                    []view.Line // events about it
	Dispatched               time.Time
	ByHand, CanResolve       bool
	CanRepeat                bool
	Also                     string // other experiments whose fate is unknown too
	Measured                 measuredFields
}

// experiment serves the page of an experiment.
func (c *Console) experiment(w http.ResponseWriter, r *http.Request) {
	if of := c.find(w, r, See); of != nil {
		c.showExperiment(w, r, of, http.StatusOK, nil, "")
	}
}

// showExperiment shows an experiment, and why a request about it was refused.
// The form of a refused request names the experiment, since its address does
// not.
func (c *Console) showExperiment(
	w http.ResponseWriter, r *http.Request, of *lab.Campaign, status int, refusal error, action string,
) {
	id := r.PathValue("experiment")
	if refusal != nil {
		id = text(r, "experiment")
	}
	p := &experimentPage{shell: c.shellOf(r, id+" of "+of.Name()), Path: address(of), ID: id}
	p.Campaign, p.Watch = of.Name(), of.Name()
	if refusal != nil {
		p.refused(refusal, of.Name(), action, r.PostForm)
	}
	log, err := of.Timeline(r.Context())
	if err != nil {
		c.fail(w, r, err)
		return
	}
	found := false
	best, _ := of.Standing().Leading()
	of.Read(func(core *engine.Core) {
		if x := core.State().Experiment(id); x != nil {
			found = true
			p.fill(core, best, x, log)
		}
	})
	if !found {
		if refusal == nil {
			refusal = problem.New(problem.NotFound, "%s has no experiment %q", of.Name(), id)
		}
		c.fail(w, r, refusal)
		return
	}
	p.CanResolve = p.May(Resolve)
	for _, l := range log.Lines {
		if l.Subject == id {
			p.Lines = append(p.Lines, l)
		}
	}
	slices.Reverse(p.Lines)
	c.write(w, status, "experiment", p)
}

// fill takes what is shown from the core. best is the experiment to highlight.
func (p *experimentPage) fill(
	core *engine.Core, best string, x *campaign.Experiment, log *view.Timeline,
) {
	s := core.State()
	def := s.Definition
	p.Status, p.Class = string(x.Status), classOf(x, best)
	sought := def.Sought()
	p.Objective, p.Unit = sought.Name, sought.Unit
	p.Ongoing, p.Unresolved = x.Status.Open(), x.Status == campaign.Unresolved
	p.Ended, p.Excluded = !x.Status.Open(), x.Excluded
	p.Instrument = instrumentName(def, x)
	p.Cause = sentence(x.Cause)
	p.Decision = x.Decision
	p.Dispatched, p.ByHand = x.DispatchedAt, def.ByHand()
	p.CanRepeat = !s.Status.Ended()
	if p.Unresolved {
		p.Also = alsoUnresolved(s, x.ID)
	}
	write := format.CompositionsToMake(def)
	at := positions(def, x.Parameters)
	// The table shows what was asked for, and what was made where it differs.
	var actual definition.Point
	measured, ok := s.Value(x)
	if ok {
		p.Value = format.Short(measured.Value)
		actual = x.Measurement.Actual
	}
	for k, par := range def.Parameters {
		value, _ := write.Value(k, x.Parameters)
		row := cardRow{Name: par.Name, Unit: par.Unit, Value: value, Description: par.Description,
			Bar: bar(par.Name+" "+value, at[k], nan)}
		if actual != nil && actual[par.Name] != x.Parameters[par.Name] {
			row.Incumbent, _ = write.Value(k, actual)
			row.Differs, p.Made = true, true
		}
		p.Rows = append(p.Rows, row)
	}
	p.Measured = p.measuredFieldsOf("", s, x, p.WasTyped("resolve") || p.WasTyped("correct"))
	if x.Flag != nil {
		p.Flag, p.Doubtful = sentence(x.Flag.Reason), x.InDoubt()
	}
	add := func(name, text string) {
		if text != "" {
			p.Facts = append(p.Facts, view.Row{Name: name, Text: text})
		}
	}
	add("instrument", p.Instrument)
	if x.Replicate > 1 {
		add("replicate", format.Count(x.Replicate, "run")+" of this composition")
	}
	if ok {
		if sd := measured.SD; sd != nil {
			add("its standard deviation", format.ValueOf(sought, *sd))
		}
		for _, q := range x.Measurement.Further {
			add(q.Name, format.Quantity(q.Value, q.Unit))
		}
	}
	if x.Simulated {
		add("world", "simulated")
	}
	if x.Excluded {
		add("models", "left out of them")
	}
	if made, ok := log.Decision(x.Decision); ok {
		p.Why = made.Reason
		if made.Prediction != nil {
			p.Predicted = format.PlusMinus(made.Prediction.Mean, made.Prediction.SD, made.Prediction.Unit)
			b := newReference(core)
			shown := b.span([]events.Option{{Prediction: made.Prediction}})
			p.Scale[0].Scale = scale(b.values, valueOrNil(s, x), shown, made.Prediction)
		}
	} else {
		_, why := view.DecisionBehind(s, x.ID)
		p.Why = sentence(why)
	}
}

// valueOrNil is the measured value of an experiment; nil if there is none.
func valueOrNil(s *campaign.State, x *campaign.Experiment) *float64 {
	value, ok := s.Value(x)
	if !ok {
		return nil
	}
	return &value.Value
}

// SubjectPath is where the page of what an event is about is.
func (p *experimentPage) SubjectPath(id string) string { return subjectPath(p.Campaign, id) }

// experimentOf finds an experiment of a campaign. It is a copy, which the
// campaign does not change any more.
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

// alsoUnresolved lists the other experiments whose fate is unknown: one answer
// of a person may settle all of them.
func alsoUnresolved(s *campaign.State, id string) string {
	var ids []string
	for i := range s.Experiments {
		if x := &s.Experiments[i]; x.Status == campaign.Unresolved && x.ID != id {
			ids = append(ids, x.ID)
		}
	}
	return events.ExperimentList(ids)
}

// resolution reads the form that settles what became of an experiment. A value
// without a choice means that it was measured.
func resolution(r *http.Request, of *lab.Campaign) (engine.Request, error) {
	id := text(r, "experiment")
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
	case how == "" && result.Value != nil: // what has a value was measured
		how = events.ResolvedMeasured
	case how == "":
		return engine.Request{}, problem.New(problem.Invalid, "choose what became of %s", id).About(id)
	}
	if also := text(r, "also"); also != "" {
		id += "," + also
	}
	return engine.Request{Resolve: &engine.Resolve{
		Experiment: id, Resolution: how, Value: result.Value, SD: result.SD, Actual: result.Actual,
		Further: result.Further,
		Repeat:  text(r, "repeat") != "", Reason: text(r, "reason"), Anyway: text(r, "anyway") != "",
	}}, nil
}

// correction reads the form that corrects an outcome.
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
	c.Value = result.Value
	c.SD = result.SD
	c.Actual = result.Actual
	c.Further = result.Further
	switch how := text(r, "how"); how {
	case "include":
	case "exclude":
		c.Exclude = true
	case "":
		// What is typed is meant. What was left out of the models stays so,
		// unless there is a new value.
		if !result.any() {
			return engine.Request{}, problem.New(problem.Invalid,
				"choose what is to be corrected about %s", id).About(id)
		}
		c.Exclude = x.Excluded && c.Value == nil
	default:
		c.Outcome = events.Resolution(how)
	}
	return engine.Request{Correct: c}, nil
}
