package decisions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/methods"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/forgery"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// small are the golden logs that an audit makes again in milliseconds, the quickest first.
func small(t *testing.T) (logs []history) {
	for _, name := range []string{"contest", "estimate", "calledoff", "files", "unfit", "programs", "people"} {
		logs = append(logs, named(t, "0.4.0/"+name))
	}
	return logs
}

// Law: of every field of every kind of event in a small log, changed in each way that another log has not
// shown, an audit says what testdata/said_of_fields.txt has, and finds what is to be found where decisions
// rest on it.
func TestEachFieldForged(t *testing.T) {
	said := new(sayings)
	t.Run("logs", func(t *testing.T) {
		before := make(map[string]bool)
		for _, h := range append(small(t), continued(t)...) {
			list := must.Get(forgery.Of(h.all))(t)
			ways, most := make(map[string]int), 3
			if len(h.all) > 100 || h.name == "0.4.0/unfit" { // which take longer
				most = 2
			}
			list = slices.DeleteFunc(list, func(f forgery.Forgery) bool {
				field, _, _ := strings.Cut(f.Path, "/")
				known := string(h.all[f.At].Kind) + " " + f.Path
				of := known + " " + f.What
				if before[of] || field == "definition" || field == "source" || field == "changes" || f.At < h.from || ways[known] >= most {
					return true
				}
				before[of] = true
				ways[known]++
				return false
			})
			t.Run(h.name, func(t *testing.T) {
				t.Parallel()
				honest, err, _ := h.audit(t, h.all)
				if err != nil || len(honest.Mismatches) > 0 {
					t.Fatalf("the honest log: %+v %v", honest.Mismatches, err)
				}
				ways := make(map[string][]string) // of which the same is said
				for _, f := range list {
					var report decisions.Report
					var ok bool
					kinds := forged[path.Base(h.name)]
					if h.from > 0 || kinds != nil && !slices.Contains(kinds, h.all[f.At].Kind) { // no decision rests on it
						report, err, ok = h.audit(t, f.In(h.all))
					} else {
						report, err, ok = h.try(t, f, honest)
					}
					of := fmt.Sprintf("%s %d %s, %s: %s", h.name, f.At+1, h.all[f.At].Kind, f.Path, inWords(report, err, ok))
					ways[of] = append(ways[of], f.What)
				}
				for of, what := range ways {
					said.say(fmt.Sprintf("%s; %q", of, what))
				}
			})
		}
	})
	said.same(t, "testdata/said_of_fields.txt")
}

// Law: a log that ends early is accused only where it ends within what is recorded together; of what
// is missing then an audit says what testdata/said_of_ends.txt has.
func TestLogsThatEndEarly(t *testing.T) {
	said := new(sayings)
	t.Run("logs", func(t *testing.T) {
		for _, h := range append(small(t), continued(t)...) {
			t.Run(h.name, func(t *testing.T) {
				t.Parallel()
				for n := max(1, h.from); n <= len(h.all); n++ {
					report, err, ok := h.audit(t, h.all[:n])
					together := n < len(h.all) && h.all[n].Time.Equal(h.all[n-1].Time)
					if err != nil || !ok || len(report.Mismatches) > 0 && !together {
						t.Errorf("%s up to event %d: %+v %v", h.name, n, report.Mismatches, err)
					}
					if len(report.Mismatches) > 0 {
						said.add(h, n-1, "the end", report, err, ok)
					}
				}
			})
		}
	})
	said.same(t, "testdata/said_of_ends.txt")
}

// field sets a field of the payload of an event, where it has one.
func field(t *testing.T, e events.Event, name string, value func(any) any) events.Event {
	t.Helper()
	var data map[string]any
	must.Do(t, json.Unmarshal(e.Data, &data))
	at := data
	keys := strings.Split(name, "/")
	for _, key := range keys[:len(keys)-1] {
		inner, ok := at[key].(map[string]any)
		if !ok {
			return e
		}
		at = inner
	}
	last := keys[len(keys)-1]
	if _, there := at[last]; !there {
		return e
	}
	if at[last] = value(at[last]); at[last] == nil {
		delete(at, last)
	}
	e.Data, _ = json.Marshal(data)
	return e
}

// always is a value whatever was there.
func always(value any) func(any) any { return func(any) any { return value } }

// scaled are the numbers of a JSON value, a little greater.
func scaled(by float64) func(any) any {
	var scale func(any) any
	scale = func(value any) any {
		switch v := value.(type) {
		case float64:
			if v != math.Trunc(v) { // else a count
				return v * (1 + by)
			}
		case []any:
			for i := range v {
				v[i] = scale(v[i])
			}
		case map[string]any:
			for key := range v {
				v[key] = scale(v[key])
			}
		}
		return value
	}
	return scale
}

