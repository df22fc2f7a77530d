package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Tell is the result of an experiment a person ran: of one that was suggested,
// or of one they chose themselves. It has a value in Unit (empty: the
// campaign's), or one of Failed, Infeasible and Again. What failed can have
// Quantities all the same.
type Tell struct {
	Experiment string                `json:"experiment,omitempty" doc:"The suggested experiment; absent for one's own."`
	Parameters definition.Point      `json:"parameters,omitempty" doc:"The composition of one's own experiment."`
	Actual     definition.Point      `json:"actual,omitempty" doc:"What was really made, where it differs from what was asked for."`
	Value      *float64              `json:"value,omitempty" doc:"Of the objective; absent where the campaign seeks no single quantity."`
	Unit       string                `json:"unit,omitempty" doc:"The value's unit, to be checked against the campaign's."`
	SD         *float64              `json:"sd,omitempty" doc:"The standard deviation of the value, where it is known."`
	Failed     string                `json:"failed,omitempty" doc:"Why there is no result. Quantities that it gave before failing go with it."`
	Infeasible string                `json:"infeasible,omitempty" doc:"Why the composition cannot be made or measured."`
	Again      string                `json:"again,omitempty" doc:"Why nothing took place: the same is asked for again."`
	Further    []definition.Quantity `json:"further,omitempty" doc:"Other quantities that were measured."`
	Quantities []definition.Quantity `json:"quantities,omitempty" doc:"Of a campaign that declares its quantities: their values, without a unit in the campaign's."`
	Missing    []events.Missing      `json:"missing,omitempty" doc:"Declared quantities that have no value, and why."`
	Later      bool                  `json:"later,omitempty" doc:"It has ended, and all that it gives arrives later."`
	Notes      []string              `json:"notes,omitempty" doc:"Remarks on it, recorded together with it."`
	Anyway     bool                  `json:"anyway,omitempty" doc:"Take a composition that the campaign could not ask for."`
}

// MarshalJSON writes a missing value as 0. It has to stay: digests of requests depend on it,
// and processes of earlier versions read it. They know nothing of declared quantities, where a
// 0 would be a value.
func (t Tell) MarshalJSON() ([]byte, error) {
	type plain Tell
	if t.empty() {
		t.Value = new(float64)
	}
	return json.Marshal(plain(t))
}

// received takes the value 0 for none where there is a reason for none: see
// [Tell.MarshalJSON].
func (t *Tell) received() {
	if t.Value != nil && *t.Value == 0 && t.reasons() > 0 {
		t.Value = nil
	}
}

// empty reports whether the request mentions no quantity.
func (t *Tell) empty() bool {
	return t.Value == nil && t.Quantities == nil && t.Missing == nil && !t.Later
}

// reasons counts the reasons given for a missing value.
func (t *Tell) reasons() (n int) {
	for _, reason := range []string{t.Failed, t.Infeasible, t.Again} {
		if reason != "" {
			n++
		}
	}
	return n
}

// check refuses contradictions and missing parts.
func (t *Tell) check() error {
	if err := CheckComposition("parameters", t.Parameters); err != nil {
		return err
	}
	if err := CheckComposition("actual", t.Actual); err != nil {
		return err
	}
	switch {
	case t.Experiment != "" && t.Parameters != nil:
		return invalid("a suggested experiment has its parameters: give one of experiment and parameters")
	case t.Experiment == "" && t.Parameters == nil:
		return invalid("say which experiment it is, or the parameters of one's own")
	}
	return t.CheckOutcome()
}

// CheckOutcome validates the value, or the reasons for its absence.
func (t *Tell) CheckOutcome() error {
	switch reasons := t.reasons(); {
	case reasons > 1:
		return invalid("give at most one of failed, infeasible and again")
	case t.Failed != "" && t.Value != nil:
		return invalid("an experiment that failed has no value: give one of the two, or name the quantities that it gave before failing")
	case reasons == 1 && (t.Value != nil || t.Quantities != nil && t.Failed == "" || t.Later):
		return invalid("an experiment that failed has no value: give one of the two")
	case reasons == 0 && t.empty():
		return invalid("give the value, or the reason for its absence: failed, infeasible or again")
	}
	return nil
}

