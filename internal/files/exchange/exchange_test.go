package exchange

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// blends is a campaign with a parameter of each kind, and names that a spreadsheet
// would take for formulas.
func blends() definition.Campaign {
	ptr := func(x float64) *float64 { return &x }
	return campaignfile.Complete(builtin.Registry(), definition.Campaign{
		Name: "blends", Seed: 1,
		Parameters: []definition.Parameter{
			{Name: "a", Min: ptr(0), Max: ptr(1)}, {Name: "b", Min: ptr(0), Max: ptr(1)},
			{Name: "t", Unit: "°C", Values: []float64{25, 35, 60}},
			{Name: "salt", Categories: []definition.CategoryDef{{Name: "LiPF6"}, {Name: "=LiFSI"}, {Name: "'@x"}, {Name: "-5"}}},
		},
		Constraints: []definition.Constraint{{Name: "sum", Terms: map[string]float64{"a": 1, "b": 1}, Equals: ptr(1)}},
		Objective:   definition.Objective{Name: "=y", Unit: "@V", Goal: definition.Maximize},
		Budget:      definition.Budget{Experiments: 100},
		Instrument:  definition.Instrument{Driver: manual.Choose(manual.Settings{})},
	})
}

// importInto is ada's import into a campaign.
func importInto(core *engine.Core) *Import {
	return &Import{Registry: builtin.Registry(), Core: core, Actor: "person:ada", Words: Words{
		Again: "again", Anyway: "anyway", Note: "note", Ignore: "ignore", Clause: error.Error,
	}}
}

// kept is what a round trip through a table keeps.
type kept struct {
	Parameters  definition.Point
	Measurement events.Measurement
}

func keptOf(s *campaign.State) (list []kept) {
	for _, x := range s.Experiments {
		if x.Measurement == nil || x.Excluded {
			continue
		}
		m := *x.Measurement
		m.Further = slices.Clone(m.Further)
		slices.SortFunc(m.Further, func(a, b definition.Quantity) int { return strings.Compare(a.Name, b.Name) })
		list = append(list, kept{x.Parameters, m})
	}
	return list
}

// opened is a campaign without experiments.
func opened(
	rt rapid.TB, t *testing.T, changes ...func(*definition.Campaign),
) (*memlog.Log, *engine.Core) {
	log := memlog.New()
	def := blends()
	for _, change := range changes {
		change(&def)
	}
	if err := engine.Define(t.Context(), log, events.CampaignDefined{Definition: def}, "person:ada", time.Unix(0, 0), ""); err != nil {
		rt.Fatal(err)
	}
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, "blends"))(rt)
	return log, core
}

// drawTell draws the outcome of an experiment of one's own.
func drawTell(rt *rapid.T) engine.Tell {
	value := rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.SampledFrom([]float64{0, -3, 1e-300, 0.1}))
	sd := rapid.Ptr(rapid.Float64Range(0, 10), true)
	point := rapid.Custom(func(rt *rapid.T) definition.Point {
		a := rapid.Float64Range(0, 1).Draw(rt, "a")
		return definition.Point{"a": definition.Number(a), "b": definition.Number(1 - a),
			"t":    definition.Number(rapid.SampledFrom([]float64{25, 35, 60}).Draw(rt, "t")),
			"salt": definition.Category(rapid.SampledFrom([]string{"LiPF6", "=LiFSI", "'@x", "-5"}).Draw(rt, "salt"))}
	})
	tell := engine.Tell{Parameters: point.Draw(rt, "asked for")}
	switch rapid.IntRange(0, 5).Draw(rt, "outcome") {
	case 0:
		tell.Failed = "=cmd|'/c calc'!A1"
	case 1:
		tell.Infeasible = "@cloudy, \"thick\"\nand white"
	default:
		tell.Value, tell.SD = new(value.Draw(rt, "value")), sd.Draw(rt, "sd")
		if rapid.Bool().Draw(rt, "made otherwise") {
			tell.Actual = point.Draw(rt, "made")
		}
		for _, name := range []string{"=viscosity", "pH", "sd_pH", "unit"} {
			if rapid.Bool().Draw(rt, name) {
				tell.Further = append(tell.Further, definition.Quantity{Name: name, Value: value.Draw(rt, name), SD: sd.Draw(rt, name),
					Unit: rapid.SampledFrom([]string{"", "mPa s", "-"}).Draw(rt, "unit of it")})
			}
		}
	}
	return tell
}

