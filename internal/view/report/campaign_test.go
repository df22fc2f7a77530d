package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	humansimulated "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

func pointer[T any](x T) *T { return &x }

// trial is a campaign in the making: a log in memory, a clock that moves by a
// minute at every look, and an instrument that is a function.
type trial struct {
	t   testing.TB
	def definition.Campaign
	log events.Log
	now time.Time
}

// newTrial defines a campaign.
func newTrial(t testing.TB, def definition.Campaign) *trial {
	t.Helper()
	c := &trial{
		t:   t,
		def: campaignfile.Complete(builtin.Registry(), def),
		log: memlog.New(),
		now: time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC),
	}
	defined := events.CampaignDefined{
		Definition: c.def,
		Build:      events.Build{Version: "v1.2.3", Go: "go1.26", Arch: "amd64/v1"},
	}
	c.check(engine.Define(t.Context(), c.log, defined, "person:ada", c.clock(), ""))
	return c
}

func (c *trial) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *trial) clock() time.Time {
	c.now = c.now.Add(time.Minute)
	return c.now
}

// run drives the campaign to its end, or until it waits for a person, with its
// own simulated instrument or the given one.
func (c *trial) run(instrument instruments.Instrument) *trial {
	c.t.Helper()
	if instrument == nil && c.def.Instrument.Driver.Name == simulated.Name {
		var err error
		instrument, err = simulated.Driver.Open(c.t.Context(), c.def, instruments.Environment{})
		c.check(err)
	}
	reviewers := map[string]humans.Reviewer{}
	s, err := space.New(c.def)
	c.check(err)
	for _, e := range c.def.Experts {
		reviewers[e.Name], err = humansimulated.New(e, c.def, func(n int, seed uint64) []definition.Point {
			points, err := s.Sample(n, seed)
			c.check(err)
			return points
		})
		c.check(err)
	}
	r := &drive.Runner{Registry: builtin.Registry(), Log: c.log, Campaign: c.def.Name, Instrument: instrument, Reviewers: reviewers, Now: c.clock,
		Build: events.Build{Version: "v1.2.3", Go: "go1.26", Arch: "amd64/v1"}}
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	r.Observe = func(core *engine.Core, _ engine.Wait) {
		if core.State().Status == campaign.Paused {
			cancel()
		}
	}
	c.check(r.Start(ctx))
	if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
		c.check(err)
	}
	return c
}

// ask submits a person's request.
func (c *trial) ask(r engine.Request) *trial {
	c.t.Helper()
	core, err := engine.Load(c.t.Context(), builtin.Registry(), c.log, c.def.Name)
	c.check(err)
	r.Actor = "person:ada"
	_, err = engine.Submit(c.t.Context(), c.log, core, r, c.clock())
	c.check(err)
	return c
}

// record appends events as the engine would.
func (c *trial) record(payloads ...events.Payload) *trial {
	c.t.Helper()
	for _, p := range payloads {
		e, err := events.New(c.def.Name, p)
		c.check(err)
		e.Time, e.Actor = c.clock(), "engine"
		_, err = c.log.Append(c.t.Context(), c.def.Name, events.AnySequence, e)
		c.check(err)
	}
	return c
}

// html is the campaign's report. With REPORT_DIR set it is written there too, to
// be looked at.
func (c *trial) html() string {
	c.t.Helper()
	var b bytes.Buffer
	c.check(Write(c.t.Context(), &b, Input{Registry: builtin.Registry(), Log: c.log, Campaign: c.def.Name}))
	if dir := os.Getenv("REPORT_DIR"); dir != "" {
		name := strings.NewReplacer("/", "-", " ", "-").Replace(c.t.Name()) + ".html"
		c.check(os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644))
	}
	return b.String()
}

// history is what the report is made from.
func (c *trial) history() *history {
	c.t.Helper()
	h, err := read(c.t.Context(), Input{Registry: builtin.Registry(), Log: c.log, Campaign: c.def.Name})
	c.check(err)
	return h
}

// instrument is a function behind the instrument's contract.
type instrument struct {
	def       definition.Campaign
	name      string
	simulated bool
	value     func(definition.Point) (float64, error)
	actual    func(definition.Point) definition.Point
}

func (i *instrument) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: i.name, Identity: "serial 7", Capacity: 1, Simulated: i.simulated}, nil
}
func (i *instrument) Start(context.Context, instruments.Command) error  { return nil }
func (i *instrument) Cancel(context.Context, instruments.Command) error { return nil }
func (i *instrument) Await(_ context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	y, err := i.value(cmd.Parameters)
	if err != nil {
		return instruments.Outcome{Status: instruments.Failed, Cause: err.Error()}, nil
	}
	actual := cmd.Parameters
	if i.actual != nil {
		actual = i.actual(actual)
	}
	return instruments.Outcome{Status: instruments.Measured, Measurement: &events.Measurement{
		Actual: actual, Objective: definition.Quantity{
			Name:  i.def.Objective.Name,
			Value: y,
			Unit:  i.def.Objective.Unit,
		},
		Further: []definition.Quantity{{Name: "temperature", Value: 25.3, Unit: "°C"}}, Identity: "serial 7",
	}}, nil
}

