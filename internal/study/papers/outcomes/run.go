package outcomes

import (
	"context"
	"fmt"
	"math"
	"syscall"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/num/pareto"
	"github.com/campaignd/campaignd/internal/study"
)

// Arm is what campaigns of this program are called among those of others.
const Arm = "campaignd"

// electrolytePrice is the price of the electrolyte, as a campaign file says it.
const electrolytePrice = "(30*0.15191*lipf6 + 1.5*ec + (1-ec)*(dmc + 2*(1-dmc))) / (1 + 0.15191*lipf6)"

// Definition is the campaign of a task and a seed: its objectives as a trade-off
// with the task's worst values, its slacks as constraints, its start as the
// initial design, and all else by default.
func (t Task) Definition(seed int, start [][]float64) definition.Campaign {
	def := definition.Campaign{
		Name: t.Name, Seed: uint64(seed), Parameters: t.Problem.Parameters,
		Budget: definition.Budget{Experiments: t.Experiments},
		Instrument: definition.Instrument{
			Driver: process.Choose(process.Settings{Command: []string{t.Name}}),
		},
	}
	for k, o := range t.Problem.Objectives {
		q := definition.QuantityDef{Name: o.Name, Unit: o.Unit}
		if o.Known {
			q.From = electrolytePrice
		} else if t.Noise != nil && t.Noise[k].SD > 0 {
			sd := t.Noise[k].SD
			q.Noise = &sd
		}
		worst := o.Worst
		def.Quantities = append(def.Quantities, q)
		def.Objective.Tradeoff = append(def.Objective.Tradeoff,
			definition.Aim{Name: o.Name, Goal: o.Goal, Worst: &worst})
	}
	first, aims := def.Objective.Tradeoff[0], def.Objective.Tradeoff
	def.Objective = definition.Objective{Name: first.Name, Goal: first.Goal, Tradeoff: aims}
	if t.Whole != nil {
		def.Objective = t.Whole.Objective
		if t.Whole.Require != "" {
			def.ConstraintsOnOutcomes = []definition.OutcomeConstraint{{Require: t.Whole.Require}}
		}
	}
	for _, name := range t.Problem.Slacks {
		def.Quantities = append(def.Quantities, definition.QuantityDef{Name: name})
		def.ConstraintsOnOutcomes = append(def.ConstraintsOnOutcomes,
			definition.OutcomeConstraint{Require: name + " >= 0"})
	}
	for _, u := range start {
		def.Initial.Points = append(def.Initial.Points, t.Problem.At(u))
	}
	def.Initial.Design = definition.DesignPoints
	return campaignfile.Complete(builtin.Registry(), def)
}

// Run runs the campaign of a task and a seed, from its start to its end, and
// returns how it went.
func (t Task) Run(ctx context.Context, seed int, start [][]float64) (Course, error) {
	device := &device{task: t, seed: seed}
	log, err := t.run(ctx, t.Definition(seed, start), device, nil)
	if err != nil {
		return Course{}, err
	}
	c, err := t.course(seed, device)
	if err != nil {
		return Course{}, err
	}
	c.Feasible, err = feasible(ctx, log)
	return c, err
}

// feasible is how probable decisions took it to be that what they chose keeps what is
// required.
func feasible(ctx context.Context, log events.Log) (probabilities []float64, err error) {
	for e, err := range log.Read(ctx, 0) {
		if err != nil {
			return nil, err
		}
		payload, err := events.Decode(e)
		if err != nil {
			return nil, err
		}
		d, ok := payload.(*events.DecisionMade)
		if !ok {
			continue
		}
		if c := d.Candidate(d.Chosen); c != nil && c.Feasible != nil {
			probabilities = append(probabilities, c.Feasible.Probability)
		}
	}
	return probabilities, nil
}

// run runs a campaign of a task on a device, and returns its log.
func (t Task) run(
	ctx context.Context, def definition.Campaign, device *device, reviewers map[string]humans.Reviewer,
) (events.Log, error) {
	if faults := campaignfile.Validate(builtin.Registry(), def); len(faults) > 0 {
		return nil, fmt.Errorf("%s, seed %d: %s", t.Name, device.seed, faults[0].Message)
	}
	runner, err := Run(ctx, def, device, reviewers)
	if err != nil {
		return nil, err
	}
	return runner.Log, nil
}

// Run runs a campaign in memory to its end.
func Run(
	ctx context.Context, def definition.Campaign, instrument instruments.Instrument, reviewers map[string]humans.Reviewer,
) (*drive.Runner, error) {
	log := memlog.New()
	if err := engine.Define(ctx, log, events.CampaignDefined{Definition: def}, "person:study", study.Epoch, ""); err != nil {
		return nil, err
	}
	runner := &drive.Runner{
		Registry: builtin.Registry(), Log: log, Campaign: def.Name, Instrument: instrument, Reviewers: reviewers,
		Now: study.Clock(), Eager: true,
	}
	if err := runner.Start(ctx); err != nil {
		return nil, err
	}
	return runner, runner.Run(ctx)
}