// Law: a row of a table carries whatever a request to tell a result can, but for what is no
// measurement of a composition.
func TestRowsSayWhatRequestsCarry(t *testing.T) {
	_, core := opened(t, t)
	im := importInto(core)
	im.Notes, im.Anyway = []string{"sample"}, true
	table := "a,b,t,salt,a_actual,b_actual,t_actual,salt_actual,=y,unit,sd,further_pH,unit_pH,sd_pH,sample\n" +
		"0.5,0.5,25,LiPF6,0.25,0.75,25,LiPF6,2.5,@V,0.25,7,one,0.5,cloudy\n"
	must.Do(t, im.Read("all.csv", strings.NewReader(table)))
	row := reflect.ValueOf(im.Rows[0])
	for i := range row.NumField() {
		name := row.Type().Field(i).Name
		never := slices.Contains([]string{"Experiment", "Failed", "Infeasible", "Again"}, name) ||
			slices.Contains([]string{"Quantities", "Missing", "Later"}, name) // the campaign declares none
		if row.Field(i).IsZero() != never {
			t.Errorf("%s is %v", name, row.Field(i))
		}
	}
	if q := im.Rows[0].Further[0]; q.Name != "pH" || q.Unit != "one" || q.Value != 7 || *q.SD != 0.5 {
		t.Errorf("%+v", q)
	}
}

// Law: what export writes, import reads: compositions as asked for and as made,
// values, deviations and further quantities stay what they were, to the last bit, and
// what has no result or does not count is left out.
func TestExportImportRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log, core := opened(rt, t)
		submit := func(r engine.Request) {
			r.Actor = "person:ada"
			must.Get(engine.Submit(t.Context(), log, core, r, time.Unix(1, 0)))(rt)
		}
		for range rapid.IntRange(1, 6).Draw(rt, "experiments") {
			tell := drawTell(rt)
			submit(engine.Request{Tell: &tell})
		}
		if x := core.State().Experiment("e1"); x.Measurement != nil && rapid.Bool().Draw(rt, "exclude") {
			submit(engine.Request{Correct: &engine.Correct{Experiment: "e1", Exclude: true, Reason: "bubbles"}})
		}
		want := keptOf(core.State())

		var table bytes.Buffer
		must.Do(rt, TableOf(core.State()).WriteCSV(&table))
		text := table.String()
		log, core = opened(rt, t)
		im := importInto(core)
		err := im.Read("table.csv", &table)
		if len(want) == 0 {
			if err == nil {
				rt.Fatalf("nothing was imported, and nobody said so:\n%s", text)
			}
			return
		}
		if err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
		submit(engine.Request{Import: im.Rows})
		if diff := cmp.Diff(want, keptOf(core.State()), cmp.AllowUnexported(definition.Value{})); diff != "" {
			rt.Fatalf("%s\n%s", diff, text)
		}
	})
}