// numeric returns a numeric parameter's value.
func numeric(p definition.Point, name string) float64 {
	x, ok := p[name].Float()
	if !ok {
		panic(fmt.Sprintf("%s is not a number", name))
	}
	return x
}

// electrolyte is the campaign of examples/cobol.yaml.
func electrolyte(experiments int) definition.Campaign {
	return definition.Campaign{
		Name:        "electrolyte",
		Description: "Salt and solvents of a lithium-ion electrolyte for the greatest ionic conductivity.",
		Parameters: []definition.Parameter{
			{Name: "lipf6", Unit: "mol/kg", Description: "molality of LiPF6", Min: pointer(0.2), Max: pointer(2.1)},
			{Name: "ec", Unit: "kg/kg", Description: "mass fraction of EC in the solvent",
				Min: pointer(0.30), Max: pointer(0.52)},
			{Name: "dmc", Description: "share of DMC in DMC and EMC", Min: pointer(0.0), Max: pointer(1.0)},
		},
		Objective: definition.Objective{
			Name:  "conductivity",
			Unit:  "mS/cm",
			Goal:  definition.Maximize,
			Noise: pointer(0.27),
		},
		Policy:     definition.Policy{Trust: cobol.COBOL{}.Choice()},
		Budget:     definition.Budget{Experiments: experiments},
		Instrument: definition.Instrument{Driver: simulated.Choose(simulated.Settings{Task: "electrolyte", Noise: 0.27})},
		Experts:    []definition.Expert{{Name: "ada", Channel: humansimulated.Choose(humansimulated.Settings{Accuracy: pointer(1.0)})}},
	}
}

// mixture is a campaign on four components that sum to one.
func mixture(experiments int) definition.Campaign {
	fraction := func(name string, low, high float64) definition.Parameter {
		return definition.Parameter{Name: name, Unit: "kg/kg", Min: &low, Max: &high}
	}
	return definition.Campaign{
		Name: "mixture",
		Parameters: []definition.Parameter{fraction("ec", 0.1, 0.6), fraction("dmc", 0, 0.8),
			fraction("emc", 0, 0.8), fraction("fec", 0, 0.15)},
		Constraints: []definition.Constraint{
			{Name: "fractions", Terms: map[string]float64{"ec": 1, "dmc": 1, "emc": 1, "fec": 1}, Equals: pointer(1.0)},
			{Name: "not too viscous", Terms: map[string]float64{"ec": 1, "fec": 1}, AtMost: pointer(0.55)},
		},
		Excluded:  []definition.Region{{Name: "freezes", Where: map[string]definition.RegionSide{"ec": {Min: pointer(0.45)}}}},
		Objective: definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize},
		Initial:   definition.Initial{Experiments: pointer(6)},
		Policy:    definition.Policy{Next: next.LogEI{}.Choice()},
		Budget:    definition.Budget{Experiments: experiments},
		Instrument: definition.Instrument{
			Driver: simulated.Choose(simulated.Settings{Task: "mixture4", Noise: 0.1}),
			Steps:  map[string]float64{"ec": 0.01, "dmc": 0.01, "emc": 0.01, "fec": 0.01},
		},
	}
}

// mixed is a campaign with a categorical, a discrete and a continuous parameter.
func mixed(experiments int) definition.Campaign {
	return definition.Campaign{
		Name: "mixed",
		Parameters: []definition.Parameter{
			{Name: "solvent",
				Categories: []definition.CategoryDef{{Name: "water"}, {Name: "ethanol"},
					{Name: "a very long name of a solvent"}}},
			{Name: "cycles", Values: []float64{1, 2, 5, 10}},
			{Name: "temperature", Unit: "°C", Min: pointer(20.0), Max: pointer(80.0)},
		},
		Objective:  definition.Objective{Name: "loss", Unit: "%", Goal: definition.Minimize},
		Budget:     definition.Budget{Experiments: experiments},
		Instrument: definition.Instrument{Driver: manual.Choose(manual.Settings{})},
	}
}

// mixedInstrument measures it, fails now and then, and makes a little more
// than it was asked for.
func mixedInstrument(def definition.Campaign) *instrument {
	runs := 0
	return &instrument{def: def, name: "reactor", value: func(p definition.Point) (float64, error) {
		runs++
		if runs%5 == 0 {
			return 0, errors.New("the stirrer stopped")
		}
		y := 3 + math.Pow((numeric(p, "temperature")-55)/20, 2) + math.Abs(numeric(p, "cycles")-5)/4
		if p["solvent"].Name() == "ethanol" {
			y -= 1.5
		}
		return y, nil
	}, actual: func(p definition.Point) definition.Point {
		made := definition.Point{}
		for k, v := range p {
			made[k] = v
		}
		made["temperature"] = definition.Number(numeric(p, "temperature") + 0.4)
		return made
	}}
}
