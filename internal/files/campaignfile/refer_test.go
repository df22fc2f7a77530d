package campaignfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/tests/must"
)

const referred = `
title: Bakery
instruments:
  pump: {process: [./pump], stall_after: 15m, capacity: 2, steps: {x: 0.05}}
  bench: manual
experts:
  ada: {terminal: {}, answer_within: 8h}
  "true": terminal
stocks:
  rack: {labels: A1-H12, low: 16}
  drum: {amount: 20 L}
places: [press, {name: oven, room: 2}]
`

// baking is a procedure with two places.
const baking = `
instruments: {pump: {lab: pump}}
procedure:
  squeeze: {on: pump, holds: press}
  heat: {on: pump, after: squeeze, holds: oven}
  done: {on: pump, after: heat, frees: oven, gives: rise}
  clear: {on: pump, after: done, frees: press}
places: `

const referring = `name: bread
parameters: [{name: x, min: 0, max: 1}]
objective: {name: rise, goal: maximize}
budget: {experiments: 9}
`

// Law: a campaign file that refers to the lab means what one means that writes out what
// the lab says, with its own keys in the place of the lab's; what is recorded of it gives the
// same definition without the lab, and so does what is recorded of that.
func TestReferences(t *testing.T) {
	lab := must.Get(labfile.Parse(builtin.Registry(), "lab.yaml", []byte(referred)))(t)
	for name, c := range map[string]struct{ short, long string }{
		"an instrument": {"instrument: {lab: pump}\n",
			"instrument: {process: {command: [./pump]}, stall_after: 15m, steps: {x: 0.05}}\n"},
		"with keys of its own": {"instrument: {steps: {x: 0.1}, lab: pump, give_up_after: 2h}\n",
			"instrument: {process: [./pump], stall_after: 15m, give_up_after: 2h, steps: {x: 0.1}}\n"},
		"an instrument and an expert": {"instrument: {lab: pump}\nexperts: [ada]\n",
			"instrument: {process: {command: [./pump]}, stall_after: 15m, steps: {x: 0.05}}\n" +
				"experts: [{name: ada, terminal: {}, answer_within: 8h}]\n"},
		"by hand": {"instrument: {lab: bench}\n", "instrument: manual\n"},
		"an expert": {"instrument: {lab: bench}\nexperts: [ada, {name: \"true\", lab: }]\n",
			"instrument: manual\nexperts: [{name: ada, terminal: {}, answer_within: 8h}, {name: \"true\", terminal: {}}]\n"},
		"an expert with keys of their own": {"instrument: manual\nexperts: [{name: ada, lab: {}, answer_within: 1h}]\n",
			"instrument: manual\nexperts: [{name: ada, terminal: {}, answer_within: 1h}]\n"},
		"an expert of another name": {"instrument: manual\nexperts:\n- name: bo\n  lab: ada\n# the end\n...\n",
			"instrument: manual\nexperts: [{name: bo, terminal: {}, answer_within: 8h}]\n"},
		"stocks": {"instrument: {lab: bench, draws: {tips: 2, water: 3*x L}}\nstocks: {tips: {lab: rack}, water: {lab: drum}}\n",
			"instrument: {manual: {}, draws: {tips: 2, water: 3*x L}}\nstocks: {tips: {lab: rack}, water: {lab: drum}}\n" +
				"lab: {stocks: {rack: {labels: A1}, drum: {amount: 1 L}}}\n"},
		"places": {strings.Replace(baking, "{lab: pump}", "manual", 1) + "[{lab: press}, {name: oven, lab: oven}]\n",
			strings.Replace(baking, "{lab: pump}", "manual", 1) + "[{name: press, lab: press}, {lab: oven}]\n" +
				"lab: {places: [press, oven]}\n"},
		"its own explanation": {"instrument: {lab: pump}\nlab: {instruments: {pump: manual}}\nexperts: [ada]\n",
			"instrument: manual\nexperts: [{name: ada, terminal: {}, answer_within: 8h}]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			long := must.Get(Parse(builtin.Registry(), "long.yaml", []byte(referring+c.long)))(t)
			short, err := ParseIn(t.Context(), builtin.Registry(), lab, "short.yaml", []byte(referring+c.short))
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse(builtin.Registry(), "recorded.yaml", []byte(short.Source))
			if err != nil {
				t.Fatalf("what is recorded is refused: %v", err)
			}
			equal := cmp.AllowUnexported(definition.Value{}, definition.Choice{})
			if diff := cmp.Diff(long.Definition, short.Definition, equal); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(long.Definition, again.Definition, equal); diff != "" || again.Source != short.Source {
				t.Errorf("what is recorded says something else:\n%s\n%s", short.Source, diff)
			}
		})
	}
	whole := `{"name": "bread", "parameters": [{"name": "x", "min": 0, "max": 1}],
"objective": {"name": "rise", "goal": "maximize"}, "budget": {"experiments": 9}, "instrument": {"lab": "bench"}}`
	file := must.Get(ParseIn(t.Context(), builtin.Registry(), lab, "file.json", []byte(whole)))(t)
	if again, err := Parse(builtin.Registry(), "recorded", []byte(file.Source)); err != nil ||
		len(Diff(file.Definition, again.Definition)) > 0 {
		t.Errorf("JSON: %v\n%s", err, file.Source)
	}
}

