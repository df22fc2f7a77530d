package console_test

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// costed is a table of which a person makes something else than what is guessed of it.
const costed = "a;b;yield;cost\n1;2;30;5\n2;3;50;4\n3;1;20;9\n4;2;35;7\n"

// looks posts the form of a table, and returns the fields of the form that follows.
func (s *site) looks(form url.Values, do string) (int, string, url.Values) {
	s.t.Helper()
	form = maps.Clone(form)
	form.Set("do", do)
	status, _, page := s.post("/begin/table", form)
	action := "/begin/table"
	if do == "write" && status == http.StatusOK {
		action = "/new"
	}
	return status, page, fieldsOf(s.t, page, action)
}

// Law: whatever a person has chosen of a column stays with its heading: when the table is looked
// at again, also with a cell that was mended, a row or a column more or columns in another order,
// when the file is written, and on the way back. Ranges follow the cells where none was typed.
func TestChoicesStay(t *testing.T) {
	s := serve(t, time.Hour)
	_, _, form := s.looks(url.Values{"table": {costed}}, "look")
	if form.Get("role.2") != "maximize" {
		t.Fatalf("yield is guessed to be %q", form.Get("role.2"))
	}
	chosen := map[string]string{"role.2": "quantity", "role.3": "maximize", "called": "x1", "name.0": "alpha", "unit.3": "EUR", "low.1": "0,5", "budget": "7"}
	for field, value := range chosen {
		form.Set(field, value)
	}
	for what, table := range map[string]string{
		"as it was": costed, "a mended cell": strings.Replace(costed, "30", "31", 1),
		"a row more": costed + "5;3;41;6\n", "a mended range": strings.Replace(costed, "4;2;35", "40;2;35", 1),
	} {
		edited := maps.Clone(form)
		edited.Set("table", table)
		_, page, again := s.looks(edited, "look")
		for field, value := range chosen {
			if again.Get(field) != value {
				t.Errorf("%s: %s is %q, and %q was chosen", what, field, again.Get(field), value)
			}
		}
		if want := map[string]string{"a mended range": "40", "a row more": "5"}[what]; again.Get("high.0") != cmp.Or(want, "4") {
			t.Errorf("%s: the range ends at %s", what, again.Get("high.0"))
		}
		if strings.Contains(page, "for something else") {
			t.Errorf("%s: a column is said to be something else", what)
		}
		_, _, file := s.looks(again, "write")
		for _, want := range []string{"name: x1\n", "name: alpha", "objective: {maximize: cost}", "unit: EUR", "experiments: 7"} {
			if !strings.Contains(file.Get("source"), want) {
				t.Errorf("%s: the file is without %q:\n%s", what, want, file.Get("source"))
			}
		}
		_, _, back := s.looks(file, "look")
		for field, value := range chosen {
			if back.Get(field) != value {
				t.Errorf("%s, and back: %s is %q, and %q was chosen", what, field, back.Get(field), value)
			}
		}
	}
	moved := maps.Clone(form)
	moved.Set("table", "cost;yield;lot;b;a\n5;30;x;2;1\n4;50;y;3;2\n9;20;z;1;3\n7;35;x;2;4\n")
	_, _, again := s.looks(moved, "look")
	for field, want := range map[string]string{"role.0": "maximize", "unit.0": "EUR", "role.1": "quantity", "name.4": "alpha", "low.3": "0,5"} {
		if again.Get(field) != want {
			t.Errorf("in another order: %s is %q, and not %s", field, again.Get(field), want)
		}
	}
	renamed := maps.Clone(form)
	renamed.Set("table", strings.Replace(costed, "cost", "price (EUR)", 1))
	if _, _, again := s.looks(renamed, "look"); again.Get("role.3") != "maximize" || again.Get("name.3") != "price" || again.Get("role.2") != "quantity" {
		t.Errorf("under another heading it is %s, called %s, beside %s", again.Get("role.3"), again.Get("name.3"), again.Get("role.2"))
	}
}

// Law: where a cell is mended that kept a column from being a number, the column is guessed anew,
// what else nobody has chosen too, and no file is written before that was seen; what a person has
// chosen stays.
func TestAMendedColumnIsGuessedAnew(t *testing.T) {
	s := serve(t, time.Hour)
	const broken = "a;b;yield;cost\n1;2;30 mg;5\n2;3;50 mg;4\n3;1;x;9\n4;2;y;7\n"
	_, _, form := s.looks(url.Values{"table": {broken}}, "look")
	if form.Get("role.2") == "maximize" {
		t.Fatal("a column of texts is sought")
	}
	form.Set("role.1", "note")
	form.Set("table", costed)
	status, page, again := s.looks(form, "write")
	if status != http.StatusUnprocessableEntity || !strings.Contains(page, "for something else now that the table has changed") || !strings.Contains(page, "yield") {
		t.Errorf("it is not said: %d", status)
	}
	if again.Get("role.2") != "maximize" || again.Get("role.1") != "note" {
		t.Errorf("yield is %s, and b %s", again.Get("role.2"), again.Get("role.1"))
	}
	if status, _, file := s.looks(again, "write"); status != http.StatusOK || !strings.Contains(file.Get("source"), "maximize") {
		t.Errorf("once it was seen: %d", status)
	}
}

