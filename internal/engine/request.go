package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Request is what a person asks of a campaign. It travels as JSON over the
// control socket; exactly one of its parts is set.
type Request struct {
	// Actor is who asks, for example "person:ada".
	Actor string `json:"actor"`
	// Account is the system's user who asks, as in [events.Event]. It does not
	// travel: who receives the request knows whom from.
	Account string `json:"-"`
	// ID identifies the request among those of its actor in the campaign, as
	// the caller chose it: however often it is sent, it counts once. Empty:
	// each time counts.
	ID string `json:"id,omitempty"`
	// Digest is a digest of what the caller sent: another request under the
	// same ID is refused. Default that of the parts below. Where those follow
	// from how the campaign stands, as with an amendment, a repeat can be
	// recognized only by what was sent.
	Digest string `json:"digest,omitempty"`

	Pause   *events.CampaignPaused  `json:"pause,omitempty"`
	Resume  *events.CampaignResumed `json:"resume,omitempty"`
	Stop    *events.CampaignStopped `json:"stop,omitempty"`
	Amend   *events.CampaignAmended `json:"amend,omitempty"`
	Note    *events.NoteAdded       `json:"note,omitempty"`
	Tell    *Tell                   `json:"tell,omitempty"`
	Answer  *Answer                 `json:"answer,omitempty"`
	Correct *Correct                `json:"correct,omitempty"`
	Resolve *Resolve                `json:"resolve,omitempty"`
	Exclude *Exclude                `json:"exclude,omitempty"`
	Allow   *Allow                  `json:"allow,omitempty"`
	Anchors *events.AnchorsDeclared `json:"anchors,omitempty"`
	Import  []Tell                  `json:"import,omitempty"`
	// ImportOnce leaves out those rows of Import that the campaign has measured
	// already, so that what is sent twice is recorded once.
	ImportOnce bool `json:"import_once,omitempty"`
}

// Tell is the result of an experiment a person ran: of one that was suggested,
// or of one they chose themselves.
type Tell struct {
	// Experiment is the suggested experiment; empty for one's own.
	Experiment string `json:"experiment,omitempty"`
	// Parameters is the composition of one's own experiment.
	Parameters definition.Point `json:"parameters,omitempty"`
	// Actual is what was really made, where it differs from what was asked for.
	Actual definition.Point `json:"actual,omitempty"`
	// Value of the objective in Unit; empty Unit: the campaign's.
	Value float64  `json:"value"`
	Unit  string   `json:"unit,omitempty"`
	SD    *float64 `json:"sd,omitempty"`
	// Failed says why there is no value. Infeasible says why the composition
	// cannot be made or measured, Again why nothing took place and the same is
	// to be asked for again. At most one of the three is set.
	Failed     string `json:"failed,omitempty"`
	Infeasible string `json:"infeasible,omitempty"`
	Again      string `json:"again,omitempty"`
	// Further quantities.
	Further []definition.Quantity `json:"further,omitempty"`
	// Notes are remarks on it, recorded together with it.
	Notes []string `json:"notes,omitempty"`
	// Anyway takes a composition that the campaign could not ask for.
	Anyway bool `json:"anyway,omitempty"`
}

// Answer is an expert's answer to a question, first or changed.
type Answer struct {
	Question string `json:"question"`
	// Saw is the ID of the event in which the answer stood that the person saw
	// when they gave theirs, empty where they saw none. If another person has
	// answered since, this answer is recorded as contested. Nil: it counts,
	// whatever was recorded since.
	Saw *string `json:"saw,omitempty"`
	humans.Reply
}