// Law: the table of a campaign that declares its quantities has a column for each, why one is
// missing and which are left out of the models; read again, what counts is what it was.
func TestDeclaredQuantitiesRoundTrip(t *testing.T) {
	declare := func(def *definition.Campaign) {
		def.Quantities = []definition.QuantityDef{{Name: "viscosity", Unit: "mPa s"}, {Name: "pH"}}
	}
	log, core := opened(t, t, declare)
	submit := func(r engine.Request) {
		t.Helper()
		r.Actor = "person:ada"
		must.Get(engine.Submit(t.Context(), log, core, r, time.Unix(1, 0)))(t)
	}
	point := definition.Point{"a": definition.Number(0.25), "b": definition.Number(0.75),
		"t": definition.Number(25), "salt": definition.Category("LiPF6")}
	sd := 0.5
	quantity := func(name string, value float64) definition.Quantity {
		return definition.Quantity{Name: name, Value: value}
	}
	submit(engine.Request{Tell: &engine.Tell{Parameters: point, Value: &sd, SD: &sd,
		Quantities: []definition.Quantity{{Name: "viscosity", Value: 3, SD: &sd}},
		Missing:    []events.Missing{{Name: "pH", Reason: "the electrode broke"}}, Further: []definition.Quantity{quantity("colour", 1)}}})
	submit(engine.Request{Tell: &engine.Tell{Parameters: point, Quantities: []definition.Quantity{quantity("pH", 7)}}})
	want := keptOf(core.State())
	submit(engine.Request{Tell: &engine.Tell{Parameters: point, Value: &sd, Quantities: []definition.Quantity{quantity("pH", 9)}}})
	submit(engine.Request{Correct: &engine.Correct{Experiment: "e3", LeaveOut: []string{"pH"}, Reason: "why"}})

	var table bytes.Buffer
	must.Do(t, TableOf(core.State()).WriteCSV(&table))
	text := table.String()
	log, core = opened(t, t, declare)
	im := importInto(core)
	if err := im.Read("table.csv", &table); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	submit(engine.Request{Import: im.Rows})
	got := keptOf(core.State())
	if diff := cmp.Diff(want, got[:2], cmp.AllowUnexported(definition.Value{})); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
	if q, ok := got[2].Measurement.Of("pH"); ok || len(got) != 3 {
		t.Errorf("what was left out of the models came in as %v\n%s", q, text)
	}
	if err := im.Read("table.csv", strings.NewReader("a,b,t,salt,=y,viscosity\n0.5,0.5,25,LiPF6,,\n")); err == nil ||
		!strings.Contains(err.Error(), "1 row without a result") {
		t.Errorf("a row without a value: %v", err)
	}
}

// Law: whatever a file holds, it is taken whole or refused with its name, as its preview says;
// what is taken the campaign accepts, and, written and read again, it is the same.
func FuzzImport(f *testing.F) {
	f.Add("a,b,t,salt,=y\n0.5,0.5,25,LiPF6,3\n")
	f.Add("\ufeff\"a\",b,t,salt,'=y,sd,status,excluded,a_actual,b_actual,t_actual,salt_actual,further_x,unit_x\r\n0.5,0.5,25,-5,-3,0.1,measured,false,0.4,0.6,26,'=LiFSI,7,m\r\n")
	f.Add("a;b;t;salt;=y\n0,5;0,5;25;x;3\n")
	f.Add("a;b;t;salt;=y;sd\n0,5;0,5;25;LiPF6;-3,25;0,1\n0,25;0,75;60;'-5;1.234,5;\n")
	f.Add("a\tb\tt\tsalt\t=y\tfurther_pH\tunit_pH\tsd_pH\n0.5\t0.5\t25\tLiPF6\t3e-3\t7\t\t0.1\n")
	for _, path := range []string{"../../../examples/candy.csv", "../../../examples/electrolyte-table.csv"} {
		text := must.Get(os.ReadFile(path))(f)
		_, rows, _ := strings.Cut(string(text), "\n")
		f.Add("a,b,t,salt,=y\n" + rows[:min(len(rows), 400)])
	}
	f.Add("a,b,t,salt,=y\n\"0.5\n")
	f.Add("\xff\xfea\x00")
	for _, n := range []int{300_000, 3_000_000} {
		long := strings.Repeat("k", n)
		f.Add("a,b,t,salt,=y," + long + "\n0.5,0.5,25,LiPF6,3,1\n")
		f.Add("a,b,t,salt,=y\n0.5,0.5,25," + long + ",3\n" + long + "\n")
	}
	def := blends()
	core := engine.NewCore(builtin.Registry())
	e := must.Get(events.New("blends", &events.CampaignDefined{Definition: def}))(f)
	e.Sequence, e.ID, e.Time = 1, "1", time.Unix(0, 0)
	must.Do(f, core.Apply(e))
	f.Add("a,b,t,salt,=y,status,excluded\n0.5,0.5,25,LiPF6,3,failed,\n0.5,0.5,25,LiPF6,3,measured,true\n\n0.5,0.5,25,'-5,3,measured,\n")
	place := regexp.MustCompile(`(?m)table.csv(:\d+)*(: | ).`)
	f.Fuzz(func(t *testing.T, text string) {
		im := importInto(core)
		var seen *Preview
		var unseen, err error
		draws.Answers(t, func() {
			seen, unseen = importInto(core).Preview("table.csv", strings.NewReader(text))
			err = im.Read("table.csv", strings.NewReader(text))
		})
		taken := unseen == nil && len(seen.Unknown) == 0 && seen.Count(FateNew) > 0 && seen.Count(FateKnown)+seen.Count(FateWrong) == 0
		if taken != (err == nil) || taken && seen.Count(FateNew) != len(im.Rows) {
			t.Errorf("%q: seen as %+v, %v; read: %v", text, seen, unseen, err)
		}
		if err != nil {
			if !place.MatchString(err.Error()) {
				t.Errorf("%q is refused without its place: %v", text, err)
			}
			return
		}
		lines, err := records(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"))
		rows := len(im.Rows) + len(im.sheet.Left)
		for _, n := range im.Skipped {
			rows += n
		}
		if err != nil || rows != len(lines)-1 {
			t.Errorf("%q: of %d rows %d are taken or left out, %v", text, len(lines)-1, rows, err)
		}
		once := imported(t, text, im.Rows)
		var table bytes.Buffer
		must.Do(t, TableOf(once.State()).WriteCSV(&table))
		written := table.String()
		im = importInto(core)
		if err := im.Read("table.csv", &table); err != nil {
			t.Fatalf("%q is taken, and refused as it is written: %v\n%s", text, err, written)
		}
		twice := imported(t, written, im.Rows)
		if diff := cmp.Diff(keptOf(once.State()), keptOf(twice.State()), cmp.AllowUnexported(definition.Value{})); diff != "" {
			t.Errorf("%q is otherwise, written and read again:\n%s\n%s", text, diff, written)
		}
	})
}

// imported is a campaign that has taken over the rows of a file.
func imported(t *testing.T, text string, rows []engine.Tell) *engine.Core {
	t.Helper()
	log := memlog.New()
	if err := engine.Define(t.Context(), log, events.CampaignDefined{Definition: blends()}, "person:ada", time.Unix(0, 0), ""); err != nil {
		t.Fatal(err)
	}
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, "blends"))(t)
	if _, err := engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:ada", Import: rows}, time.Unix(1, 0)); err != nil || len(rows) == 0 {
		t.Fatalf("%q is taken, and then refused: %v", text, err)
	}
	return core
}

