package campaignfile

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// plates is a campaign with a procedure of many fields.
const plates = `name: plates
parameters: [{name: lipf6, min: 0.2, max: 2.1}, {name: dmc, min: 0, max: 1}]
objective: {maximize: conductivity, unit: mS/cm}
quantities: [{name: viscosity, unit: mPa.s}, {name: clear}]
budget: {experiments: 24}
instruments:
  doser: {process: [./doser], steps: {lipf6: 0.01}}
  arm: {process: [./arm], stall_after: 1h}
  meter: {process: [./meter]}
  bench: manual
batch: {of: 6, at_least: 2, within: 30m}
places: [press, {name: oven, room: 2}]
stocks: {tips: {labels: A1-H12}, solvent: {amount: 2000 mL}, acetone: {amount: 500 mL}}
procedure:
  dose: {on: doser, together: true, draws: {tips: 2, solvent: 5*(1-dmc) mL}}
  press: {on: arm, together: true, after: dose, holds: press, parameters: [lipf6], set: {force: 60}}
  load: {on: arm, together: true, after: {press: 10m..}, holds: oven, frees: press}
  unload: {on: arm, together: true, after: {load: 2h..3h}, frees: oven}
  measure: {on: meter, after: {unload: ..1h}, gives: [conductivity, viscosity], repeatable: true, tries: 3}
  look: {on: bench, after: unload, gives: clear}
  clean: {on: doser, together: true, after: [measure, {look: }], always: true, draws: {acetone: 1 mL}}
`

