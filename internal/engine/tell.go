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
	"github.com/campaignd/campaignd/internal/problem"
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
	Failed     string                `json:"failed,omitempty" doc:"Why there is no result. The quantities that it gave all the same go with it."`
	Infeasible string                `json:"infeasible,omitempty" doc:"Why the composition cannot be made or measured."`
	Again      string                `json:"again,omitempty" doc:"Why nothing took place: the same is asked for again."`
	Further    []definition.Quantity `json:"further,omitempty" doc:"Other quantities that were measured."`
	Quantities []definition.Quantity `json:"quantities,omitempty" doc:"Of a campaign that declares its quantities: their values, without a unit in the campaign's."`
	Missing    []events.Missing      `json:"missing,omitempty" doc:"Declared quantities that have no value, and why."`
	Later      bool                  `json:"later,omitempty" doc:"It has ended, and all that it gives arrives later."`
	Notes      []string              `json:"notes,omitempty" doc:"Remarks on it, recorded together with it."`
	Anyway     bool                  `json:"anyway,omitempty" doc:"Take a composition that the campaign could not ask for."`
}

// MarshalJSON writes the value 0 where there is none. Digests of requests are
// taken of it, and processes of earlier versions read it: it stays. Of declared
// quantities they know nothing, and there a 0 would be a value.
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

// empty reports whether nothing is said of any quantity.
func (t *Tell) empty() bool {
	return t.Value == nil && t.Quantities == nil && t.Missing == nil && !t.Later
}

// reasons counts the reasons why there is no value.
func (t *Tell) reasons() (n int) {
	for _, reason := range []string{t.Failed, t.Infeasible, t.Again} {
		if reason != "" {
			n++
		}
	}
	return n
}

// check says what contradicts itself, or is missing.
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

// CheckOutcome says what is wrong with the value and the reasons for none.
func (t *Tell) CheckOutcome() error {
	switch reasons := t.reasons(); {
	case reasons > 1:
		return invalid("give at most one of failed, infeasible and again")
	case t.Failed != "" && t.Value != nil:
		return invalid("an experiment that failed has no value: give one of the two, or name the quantities that it gave all the same")
	case reasons == 1 && (t.Value != nil || t.Quantities != nil && t.Failed == "" || t.Later):
		return invalid("an experiment that failed has no value: give one of the two")
	case reasons == 0 && t.empty():
		return invalid("give the value, or why there is none: failed, infeasible or again")
	}
	return nil
}

// reported is what a person says of a result.
type reported struct {
	// requested is what was asked for, made what they say was made, nil for the
	// same.
	requested, made definition.Point
	anyway          bool
	// value, in unit and with sd, is of what the campaign seeks; nil for none.
	value *float64
	unit  string
	sd    *float64
	// quantities are the others, declared or not.
	quantities []definition.Quantity
	missing    []events.Missing
}

// measurement builds and checks a person's measurement. What has no unit has the
// campaign's.
func (c *Core) measurement(r reported) (*events.Measurement, error) {
	def := c.State().Definition
	m := events.Measurement{Actual: r.requested, Missing: r.missing}
	if r.made != nil {
		m.Actual = r.made
	}
	if r.value != nil && def.Names() {
		value, err := c.unnamed(*r.value, r.unit, r.sd)
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
	if err := c.without(r.missing, m.All()...); err != nil {
		return nil, err
	}
	return c.checked(m, r.made, r.anyway)
}

// givenAllTheSame is what an experiment measured that failed; nil where a person names
// no quantity of it.
func (c *Core) givenAllTheSame(r reported, names bool) (*events.Measurement, error) {
	switch {
	case !names:
		return nil, nil
	case !c.State().Definition.Several():
		return nil, notPossible("the campaign declares no quantities: of an experiment that failed it keeps the cause alone")
	}
	return c.measurement(r)
}

// unnamed gives a value without a name that of the only quantity it can be of. It is refused
// where it could be of several, or is computed.
func (c *Core) unnamed(value float64, unit string, sd *float64) (q definition.Quantity, err error) {
	def := c.State().Definition
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
			c.sought().Name, strings.Join(names, ", "))
	}
	return q, notPossible("name the quantity that the value is of: the campaign measures %s", strings.Join(names, ", "))
}