// course is what the device saw of a campaign.
func (t Task) course(seed int, d *device) (Course, error) {
	c := Course{
		Task: t.Name, Arm: Arm, Seed: seed, Initial: t.Initial, Reference: t.reference(),
		Points: d.points, Values: d.values, Versions: map[string]string{"campaignd": "development"},
	}
	if t.Noise != nil {
		c.Measured = d.measured
	}
	if len(d.points) != t.Experiments {
		return c, fmt.Errorf("%s, seed %d: %d experiments, want %d", t.Name, seed, len(d.points), t.Experiments)
	}
	for n := t.Initial; n <= t.Experiments; n++ {
		c.Hypervolume = append(c.Hypervolume, t.Covered(d.values[:n]))
	}
	c.Log10Difference = math.Log10(t.Greatest() - c.Hypervolume[len(c.Hypervolume)-1])
	for n := t.Initial; n < t.Experiments; n++ {
		c.SearchSeconds = append(c.SearchSeconds, d.spent[n]-d.spent[n-1])
	}
	return c, nil
}

// Covered is the hypervolume of noiseless values, objectives and slacks, as far as
// these are feasible; or the greatest value of the whole.
func (t Task) Covered(values [][]float64) float64 {
	if t.Whole != nil {
		best := 0.0
		for _, v := range values {
			best = max(best, t.Whole.Of(v))
		}
		return best
	}
	reference := make([]float64, len(t.Problem.Objectives))
	sign := make([]float64, len(reference))
	for k, o := range t.Problem.Objectives {
		sign[k] = 1
		if o.Goal == definition.Minimize {
			sign[k] = -1
		}
		reference[k] = sign[k] * o.Worst
	}
	var points [][]float64
	for _, v := range values {
		if !t.keeps(v) {
			continue
		}
		point := make([]float64, len(reference))
		for k := range point {
			point[k] = sign[k] * v[k]
		}
		points = append(points, point)
	}
	return pareto.Hypervolume(points, reference)
}

// keeps says whether noiseless values keep what is required.
func (t Task) keeps(values []float64) bool {
	if t.Whole != nil {
		return t.Whole.Of(values) > 0
	}
	return t.Problem.Feasible(values)
}

// bounded says whether something is required.
func (t Task) bounded() bool {
	return t.Problem.Slacks != nil || t.Whole != nil && t.Whole.Require != ""
}

// device measures a task, with the noise of a seed. It is asked for one experiment
// at a time.
type device struct {
	task Task
	seed int

	points, values, measured [][]float64
	spent                    []float64 // processor seconds of this process, when each experiment was asked for
}

// Describe implements [instruments.Instrument].
func (d *device) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: d.task.Name, Capacity: 1, Simulated: true}, nil
}

// Start implements [instruments.Instrument].
func (*device) Start(context.Context, instruments.Command) error { return nil }

// Cancel implements [instruments.Instrument].
func (*device) Cancel(context.Context, instruments.Command) error { return nil }

// Await implements [instruments.Instrument].
func (d *device) Await(_ context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	values, err := d.task.Problem.Values(cmd.Parameters)
	if err != nil {
		return instruments.Outcome{}, err
	}
	u := make([]float64, len(d.task.Problem.Parameters))
	for i, p := range d.task.Problem.Parameters {
		x, _ := cmd.Parameters[p.Name].Float()
		u[i] = (x - *p.Min) / (*p.Max - *p.Min)
	}
	d.points, d.values = append(d.points, u), append(d.values, values)
	measured := d.task.Measured(d.seed, len(d.points), values)
	d.measured = append(d.measured, measured)
	d.spent = append(d.spent, processorSeconds())
	m := events.Measurement{Actual: cmd.Parameters}
	for k, o := range d.task.Problem.Objectives {
		if o.Known {
			continue
		}
		q := definition.Quantity{Name: o.Name, Value: measured[k], Unit: o.Unit}
		if d.task.Noise != nil {
			if sd := d.task.Noise[k].At(values[k]); sd > 0 {
				q.SD = &sd
			}
		}
		m.Quantities = append(m.Quantities, q)
	}
	for k, name := range d.task.Problem.Slacks {
		m.Quantities = append(m.Quantities,
			definition.Quantity{Name: name, Value: values[len(d.task.Problem.Objectives)+k]})
	}
	return instruments.Outcome{Status: instruments.Measured, Measurement: &m}, nil
}

// processorSeconds are those that this process has used.
func processorSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