// reported is a result as a person reports it.
type reported struct {
	// requested is the requested composition, made the one the person reports as made, nil for
	// the same.
	requested, made definition.Point
	anyway          bool
	// value, in unit and with sd, is that of the objective; nil for none.
	value *float64
	unit  string
	sd    *float64
	// quantities are the others, declared or not.
	quantities []definition.Quantity
	missing    []events.Missing
}

// reported returns the result of an experiment for which requested was asked.
func (t *Tell) reported(requested definition.Point) reported {
	return reported{
		requested: requested, made: t.Actual, anyway: t.Anyway, value: t.Value, unit: t.Unit, sd: t.SD,
		quantities: slices.Concat(t.Quantities, t.Further), missing: t.Missing,
	}
}

// measurement builds and checks a person's measurement. A value without a unit has the
// campaign's.
func measurement(c Now, r reported) (*events.Measurement, error) {
	def := c.Definition
	m := events.Measurement{Actual: r.requested, Missing: r.missing}
	if r.made != nil {
		m.Actual = r.made
	}
	if r.value != nil && def.Names() {
		value, err := unnamed(c.State, *r.value, r.unit, r.sd)
		if err != nil {
			return nil, err
		}
		r.quantities, r.value = append([]definition.Quantity{value}, r.quantities...), nil
	}
	if r.value != nil {
		m.Objective = def.Sought().Quantity(*r.value, r.sd)
		if r.unit != "" {
			m.Objective.Unit = r.unit
		}
	}
	for _, value := range r.quantities {
		if q := def.Quantity(value.Name); q != nil && value.Unit == "" && def.Several() {
			value.Unit = q.Unit
		}
		m.Further = append(m.Further, value)
	}
	if err := without(c.State, r.missing, m.All()...); err != nil {
		return nil, err
	}
	return checked(c, m, r.made, r.anyway)
}

// givenAllTheSame returns the measurement of a failed experiment; nil if the person names none
// of its quantities.
func givenAllTheSame(c Now, r reported, names bool) (*events.Measurement, error) {
	switch {
	case !names:
		return nil, nil
	case !c.Definition.Several():
		return nil, notPossible("the campaign declares no quantities: of an experiment that failed it keeps the cause alone")
	}
	return measurement(c, r)
}

// unnamed gives a value without a name that of the only quantity it can be of. It is refused
// where it could be of several, or is computed.
func unnamed(s *campaign.State, value float64, unit string, sd *float64) (q definition.Quantity, err error) {
	def := s.Definition
	if of := def.Unnamed(); of != nil {
		return definition.Quantity{Name: of.Name, Value: value, Unit: unit, SD: sd}, nil
	}
	var names []string
	for _, q := range def.Quantities {
		if q.From == "" {
			names = append(names, q.Name)
		}
	}
	if def.Sought().Computed() {
		return q, notPossible("the campaign seeks %s, which is computed: give the values of its quantities, %s",
			sought(s).Name, strings.Join(names, ", "))
	}
	return q, notPossible("name the quantity that the value is of: the campaign measures %s", strings.Join(names, ", "))
}

// checked is a person's measurement as it is recorded, where nothing is wrong
// with it. made is as in [reported].
func checked(c Now, m events.Measurement, made definition.Point, anyway bool) (*events.Measurement, error) {
	def := c.Definition
	m = instruments.Respelled(def, m)
	if err := instruments.Check(*def, m); err != nil {
		var faulty *instruments.MeasurementError
		if errors.As(err, &faulty) {
			return nil, notPossible("%s", strings.Join(faulty.Faults, "; ")) // no instrument said it
		}
		return nil, notPossible("%w", err)
	}
	if made != nil && !anyway {
		if err := plausible(c, made, true); err != nil {
			return nil, err
		}
	}
	m = instruments.Arranged(def, m)
	return &m, nil
}

func (t *Tell) record(c Now, _ *Request) ([]events.Payload, error) {
	return tell(c, *t, events.OriginPerson, len(c.Experiments)+1)
}

