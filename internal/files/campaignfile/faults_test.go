package campaignfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/policies"
)

// Law: an amendment that is allowed and leaves a campaign that cannot be run is refused, however
// little it changes.
func TestUnsoundAmendment(t *testing.T) {
	from := example(t, "electrolyte.yaml")
	from.Objective.Max = new(20.0)
	for name, amend := range map[string]func(*definition.Campaign){
		"one change": func(def *definition.Campaign) { def.Stop = definition.Stop{Target: new(1000.0)} },
		"two changes": func(def *definition.Campaign) {
			def.Stop = definition.Stop{Target: new(1000.0)}
			def.Budget.Experiments++
		},
	} {
		to := from
		amend(&to)
		changes, err := Amend(builtin.Registry(), from, to)
		var refused *AmendError
		if !errors.As(err, &refused) || changes != nil || refused.Refused[0].Place != "stop.target" {
			t.Errorf("%s: %v, %v", name, changes, err)
		}
	}
}

// Law: what a campaign begins without is not given to it later, and is named by its place.
func TestAdditions(t *testing.T) {
	from := parsed(t, running)
	for place, add := range map[string]func(*definition.Campaign){
		"parameters[7]": func(def *definition.Campaign) {
			def.Parameters = append(slices.Clone(def.Parameters), definition.Parameter{Name: "more", Min: new(0.0), Max: new(1.0)})
		},
		"constraints[1]": func(def *definition.Campaign) {
			def.Constraints = append(slices.Clone(def.Constraints), definition.Constraint{Name: "more", Terms: map[string]float64{"ec": 1}, AtMost: new(0.5)})
		},
		"experts[1]": func(def *definition.Campaign) {
			def.Experts = append(slices.Clone(def.Experts), definition.Expert{Name: "bo", Channel: def.Experts[0].Channel})
		},
	} {
		to := from
		add(&to)
		_, err := Amend(builtin.Registry(), from, to)
		var refused *AmendError
		if !errors.As(err, &refused) || refused.Refused[0].Place != place {
			t.Errorf("%s: %v", place, err)
		}
	}
}

