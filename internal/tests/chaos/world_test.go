package chaos

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/adapters/humans/web"
	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/direct"
)

// World is a campaign and the temperaments of all who take part in it. It
// follows from its seed.
type World struct {
	Seed       uint64
	Definition definition.Campaign
	// Experts holds how each expert behaves, by name.
	Experts  map[string]Temper
	Operator Temper
	Device   Temperament
	// ByHand: there is no device, people run what is suggested and tell.
	ByHand bool
	// Kills is the probability that a life of the program ends by being killed.
	Kills float64
	// Upgrades: each life may be one of another build, and some carry an epoch. Traced:
	// events belong to a trace. Loses is the probability that a look at the lease of the
	// device finds it lost.
	Upgrades, Traced bool
	Loses            float64
}

// Temper is how a person behaves.
type Temper string

const (
	Prompt        Temper = "prompt"        // answers within minutes
	Absent        Temper = "absent"        // never answers
	Late          Temper = "late"          // answers when the question has expired
	Careless      Temper = "careless"      // answers what was not asked, and mistypes
	Contradictory Temper = "contradictory" // answers, and then says the opposite
	Undecided     Temper = "undecided"     // can't tell
	Broken        Temper = "broken"        // cannot be asked: the channel fails

	Busy Temper = "busy" // of the operator alone: asks for everything, all the time
)

var tempers = []Temper{Prompt, Absent, Late, Careless, Contradictory, Undecided, Broken}

// Temperament is how a device behaves: probabilities for each command, or for
// each time it is asked.
type Temperament struct {
	// Forgets: it loses its memory when the program is killed. Denies: what it
	// does not remember it says was never started, in place of unknown.
	Forgets, Denies bool
	// Mute: it cannot say what became of a command.
	Mute bool
	// Unconfirmed is the probability that it acts and the confirmation is lost,
	// Slow that it takes longer than the campaign waits, Off that it goes out of
	// reach for hours, Lies that a result is not what the campaign asked for.
	Unconfirmed, Slow, Off, Lies float64
	// Fails is the probability of an honest outcome other than a measurement.
	Fails    float64
	Capacity int
}

// Draw returns the world of a seed, whose campaign follows a method.
func Draw(seed uint64, method policies.Method) World {
	w := World{Seed: seed, Experts: make(map[string]Temper)}
	r := w.chance("world")
	def := definition.Campaign{
		Name: method.Name, Seed: 1 + r.Uint64N(1000), Policy: method.Policy,
		Objective: definition.Objective{
			Name: "yield", Unit: "%", Goal: definition.Maximize, Min: number(-500), Max: number(200),
		},
		Parallel: 1,
	}
	w.space(&def, r)
	if !method.Policy.Measures() {
		def.Budget.Comparisons = 6 + r.IntN(6)
		def.Initial.Comparisons = count(2 + r.IntN(3))
	} else {
		def.Budget.Experiments = 6 + r.IntN(5)
		def.Initial.Experiments = count(2)
		def.Initial.Labels = count(r.IntN(4))
		def.Initial.Comparisons = count(r.IntN(4))
		def.Instrument.Driver = process.Choose(process.Settings{Command: []string{"device"}})
		def.Parallel = 1 + r.IntN(3)
		if r.IntN(4) == 0 {
			def.Replicates = 2
		}
		if w.ByHand = r.IntN(5) == 0; w.ByHand {
			def.Instrument = definition.Instrument{Driver: manual.Choose(manual.Settings{})}
		}
	}
	for i := range []int{1, 1, 2, 3}[r.IntN(4)] {
		name := []string{"ada", "bob", "eve"}[i]
		expert := definition.Expert{
			Name: name, Channel: terminal.Choose(terminal.Settings{}),
			AnswerWithin: definition.Duration(30 * time.Minute),
		}
		if r.IntN(4) == 0 && !method.Policy.Measures() {
			expert.AnswerWithin = 0
		}
		def.Experts = append(def.Experts, expert)
		w.Experts[name] = tempers[r.IntN(len(tempers))]
	}
	if needsNobody(method.Policy) && r.IntN(2) == 0 {
		def.Experts, w.Experts = nil, nil
	}
	if r := w.chance("estimates"); method.Policy.Measures() && len(def.Experts) > 0 && r.IntN(2) == 0 {
		def.Initial.Estimates, def.Initial.Marks = count(2+r.IntN(6)), r.IntN(2) == 0
	}
	if r := w.chance("quantities"); method.Policy.Measures() && r.IntN(2) == 0 {
		def.Quantities = append(def.Quantities, definition.QuantityDef{Name: "viscosity", Unit: "mPa·s", Scale: definition.ScaleLog})
		if r.IntN(2) == 0 {
			def.Quantities = append(def.Quantities, definition.QuantityDef{Name: "ph", Min: number(0), Max: number(14)})
		}
	}
	if r := w.chance("later"); method.Policy.Measures() && r.IntN(3) == 0 {
		q := definition.QuantityDef{Name: "capacity", Unit: "mAh", Arrives: definition.ArrivesLater, Min: number(0), Record: r.IntN(3) == 0}
		q.AnswerWithin = definition.Duration(time.Duration(1+r.IntN(72)) * time.Hour)
		def.Quantities = append(def.Quantities, q)
	}
	if r := w.chance("stocks"); method.Policy.Measures() && !w.ByHand && r.IntN(3) == 0 {
		def.Stocks = map[string]definition.Stock{"tips": {Labels: rack(0)}, "water": {Amount: "20 mL"}}
		def.Instrument.Draws = map[string]definition.Draw{"tips": definition.Draw(fmt.Sprint(1 + r.IntN(3))), "water": "3.3 mL"}
	}
	w.outcomes(&def, method)
	if def.Experts == nil {
		w.Experts = nil
	}
	w.Definition = campaignfile.Complete(builtin.Registry(), w.columns(def))
	w.Operator = []Temper{Prompt, Absent, Careless, Contradictory}[r.IntN(4)]
	some := func(p float64) float64 {
		if r.IntN(2) == 0 {
			return 0
		}
		return p * r.Float64()
	}
	w.Device = Temperament{
		Forgets: r.IntN(2) == 0, Denies: r.IntN(2) == 0, Mute: r.IntN(4) == 0,
		Unconfirmed: some(0.4), Slow: some(0.3), Off: some(0.3), Lies: some(0.5), Fails: some(0.5),
		Capacity: 1 + r.IntN(3),
	}
	w.Kills = []float64{0, 0.5, 1}[r.IntN(3)]
	return w
}