// Law: a file without references is recorded as it was read, whatever the lab says.
func TestNoReferences(t *testing.T) {
	lab := must.Get(labfile.Parse(builtin.Registry(), "lab.yaml", []byte(referred)))(t)
	text := referring + "instrument: manual"
	if file, err := ParseIn(t.Context(), builtin.Registry(), lab, "file.yaml", []byte(text)); err != nil || file.Source != text {
		t.Errorf("%q, %v", file.Source, err)
	}
}

// Law: a reference that leads nowhere is a fault at its place that says what to do, beside
// the other faults of the file; a lab file with faults is reported itself.
func TestReferencesThatLeadNowhere(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "bread.yaml")
	read := func(campaign string) error {
		must.Do(t, os.WriteFile(path, []byte(referring+campaign), 0o600))
		_, err := Read(builtin.Registry(), path)
		return err
	}
	write := func(lab string) {
		must.Do(t, os.WriteFile(filepath.Join(folder, labfile.Name), []byte(lab), 0o600))
	}
	expect := func(name string, err error, faults int, want ...string) {
		t.Helper()
		var e *yamltree.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
			return
		}
		text := err.Error()
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: it does not say %q:\n%s", name, w, text)
			}
		}
		if len(e.Faults) != faults {
			t.Errorf("%s: %d faults, want %d:\n%s", name, len(e.Faults), faults, text)
		}
	}
	both := "instrument: {lab: pomp}\nexperts: [ade, {name: ada, lab: {}, tme: 1h}]\n"
	expect("without a lab", read(both), 4, "bread.yaml:5:19: instrument.lab: there is no ",
		"lab.yaml, and so no instrument \"pomp\"", "name it there", "bread.yaml:6:11: experts[0]", "did you mean \"time\"?")
	_, err := Parse(builtin.Registry(), "bread.yaml", []byte(referring+both))
	expect("from memory", err, 4, "no lab file is known here, and so no expert \"ade\"")
	write(referred)
	expect("another name", read(both), 3, "lab.yaml names no instrument \"pomp\"", "did you mean \"pump\"?",
		"names no expert \"ade\"", "did you mean \"ada\"?", "did you mean \"time\"?")
	expect("two drivers", read("instrument: {lab: pump, manual: {}}\n"), 1, "more than one instrument")
	expect("not a name", read("instrument: {lab: [pump]}\nexperts: [{name: ada, lab: {x: 1}}]\n"), 2,
		"instrument.lab: it must be text", "experts[0].lab: it says more")
	expect("sense", read("instrument: {lab: pump, steps: {y: 1}}\n"), 1, "bread.yaml:5:36: instrument.steps.y: there is no parameter")
	expect("sense of what the lab says", read("instrument: {lab: pump}\n"+
		"candidates: [{x: 0}, {x: 1}, {x: 0.5}]\n"), 1, "bread.yaml:5:", "candidates are measured as they are listed")
	stocks := "instrument: {lab: pump, draws: {%s}}\nstocks: {%s}\n"
	expect("stocks", read(fmt.Sprintf(stocks, "tips: 2 mL, water: 2, oil: 3*x mL, more: 1", "tips: {lab: rack}, water: {lab: drum}, oil: {lab: drom}, more: {lab: rack}")), 4,
		"instrument.draws.tips: \"2 mL\" is not a number of labels", "the lab's are labels", "instrument.draws.water: the lab has it in L",
		"stocks.oil.lab: lab.yaml names no stock \"drom\"", "did you mean \"drum\"?", "another stock is rack of the lab, too")
	expect("a stock in another unit", read(fmt.Sprintf(stocks, "water: 3*x mL", "water: {lab: drum, low: 3}")), 2,
		"instrument.draws.water: the lab has it in L", "stocks.water.low: the lab says when", "set it in lab.yaml")
	expect("of the lab and its own", read(fmt.Sprintf(stocks, "tips: 1", "tips: {lab: rack, labels: A1-D1}")), 1,
		"stocks.tips: it has one of labels, amount and lab")
	expect("places out of order", read(baking+"[{lab: oven}, {lab: press}]\n"), 2,
		"places[1].lab: the lab has press before oven: batches of two campaigns could wait for one another", "in the order of the lab file")
	expect("a place of another name", read(baking+"[{lab: press}, {lab: offen, name: oven}, {lab: press, name: p, room: 3}]\n"), 2,
		"lab.yaml names no place \"offen\"", "did you mean \"oven\"?", "place \"press\" of the lab stands here twice")
	expect("room", read(baking+"[{lab: press}, {lab: oven, room: 3}]\n"), 1,
		"places[1].room: the lab says for how many batches its place has room")
	write(referred + "peple: {}\n")
	expect("a lab with faults", read(both), 1, "lab.yaml:13:1: peple", "did you mean \"people\"?")
	if err := read("instrument: manual\n"); err != nil {
		t.Errorf("a lab that nobody refers to is read: %v", err)
	}
}
