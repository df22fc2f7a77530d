package campaignfile

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
)

// fileOf is a campaign file of two quantities, with what is sought of them and what
// else it says.
func fileOf(objective, further string) string {
	return `
name: several
parameters: [{name: x, unit: K, min: 1, max: 2}, {name: salt, categories: [LiPF6, LiFSI]}]
quantities:
  - {name: conductivity, unit: mS/cm, min: 0, max: 30}
  - {name: viscosity, unit: mPa·s, scale: log, min: 0.1}
  - {name: price, unit: EUR/kg, from: 3*x}
objective: ` + objective + `
instrument: manual
` + further + "\n"
}

// What is sought of several quantities.
const (
	one   = "{maximize: conductivity}"
	ratio = "{maximize: conductivity / viscosity}"
	front = "{tradeoff: [{maximize: conductivity}, {minimize: viscosity}]}"
)

// written is a case of a campaign file: what it means, or what is wrong with it and where.
type written struct {
	objective, further string
	fault              string // line:column: what is wrong; "" where nothing is
	remedy             string // a part of it
}

// check parses a file and finds its fault, or returns what it means.
func (w written) check(t *testing.T) (def definition.Campaign) {
	t.Helper()
	f, err := Parse(builtin.Registry(), "f.yaml", []byte(fileOf(w.objective, w.further)))
	switch {
	case w.fault == "" && err != nil:
		t.Errorf("%s: %v", w.further, err)
	case w.fault == "":
		return f.Definition
	case err == nil || !strings.Contains(err.Error(), w.fault) || !strings.Contains(err.Error(), w.remedy):
		t.Errorf("%s: %v, want %s, and %s", w.further, err, w.fault, w.remedy)
	}
	return def
}

// Law: a number is the target of what is sought, one text or a list are bounds, in their
// canonical form, and are explained; what can never be reached, is reached at once, or cannot be
// read is refused at its place, with a remedy.
func TestTargetOfBounds(t *testing.T) {
	const stop = "budget: {experiments: 9}\nstop: {target: "
	for _, c := range []struct {
		written
		bounds []string
	}{
		{written{one, stop + "conductivity>=10}", "", ""}, []string{"conductivity >= 10"}},
		{written{front, stop + "[conductivity >= 10, viscosity <= 5, price <= 4]}", "", ""}, []string{"conductivity >= 10", "viscosity <= 5", "price <= 4"}},
		{written{ratio, stop + "[conductivity >= 10, viscosity + 0*viscosity <= 5]}", "", ""}, []string{"conductivity >= 10", "viscosity + 0*viscosity <= 5"}},
		{written{one, stop + "[conductivity >= 31]}", "11:17: stop.target[0]: no plausible value keeps it", "correct it"}, nil},
		{written{one, stop + "[viscosity <= 5, conductivity >= -1]}", "11:33: stop.target[1]: every plausible value keeps it", "leave it out"}, nil},
		{written{front, stop + "[conductivity > 10]}", "stop.target[0]: column 14: what is measured cannot tell > from >=", "write a <= b"}, nil},
		{written{front, stop + "[ph >= 7]}", "stop.target[0]: ph is neither a quantity nor a parameter", "declare it"}, nil},
		{written{front, stop + "[x <= 1.5, price <= 4]}", "stop.target: nothing in it is measured", "name a quantity"}, nil},
		{written{front, stop + "[conductivity >= viscosity]}", "stop.target[0]: column 17: a value in mS/cm", "multiply"}, nil},
		{written{front, stop + "[conductivity >= 10, 5]}", "stop.target[1]: it must be text", ""}, nil},
		{written{front, stop + "10}", "stop: a trade-off has no single best value", "target: [conductivity >= …, …]"}, nil},
	} {
		def := c.check(t)
		if c.fault != "" {
			continue
		}
		if !slices.Equal(def.Stop.Reach, c.bounds) || def.Stop.Target != nil {
			t.Errorf("%s: %v, %q", c.further, def.Stop.Target, def.Stop.Reach)
		}
		text := "once a measured composition has " + andList(c.bounds) + " with probability 0.9 or more"
		if said := Explain(t.Context(), builtin.Registry(), def); !strings.Contains(said, text) {
			t.Errorf("%s is explained as\n%s", c.further, said)
		}
	}
	number := written{one, stop + "10}", "", ""}.check(t)
	if number.Stop.Target == nil || *number.Stop.Target != 10 || number.Stop.Reach != nil {
		t.Errorf("a number: %+v", number.Stop)
	}
	again := written{one, stop + "[conductivity >= 10]}", "", ""}.check(t)
	changes, err := Amend(builtin.Registry(), number, again)
	var places []string
	for _, c := range changes {
		places = append(places, c.Path)
	}
	if want := []string{"/stop/reach", "/stop/target"}; err != nil || !reflect.DeepEqual(places, want) {
		t.Errorf("the amendment is %q, %v", places, err)
	}
}