// nudged are candidates whose x1 is a little greater.
func nudged(by float64) func(any) any {
	return func(candidates any) any {
		for _, c := range candidates.([]any) {
			if at, ok := c.(map[string]any)["parameters"].(map[string]any); ok {
				if x, ok := at["x1"].(float64); ok {
					at["x1"] = x + by
				}
			}
		}
		return candidates
	}
}

// Law: what an audit reports of a log that other programs wrote, or programs of several versions, is what
// testdata/reports.txt has: counts, builds, what was left out, and what it found.
func TestReports(t *testing.T) {
	other := events.Build{Version: "v0.9.0", Revision: "bbbb"}
	everywhere := func(name string, value func(any) any) func(int, events.Event) events.Event {
		return func(_ int, e events.Event) events.Event { return field(t, e, name, value) }
	}
	of := func(kind events.Kind, name string, value func(any) any) func(int, events.Event) events.Event {
		return func(_ int, e events.Event) events.Event {
			if e.Kind != kind {
				return e
			}
			return field(t, e, name, value)
		}
	}
	type change = func(int, events.Event) events.Event
	byOther := everywhere("build", always(other))
	words := func(text any) any {
		return strings.NewReplacer("1", "7", "2", "3", "3", "4", "7", "8").Replace(text.(string))
	}
	variants := []struct {
		name    string
		changes []change
	}{
		{"as it is", nil},
		{"by another program", []change{byOther}},
		{"from the middle by another program", []change{func(i int, e events.Event) events.Event {
			if i < 20 {
				return e
			}
			return byOther(i, e)
		}}},
		{"decisions of another version", []change{everywhere("policy/version", always(99))}},
		{"decisions of no version", []change{everywhere("policy/version", always(0))}},
		{"decisions of an earlier version", []change{everywhere("policy/version", always(3))}},
		{"decisions of another family", []change{everywhere("policy/family", always("another"))}},
		{"decisions of another module", []change{everywhere("policy/module", always("example.org/another"))}},
		{"decisions of no family, for another reason, by another program", []change{
			byOther, everywhere("policy/family", always(nil)), everywhere("policy/module", always(nil)), everywhere("rule", always("another"))}},
		{"decisions of no family, for another reason", []change{everywhere("policy/family", always(nil)), everywhere("rule", always("another"))}},
		{"another version of a module, by another program", []change{byOther, everywhere("policy/module_version", always("v9"))}},
		{"models of another version", []change{of(events.KindModelFitted, "version", always(99))}},
		{"models of version 1", []change{of(events.KindModelFitted, "version", always(nil))}},
		{"failed fits of another version", []change{of(events.KindModelFitFailed, "version", always(99))}},
		{"judgments of another version", []change{of(events.KindMeasurementsJudged, "version", always(99))}},
		{"a view in another form", []change{everywhere("program/format", always(99))}},
		{"other numbers in sentences", []change{everywhere("reason", words), everywhere("explanation", words)}},
		{"other numbers in sentences, by another program", []change{byOther, everywhere("reason", words), everywhere("explanation", words)}},
		{"other words, by another program", []change{byOther, of(events.KindDecisionMade, "reason", always("because"))}},
		{"slightly other models, by another program", []change{byOther, of(events.KindModelFitted, "objective", scaled(1e-6))}},
		{"other models, by another program", []change{byOther, of(events.KindModelFitted, "objective", scaled(1e-2))}},
		{"compositions elsewhere by less than of the range of their parameter, by another program", []change{byOther, func(_ int, e events.Event) events.Event {
			return field(t, e, "candidates", nudged(1e-3))
		}}},
		{"slightly other decisions, by another program", []change{byOther, of(events.KindDecisionMade, "candidates", scaled(1e-6))}},
		{"other decisions, by another program", []change{byOther, of(events.KindDecisionMade, "candidates", scaled(1e-2))}},
		{"other seeds of fits", []change{of(events.KindModelFitted, "seed", always("17"))}},
		{"fits of the future", []change{of(events.KindModelFitted, "at", always(500))}},
		{"fits of the beginning", []change{of(events.KindModelFitted, "at", always(1))}},
		{"named after another campaign", []change{of(events.KindCampaignDefined, "definition/name", always("another"))}},
		{"another mark", []change{func(_ int, e events.Event) events.Event { e.Simulated = !e.Simulated; return e }}},
	}
	said := new(sayings)
	t.Run("logs", func(t *testing.T) {
		for _, h := range golden(t) {
			seen := make(map[string]bool)
			t.Run(h.name, func(t *testing.T) {
				t.Parallel()
				for _, v := range variants {
					all := slices.Clone(h.all)
					for _, change := range v.changes {
						for i := range all {
							all[i] = change(i, all[i])
						}
					}
					if text := fmt.Sprint(all); seen[text] || v.changes != nil && (h.earlier() || len(h.all) > 70 && h.name != "0.4.0/people") {
						continue
					} else {
						seen[text] = true
					}
					report, err, ok := h.audit(t, all)
					report.Mismatches = report.Mismatches[:min(2, len(report.Mismatches))]
					report.Remarks = report.Remarks[:min(2, len(report.Remarks))]
					text, _ := json.Marshal(report)
					said.say(fmt.Sprintf("%s %s: %s %v %t", h.name, v.name, text, err, ok))
				}
			})
		}
	})
	said.same(t, "testdata/reports.txt")
}

