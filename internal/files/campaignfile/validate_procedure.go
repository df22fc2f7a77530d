package campaignfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// procedure checks the stages, the instruments that they are carried out at, batches and places.
func (v *validator) procedure() {
	def := &v.def
	switch {
	case len(def.Procedure) == 0 && len(def.Instruments) == 0:
		for _, part := range []struct {
			name  string
			there bool
		}{{"batch", !def.Batch.IsZero()}, {"places", len(def.Places) > 0}} {
			if part.there {
				v.report(at(part.name), "it belongs to a procedure", "add procedure: and instruments:, or leave it out")
			}
		}
		v.instrument()
		return
	case !def.Instrument.IsZero():
		v.report(at("instrument"), "a procedure has instruments with names, and no other",
			"write it under instruments: with a name, or leave instruments and procedure out")
		return
	case len(def.Procedure) == 0:
		v.report(at("instruments"), "no procedure uses them",
			"write the stages at each: procedure: {measure: {on: "+sortedKeys(def.Instruments)[0]+", gives: …}}, or write one as instrument:")
		return
	case len(def.Instruments) == 0:
		v.report(at("procedure"), "there are no instruments",
			"name those of its stages: instruments: {doser: {lab: doser}}")
		return
	}
	v.instruments()
	v.batch()
	v.stages()
	v.gives()
	if v.order(); v.flow != nil {
		v.places()
	}
}

// instruments checks each of several.
func (v *validator) instruments() {
	used := make(map[string]bool)
	for _, s := range v.def.Procedure {
		used[s.On] = true
	}
	for _, name := range sortedKeys(v.def.Instruments) {
		here := definition.PathOf(name)
		in := v.def.Instruments[name]
		driver, _ := v.reg.Driver(in.Driver.Name)
		switch {
		case !quantityName.MatchString(strings.ReplaceAll(name, "-", "_")):
			v.report(here, fmt.Sprintf("%q is not a name", name),
				"begin with a letter, and go on with letters, digits, dashes and underscores")
		case !used[name] && !used[""]: // a stage without an instrument has its own fault
			v.report(here, "no stage is carried out at it", fmt.Sprintf("write on: %s in a stage, or leave it out", name))
		case driver.Listed:
			v.report(here.To(in.Driver.Name), "it measures only the compositions that it lists",
				"it is for campaigns without a procedure")
		}
		if len(in.Draws) > 0 {
			v.report(here.To("draws"), "draws belong to the stage",
				"write draws: there, and draws: {} here where lab.yaml says them")
		}
		v.instrumentOf(name)
	}
}

// batch checks the number of experiments that go together.
func (v *validator) batch() {
	b, here := v.def.Batch, at("batch")
	switch {
	case b.Size() > v.def.Parallel:
		v.report(here.To("of"),
			fmt.Sprintf("a batch of %d needs as many experiments at once, and parallel is %d", b.Of, v.def.Parallel),
			fmt.Sprintf("write parallel: %d, or more, or leave it out", b.Of))
	case b.AtLeast > b.Size():
		v.report(here.To("at_least"), fmt.Sprintf("%d are more than the %d of a batch", b.AtLeast, b.Size()),
			"lower it, or raise of")
	case b.AtLeast == 0 && b.Within > 0:
		v.report(here.To("within"), "it does not say how many suffice then", "add at_least: 1, or leave within out")
	case b.AtLeast > 0 && b.Within == 0:
		v.report(here.To("at_least"), "it does not say how long the others are waited for",
			"add within: 30m, or leave at_least out")
	}
}