// Law: a share is a number or per cent, which are the same; the rules about a front are for
// trade-offs, and that about what is expected to be gained for the policy that expects it.
func TestRulesOfFronts(t *testing.T) {
	const budget = "budget: {experiments: 9}\n"
	for _, c := range []struct {
		written
		window            int
		improvement, gain float64
		says              string
	}{
		{written{front, budget + "stop: {hypervolume: {window: 4, improvement: 2%}}", "", ""}, 4, 0.02, 0,
			"once 4 experiments have increased the hypervolume of the front by less than 2 %"},
		{written{front, budget + "stop: {hypervolume: {window: 4, improvement: 0.02}}", "", ""}, 4, 0.02, 0, "less than 2 %"},
		{written{front, budget + "stop: {hypervolume: {window: 8}}", "", ""}, 8, 0.01, 0, "less than 1 %"},
		{written{front, budget + "stop: {gain: 0.1 %}", "", ""}, 0, 0, 0.001,
			"once 3 experiments in a row were each expected to increase the hypervolume by less than 0.1 %"},
		{written{front, budget + "stop: {hypervolume: {improvement: 1%}}", `stop.hypervolume: "window" is missing`, ""}, 0, 0, 0, ""},
		{written{front, budget + "stop: {hypervolume: {window: 4, improvement: little}}", "it must be a number", ""}, 0, 0, 0, ""},
		{written{front, budget + "stop: {gain: 0%}", "stop.gain: 0 is too small", ""}, 0, 0, 0, ""},
		{written{front, budget + "stop: {gain: 1%}\npolicy: sobol", "11:14: stop.gain: sobol expects no gain", "lognehvi"}, 0, 0, 0, ""},
		{written{ratio, budget + "stop: {gain: 1%}", "11:14: stop.gain: without a trade-off there is no front", "write window"}, 0, 0, 0, ""},
		{written{one, budget + "stop: {hypervolume: {window: 4}}", "stop.hypervolume: without a trade-off there is no front", "write window"}, 0, 0, 0, ""},
	} {
		def := c.check(t)
		if c.fault != "" {
			continue
		}
		number := func(x *float64) float64 {
			if x == nil {
				return 0
			}
			return *x
		}
		s := def.Stop
		if s.Hypervolume.Window != c.window || number(s.Hypervolume.Improvement) != c.improvement || number(s.Gain) != c.gain {
			t.Errorf("%s: %+v", c.further, s)
		}
		if said := Explain(t.Context(), builtin.Registry(), def); !strings.Contains(said, c.says) {
			t.Errorf("%s is explained as\n%s", c.further, said)
		}
	}
	share := written{one, budget + "stop: {window: 4, improvement: 5%}", "", ""}.check(t)
	if share.Stop.Improvement == nil || *share.Stop.Improvement != 0.05 {
		t.Errorf("the improvement of one value: %+v", share.Stop)
	}
}

// Law: a noise in per cent is a part of each value, of a quantity and of an objective that is
// written out, and is explained as that; two of it are refused.
func TestNoiseInPerCent(t *testing.T) {
	noise := func(of, text string) (definition.Campaign, error) {
		file := strings.Replace(fileOf(one, "budget: {experiments: 9}"), of, of+", "+text, 1)
		f, err := Parse(builtin.Registry(), "f.yaml", []byte(file))
		if err != nil {
			return definition.Campaign{}, err
		}
		return f.Definition, nil
	}
	def, err := noise("unit: mPa·s", "noise: 2%")
	if err != nil {
		t.Fatal(err)
	}
	q := def.Quantities[1]
	if q.Noise != nil || q.RelativeNoise == nil || *q.RelativeNoise != 0.02 {
		t.Errorf("2%% of a quantity is %v, %v", q.Noise, q.RelativeNoise)
	}
	if said := Explain(t.Context(), builtin.Registry(), def); !strings.Contains(said, "viscosity (mPa·s): modelled by its logarithm, with a known standard deviation of 2 % of each value") {
		t.Errorf("it is explained as\n%s", said)
	}
	if def, err = noise("unit: mPa·s", "noise: 2"); err != nil || *def.Quantities[1].Noise != 2 || def.Quantities[1].RelativeNoise != nil {
		t.Errorf("2 is %+v, %v", def.Quantities[1], err)
	}
	if _, err = noise("unit: mPa·s", "noise: 2%, relative_noise: 0.1"); err == nil || !strings.Contains(err.Error(), "quantities[1].noise: there are two of it") {
		t.Errorf("two: %v", err)
	}
	if _, err = noise("name: price, unit: EUR/kg", "noise: 2%"); err == nil || !strings.Contains(err.Error(), "never measured") {
		t.Errorf("of a price: %v", err)
	}
	sole := parsed(t, strings.Replace(minimal, "goal: minimize", "goal: minimize, noise: 1.5 %", 1)+"instrument: manual\n")
	if o := sole.Sought(); o.RelativeNoise == nil || *o.RelativeNoise != 0.015 {
		t.Errorf("of an objective it is %v", o.RelativeNoise)
	}
	if said := objectiveText(sole); !strings.Contains(said, "one measurement has a known standard deviation of 1.5 % of its value") {
		t.Errorf("it is explained as %q", said)
	}
}