// Law: what a person has typed into the file is in it again after the way back to the columns,
// together with what they change there; of a line that both change it is said that it stays as
// typed.
func TestWhatIsTypedStays(t *testing.T) {
	s := serve(t, time.Hour)
	_, _, form := s.looks(url.Values{"table": {costed}}, "look")
	_, _, file := s.looks(form, "write")
	typed := strings.Replace(file.Get("source"), "name: my-campaign", "name: mine", 1)
	typed = strings.Replace(typed, "min: 1, max: 3}", "min: 0, max: 3}", 1) + "constraints_on_outcomes: [cost <= 8]\nexperts: [{name: ada, web: {}}]\n"
	if !strings.Contains(typed, "name: mine") || !strings.Contains(typed, "min: 0, max: 3}") {
		t.Fatalf("the file is\n%s", typed)
	}
	file.Set("source", strings.ReplaceAll(typed, "\n", "\r\n"))
	file.Set("skip", "on")
	_, _, back := s.looks(file, "look")
	if back.Get("called") != "mine" {
		t.Errorf("the campaign is called %q, and mine was typed", back.Get("called"))
	}
	back.Set("unit.0", "mol")
	back.Set("high.1", "5")
	_, _, again := s.looks(back, "look")
	status, page, second := s.looks(again, "write")
	for _, want := range []string{"name: mine\n", "constraints_on_outcomes: [cost <= 8]", "name: ada", "unit: mol", "min: 0, max: 3}"} {
		if !strings.Contains(second.Get("source"), want) {
			t.Errorf("%d: the file is without %q:\n%s", status, want, second.Get("source"))
		}
	}
	if !strings.Contains(page, "As you typed it, where the columns say something else: line") {
		t.Error("it is not said which line stays as typed")
	}
	if second.Get("skip") != "on" {
		t.Error("rows that cannot be taken are no longer left out")
	}
}

// Law: what becomes of each row of a table is shown before the campaign begins, with what can be
// done: rows that cannot be taken are no measurements, and are left out where that is ticked. What
// is shown of the first experiments is what happens then.
func TestRowsAreShownBefore(t *testing.T) {
	s := serve(t, time.Hour)
	const table = "temp;time;yield\n20;1;10\n30;2;21\n40;3;30,5\n50;4;n.b.\n60;5;41\n70;6;52\n80;7;60\n"
	_, _, form := s.looks(url.Values{"table": {table}}, "look")
	form.Set("role.2", "maximize")
	_, page, file := s.looks(form, "write")
	if !strings.Contains(page, "<strong>6 measurements of the table are taken along.</strong>") {
		t.Errorf("it is not said how many: %s", page[strings.Index(page, `id="along"`):])
	}
	if strings.Contains(page, "cannot be taken. Mend them") {
		before := len(s.lab.Campaigns())
		if status, _, page := s.post("/new", file); status < 400 || !strings.Contains(page, "line 5") || !strings.Contains(page, "tick that rows which cannot be taken are left out") {
			t.Errorf("with a row that cannot be taken: %d", status)
		}
		if len(s.lab.Campaigns()) != before {
			t.Error("a campaign began")
		}
		file.Set("skip", "on")
	}
	seen := s.says("/validate", file)
	if !strings.Contains(seen.Along, "6 measurements of the table are taken along") || !strings.Contains(seen.Along, "line 5") {
		t.Errorf("of the rows it is said: %s", seen.Along)
	}
	if seen.First.Total != 0 || seen.First.Rows != nil || !strings.Contains(seen.First.Then, "chooses from the 6 measurements taken along") {
		t.Errorf("of the first experiments it is said: %+v", seen.First)
	}
	s.sent("/new", file)
	c := must.Get(s.lab.Campaign("my-campaign"))(t)
	s.until(c, "a suggestion", func(state *campaign.State) bool { return len(state.Experiments) > 6 })
	c.Read(func(core *engine.Core) {
		if x := core.State().Experiments[6]; x.Origin != events.OriginPolicy {
			t.Errorf("the first experiment is from %s", x.Origin)
		}
	})
}
