package console_test

import (
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// fieldsOf are the names of what a page's form to an address sends, its buttons among them.
func (s *site) fieldsOf(page, action string) (names []string) {
	s.t.Helper()
	root := must.Get(html.Parse(strings.NewReader(page)))(s.t)
	for form := range root.Descendants() {
		if form.Data != "form" || attribute(form, "action") != action {
			continue
		}
		for n := range form.Descendants() {
			if name := attribute(n, "name"); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// Law: whatever a request can carry, and so whatever the
// terminal and the API can record, the form of the browser asks for, and sends.
func TestFormsTakeWhatRequestsCarry(t *testing.T) {
	s := serve(t, time.Hour)
	bench := s.begin("name: bench" + space + "initial: {experiments: 2}\nbudget: {experiments: 4}\ninstrument: manual\n")
	s.until(bench, "measures", func(st *campaign.State) bool { return len(st.Experiments) > 0 })
	s.lose("lost")
	bench = must.Get(s.lab.Campaign("bench"))(t)
	lost := must.Get(s.lab.Campaign("lost"))(t)
	// How the forms call what requests carry.
	fields := map[string][]string{
		"experiment": {"experiment"}, "parameters": {"own.x", "own.salt"}, "actual": {"actual.x", "actual.salt"},
		"value": {"value"}, "sd": {"sd"}, "further": {"further.name", "further.value", "further.unit"}, "notes": {"remark"},
		"failed": {"outcome", "why"}, "infeasible": {"outcome", "why"}, "again": {"outcome", "why"},
		"anyway": {"anyway"}, "reason": {"reason"}, "outcome": {"how"}, "exclude": {"how"},
		"resolution": {"resolution"}, "repeat": {"repeat"}, "voided": {"voided"}, "end_program": {"end_program"},
		"text": {"text"}, "about": {"about"}, "region": {"min.x", "max.x", "is.salt"}, "exclusion": {"exclusion"},
		"point": nil, // a composition is excluded by the experiment that it was made in
		// Those of a campaign that declares its quantities are in a test of their own, below.
		"quantities": {"further.name", "further.value", "further.unit"}, "missing": nil, "leave_out": nil, "later": nil,
		"unit": nil, // it stands beside the field, and the terminal has its own checked against it
	}
	measured := url.Values{
		"value": {"2,5"}, "sd": {"0.25"}, "actual.x": {"1.5"}, "anyway": {"on"}, "remark": {"cloudy"}, "reason": {"read again"},
		"further.name": {"viscosity", "pH", ""}, "further.value": {"3,1", "7", ""}, "further.unit": {"mPa s", "", ""},
	}
	with := func(more url.Values) url.Values {
		form := url.Values{}
		for _, of := range []url.Values{measured, more} {
			for name, values := range of {
				form[name] = values
			}
		}
		return form
	}
	const measurement = `"objective":{"name":"flow","value":2.5,"unit":"mL/s","sd":0.25},` +
		`"further":[{"name":"viscosity","value":3.1,"unit":"mPa s"},{"name":"pH","value":7}]`
	for _, f := range []struct {
		request any
		page    string
		path    string
		form    url.Values
		kind    events.Kind
		holds   []string
		lacks   []string // what the form leaves to another one, or to the terminal
	}{
		{engine.Tell{}, "/campaigns/bench/results", "/campaigns/bench/tell", // an experiment of one's own
			with(url.Values{"own.x": {"0.25"}, "own.salt": {"B"}}), events.KindExperimentMeasured,
			[]string{measurement, `"requested":{"salt":"B","x":0.25}`, `"actual":{"salt":"B","x":1.5}`}, nil},
		{engine.Tell{}, "/campaigns/bench/results", "/campaigns/bench/tell",
			with(url.Values{"experiment": {"e1"}, "outcome": {"measured"}}), events.KindExperimentMeasured,
			[]string{measurement, `"actual":{"salt":"`, `"x":1.5`}, nil},
		{engine.Correct{}, "/campaigns/bench/experiments/e1", "/campaigns/bench/correct",
			with(url.Values{"experiment": {"e1"}, "sd": {"0.5"}, "further.value": {"", "8", ""}}), // no radio: what is typed is meant
			events.KindMeasurementCorrected,
			[]string{`"sd":0.5`, `"further":[{"name":"pH","value":8}]`, `"x":1.5`, "read again"}, nil},
		{engine.Resolve{}, "/campaigns/lost/experiments/e1", "/campaigns/lost/resolve",
			with(url.Values{"experiment": {"e1"}}), events.KindExperimentResolved,
			[]string{measurement, `"resolution":"measured"`, `"x":1.5`, "read again"}, nil},
		{engine.Note{}, "/campaigns/bench", "/campaigns/bench/note",
			url.Values{"text": {"it foams"}, "about": {"e1"}}, events.KindNoteAdded,
			[]string{`"text":"it foams"`, `"about":"e1"`}, nil},
		{engine.Exclude{}, "/campaigns/bench", "/campaigns/bench/exclude",
			url.Values{"about": {"e1"}, "reason": {"it freezes"}}, events.KindRegionExcluded,
			[]string{`"about":"e1"`, `"reason":"it freezes"`}, []string{"region"}},
		{engine.Exclude{}, "/campaigns/bench/region?look=on&min.x=0.1&max.x=0.2&is.salt=A", "/campaigns/bench/region",
			url.Values{"min.x": {"0,1"}, "max.x": {"0.2"}, "is.salt": {"A"}, "reason": {"too thick"}}, events.KindRegionExcluded,
			[]string{`"x":{"min":0.1,"max":0.2}`, `"salt":{"is":"A"}`, `"reason":"too thick"`}, []string{"about"}},
		{engine.Allow{}, "/campaigns/bench?tab=notes", "/campaigns/bench/allow",
			url.Values{"exclusion": {"n1"}}, events.KindRegionAllowed, []string{`"exclusion":"n1"`}, []string{"reason"}},
	} {
		_, page := s.get(f.page)
		there := s.fieldsOf(page, f.path)
		for i := range reflect.TypeOf(f.request).NumField() {
			name, _, _ := strings.Cut(reflect.TypeOf(f.request).Field(i).Tag.Get("json"), ",")
			sends, known := fields[name]
			if slices.Contains(f.lacks, name) {
				continue
			}
			if !known {
				t.Errorf("no form says the %s of %T", name, f.request)
			}
			for _, field := range sends {
				if !slices.Contains(there, field) {
					t.Errorf("%s: the form has no field %s, for the %s of %T", f.page, field, name, f.request)
				}
			}
		}
		of := bench
		if strings.Contains(f.path, "lost") {
			of = lost
		}
		s.sent(f.path, f.form)
		all := s.events(of, f.kind)
		text := string(all[len(all)-1].Data)
		for _, want := range f.holds {
			if !strings.Contains(text, want) {
				t.Errorf("%s: recorded without %s: %s", f.path, want, text)
			}
		}
	}
	notes := s.events(bench, events.KindNoteAdded)
	if len(notes) != 3 {
		t.Errorf("%d remarks", len(notes))
	}
	// What was measured before is asked for by its name from then on.
	if _, page := s.get("/campaigns/bench/experiments/e1"); !strings.Contains(page, `value="viscosity"`) || !strings.Contains(page, `placeholder="8.000"`) {
		t.Errorf("the quantities are not asked for: %s", page)
	}
}

// Law: the forms of a campaign that declares its quantities ask for each by its name, take the
// reason why there is none, and leave single ones out.
func TestFormsOfDeclaredQuantities(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin("name: bench" + space + "quantities: [{name: viscosity, unit: mPa s}, {name: pH}]\n" +
		"initial: {experiments: 2}\nbudget: {experiments: 4}\ninstrument: manual\n")
	s.until(c, "measures", func(st *campaign.State) bool { return len(st.Experiments) > 0 })
	for _, f := range []struct {
		page, path string
		form       url.Values
		kind       events.Kind
		asks       []string
		holds      string
	}{
		{"/campaigns/bench/results", "/campaigns/bench/tell",
			url.Values{"experiment": {"e1"}, "outcome": {"measured"}, "missing.flow": {"it was clogged"},
				"further.name": {"viscosity", "pH", ""}, "further.value": {"3,1", "", ""}, "further.unit": {"mPa s", "", ""}},
			events.KindExperimentMeasured, []string{"missing.flow", "missing.viscosity", "missing.pH", "further.value"},
			`"quantities":[{"name":"viscosity","value":3.1,"unit":"mPa s"}],"missing":[{"name":"flow","reason":"it was clogged"},{"name":"pH","reason":"it was not reported"}]`},
		{"/campaigns/bench/experiments/e1", "/campaigns/bench/correct",
			url.Values{"experiment": {"e1"}, "value": {"2"}, "leave-out": {"viscosity"}, "reason": {"looked again"},
				"further.name": {"viscosity", "pH", ""}, "further.value": {"", "7", ""}, "further.unit": {"mPa s", "", ""}},
			events.KindMeasurementCorrected, []string{"leave-out", "further.value"},
			`"values":[{"name":"flow","new":{"name":"flow","value":2,"unit":"mL/s"}},` +
				`{"name":"viscosity","old":{"name":"viscosity","value":3.1,"unit":"mPa s"},"excluded":true},{"name":"pH","new":{"name":"pH","value":7}}]`},
	} {
		_, page := s.get(f.page)
		there := s.fieldsOf(page, f.path)
		for _, field := range f.asks {
			if !slices.Contains(there, field) {
				t.Errorf("%s: the form has no field %s: %v", f.page, field, there)
			}
		}
		s.sent(f.path, f.form)
		all := s.events(c, f.kind)
		if len(all) == 0 || !strings.Contains(string(all[len(all)-1].Data), f.holds) {
			t.Fatalf("%s: recorded without %s: %v", f.path, f.holds, all)
		}
	}
	_, page := s.get("/campaigns/bench/experiments/e1")
	for _, want := range []string{"3.100 mPa s, left out of the models", "7.000"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// Law: the form of an experiment that has ended asks for what is still to arrive, and for nothing
// else; what is typed arrives, or is missing with the reason, and is awaited no longer. Its page and
// that of the campaign say what is.
func TestWhatArrivesLaterIsAskedFor(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin("name: bench" + space + "quantities: [{name: capacity, unit: mAh, arrives: later, answer_within: 3d}, {name: swelling, unit: mm, arrives: later}]\n" +
		"initial: {experiments: 1}\nbudget: {experiments: 1}\ninstrument: manual\n")
	s.until(c, "measures", func(st *campaign.State) bool { return len(st.Experiments) > 0 })
	s.sent("/campaigns/bench/tell", url.Values{"experiment": {"e1"}, "outcome": {"measured"}, "later": {"on"}})
	says := func(path string, wants ...string) string {
		t.Helper()
		_, page := s.get(path)
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not say %q", path, want)
			}
		}
		return page
	}
	says("/campaigns/bench", "Still to arrive: capacity of e1, the first missing from", "Still to arrive: swelling of e1.")
	says("/campaigns/bench/experiments/e1", "still to arrive; missing from")
	page := says("/campaigns/bench/results?experiment=e1", "what is still to arrive", "It counts as missing from")
	there := s.fieldsOf(page, "/campaigns/bench/tell")
	for _, field := range []string{"experiment", "further.value", "missing.capacity", "missing.swelling"} {
		if !slices.Contains(there, field) {
			t.Errorf("the form has no field %s: %v", field, there)
		}
	}
	late := url.Values{"request": {"first"}, "experiment": {"e1"}, "outcome": {"measured"}, "missing.swelling": {"it leaked"},
		"further.name": {"capacity", "swelling"}, "further.value": {"150,5", ""}, "further.unit": {"mAh", "mm"}}
	s.sent("/campaigns/bench/tell", late)
	all := s.events(c, events.KindQuantityArrived)
	if len(all) != 2 || !strings.Contains(string(all[0].Data), `"value":150.5`) || !strings.Contains(string(all[1].Data), "it leaked") {
		t.Errorf("recorded is %v", all)
	}
	late.Set("request", "second") // from another page; the run may be ending, and what has a name is sent anew
	if status, _, page := s.post("/campaigns/bench/tell", late); status < 400 || !strings.Contains(page, "is there already") {
		t.Errorf("sent again: %d %s", status, page)
	}
}

// Law: nothing that is typed is dropped. What contradicts something else, or has no name or no
// value, is refused, and stands in the form again.
func TestNothingTypedIsDropped(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin("name: bench" + space + "initial: {experiments: 2}\nbudget: {experiments: 4}\ninstrument: manual\n")
	s.until(c, "measures", func(st *campaign.State) bool { return len(st.Experiments) > 0 })
	tell := func(more url.Values) url.Values {
		form := url.Values{"experiment": {"e1"}, "outcome": {"measured"}, "value": {"2"}}
		for name, values := range more {
			form[name] = values
		}
		return form
	}
	for _, f := range []struct {
		form  url.Values
		says  string
		again string
	}{
		{tell(url.Values{"outcome": {"failed"}, "why": {"it leaked"}}), "empty that", `value="2"`},
		{tell(url.Values{"further.name": {"pH"}, "further.value": {""}, "further.unit": {""}}), "type its value", `value="pH"`},
		{tell(url.Values{"further.name": {""}, "further.value": {"7"}, "further.unit": {""}}), "what it is called", `value="7"`},
		{tell(url.Values{"further.name": {"pH", "pH"}, "further.value": {"7", "8"}, "further.unit": {"", ""}}), "twice", `value="8"`},
		{tell(url.Values{"sd": {"wide"}, "remark": {"it foams"}}), "standard deviation", `value="it foams"`},
		{tell(url.Values{"actual.x": {"7"}, "actual.salt": {"B"}}), "far outside", `<option selected>B`},
		{tell(url.Values{"sd": {"0.37"}, "outcome": {"failed"}, "why": {"it leaked"}}), "empty that", `id="sd" name="sd" inputmode="decimal" autocomplete="off" value="0.37"`},
	} {
		status, _, page := s.post("/campaigns/bench/tell", f.form)
		if status < 400 || !strings.Contains(page, f.says) || !strings.Contains(page, f.again) {
			t.Errorf("%v: %d, without %q or %q: %s", f.form, status, f.says, f.again, page)
		}
	}
	// What is in an address was not typed.
	if _, page := s.get("/campaigns/bench/results?experiment=e1&sd=0.37&remark=it+foams"); strings.Contains(page, `value="0.37"`) || strings.Contains(page, `value="it foams"`) {
		t.Errorf("a form is filled in that nobody filled in: %s", page)
	}
	s.sent("/campaigns/bench/tell", tell(nil))
	// A value beside another outcome is a contradiction, as in the terminal.
	status, _, page := s.post("/campaigns/bench/correct", url.Values{"experiment": {"e1"}, "how": {"failed"}, "value": {"3"}, "reason": {"x"}})
	if status < 400 || !strings.Contains(page, "one of the two is wrong") {
		t.Errorf("a failure with a value: %d %s", status, page)
	}
	status, _, page = s.post("/campaigns/bench/correct", url.Values{"experiment": {"e1"}, "reason": {"x"}})
	if status < 400 || !strings.Contains(page, "choose what to correct") && !strings.Contains(page, "Choose what to correct") {
		t.Errorf("a correction of nothing: %d %s", status, page)
	}
}