// again is a program that answers as a log says that it did, or otherwise.
type again struct {
	answers map[string]events.MethodAnswered // by decision and attempt
	change  func(*events.MethodAnswered)
	err     error
	asked   []methods.Question
	closed  int
}

func (p *again) Describe(context.Context) (methods.Description, error) {
	return methods.Description{Name: "chooser"}, nil
}

func (p *again) Propose(_ context.Context, q methods.Question) (events.MethodAnswered, error) {
	p.asked = append(p.asked, q)
	a := p.answers[fmt.Sprint(q.Decision, q.Attempt)]
	p.change(&a)
	return a, p.err
}

func (p *again) Close() error {
	p.closed++
	return nil
}

// Law: a program that says that it is deterministic is asked again, where that is asked for, what it was
// asked then: with the same view, seed and attempt. Where it answers the same that is counted, where it
// answers otherwise it is a mismatch, and where it cannot or is another one by now, a remark. It is
// opened once for each definition, and closed.
func TestProgramsAnswerAgain(t *testing.T) {
	h := named(t, "0.4.0/programs")
	answers := make(map[string]events.MethodAnswered)
	proposals := 0
	for _, e := range h.all {
		if a, ok := decode(t, e).(*events.MethodAnswered); ok {
			answers[fmt.Sprint(a.Decision, a.Attempt)] = *a
			if a.Cause == "" {
				proposals++
			}
		}
	}
	rested := slices.Clone(h.all) // of no word of which it is deterministic
	for i := range rested {
		rested[i] = field(t, rested[i], "program/deterministic", always(nil))
	}
	unlike := slices.Clone(h.all)
	for i := range unlike {
		if unlike[i].Kind == events.KindMethodAnswered {
			unlike[i] = field(t, unlike[i], "program/view", always("sha256:"+strings.Repeat("0", 64)))
		}
	}
	same := func(*events.MethodAnswered) {}
	for name, c := range map[string]struct {
		all                []events.Event
		change             func(*events.MethodAnswered)
		err, opening       error
		asked, again       int
		mismatches         int
		remarks            int
		mismatch, remarked string
	}{
		"the same":           {all: h.all, change: same, asked: proposals, again: proposals},
		"other compositions": {all: h.all, change: func(a *events.MethodAnswered) { a.Parameters = definition.Point{"x1": definition.Number(0)} }, asked: proposals, mismatches: proposals, mismatch: "says that it is deterministic, and answered"},
		"another reason":     {all: h.all, change: func(a *events.MethodAnswered) { a.Reason = "why not" }, asked: proposals, mismatches: proposals, mismatch: "says that it is deterministic"},
		"other numbers":      {all: h.all, change: func(a *events.MethodAnswered) { a.Numbers = nil }, asked: proposals, mismatches: proposals, mismatch: "says that it is deterministic"},
		"another name":       {all: h.all, change: func(a *events.MethodAnswered) { a.Program.Name = "another" }, asked: proposals, remarks: proposals, remarked: "here is another 3 with other files"},
		"another version":    {all: h.all, change: func(a *events.MethodAnswered) { a.Program.Version = "4" }, asked: proposals, remarks: proposals, remarked: "here is chooser 4"},
		"other files":        {all: h.all, change: func(a *events.MethodAnswered) { a.Program.Files = "00" }, asked: proposals, remarks: proposals, remarked: "it was not made again"},
		"silence":            {all: h.all, change: func(a *events.MethodAnswered) { a.Cause = "it said nothing" }, asked: proposals, remarks: proposals, remarked: "did not answer again: it said nothing"},
		"an error":           {all: h.all, change: same, err: errors.New("it ended"), asked: proposals, remarks: proposals, remarked: "did not answer again: it ended"},
		"it does not start":  {all: h.all, opening: errors.New("no such file"), remarks: proposals, remarked: "cannot answer again: no such file"},
		"not deterministic":  {all: rested, change: same},
	} {
		t.Run(name, func(t *testing.T) {
			log := memlog.New()
			must.Get(log.Append(t.Context(), c.all[0].Campaign, 0, c.all...))(t)
			program := &again{answers: answers, change: c.change, err: c.err}
			opened := 0
			report := must.Get(decisions.Audit(t.Context(), builtin.Registry(), log, c.all[0].Campaign, h.build,
				func(def definition.Campaign) (methods.Method, error) {
					opened++
					if def.Name != c.all[0].Campaign {
						t.Errorf("opened for %q", def.Name)
					}
					if c.opening != nil {
						return nil, c.opening
					}
					return program, nil
				}))(t)
			if len(program.asked) != c.asked || report.ProposalsAgain != c.again || len(report.Mismatches) != c.mismatches || len(report.Remarks) != c.remarks {
				t.Errorf("asked %d times: %+v", len(program.asked), report)
			}
			if opened > 1 || c.asked > 0 && program.closed != 1 {
				t.Errorf("opened %d times, closed %d times", opened, program.closed)
			}
			for _, q := range program.asked {
				a := answers[fmt.Sprint(q.Decision, q.Attempt)]
				if q.Seed != a.Seed || q.Shown.View != a.Program.View || len(q.View) == 0 {
					t.Errorf("%s is asked with %d, %+v; was with %d, %+v", q.Decision, q.Seed, q.Shown, a.Seed, a.Program)
				}
			}
			for _, m := range report.Mismatches {
				if !strings.Contains(m.Problem, c.mismatch) {
					t.Error(m)
				}
			}
			for _, m := range report.Remarks {
				if !strings.Contains(m.Problem, c.remarked) {
					t.Error(m)
				}
			}
		})
	}
	log := memlog.New()
	must.Get(log.Append(t.Context(), unlike[0].Campaign, 0, unlike...))(t)
	program := &again{answers: answers, change: same}
	if _, err := decisions.Audit(t.Context(), builtin.Registry(), log, unlike[0].Campaign, h.build,
		func(definition.Campaign) (methods.Method, error) { return program, nil }); err != nil || len(program.asked) > 0 {
		t.Errorf("%d times asked of what it was not shown: %v", len(program.asked), err)
	}
}