// DrawAsked returns the world of a seed in which people ask for everything that can be asked for.
func DrawAsked(seed uint64, method policies.Method) World {
	w := Draw(seed, method)
	r := w.chance("asked")
	w.Operator = Busy
	w.Upgrades, w.Traced = r.IntN(2) == 0, r.IntN(2) == 0
	if r.IntN(3) == 0 {
		w.Loses = 2e-4 // it is looked at every five seconds
	}
	def := w.Definition
	for i := range def.Experts {
		e := &def.Experts[i]
		if r.IntN(3) == 0 {
			e.Channel = web.Choose(web.Settings{})
		}
		if r.IntN(2) == 0 { // as long as the definition has it for such a channel
			e.AnswerWithin, e.Meanwhile = 0, nil
		}
		if method.Form == events.FormPinpoint { // it is left to others to answer
			w.Experts[e.Name], e.AnswerWithin = Absent, definition.Duration(20*time.Hour)
		}
	}
	w.Definition = campaignfile.Complete(builtin.Registry(), w.columns(def))
	return w
}

// needsNobody reports whether a policy makes its choices without experts.
func needsNobody(p definition.Policy) bool {
	return p.Trust.Name == policies.None && p.Handover.Name == policies.Never &&
		p.Next.Name != direct.PriorName && p.Next.Name != direct.ManualName
}

// space gives the campaign one of several small spaces.
func (w World) space(def *definition.Campaign, r *rand.Rand) {
	x := definition.Parameter{Name: "x", Unit: "mol/kg", Min: number(0), Max: number(2)}
	y := definition.Parameter{Name: "y", Min: number(0), Max: number(1)}
	switch r.IntN(4) {
	case 0: // a mixture
		x.Max = number(1)
		def.Parameters = []definition.Parameter{x, y, {Name: "z", Min: number(0), Max: number(1)}}
		terms := map[string]float64{"x": 1, "y": 1, "z": 1}
		def.Constraints = []definition.Constraint{{Name: "sum", Terms: terms, Equals: number(1)}}
	case 1: // a grid
		def.Parameters = []definition.Parameter{
			{Name: "x", Values: []float64{0, 0.5, 1, 1.5, 2}},
			{Name: "y", Values: []float64{0, 1}},
		}
	case 2: // a category
		salts := []definition.CategoryDef{{Name: "LiPF6"}, {Name: "LiFSI"}, {Name: "LiTFSI"}}
		def.Parameters = []definition.Parameter{x, {Name: "y", Categories: salts}}
	default:
		def.Parameters = []definition.Parameter{x, y}
	}
}

// chance is a source of randomness for one purpose: whoever draws first, it
// gives the same.
func (w World) chance(purpose ...any) *rand.Rand {
	hash := fnv.New64a()
	fmt.Fprintln(hash, purpose...)
	return rand.New(rand.NewPCG(w.Seed, hash.Sum64()))
}

// String says how everybody behaves.
func (w World) String() string {
	return fmt.Sprintf("seed %d, %s: experts %v, operator %s, device %+v, by hand %t, kills %g",
		w.Seed, w.Definition.Name, w.Experts, w.Operator, w.Device, w.ByHand, w.Kills)
}

// rack is a list of labels like that of no other number.
func rack(n int) string {
	name := strings.Map(func(digit rune) rune { return digit - '0' + 'a' }, fmt.Sprint(n))
	return fmt.Sprintf("%s1-%s8", name, name)
}

func number(x float64) *float64 { return &x }
func count(n int) *int          { return &n }

// columns asks experts for single quantities, in some of the worlds where decisions rest on several.
func (w *World) columns(def definition.Campaign) definition.Campaign {
	if r := w.chance("columns"); len(def.Experts) == 0 || r.IntN(3) == 0 {
		return def
	}
	asked := def
	asked.Experts = slices.Clone(def.Experts)
	asked.Initial.Marks = false
	var names []string
	for _, q := range asked.Declared() {
		names = append(names, q.Name)
	}
	for ; len(names) > 0; names = names[:len(names)-1] {
		for i := range asked.Experts {
			asked.Experts[i].Quantities = names
		}
		if len(campaignfile.Validate(builtin.Registry(), campaignfile.Complete(builtin.Registry(), asked))) == 0 {
			return asked
		}
	}
	return def
}