// Resolve settles an experiment whose fate is unknown, or several in one way:
// all of them or none.
type Resolve struct {
	// Experiment is one, or a list as people write it: "e1-e24", "e1,e3-e5".
	Experiment string            `json:"experiment"`
	Resolution events.Resolution `json:"resolution"`
	// Value, SD, Actual and Further are of the measurement.
	Value   *float64              `json:"value,omitempty"`
	SD      *float64              `json:"sd,omitempty"`
	Actual  definition.Point      `json:"actual,omitempty"`
	Further []definition.Quantity `json:"further,omitempty"`
	Repeat  bool                  `json:"repeat,omitempty"`
	Reason  string                `json:"reason,omitempty"`
	// Anyway takes a composition that the campaign could not ask for.
	Anyway bool `json:"anyway,omitempty"`
}

// Handle returns the events that fulfill a request. It changes nothing. Where
// the request cannot be fulfilled the error wraps a [problem.Error] with what
// can be done instead: errors.Is finds [problem.ErrInvalidRequest], or
// [ErrNoCampaign] before there is one.
func (c *Core) Handle(r Request) ([]events.Payload, error) {
	s := c.State()
	if s.Status == campaign.Undefined {
		return nil, problem.New(problem.NoCampaign, "the store holds no campaign yet").
			With(problem.Remedy{Text: "start one", Action: problem.Start})
	}
	if err := c.guard(r); err != nil {
		return nil, err
	}
	if r.Pause != nil || r.Resume != nil || r.Stop != nil {
		switch s.Status {
		case campaign.Completed:
			over := problem.New(problem.Gone,
				"the campaign is completed: there is nothing to pause, resume or stop")
			return nil, over.With(problem.Remedy{Text: "to go on, raise its budget", Action: problem.Amend})
		case campaign.Stopped:
			return nil, problem.New(problem.Gone, "the campaign was stopped for good").With(takeOver)
		}
	}
	switch {
	case r.Pause != nil:
		if s.Status == campaign.Paused {
			return nil, conflict(s.Name, "the campaign is paused already")
		}
		if r.Pause.Device != "" || r.Pause.Occurrences != 0 {
			return nil, notPossible("who runs the campaign says that its instrument is lost, a person gives a reason")
		}
		return []events.Payload{r.Pause}, nil
	case r.Resume != nil:
		// Where the instrument rests, to resume is to try it again at once.
		if s.Status != campaign.Paused && restsUntil(s, World{}).IsZero() {
			return nil, conflict(s.Name, "the campaign is not paused")
		}
		return []events.Payload{r.Resume}, nil
	case r.Stop != nil:
		return []events.Payload{r.Stop}, nil
	case r.Amend != nil:
		return c.amend(r.Amend)
	case r.Note != nil:
		return c.note(r.Note)
	case r.Tell != nil:
		return c.tell(*r.Tell, events.OriginPerson, len(s.Experiments)+1)
	case r.Import != nil:
		return c.imports(r.Import, r.ImportOnce)
	case r.Answer != nil:
		return c.answer(r.Answer, r.Actor)
	case r.Correct != nil:
		return c.correct(r.Correct)
	case r.Resolve != nil:
		return c.resolve(r.Resolve)
	case r.Exclude != nil:
		return c.exclude(r.Exclude)
	case r.Allow != nil:
		return c.allow(r.Allow)
	case r.Anchors != nil:
		return c.anchor(r.Anchors)
	}
	return nil, notPossible("the request asks for nothing")
}

// amend checks an amendment and says itself what it changes: who asks for it
// may be another program than ours.
func (c *Core) amend(a *events.CampaignAmended) ([]events.Payload, error) {
	if c.State().Status == campaign.Stopped {
		return nil, problem.New(
			problem.Gone, "the campaign was stopped for good: there is nothing to amend",
		).With(takeOver)
	}
	if identity := c.Unamendable(a.Definition); identity != "" {
		return nil, notPossible("%s", identity)
	}
	if err := c.amendable(a.Definition); err != nil {
		return nil, err
	}
	changes, err := campaignfile.Amend(c.registry, *c.State().Definition, a.Definition)
	if err != nil {
		return nil, notPossible("%w", err)
	}
	if len(changes) == 0 {
		return nil, notPossible("the campaign is defined like that already: there is nothing to amend")
	}
	amended := *a
	amended.Changes = changes
	return []events.Payload{&amended}, nil
}