// tell records a person's result, with their remarks on it. number is that of
// an experiment of their own.
func tell(c Now, t Tell, origin events.Origin, number int) ([]events.Payload, error) {
	payloads, err := result(c, t, origin, number)
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

// result records the outcome of an experiment as a person reports it.
func result(c Now, t Tell, origin events.Origin, number int) ([]events.Payload, error) {
	if t.Value != nil && c.Definition.Names() {
		value, err := unnamed(c.State, *t.Value, t.Unit, t.SD)
		if err != nil {
			return nil, err
		}
		t.Quantities = append([]definition.Quantity{value}, t.Quantities...)
		t.Value = nil
		t.Unit = ""
		t.SD = nil
	}
	if err := named(c.State, t.Quantities, t.Further); err != nil {
		return nil, err
	}
	var payloads []events.Payload
	requested, id := t.Parameters, t.Experiment
	if id != "" {
		x := c.Experiment(id)
		if x != nil && x.Status == campaign.Measured && c.Definition.Several() && t.reasons() == 0 {
			return deliver(c.State, x, t)
		}
		if err := tellable(c.State, x, id); err != nil {
			return nil, err
		}
		requested = x.Parameters
	} else {
		if _, err := c.space.Encode(requested); err != nil {
			return nil, notPossible("%w", err)
		}
		if !t.Anyway {
			if err := plausible(c, requested, false); err != nil {
				return nil, err
			}
		}
		id = events.ExperimentID(number)
		payloads = append(payloads, &events.ExperimentRequested{
			Experiment: id, Parameters: requested, Origin: origin, Replicate: 1 + RunsOf(c, requested),
		})
	}
	switch {
	case t.Later && !c.Definition.Awaits():
		return nil, notPossible("nothing that this campaign measures arrives later: give the value")
	case t.Again != "" && t.Experiment == "":
		return nil, notPossible("there is nothing to record: the experiment was not planned, and did not run")
	case t.Again != "":
		return WithFollowUps(c, &events.ExperimentDeferred{
			Experiment: id, Instrument: "person", Cause: t.Again,
		}), nil
	case t.Infeasible != "":
		return append(payloads, &events.ExperimentInfeasible{
			Experiment: id, Instrument: "person", Cause: t.Infeasible,
		}), nil
	case t.Failed != "":
		given, err := givenAllTheSame(c, t.reported(requested), t.Quantities != nil)
		return append(payloads, &events.ExperimentFailed{
			Experiment: id, Instrument: "person", Cause: t.Failed, Measurement: given,
		}), err
	}
	switch {
	case t.Later:
		t.Missing = t.unsaid(c.State, "it is still to come", func(q definition.QuantityDef) bool { return !q.Later() })
	case origin == events.OriginImport: // what it could have given later is not awaited
		t.Missing = t.unsaid(c.State, instruments.WhyMissing(""), func(q definition.QuantityDef) bool { return q.Later() })
	}
	m, err := measurement(c, t.reported(requested))
	if err != nil {
		return nil, err
	}
	return append(payloads, WithFollowUps(c, &events.ExperimentMeasured{
		Experiment: id, Instrument: "person", Requested: requested, Measurement: *m,
	})...), nil
}

// tellable returns an error if a person cannot report the result of an experiment.
func tellable(s *campaign.State, x *campaign.Experiment, id string) error {
	switch {
	case x == nil:
		return noExperiment(id)
	case x.Status == campaign.Unresolved:
		return notNow(id, "the fate of %s is unknown", id).With(settle(id))
	case x.Status == campaign.Measured:
		return conflict(id, "%s has a result already", id).With(change(id))
	case !x.Status.Open():
		return conflict(id, "%s is %s already", id, x.Status).
			With(problem.Remedy{Text: "if it ended otherwise, say so", Action: problem.Correct, Subject: id})
	case x.Status != campaign.Requested && !s.Definition.ByHand():
		return notNow(id, "%s is working on %s and will tell its result itself", x.Command.Instrument, id)
	}
	return nil
}

// RunsOf counts the experiments of a composition that were not called off.
func RunsOf(c Now, point definition.Point) int { return len(runsOf(c, point)) }

// MeasuredAs are the experiments that have measured the composition of another one:
// a person who makes it again should know that.
func MeasuredAs(c Now, x *campaign.Experiment) (ids []string) {
	for _, other := range runsOf(c, x.Parameters) {
		if other.ID != x.ID && other.Status == campaign.Measured && !other.Elsewhere {
			ids = append(ids, other.ID)
		}
	}
	return ids
}

// runsOf are the experiments of a composition that were not called off, without references.
func runsOf(c Now, point definition.Point) (runs []*campaign.Experiment) {
	same, err := c.space.Like(point)
	if err != nil {
		return nil
	}
	for x := range among(c.State) {
		if x.Status.CalledOff() || x.Reference() {
			continue
		}
		if same, err := same(x.Parameters); err == nil && same {
			runs = append(runs, x)
		}
	}
	return runs
}

// Known returns, for each row to be imported, the experiment of the campaign that gave the same
// at the same composition and ended in the same way; "" for none. The same means an equal value
// of the objective, or of each declared quantity that both have, at least one. A row without a
// value matches none.
func Known(c Now, rows []Tell) ([]string, error) {
	at := make(map[string][]*campaign.Experiment)
	for x := range among(c.State) {
		if x.Measurement == nil {
			continue
		}
		key, err := c.space.Key(x.Parameters)
		if err != nil {
			return nil, err
		}
		at[key] = append(at[key], x)
	}
	known := make([]string, len(rows))
	for i := range rows {
		key, err := c.space.Key(rows[i].Parameters)
		if err != nil {
			continue // invalid compositions are refused elsewhere
		}
		for _, x := range at[key] {
			if gaveTheSame(c.State, x, &rows[i]) {
				known[i] = x.ID
			}
		}
	}
	return known, nil
}

// gaveTheSame reports whether a row has the outcome of an experiment of its composition.
func gaveTheSame(s *campaign.State, x *campaign.Experiment, row *Tell) bool {
	if (x.Status == campaign.Failed) != (row.Failed != "") {
		return false
	}
	values := slices.Concat(row.Quantities, row.Further)
	if row.Value != nil {
		values = append(values, sought(s).Quantity(*row.Value, nil))
	}
	common := false
	for _, value := range values {
		if s.Definition.Quantity(value.Name) == nil {
			continue
		}
		had, ok := s.Quantity(x, value.Name)
		if ok && had.Value != value.Value {
			return false
		}
		common = common || ok
	}
	return common
}

// imports are rows of a table: earlier measurements, results of experiments that a
// person is to make, and quantities that arrive of others that rows name, all or
// none; with ImportOnce those that are not there yet.
type imports []Tell

func (rows imports) check() error { return checkEach(rows, "there is nothing to take over") }

func (rows imports) record(c Now, r *Request) ([]events.Payload, error) {
	known := make([]string, len(rows))
	if r.ImportOnce {
		var err error
		if known, err = Known(c, rows); err != nil {
			return nil, err
		}
	}
	var payloads []events.Payload
	number := len(c.Experiments) + 1
	before := make(map[string]int) // rows of a composition
	said := make(map[arrival]definition.Quantity)
	var after *Core // with the results of the rows before
	record := func(row Tell) ([]events.Payload, error) {
		switch {
		case toMeasure(c.State, row.Experiment):
			if after == nil {
				after = c.core.Clone()
			}
			return tellRow(after, row, r)
		case row.Experiment != "":
			return arrivals(c, row, said)
		}
		p, err := tell(c, row, events.OriginImport, number)
		if err != nil {
			return nil, err
		}
		requested := p[0].(*events.ExperimentRequested)
		key, err := c.space.Key(requested.Parameters)
		requested.Replicate += before[key]
		before[key]++
		number++
		return p, err
	}
	for i, row := range rows {
		if known[i] != "" {
			continue
		}
		p, err := record(row)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		payloads = append(payloads, p...)
	}
	if payloads == nil {
		return nil, haveAll(c.State)
	}
	return payloads, nil
}

// haveAll refuses rows that leave nothing to record.
func haveAll(s *campaign.State) error {
	return conflict(s.Name, "the campaign has all of these measurements already")
}