// Law: of a tree what is at a path is found, and nothing where the path leads out of it.
func TestUnder(t *testing.T) {
	leaf := map[string]any{"x": 1.0}
	tree := map[string]any{"list": []any{map[string]any{}, leaf}, "object": map[string]any{"a": leaf}, "text": "x"}
	for path, want := range map[string]map[string]any{
		"list/1": leaf, "object/a": leaf, "list/0": {}, "list/2": nil, "list/-1": nil, "list/x": nil, "list/99": nil,
		"object/b": nil, "text": nil, "nothing": nil, "nothing/0": nil,
	} {
		if got := under(tree, strings.Split(path, "/")); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// Law: a file changes what it says otherwise than before; lists of the same length are merged entry
// by entry, and of another length the file's is taken, whichever of the three it is.
func TestMergeOfLists(t *testing.T) {
	list := func(n int, from int) []any {
		var all []any
		for i := range n {
			all = append(all, float64(from+i))
		}
		return all
	}
	for before := range 4 {
		for after := range 4 {
			for recorded := range 4 {
				b, a, r := list(before, 10), list(after, 10), list(recorded, 20)
				if after > 0 {
					a[after-1] = 99.0
				}
				want := a
				switch {
				case reflect.DeepEqual(b, a):
					want = r
				case before == after && after == recorded:
					want = append(slices.Clone(r[:after-1]), 99.0)
				}
				if got := merge(b, a, r); !reflect.DeepEqual(got, any(want)) {
					t.Errorf("%v, %v and %v are %v, want %v", b, a, r, got, want)
				}
			}
		}
	}
}

// Law: what results are plausible is explained as the file says it: between two bounds, below or
// above one, or nothing.
func TestExplainsPlausibleResults(t *testing.T) {
	for _, c := range []struct {
		min, max *float64
		want     string
	}{
		{nil, nil, ""},
		{new(3.0), nil, "a result below 3 mS/cm is refused"},
		{nil, new(7.0), "a result above 7 mS/cm is refused"},
		{new(3.0), new(7.0), "a result outside 3 to 7 mS/cm is refused"},
	} {
		def := definition.Campaign{Objective: definition.Objective{Name: "y", Unit: "mS/cm", Min: c.min, Max: c.max}}
		text := objectiveText(def)
		if n := strings.Count(text, "a result"); n != min(1, len(c.want)) || !strings.Contains(text, c.want) {
			t.Errorf("%q, want %q", text, c.want)
		}
	}
}

// Law: the name of a method is explained where a policy is written, and is a key like any other
// elsewhere.
func TestMethodInAnotherPlace(t *testing.T) {
	for text, isPolicy := range map[string]bool{
		"policy: {cobol: {}}": true, "model: {cobol: {}}": false, "initial: {cobol: 3}": false,
	} {
		_, err := Parse(builtin.Registry(), "x.yaml", []byte(minimal+"instrument: manual\n"+text+"\n"))
		if err == nil || strings.Contains(err.Error(), "write policy: cobol") != isPolicy {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Law: a schema names each method once: those that it has, and those of the program that it has not.
func TestMethodsOnce(t *testing.T) {
	schema := map[string]any{"$defs": map[string]any{"Policy": map[string]any{"anyOf": []any{
		map[string]any{}, map[string]any{"enum": []any{"a", "b"}},
	}}}}
	addMethods(schema, []policies.Method{{Name: "b"}, {Name: "c"}, {Name: "a"}, {Name: "c"}})
	if got := methodNames(schema); !slices.Equal(got, []string{"a", "b", "c", "c"}) && !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("it names %v", got)
	}
}

// Law: an expert's time is enough for what they are asked at first, each composition counted, those of
// comparisons twice; a second less is a fault. Only of people labels are asked.
func TestTimeForWhatComesFirst(t *testing.T) {
	const each = 10
	for _, c := range []struct {
		estimates, labels, comparisons int
		person                         bool
		compositions                   int
	}{
		{3, 0, 0, true, 3}, {0, 4, 0, true, 4}, {0, 0, 5, true, 10}, {3, 4, 5, true, 17},
		{0, 4, 0, false, 0}, {0, 0, 5, false, 0}, {3, 4, 5, false, 3},
	} {
		for _, short := range []int{0, 1} {
			def := example(t, "electrolyte.yaml")
			def.Initial.Estimates, def.Initial.Labels, def.Initial.Comparisons = &c.estimates, &c.labels, &c.comparisons
			e := definition.Expert{Name: "ada", Person: c.person, AnswerTakes: definition.Duration(each * 1e9)}
			e.Time = definition.Duration(max(1, c.compositions*each-short)) * 1e9
			v := &validator{def: def}
			v.time(at("experts", 0), e)
			if faulty := short > 0 && c.compositions > 0; (len(v.faults) > 0) != faulty {
				t.Errorf("%+v with %s: %v", c, e.Time, v.faults)
			}
			if len(v.faults) > 0 && !strings.Contains(v.faults[0].Message, strconv.Itoa(c.compositions)+" composition") {
				t.Errorf("%+v: %v", c, v.faults)
			}
		}
	}
}

// Law: where experts alone decide, no other rule is chosen: each one is a fault.
func TestDuelStandsAlone(t *testing.T) {
	taste := example(t, "taste.yaml")
	for _, line := range faultLines(taste) {
		t.Error("the example: ", line)
	}
	taste.Initial.Experiments = nil // nothing is said of them
	if lines := faultLines(taste); len(lines) > 0 {
		t.Errorf("without a number of experiments: %q", lines)
	}
	others := example(t, "electrolyte.yaml").Policy
	for part, choose := range map[string]func(*definition.Policy){
		"next":     func(p *definition.Policy) { p.Next = others.Next },
		"trust":    func(p *definition.Policy) { p.Trust = others.Trust },
		"handover": func(p *definition.Policy) { p.Handover = others.Handover },
	} {
		def := taste
		choose(&def.Policy)
		if reflect.DeepEqual(def.Policy, taste.Policy) {
			t.Fatalf("the other example has no rule of %s", part)
		}
		lines := fmt.Sprint(faultLines(def))
		if !strings.Contains(lines, "duel takes the place of") {
			t.Errorf("with a rule of %s: %s", part, lines)
		}
	}
}

// Law: a number is taken for a number of experiments where these are designed, and nowhere else.
func TestNumbersOfExperiments(t *testing.T) {
	for where, hinted := range map[string]bool{
		"initial/design": true, "initial/points": true, "initial/labels": false, "model/design": false, "model/points": false,
		"design": false, "initial": false, "initial/design/0": false,
	} {
		var steps path
		for _, step := range strings.Split(where, "/") {
			steps = append(steps, step)
		}
		if hint := hintForValue(steps, json.Number("3")); (hint != "") != hinted || hinted && !strings.Contains(hint, "experiments: 3") {
			t.Errorf("%s: 3 is answered with %q", where, hint)
		}
	}
}

// Law: bounds that are no numbers, which no file can say and a request can, are a fault of their
// parameter.
func TestBoundsAreNumbers(t *testing.T) {
	for _, bound := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, side := range []string{"min", "max"} {
			def := example(t, "electrolyte.yaml")
			def.Parameters = slices.Clone(def.Parameters)
			p := &def.Parameters[0]
			if side == "min" {
				p.Min = &bound
			} else {
				p.Max = &bound
			}
			v := &validator{def: def}
			v.bounds(at("parameters", 0), *p)
			if len(v.faults) != 1 || !strings.HasPrefix(v.faults[0].Path.String(), "parameters[0]") {
				t.Errorf("%s: %v: %v", side, bound, v.faults)
			}
		}
	}
}

// Law: that a campaign waits for people at first is explained where it does: where it asks people for
// something, and has experiments that wait.
func TestExplainsWhatIsWaitedFor(t *testing.T) {
	wait := definition.Duration(time.Hour)
	for set := range 16 {
		asks, measures, person, waits := set&1 > 0, set&2 > 0, set&4 > 0, set&8 > 0
		def := example(t, "electrolyte.yaml")
		if !measures {
			def = example(t, "taste.yaml")
		}
		def.Initial = definition.Initial{Estimates: new(3), Labels: new(0)}
		if !asks {
			def.Initial.Estimates = nil
		}
		if waits {
			def.Initial.Wait = &wait
		}
		def.Experts = []definition.Expert{{Name: "ada", Person: person}}
		if text := waitText(def); strings.Contains(text, "ada") != (asks && measures && person && waits) {
			t.Errorf("asks %t, measures %t, of a person %t, waits %t: %q", asks, measures, person, waits, text)
		}
	}
}