// Unamendable says what of the campaign's identity an amended definition would
// change, or "".
func (c *Core) Unamendable(def definition.Campaign) string {
	old := c.State().Definition
	same := func(a, b definition.Parameter) bool { return a.Name == b.Name && a.Unit == b.Unit }
	// Experts are reached through channels that were opened when the run began.
	named := func(a, b definition.Expert) bool { return a.Name == b.Name }
	if def.Name != old.Name || def.Seed != old.Seed ||
		!slices.EqualFunc(def.Parameters, old.Parameters, same) ||
		!slices.EqualFunc(def.Experts, old.Experts, named) {
		return "an amendment changes neither the name, nor the seed, nor which parameters and experts there are"
	}
	return ""
}

func (c *Core) note(n *events.NoteAdded) ([]events.Payload, error) {
	s := c.State()
	if strings.TrimSpace(n.Text) == "" {
		return nil, notPossible("the note is empty")
	}
	if n.About != "" && s.Experiment(n.About) == nil && s.Question(n.About) == nil &&
		!s.HasDecision(n.About) {
		return nil, notFound(n.About, "there is no experiment, question or decision %q", n.About)
	}
	return []events.Payload{n}, nil
}

// measurement builds and checks a person's measurement of the given
// composition.
func (c *Core) measurement(
	actual definition.Point, value float64, unit string, sd *float64, further []definition.Quantity,
) (*events.Measurement, error) {
	objective := c.State().Definition.Objective
	if unit == "" {
		unit = objective.Unit
	}
	m := &events.Measurement{
		Actual: actual, Further: further,
		Objective: definition.Quantity{Name: objective.Name, Value: value, Unit: unit, SD: sd},
	}
	if err := instruments.Check(*c.State().Definition, *m); err != nil {
		var faulty *instruments.MeasurementError
		if errors.As(err, &faulty) {
			return nil, notPossible("%s", strings.Join(faulty.Faults, "; ")) // no instrument said it
		}
		return nil, notPossible("%w", err)
	}
	return m, nil
}

// tell records a person's result, with their remarks on it. number is that of
// an experiment of their own.
func (c *Core) tell(t Tell, origin events.Origin, number int) ([]events.Payload, error) {
	payloads, err := c.result(t, origin, number)
	if err != nil {
		return nil, err
	}
	id := t.Experiment
	if id == "" {
		id = events.ExperimentID(number)
	}
	for _, text := range t.Notes {
		if strings.TrimSpace(text) == "" {
			return nil, notPossible("a note on it is empty")
		}
		payloads = append(payloads, &events.NoteAdded{Text: text, About: id})
	}
	return payloads, nil
}