// Law: whatever the clocks of a log of notes were set to, what an audit says of it is what
// testdata/said_of_clocks.txt has: a date out of line alone by more than a day is a mismatch, any other
// step back a remark, at the event that shows it.
func TestClocks(t *testing.T) {
	log := memlog.New()
	begun := named(t, "0.4.0/contest").all[0]
	must.Get(log.Append(t.Context(), begun.Campaign, 0, begun))(t)
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, begun.Campaign))(t)
	for i := range 4 {
		note := engine.Request{Actor: "person:ada", Note: &engine.Note{Text: fmt.Sprint("note ", i)}}
		must.Get(engine.Submit(t.Context(), log, core, note, begun.Time.Add(time.Hour)))(t)
	}
	h := history{name: "notes"}
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		h.all = append(h.all, e)
	}
	steps := []time.Duration{time.Hour, -time.Hour, -24 * time.Hour, -24*time.Hour - time.Microsecond, 72 * time.Hour}
	said := new(sayings)
	n := len(h.all) - 1
	for code := range len(steps) * len(steps) * len(steps) {
		all, now, names := slices.Clone(h.all), begun.Time, ""
		for i := range n {
			step := time.Hour
			if i < 3 {
				step = steps[code%len(steps)]
				code /= len(steps)
			}
			now = now.Add(step)
			all[i+1].Time = now
			names += " " + step.String()
		}
		report, err, ok := h.audit(t, all)
		if len(report.Mismatches)+len(report.Remarks) > 0 || err != nil || !ok {
			said.add(h, 0, names, report, err, ok)
		}
	}
	said.same(t, "testdata/said_of_clocks.txt")
}

// Law: counts of several campaigns are the sums of theirs; builds and methods that both have are counted
// together, and others stand behind.
func TestCountsAdd(t *testing.T) {
	one, two := events.Build{Version: "v1.0.0"}, events.Build{Version: "v2.0.0"}
	counts := func(n int, builds ...events.Build) (c decisions.Counts) {
		all := reflect.ValueOf(&c).Elem()
		for i := range all.NumField() {
			if all.Field(i).Kind() == reflect.Int {
				all.Field(i).SetInt(int64(n * (i + 1)))
			}
		}
		for i, b := range builds {
			c.Builds = append(c.Builds, decisions.BuildShare{Build: b, Decisions: n, Reproduced: 2 * n, OtherVersion: 3 * n, Fits: 4 * n})
			c.Unmade = append(c.Unmade, decisions.Unmade{Family: b.Version, Version: i, Decisions: 5 * n})
		}
		return c
	}
	sum := counts(1, one)
	sum.Add(counts(10, one, two))
	want := counts(11, one, two)
	want.Builds[1] = counts(10, one, two).Builds[1]
	want.Unmade[1].Decisions = 50
	if !reflect.DeepEqual(sum, want) {
		t.Errorf("the sum is %+v, and not %+v", sum, want)
	}
}