// Law: a cost is a formula of parameters or one quantity, in its unit, and is explained; what
// cannot be known, is never a cost, or cannot be weighed by the policy is refused at its place. A
// budget of cost needs one, which it has room for. All of it can be amended.
func TestCosts(t *testing.T) {
	const budget = "budget: {experiments: 9, cost: 80}\ncost: "
	for _, c := range []struct {
		written
		cost definition.Cost
		says string
	}{
		{written{one, budget + "{of: 2+0.5*x, unit: h}", "", ""}, definition.Cost{Of: "2 + 0.5*x", Unit: "h"},
			"costs        an experiment costs 2 + 0.5*x h; cheap ones come first"},
		{written{front, budget + "viscosity", "", ""}, definition.Cost{Of: "viscosity", Unit: "mPa·s"}, "an experiment costs its viscosity, as measured"},
		{written{front, budget + "price", "", ""}, definition.Cost{Of: "price", Unit: "EUR/kg"}, "an experiment costs price EUR/kg"},
		{written{one, "budget: {experiments: 9}\ncost: x", "", ""}, definition.Cost{Of: "x"}, "of two that promise as much the cheaper one comes first"},
		{written{one, budget + "x\npolicy: sobol", "", ""}, definition.Cost{Of: "x"}, "the choice is made without it"},
		{written{one, budget + "x\npolicy: lcb", "12:9: policy.next: lcb is not a logarithm", "write lognei"}, definition.Cost{}, ""},
		{written{one, budget + "conductivity", "11:7: cost.of: conductivity is not modelled by its logarithm", "scale: log"}, definition.Cost{}, ""},
		{written{one, budget + "2*viscosity", "cost.of: viscosity is a quantity", "one declared quantity"}, definition.Cost{}, ""},
		{written{one, budget + "{of: viscosity, unit: h}", `11:29: cost.unit: viscosity is in "mPa·s"`, "leave unit out"}, definition.Cost{}, ""},
		{written{one, budget + "time", "cost.of: time is neither a parameter nor a quantity", "numeric parameter"}, definition.Cost{}, ""},
		{written{one, budget + "salt", "cost.of: salt is not a number", "leave it out"}, definition.Cost{}, ""},
		{written{one, budget + "x - 3", "cost.of: it is never greater than 0", "correct it"}, definition.Cost{}, ""},
		{written{one, budget + "100*x", "10:32: budget.cost: no experiment costs as little as 80", "raise"}, definition.Cost{}, ""},
		{written{one, budget + "2 +", "cost.of: column 4", ""}, definition.Cost{}, ""},
		{written{one, "budget: {experiments: 9, cost: 80}", "10:32: budget.cost: it does not say what an experiment costs", "add it: cost:"}, definition.Cost{}, ""},
		{written{one, "budget: {experiments: 9, cost: 0}\ncost: x", "budget.cost: 0 is too small", ""}, definition.Cost{}, ""},
	} {
		def := c.check(t)
		if c.fault != "" {
			continue
		}
		if def.Cost != c.cost {
			t.Errorf("%s: %+v", c.further, def.Cost)
		}
		if said := Explain(t.Context(), builtin.Registry(), def); !strings.Contains(said, c.says) {
			t.Errorf("%s is explained as\n%s", c.further, said)
		}
	}
	before := written{one, "budget: {experiments: 9}", "", ""}.check(t)
	after := written{one, budget + "{of: x, unit: h}", "", ""}.check(t)
	var places []string
	changes, err := Amend(builtin.Registry(), before, after)
	for _, c := range changes {
		places = append(places, c.Path)
	}
	if want := []string{"/budget/cost", "/cost"}; err != nil || !reflect.DeepEqual(places, want) {
		t.Errorf("the amendment is %q, %v", places, err)
	}
}