// result records what became of an experiment, as a person tells it.
func (c *Core) result(t Tell, origin events.Origin, number int) ([]events.Payload, error) {
	s := c.State()
	var payloads []events.Payload
	requested, id := t.Parameters, t.Experiment
	if id != "" {
		x := s.Experiment(id)
		switch {
		case x == nil:
			return nil, noExperiment(id)
		case x.Status == campaign.Unresolved:
			return nil, notNow(id, "the fate of %s is unknown", id).With(settle(id))
		case x.Status == campaign.Measured:
			return nil, conflict(id, "%s has a result already", id).
				With(problem.Remedy{Text: "change it", Action: problem.Correct, Subject: id})
		case !x.Status.Open():
			return nil, conflict(id, "%s is %s already", id, x.Status).
				With(problem.Remedy{
					Text: "if it ended otherwise, say so", Action: problem.Correct, Subject: id,
				})
		case x.Status != campaign.Requested && !s.Definition.ByHand():
			return nil, notNow(id, "%s is working on %s and will tell its result itself", x.Instrument, id)
		}
		requested = x.Parameters
	} else {
		if _, err := c.space.Encode(requested); err != nil {
			return nil, notPossible("%w", err)
		}
		if !t.Anyway {
			if err := c.plausible(requested, false); err != nil {
				return nil, err
			}
		}
		id = events.ExperimentID(number)
		payloads = append(payloads, &events.ExperimentRequested{
			Experiment: id, Parameters: requested, Origin: origin, Replicate: 1 + c.RunsOf(requested),
		})
	}
	switch {
	case t.Again != "" && t.Experiment == "":
		return nil, notPossible("there is nothing to record: the experiment was not planned, and did not run")
	case t.Again != "":
		return c.WithFollowUps(&events.ExperimentDeferred{
			Experiment: id, Instrument: "person", Cause: t.Again,
		}), nil
	case t.Infeasible != "":
		return append(payloads, &events.ExperimentInfeasible{
			Experiment: id, Instrument: "person", Cause: t.Infeasible,
		}), nil
	case t.Failed != "":
		return append(payloads, &events.ExperimentFailed{
			Experiment: id, Instrument: "person", Cause: t.Failed,
		}), nil
	}
	m, err := c.measurement(made(requested, t.Actual), t.Value, t.Unit, t.SD, t.Further)
	if err != nil {
		return nil, err
	}
	if t.Actual != nil && !t.Anyway {
		if err := c.plausible(t.Actual, true); err != nil {
			return nil, err
		}
	}
	return append(payloads, c.WithFollowUps(&events.ExperimentMeasured{
		Experiment: id, Instrument: "person", Requested: requested, Measurement: *m,
	})...), nil
}

// made is the composition that was made: the one asked for, unless a person
// says otherwise.
func made(requested, actual definition.Point) definition.Point {
	if actual == nil {
		return requested
	}
	return actual
}

// RunsOf counts the experiments of a composition that were not called off.
func (c *Core) RunsOf(point definition.Point) (n int) {
	key, err := c.space.Key(point)
	if err != nil {
		return 0
	}
	s := c.State()
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Status.CalledOff() {
			continue
		}
		if other, err := c.space.Key(x.Parameters); err == nil && other == key {
			n++
		}
	}
	return n
}

// Known says of rows that are to be imported which experiment of the campaign
// has measured the same value at the same composition; "" for none. A row
// without a value is none.
func (c *Core) Known(rows []Tell) ([]string, error) {
	type result struct {
		point string
		value float64
	}
	measured := make(map[result]string)
	s := c.State()
	for i := range s.Experiments {
		x := &s.Experiments[i]
		value, ok := s.Value(x)
		if !ok {
			continue
		}
		key, err := c.space.Key(x.Parameters)
		if err != nil {
			return nil, err
		}
		measured[result{key, value.Value}] = x.ID
	}
	known := make([]string, len(rows))
	for i, row := range rows {
		key, err := c.space.Key(row.Parameters)
		if err == nil && row.Failed == "" && row.Infeasible == "" { // a composition that is none is refused elsewhere
			known[i] = measured[result{key, row.Value}]
		}
	}
	return known, nil
}

// imports records earlier measurements, all or none; with once, those that are
// not there yet.
func (c *Core) imports(rows []Tell, once bool) ([]events.Payload, error) {
	var payloads []events.Payload
	var known []string
	if once {
		var err error
		if known, err = c.Known(rows); err != nil {
			return nil, err
		}
		if !slices.Contains(known, "") {
			return nil, conflict(c.State().Name, "the campaign has all of these measurements already")
		}
	}
	number := len(c.State().Experiments) + 1
	before := make(map[string]int) // rows of a composition
	for i, row := range rows {
		if row.Experiment != "" {
			return nil, notPossible("row %d names an experiment of this campaign", i+1)
		}
		if once && known[i] != "" {
			continue
		}
		p, err := c.tell(row, events.OriginImport, number)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		requested := p[0].(*events.ExperimentRequested)
		key, err := c.space.Key(requested.Parameters)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		requested.Replicate += before[key]
		before[key]++
		payloads = append(payloads, p...)
		number++
	}
	return payloads, nil
}