// stages checks each stage by itself. Fields of stages that are always performed are few: such a
// stage is performed whatever became of the experiments, at the end of the batch.
func (v *validator) stages() {
	for i := range v.def.Procedure {
		s, here := &v.def.Procedure[i], at("procedure", i)
		if v.def.Stage(s.Name) != s {
			v.report(here.To("name"), fmt.Sprintf("another stage is called %q too", s.Name),
				"give each stage a name of its own")
		}
		if _, known := v.def.Instruments[s.On]; !known {
			v.report(here.To("on"), fmt.Sprintf("unknown instrument %q", s.On),
				yamltree.Suggest(s.On, sortedKeys(v.def.Instruments)))
		}
		if s.Tries > 0 && !s.Repeatable {
			v.report(here.To("tries"), "nothing is tried again that is not repeatable",
				"add repeatable: true where that does no harm, or leave tries out")
		}
		v.sent(here, s)
		if s.Always {
			v.always(here, s)
		}
		for _, place := range []struct{ key, name string }{{"holds", s.Holds}, {"frees", s.Frees}} {
			switch {
			case place.name == "":
			case v.def.Batch.Size() > 1 && !s.Together:
				v.report(here.To(place.key), "a batch is in a place as a whole, and this stage takes its experiments one by one",
					"add together: true")
			case v.placeAt(place.name) < 0:
				remedy := fmt.Sprintf("declare it: places: [%s]", place.name)
				if len(v.def.Places) > 0 {
					remedy = yamltree.Suggest(place.name, placeNames(&v.def))
				}
				v.report(here.To(place.key), fmt.Sprintf("place %q is not declared", place.name), remedy)
			}
		}
	}
}

// sent checks what the instrument of a stage is sent.
func (v *validator) sent(here path, s *definition.Stage) {
	for k, name := range s.Parameters {
		switch {
		case parameterOf(&v.def, name) == nil:
			v.report(here.To("parameters", k), fmt.Sprintf("unknown parameter %q", name),
				yamltree.Suggest(name, namesOf(&v.def, anyKind)))
		case slices.Contains(s.Parameters[:k], name):
			v.report(here.To("parameters", k), fmt.Sprintf("%s stands here twice", name), "remove one of them")
		}
	}
	for _, name := range sortedKeys(s.Set) {
		if parameterOf(&v.def, name) != nil {
			v.report(here.To("set", name), fmt.Sprintf("%s is a parameter, which the campaign varies", name),
				"leave it out here")
		}
	}
}

// always checks a stage that is performed for each batch, whatever became of its experiments.
func (v *validator) always(here path, s *definition.Stage) {
	report := func(problem, advice string, steps ...any) {
		v.report(here.To(steps...), "a stage that is always performed "+problem, advice)
	}
	if len(s.Gives) > 0 {
		report("measures nothing: it comes after experiments that have failed, too", "leave gives or always out", "gives")
	}
	if s.Holds != "" {
		report("is the last of its batch, and nothing would free the place", "leave holds or always out", "holds")
	}
	if s.Frees != "" {
		report("comes also where nothing is in the place", "free it by a stage of its own, or leave always out", "frees")
	}
	if len(s.After) == 0 {
		v.report(here, "it does not say what it comes after", "add after: and the last stages, as in after: [measure]")
	}
	for k, e := range s.After {
		if e.From > 0 || e.Until > 0 {
			report("waits for no time: an experiment may have failed before "+e.Stage,
				fmt.Sprintf("write %s without a time", e.Stage), "after", k)
		}
	}
	for _, name := range sortedKeys(s.Draws) {
		if v.def.Stocks[name].Labels != "" {
			report("uses up no labels, which belong to experiments", "draw an amount, or leave always out", "draws", name)
		}
	}
}

// gives checks that each quantity is given by exactly one stage. One that arrives later can be
// entered by people.
func (v *validator) gives() {
	by := make(map[string]string)
	names := v.def.DeclaredNames()
	for i, s := range v.def.Procedure {
		for k, name := range s.Gives {
			here := at("procedure", i, "gives", k)
			q := v.def.Quantity(name)
			switch {
			case q != nil && q.From != "":
				v.report(here, fmt.Sprintf("%s follows from the parameters and is not measured", name), "leave it out")
			case !slices.Contains(names, name):
				remedy := yamltree.Suggest(name, names)
				if len(v.def.Quantities) == 0 && len(names) < 2 {
					remedy = "declare it, and the objective: quantities: [{name: " + name + "}, …]"
				}
				v.report(here, fmt.Sprintf("quantity %q is not declared", name), remedy)
			case by[name] != "":
				v.report(here, fmt.Sprintf("%s is given by %s already", name, by[name]),
					"leave one of them out, or give the second a name of its own")
			}
			by[name] = s.Name
		}
	}
	for _, q := range v.def.Declared() {
		if by[q.Name] == "" && !q.Later() {
			v.report(at("procedure"), fmt.Sprintf("no stage gives %s", q.Name),
				fmt.Sprintf("write gives: [%s] in the stage that measures it", q.Name))
		}
	}
}