// Law: no cell of an exported table that is not a number begins as a formula does, and
// each reads as what it was.
func TestFormulasAreText(t *testing.T) {
	for text, want := range map[string]string{
		"=HYPERLINK(1)": "'=HYPERLINK(1)", "@x": "'@x", "+u": "'+u", "-lead": "'-lead", "\tx": "'\tx", "\rx": "'\rx", "'=": "''=",
		"-3.5": "-3.5", "+1e3": "+1e3", "0": "0", "": "", "'": "'", "'til": "'til", "a=b": "a=b",
	} {
		if cell := asText(text); cell != want {
			t.Errorf("%q is written %q, want %q", text, cell, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`['=+@\-\ta-z0-9]{0,6}`).Draw(rt, "text")
		if read := fromText(asText(text)); read != text {
			rt.Fatalf("%q is written %q and read %q", text, asText(text), read)
		}
	})
}

// Law: scripts find the columns of an earlier version's table under their names and in their places,
// and a new one behind them all.
func TestColumnsStayWhereTheyWere(t *testing.T) {
	def := blends()
	def.Quantities = []definition.QuantityDef{{Name: "price", From: "2 * a"}, {Name: "pH"}}
	def.ConstraintsOnOutcomes = []definition.OutcomeConstraint{{Require: "pH <= 5"}}
	further := &events.Measurement{Further: []definition.Quantity{{Name: "colour", Value: 1}}}
	s := &campaign.State{Definition: &def, Experiments: []campaign.Experiment{{ID: "e1", Measurement: further}}}
	was := "experiment status origin decision replicate a b t salt a_actual b_actual t_actual salt_actual =y unit sd " +
		"pH unit_pH sd_pH further_colour unit_colour sd_colour missing left_out computed_price keeps_constraints " +
		"excluded simulated requested_at ended_at cause"
	if is := strings.Join(TableOf(s).Columns, " "); !strings.HasPrefix(is, was) {
		t.Errorf("the columns are\n%s\nand were\n%s", is, was)
	}
}