// checked is a person's measurement as it is recorded, where nothing is wrong
// with it. made is as in [reported].
func (c *Core) checked(
	m events.Measurement, made definition.Point, anyway bool,
) (*events.Measurement, error) {
	def := c.State().Definition
	m = instruments.Respelled(def, m)
	if err := instruments.Check(*def, m); err != nil {
		var faulty *instruments.MeasurementError
		if errors.As(err, &faulty) {
			return nil, notPossible("%s", strings.Join(faulty.Faults, "; ")) // no instrument said it
		}
		return nil, notPossible("%w", err)
	}
	if made != nil && !anyway {
		if err := c.plausible(made, true); err != nil {
			return nil, err
		}
	}
	m = instruments.Arranged(def, m)
	return &m, nil
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
	if t.Value != nil && s.Definition.Names() {
		value, err := c.unnamed(*t.Value, t.Unit, t.SD)
		if err != nil {
			return nil, err
		}
		t.Quantities = append([]definition.Quantity{value}, t.Quantities...)
		t.Value, t.Unit, t.SD = nil, "", nil
	}
	if err := c.named(t.Quantities, t.Further); err != nil {
		return nil, err
	}
	var payloads []events.Payload
	requested, id := t.Parameters, t.Experiment
	if id != "" {
		x := s.Experiment(id)
		switch {
		case x == nil:
			return nil, noExperiment(id)
		case x.Status == campaign.Unresolved:
			return nil, notNow(id, "the fate of %s is unknown", id).With(settle(id))
		case x.Status == campaign.Measured && s.Definition.Several() && t.reasons() == 0:
			return c.deliver(x, t)
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
	case t.Later && !s.Definition.Awaits():
		return nil, notPossible("nothing that this campaign measures arrives later: give the value")
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
		given, err := c.givenAllTheSame(reported{
			requested: requested, made: t.Actual, anyway: t.Anyway,
			quantities: slices.Concat(t.Quantities, t.Further), missing: t.Missing,
		}, t.Quantities != nil)
		return append(payloads, &events.ExperimentFailed{
			Experiment: id, Instrument: "person", Cause: t.Failed, Measurement: given,
		}), err
	}
	switch {
	case t.Later:
		t.Missing = c.unsaid(t, "it is still to come", func(q definition.QuantityDef) bool { return !q.Later() })
	case origin == events.OriginImport: // what it could have given later is not awaited
		t.Missing = c.unsaid(t, instruments.WhyMissing(""), func(q definition.QuantityDef) bool { return q.Later() })
	}
	m, err := c.measurement(reported{
		requested: requested, made: t.Actual, anyway: t.Anyway,
		value: t.Value, unit: t.Unit, sd: t.SD,
		quantities: slices.Concat(t.Quantities, t.Further), missing: t.Missing,
	})
	if err != nil {
		return nil, err
	}
	return append(payloads, c.WithFollowUps(&events.ExperimentMeasured{
		Experiment: id, Instrument: "person", Requested: requested, Measurement: *m,
	})...), nil
}

// RunsOf counts the experiments of a composition that were not called off.
func (c *Core) RunsOf(point definition.Point) int { return len(c.runsOf(point)) }

// MeasuredAs are the experiments that have measured the composition of another one:
// a person who makes it again should know that.
func (c *Core) MeasuredAs(x *campaign.Experiment) (ids []string) {
	for _, other := range c.runsOf(x.Parameters) {
		if other.ID != x.ID && other.Status == campaign.Measured && !other.Elsewhere {
			ids = append(ids, other.ID)
		}
	}
	return ids
}

// runsOf are the experiments of a composition that were not called off.
func (c *Core) runsOf(point definition.Point) (runs []*campaign.Experiment) {
	same, err := c.space.Like(point)
	if err != nil {
		return nil
	}
	s := c.State()
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Status.CalledOff() {
			continue
		}
		if same, err := same(x.Parameters); err == nil && same {
			runs = append(runs, x)
		}
	}
	return runs
}

// Known says of rows that are to be imported which experiment of the campaign gave the
// same at the same composition, and ended in the same way; "" for none. The same is
// the value of what is sought, or of each declared quantity that both have, one at
// least. A row without a value is none.
func (c *Core) Known(rows []Tell) ([]string, error) {
	at := make(map[string][]*campaign.Experiment)
	s := c.State()
	for i := range s.Experiments {
		x := &s.Experiments[i]
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
			continue // a composition that is none is refused elsewhere
		}
		for _, x := range at[key] {
			if c.gaveTheSame(x, &rows[i]) {
				known[i] = x.ID
			}
		}
	}
	return known, nil
}

// gaveTheSame reports whether a row says what an experiment of its composition gave.
func (c *Core) gaveTheSame(x *campaign.Experiment, row *Tell) bool {
	s := c.State()
	if (x.Status == campaign.Failed) != (row.Failed != "") {
		return false
	}
	values := slices.Concat(row.Quantities, row.Further)
	if row.Value != nil {
		values = append(values, s.Definition.Sought().Quantity(*row.Value, nil))
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

// checkRows says what is wrong with the rows that contradict themselves, each of
// them.
func checkRows(rows []Tell) error {
	if len(rows) == 0 {
		return invalid("there is nothing to take over")
	}
	var faults problem.RowFaults
	for i := range rows {
		if err := rows[i].check(); err != nil {
			faults = append(faults, problem.RowFault{Row: i + 1, Err: err})
		}
	}
	if faults != nil {
		return faults
	}
	return nil
}

// imports records earlier measurements, results of experiments that a person is
// to make, and quantities that arrive of others that rows name, all or none; with
// once, those that are not there yet.
func (c *Core) imports(rows []Tell, once bool, actor string) ([]events.Payload, error) {
	var payloads []events.Payload
	var known []string
	if once {
		var err error
		if known, err = c.Known(rows); err != nil {
			return nil, err
		}
		if !slices.Contains(known, "") {
			return nil, c.haveAll()
		}
	}
	number := len(c.State().Experiments) + 1
	before := make(map[string]int) // rows of a composition
	said := make(map[arrival]definition.Quantity)
	var after *Core // with the results of the rows before
	for i, row := range rows {
		if c.toMeasure(row.Experiment) {
			if after == nil {
				after = c.Clone()
			}
			p, err := after.tellRow(row, actor)
			if err != nil {
				return nil, fmt.Errorf("row %d: %w", i+1, err)
			}
			payloads = append(payloads, p...)
			continue
		}
		if row.Experiment != "" {
			p, err := c.arrivals(row, said)
			if err != nil {
				return nil, fmt.Errorf("row %d: %w", i+1, err)
			}
			payloads = append(payloads, p...)
			continue
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
	if payloads == nil {
		return nil, c.haveAll()
	}
	return payloads, nil
}

// haveAll refuses rows of which there is nothing to be recorded.
func (c *Core) haveAll() error {
	return conflict(c.State().Name, "the campaign has all of these measurements already")
}