// order checks what the stages come after. Without a fault v.flow is set.
func (v *validator) order() {
	before := len(v.faults)
	for i := range v.def.Procedure {
		s := &v.def.Procedure[i]
		for k, e := range s.After {
			here, other := at("procedure", i, "after", k), v.def.Stage(e.Stage)
			twice := func(f definition.Edge) bool { return f.Stage == e.Stage }
			switch {
			case e.Stage == s.Name:
				v.report(here, "it comes after itself", "leave it out")
			case other == nil:
				v.report(here, fmt.Sprintf("unknown stage %q", e.Stage), yamltree.Suggest(e.Stage, stageNames(&v.def)))
			case slices.ContainsFunc(s.After[:k], twice):
				v.report(here, fmt.Sprintf("%s stands here twice", e.Stage), "remove one of them")
			case other.Always:
				v.report(here,
					fmt.Sprintf("%s is always performed, at the end of its batch, and nothing comes after it", e.Stage),
					"let it come after "+s.Name+", or leave always out there")
			case e.Until > 0 && e.From > e.Until:
				v.report(here, fmt.Sprintf("%s after %s it is too late already", e.From, e.Stage),
					fmt.Sprintf("exchange them: %s..%s", e.Until, e.From))
			}
		}
	}
	if len(v.faults) > before {
		return
	}
	flow := newFlow(&v.def)
	if circle := flow.circle(); circle != nil {
		i := circle[0]
		k := slices.Index(flow.after[i], circle[1]) // none waits for itself
		var names []string
		for _, j := range append(circle, i) {
			names = append(names, v.def.Procedure[j].Name)
		}
		v.report(at("procedure", i, "after", k), "the stages wait for one another: "+strings.Join(names, ", then "),
			"leave one of these out of after:")
		return
	}
	v.flow = flow
}

// places checks that each place that is held is freed, and that no two batches can wait for one another: a
// batch that holds a place takes only later ones of the list.
func (v *validator) places() {
	names := make(map[string]bool)
	for i, p := range v.def.Places {
		if names[p.Name] {
			v.report(at("places", i), fmt.Sprintf("place %q stands here twice", p.Name), "write it once, with its room")
		}
		if _, both := v.def.Instruments[p.Name]; both {
			v.report(at("places", i), fmt.Sprintf("an instrument is called %q too", p.Name), "give one of them another name")
		}
		if p.Lab != "" && p.Room != 0 {
			v.report(at("places", i, "room"), "the lab says for how many batches its place has room",
				"leave it out, and set it in lab.yaml")
		}
		names[p.Name] = true
	}
	var stays []stay
	for _, place := range v.def.Places {
		stays = append(stays, v.stays(place.Name)...)
	}
	for _, s := range stays {
		for _, other := range stays {
			if other.place == s.place || v.placeAt(other.place) < v.placeAt(s.place) ||
				v.flow.before(s.from, other.from) || v.flow.before(other.to, s.from) {
				continue
			}
			here := at("procedure", s.from, "holds")
			v.report(here,
				fmt.Sprintf("the batch may be in %s then, since %s, and places has %s before it: batches could wait for one another",
					other.place, v.def.Procedure[other.from].Name, s.place),
				fmt.Sprintf("write places: […, %s, %s], or free %s before", other.place, s.place, other.place))
		}
	}
}

// stay is the time that a batch is in a place: from one stage, which holds it, to one that frees it.
type stay struct {
	place    string
	from, to int
}