// Law: a procedure means the same in short and in long, in the file and in its definition: stages in the
// order of the file, edges with their times, instruments with their defaults.
func TestProcedure(t *testing.T) {
	def := must.Get(Parse(builtin.Registry(), "plates.yaml", []byte(plates)))(t).Definition
	hour := definition.Duration(time.Hour)
	want := []definition.Stage{
		{Name: "dose", On: "doser", Together: true, Draws: map[string]definition.Draw{"tips": "2", "solvent": "5*(1 - dmc) mL"}},
		{Name: "press", On: "arm", Together: true, After: []definition.Edge{{Stage: "dose"}}, Holds: "press",
			Parameters: []string{"lipf6"}, Set: definition.Point{"force": definition.Number(60)}},
		{Name: "load", On: "arm", Together: true, After: []definition.Edge{{Stage: "press", From: hour / 6}}, Holds: "oven", Frees: "press"},
		{Name: "unload", On: "arm", Together: true, After: []definition.Edge{{Stage: "load", From: 2 * hour, Until: 3 * hour}}, Frees: "oven"},
		{Name: "measure", On: "meter", After: []definition.Edge{{Stage: "unload", Until: hour}},
			Gives: []string{"conductivity", "viscosity"}, Repeatable: true, Tries: 3},
		{Name: "look", On: "bench", After: []definition.Edge{{Stage: "unload"}}, Gives: []string{"clear"}},
		{Name: "clean", On: "doser", Together: true, After: []definition.Edge{{Stage: "measure"}, {Stage: "look"}}, Always: true,
			Draws: map[string]definition.Draw{"acetone": "1 mL"}},
	}
	if diff := cmp.Diff(want, def.Procedure, cmp.AllowUnexported(definition.Value{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]definition.Place{{Name: "press"}, {Name: "oven", Room: 2}}, def.Places); diff != "" {
		t.Error(diff)
	}
	if def.Batch != (definition.Batch{Of: 6, AtLeast: 2, Within: hour / 2}) || def.Parallel != 6 || def.Steps()["lipf6"] != 0.01 {
		t.Errorf("batch %+v, parallel %d, steps %v", def.Batch, def.Parallel, def.Steps())
	}
	if missing := def.Missing(); missing != nil {
		t.Errorf("an event would lack %v", missing)
	}
	if arm, bench := def.Instruments["arm"], def.Instruments["bench"]; arm.StallAfter != hour || arm.GiveUpAfter != defaultGiveUpAfter ||
		!bench.ByHand || bench.StallAfter != 0 {
		t.Errorf("arm %+v, bench %+v", arm, bench)
	}
	long := must.Get(json.Marshal(def))(t)
	again, err := Parse(builtin.Registry(), "long.json", long)
	if err != nil {
		t.Fatalf("the definition is no campaign file: %v", err)
	}
	if changes := Diff(def, again.Definition); len(changes) > 0 || Sound(builtin.Registry(), def, def) != nil {
		t.Errorf("its definition means something else: %v, %v", changes, Sound(builtin.Registry(), def, def))
	}
}

// Law: an instrument of a procedure knows what its stages give and are sent, and nothing else.
func TestOneOfSeveral(t *testing.T) {
	def := must.Get(Parse(builtin.Registry(), "plates.yaml", []byte(plates)))(t).Definition
	for resource, want := range map[string]string{"doser": "", "meter": "conductivity viscosity", "bench": "clear"} {
		if got := strings.Join(def.For(resource).DeclaredNames(), " "); got != want {
			t.Errorf("%s gives %q, want %q", resource, got, want)
		}
	}
	def.Procedure[2].Parameters, def.Procedure[3].Parameters = []string{"lipf6"}, []string{"lipf6"}
	var sent []string
	for _, p := range def.For("arm").Parameters {
		sent = append(sent, p.Name)
	}
	if got := strings.Join(sent, " "); got != "lipf6 force" {
		t.Errorf("the arm is sent %s", got)
	}
}

// Law: instruments of a procedure come from the lab as the only one does.
func TestInstrumentsOfTheLab(t *testing.T) {
	lab := must.Get(labfile.Parse(builtin.Registry(), "lab.yaml", []byte(referred)))(t)
	file := must.Get(ParseIn(t.Context(), builtin.Registry(), lab, "short.yaml", []byte(referring+
		"instruments: {doser: {lab: pump, give_up_after: 3h}, eye: {lab: bench}}\n"+
		"procedure: {dose: {on: doser}, look: {on: eye, after: dose, gives: rise}}\n")))(t)
	doser := file.Definition.Instruments["doser"]
	if doser.Driver.Name != "process" || doser.Steps["x"] != 0.05 || doser.GiveUpAfter.String() != "3h" ||
		!file.Definition.Instruments["eye"].ByHand {
		t.Errorf("%+v", file.Definition.Instruments)
	}
	if names := LabInstruments(file.Source); names["doser"] != "pump" || names["eye"] != "bench" {
		t.Errorf("names in the lab: %v", names)
	}
	if again, err := Parse(builtin.Registry(), "recorded.yaml", []byte(file.Source)); err != nil ||
		len(Diff(file.Definition, again.Definition)) > 0 {
		t.Errorf("what is recorded says something else: %v\n%s", err, file.Source)
	}
	reaches := builtin.Registry().Reaches(&file.Definition)
	if len(reaches) != 1 || reaches[0].Where != "instruments.doser.process" || !lab.Offers(builtin.Registry(), &file.Definition, reaches[0]) {
		t.Errorf("it reaches %+v", reaches)
	}
	other := must.Get(Parse(builtin.Registry(), "other.yaml", []byte(referring+
		"instruments: {doser: {process: [./other]}}\nprocedure: {dose: {on: doser, gives: rise}}\n")))(t).Definition
	if reaches := builtin.Registry().Reaches(&other); len(reaches) != 1 || lab.Offers(builtin.Registry(), &other, reaches[0]) {
		t.Errorf("a program that the lab does not offer is reached: %+v", reaches)
	}
}

// Law: a procedure that cannot be carried out is refused at the field that has to change, with what to do.
func TestFaultsOfProcedures(t *testing.T) {
	for _, c := range []struct{ from, to, at, want string }{
		{"instruments:\n", "instrument: manual\ninstruments:\n", "instrument", "has instruments with names"},
		{"procedure:\n", "x-procedure:\n", "x-procedure", `did you mean "procedure"?`},
		{"on: meter", "on: metre", "procedure.measure.on", `did you mean "meter"?`},
		{"on: meter", "on: arm", "instruments.meter", "no stage is carried out at it"},
		{"meter: {process", "meter: {draws: {tips: 1}, process", "instruments.meter.draws", "draws belong to the stage"},
		{"meter: {process: [./meter]}", "meter: {table: ../x.csv}", "instruments.meter.table", "only the compositions that it lists"},
		{"meter: {process: [./meter]}", "meter: {}", "instruments.meter", "it does not say what it is"},
		{"meter: {process: [./meter]}", "meter: {process: [./meter], manual: }", "instruments.meter", "more than one instrument"},
		{"meter: {process: [./meter]}", "meter: {simulated: {}}", "instruments.meter.simulated", `"task" is missing`},
		{"meter: {process: [./meter]}", "meter: {simulated: electrolyte}", "instruments.meter.simulated", "also needs ec"},
		{"meter: {process: [./meter]}", "meter: {lab: metre}", "instruments.meter.lab", `and so no instrument "metre"`},
		{"meter: {process", "meter: {steps: {lipf6: 0.1}, process", "instruments.meter.steps.lipf6", "doser has steps of lipf6, too"},
		{"after: dose", "after: doze", "procedure.press.after", `did you mean "dose"?`},
		{"after: dose", "after: press", "procedure.press.after", "it comes after itself"},
		{"{look: }", "measure", "procedure.clean.after[1]", "measure stands here twice"},
		{"after: unload, gives: clear", "after: clean, gives: clear", "procedure.look.after", "nothing comes after it"},
		{"2h..3h", "3h..2h", "procedure.unload.after.load", "exchange them: 2h..3h"},
		{"2h..3h", "2h-3h", "procedure.unload.after.load", "write a range of times"},
		{"2h..3h", "2h", "procedure.unload.after.load", "write a range of times"},
		{"2h..3h", "2h..0s", "procedure.unload.after.load", "write a range of times"},
		{"2h..3h", "..", "procedure.unload.after.load", "write a range of times"},
		{"{on: doser, together: true, draws: {tips", "{on: doser, after: unload, together: true, draws: {tips",
			"procedure.dose.after", "wait for one another: dose, then unload, then load, then press, then dose"},
		{"gives: clear", "together: true", "procedure", "no stage gives clear"},
		{"gives: [conductivity, viscosity]", "gives: [conductivity, viscosity, clear]", "procedure.look.gives", "given by measure already"},
		{"gives: clear", "gives: clera", "procedure.look.gives", `did you mean "clear"?`},
		{"{load: 2h..3h}", "dose", "procedure.unload", "it does not come after load"},
		{", frees: oven", "", "procedure.load.holds", "no stage after it frees oven"},
		{", frees: press", "", "procedure.press.holds", "no stage after it frees press"},
		{"holds: press, ", "", "procedure.load.frees", "the batch is not in press"},
		{"holds: press, ", "holds: oven, ", "procedure.load.holds", "the batch is in oven already, since press"},
		{"holds: oven, frees: press", "holds: press, frees: press", "procedure.load.frees", "it holds and frees the same place"},
		{"[press, {name: oven, room: 2}]", "[{name: oven, room: 2}, press]", "procedure.load.holds", "since press, and places has oven before it"},
		{"[press, ", "[press, press, ", "places[1]", "stands here twice"},
		{"[press, ", "[arm, press, ", "places[0]", "an instrument is called \"arm\" too"},
		{"holds: oven", "holds: ovne", "procedure.load.holds", `did you mean "oven"?`},
		{"{on: arm, together: true, after: {load", "{on: arm, after: {load", "procedure.unload.frees", "add together: true"},
		{"tips: 2", "tipps: 2", "procedure.dose.draws.tipps", `did you mean "tips"?`},
		{"5*(1-dmc) mL", "5*(1-dmc) L", "procedure.dose.draws.solvent", "write both in mL"},
		{"tips: 2, ", "", "stocks.tips", "no experiment uses it up"},
		{"repeatable: true, ", "", "procedure.measure.tries", "add repeatable: true"},
		{"draws: {acetone: 1 mL}", "draws: {acetone: 1 mL}, gives: clear", "procedure.clean.gives", "measures nothing"},
		{"draws: {acetone: 1 mL}", "draws: {acetone: 1 mL}, frees: oven", "procedure.clean.frees", "nothing is in the place"},
		{"draws: {acetone: 1 mL}", "draws: {acetone: 1 mL}, holds: oven", "procedure.clean.holds", "is the last of its batch"},
		{"draws: {acetone: 1 mL}", "draws: {acetone: 1 mL, tips: 1}", "procedure.clean.draws.tips", "uses up no labels"},
		{"{look: }", "{look: 1h..}", "procedure.clean.after[1].look", "waits for no time"},
		{"after: [measure, {look: }], ", "", "procedure.clean", "it does not say what it comes after"},
		{"parameters: [lipf6], set", "parameters: [lipf], set", "procedure.press.parameters[0]", `did you mean "lipf6"?`},
		{"set: {force", "set: {dmc", "procedure.press.set.dmc", "dmc is a parameter"},
		{"{of: 6,", "{of: 6, within: 1h,", "batch.within", "twice"},
		{"batch:", "parallel: 4\nbatch:", "batch.of", "parallel is 4"},
		{"at_least: 2", "at_least: 7", "batch.at_least", "7 are more than the 6"},
		{"at_least: 2, ", "", "batch.within", "how many suffice"},
		{", within: 30m", "", "batch.at_least", "how long the others are waited for"},
		{"name: plates", "name: plates\npolicy: anpei", "procedure", "nothing is measured"},
	} {
		text := strings.Replace(plates, c.from, c.to, 1)
		if text == plates {
			t.Fatalf("%q is not in the file", c.from)
		}
		_, err := Parse(builtin.Registry(), "plates.yaml", []byte(text))
		var faulty *yamltree.Error
		if !errors.As(err, &faulty) {
			t.Errorf("%s → %s: %v", c.from, c.to, err)
			continue
		}
		found := false
		for _, f := range faulty.Faults {
			found = found || f.Path.String() == c.at && strings.Contains(f.Message+"\n"+f.Remedy, c.want) && f.Line > 0
		}
		if !found {
			t.Errorf("%s → %s: want %s: %s, got\n%v", c.from, c.to, c.at, c.want, err)
		}
	}
	for text, want := range map[string]string{
		"instrument: manual\nbatch: {of: 2}\n":                                          "batch: it belongs to a procedure",
		"instrument: manual\nplaces: [oven]\n":                                          "places: it belongs to a procedure",
		"instruments: {bench: manual}\n":                                                "instruments: no procedure uses them",
		"procedure: {look: {on: bench, gives: rise}}\n":                                 "procedure: there are no instruments",
		"instruments: {bench: manual}\nprocedure: {look: bench}\n":                      "procedure.look: it must be a mapping",
		"instruments: {bench: manual}\nprocedure: {look: {on: bench}}\n":                "procedure: no stage gives rise",
		"instruments: {bench: manual}\nprocedure: {look: {gives: rise}}\n":              `procedure.look: "on" is missing`,
		"instruments: {be nch: manual}\nprocedure: {look: {on: be nch, gives: rise}}\n": "is not a name",
	} {
		if _, err := Parse(builtin.Registry(), "bread.yaml", []byte(referring+text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// Law: of two files with the same places, one of which goes from the oven to the press and one from the press
// to the oven, one is refused: no batch that holds a place waits for one that another may hold who waits for
// the first.
func TestPlacesAgainstTheirOrder(t *testing.T) {
	file := func(places, first, second string) string {
		return referring + "instruments: {arm: {process: [./arm]}, eye: manual}\nplaces: [" + places + "]\nprocedure:\n" +
			"  put: {on: arm, together: true, holds: " + first + "}\n" +
			"  move: {on: arm, together: true, after: put, holds: " + second + ", frees: " + first + "}\n" +
			"  look: {on: eye, after: move, gives: rise}\n" +
			"  take: {on: arm, together: true, after: look, frees: " + second + "}\n"
	}
	for places, refused := range map[string][2]bool{"press, oven": {true, false}, "oven, press": {false, true}} {
		for i, way := range [][2]string{{"oven", "press"}, {"press", "oven"}} {
			_, err := Parse(builtin.Registry(), "bread.yaml", []byte(file(places, way[0], way[1])))
			if (err != nil) != refused[i] || err != nil && !strings.Contains(err.Error(), "places has "+way[1]+" before it") {
				t.Errorf("of %s from %s to %s: %v", places, way[0], way[1], err)
			}
		}
	}
}

// Law: of a procedure under way only what changes no meaning can change.
func TestAmendedProcedure(t *testing.T) {
	from := must.Get(Parse(builtin.Registry(), "plates.yaml", []byte(plates)))(t).Definition
	for _, c := range []struct{ from, to, place string }{
		{"stall_after: 1h", "stall_after: 2h", ""},
		{"tips: 2", "tips: 1", ""},
		{"at_least: 2", "at_least: 3", ""},
		{"[./meter]", "[./other]", "instruments.meter"},
		{"2h..3h", "2h..4h", `procedure[3] "unload"`},
		{"room: 2", "room: 3", "places"},
	} {
		to := must.Get(Parse(builtin.Registry(), "plates.yaml", []byte(strings.Replace(plates, c.from, c.to, 1))))(t).Definition
		changes, err := Amend(builtin.Registry(), from, to)
		var refused *AmendError
		if c.place == "" && (err != nil || len(changes) != 1) ||
			c.place != "" && (!errors.As(err, &refused) || refused.Refused[0].Place != c.place) {
			t.Errorf("%s → %s: %v, %v", c.from, c.to, changes, err)
		}
	}
}