// stays returns how a place is held and freed: one after the other, in the order of the stages.
func (v *validator) stays(place string) (stays []stay) {
	held := -1
	previous := -1
	for _, i := range v.flow.order {
		s := &v.def.Procedure[i]
		here := at("procedure", i)
		if s.Always || s.Holds != place && s.Frees != place {
			continue
		}
		switch {
		case s.Holds == place && s.Frees == place:
			v.report(here.To("frees"), "it holds and frees the same place", "keep one of them")
			return nil
		case previous >= 0 && !v.flow.before(previous, i):
			v.report(here,
				fmt.Sprintf("whether the batch is in %s is open: it does not come after %s", place, v.def.Procedure[previous].Name),
				fmt.Sprintf("add %s to its after:", v.def.Procedure[previous].Name))
			return nil
		case s.Holds == place && held >= 0:
			v.report(here.To("holds"), fmt.Sprintf("the batch is in %s already, since %s", place, v.def.Procedure[held].Name),
				"free it before, or leave this one out")
			return nil
		case s.Holds == place:
			held = i
		case held < 0:
			v.report(here.To("frees"), fmt.Sprintf("the batch is not in %s: no stage before holds it", place),
				fmt.Sprintf("write holds: %s in the stage that puts it there", place))
			return nil
		default:
			stays = append(stays, stay{place, held, i})
			held = -1
		}
		previous = i
	}
	if held >= 0 {
		v.report(at("procedure", held, "holds"), fmt.Sprintf("no stage after it frees %s", place),
			fmt.Sprintf("write frees: %s in the stage that takes the batch out", place))
	}
	return stays
}

// placeAt is the position of a place in the list, -1 for one that is not there.
func (v *validator) placeAt(name string) int { return slices.Index(placeNames(&v.def), name) }

func placeNames(def *definition.Campaign) (names []string) {
	for _, p := range def.Places {
		names = append(names, p.Name)
	}
	return names
}

func stageNames(def *definition.Campaign) (names []string) {
	for _, s := range def.Procedure {
		names = append(names, s.Name)
	}
	return names
}

// flow is the order of stages, by their indices.
type flow struct {
	after [][]int  // those that each comes directly after
	order []int    // each behind those that it comes after; without those in or behind a circle
	all   [][]bool // whether each comes after another; nil for those in or behind a circle
}

// newFlow reads the order of stages. All names in it are known.
func newFlow(def *definition.Campaign) *flow {
	n := len(def.Procedure)
	f := &flow{after: make([][]int, n), all: make([][]bool, n)}
	names := stageNames(def)
	for i, s := range def.Procedure {
		for _, e := range s.After {
			f.after[i] = append(f.after[i], slices.Index(names, e.Stage))
		}
	}
	waits := func(i int) bool {
		return slices.ContainsFunc(f.after[i], func(j int) bool { return f.all[j] == nil })
	}
	for more := true; more; {
		more = false
		for i := range n {
			if f.all[i] != nil || waits(i) {
				continue
			}
			more = true
			f.order = append(f.order, i)
			f.all[i] = make([]bool, n)
			for _, j := range f.after[i] {
				f.all[i][j] = true
				for k, is := range f.all[j] {
					f.all[i][k] = f.all[i][k] || is
				}
			}
		}
	}
	return f
}

// before reports whether a stage has ended before another one can begin.
func (f *flow) before(i, j int) bool { return f.all[j][i] }

// circle returns stages that wait for one another, each for the one behind it; nil for none.
func (f *flow) circle() []int {
	i := slices.IndexFunc(f.all, func(before []bool) bool { return before == nil })
	if i < 0 {
		return nil
	}
	var way []int
	for {
		if k := slices.Index(way, i); k >= 0 {
			return way[k:]
		}
		way = append(way, i)
		// one of those that it waits for is in or behind a circle as well
		i = f.after[i][slices.IndexFunc(f.after[i], func(j int) bool { return f.all[j] == nil })]
	}
}
