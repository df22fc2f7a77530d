package decisions_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/forgery"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// history is a golden log: events that a release has written.
type history struct {
	name  string // "0.3.0/calledoff"
	all   []events.Event
	build events.Build // that made its last fit, decision or recovery, or another one
	from  int          // the first event that is forged
}

// golden are the golden logs of all releases.
func golden(t *testing.T) (logs []history) {
	t.Helper()
	const folder = "../../engine/drive/testdata/golden"
	paths, err := filepath.Glob(filepath.Join(folder, "*", "*.jsonl"))
	if err != nil || len(paths) < 15 {
		t.Fatalf("%d golden logs: %v", len(paths), err)
	}
	for _, file := range paths {
		all := must.Get(forgery.Read(file))(t)
		name, _ := filepath.Rel(folder, strings.TrimSuffix(file, ".jsonl"))
		h := history{name: name, all: all}
		for _, e := range all {
			switch p := decode(t, e).(type) {
			case *events.ModelFitted:
				h.build = p.Build
			case *events.DecisionMade:
				h.build = p.Build
			case *events.RecoveryDone:
				h.build = p.Build
			}
		}
		if h.earlier() {
			h.build = events.Build{Version: "another"}
		}
		logs = append(logs, h)
	}
	return logs
}

// earlier reports whether a program of before began the campaign: not all that this one can
// say against a log can be said against that one.
func (h history) earlier() bool {
	return h.all[0].Version < events.VersionOf(new(events.CampaignDefined))
}

func decode(t *testing.T, e events.Event) events.Payload {
	t.Helper()
	return must.Get(events.Decode(e))(t)
}

// audit audits a history as the program that made it. ok is false for one that no
// log takes.
func (h history) audit(t *testing.T, all []events.Event) (report decisions.Report, err error, ok bool) {
	t.Helper()
	log := memlog.New()
	for _, e := range all {
		if _, err := log.Append(t.Context(), e.Campaign, e.Sequence-1, e); err != nil {
			return report, nil, false
		}
	}
	report, err = decisions.Audit(t.Context(), builtin.Registry(), log, h.all[0].Campaign, h.build, nil)
	return report, err, true
}

// forged are the kinds of events that are forged of logs in which no decision rests on what
// was measured, so that the rest can be anything: those that other logs do not hold.
var forged = map[string][]events.Kind{
	"calledoff": {events.KindCancellationOrdered, events.KindCancellationAnswered, events.KindInstrumentAnswered},
	"files":     {events.KindFileAttached, events.KindFileWithdrawn},
}

// Law: a log that a release has written is not accused. Whatever one field of one event is
// changed into of a log of today, all hashes being computed anew, an audit finds it, unless
// nothing else in the log speaks of it (forgery.Free), and says of it what testdata/said.txt has.
// How many forgeries of each log are tried CAMPAIGND_FORGERIES says.
func TestForgeriesOfGoldenLogs(t *testing.T) {
	said := new(sayings)
	t.Run("logs", func(t *testing.T) {
		logs := golden(t)
		for n, list := range drawn(t, logs) {
			h := logs[n]
			t.Run(h.name, func(t *testing.T) {
				t.Parallel()
				honest, err, _ := h.audit(t, h.all)
				if err != nil || len(honest.Mismatches) > 0 {
					t.Fatalf("the honest log: %+v %v", honest.Mismatches, err)
				}
				for i, f := range list {
					if report, err, ok := h.try(t, f, honest); i < few {
						said.add(h, f.At, f.Path+" "+f.What, report, err, ok)
					}
				}
			})
		}
	})
	said.same(t, "testdata/said.txt")
}

// drawn draws forgeries of each log of today, first of fields of which few were drawn before, and
// none of earlier logs.
func drawn(t *testing.T, logs []history) (lists [][]forgery.Forgery) {
	t.Helper()
	before := make(map[string]int)
	for _, h := range logs {
		if h.earlier() {
			lists = append(lists, nil)
			continue
		}
		list := must.Get(forgery.Of(h.all))(t)
		list = slices.DeleteFunc(list, func(f forgery.Forgery) bool {
			kinds := forged[path.Base(h.name)]
			field, _, _ := strings.Cut(f.Path, "/")
			return kinds != nil && !slices.Contains(kinds, h.all[f.At].Kind) ||
				// package attest holds the one to the other
				slices.Contains([]string{"definition", "source", "changes"}, field)
		})
		draws := rand.New(rand.NewPCG(1, uint64(len(list))))
		draws.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		known := func(f forgery.Forgery) string { return string(h.all[f.At].Kind) + " " + f.Path }
		slices.SortStableFunc(list, func(x, y forgery.Forgery) int { return before[known(x)] - before[known(y)] })
		list = list[:min(forgeries(t), len(list))]
		for _, f := range list {
			before[known(f)]++
		}
		lists = append(lists, list)
	}
	return lists
}

// try audits a forgery.
func (h history) try(
	t *testing.T, f forgery.Forgery, honest decisions.Report,
) (report decisions.Report, err error, ok bool) {
	t.Helper()
	e := h.all[f.At]
	report, err, ok = h.audit(t, f.In(h.all))
	switch {
	case !ok, err != nil, len(report.Mismatches) > 0, report.OtherVersion > honest.OtherVersion:
	case forgery.IsFree(e.Kind, f.Path):
	case strings.HasPrefix(f.Path, ".time later") && f.At == len(h.all)-1: // nothing is behind it
	case strings.HasPrefix(f.Path, ".time") && !reflect.DeepEqual(report.Remarks, honest.Remarks):
	default:
		t.Errorf("event %d of %d, %s by %s: %s %s is not found: %.300s",
			f.At+1, len(h.all), e.Kind, e.Actor, f.Path, f.What, f.Event.Data)
	}
	return report, err, ok
}

// sayings are what audits say, one line each.
type sayings struct {
	mu    sync.Mutex
	lines []string
}

// add adds what an audit says of a forgery.
func (s *sayings) add(h history, at int, forged string, report decisions.Report, err error, ok bool) {
	s.say(fmt.Sprintf("%s %d %s, %s: %s", h.name, at+1, h.all[at].Kind, forged, inWords(report, err, ok)))
}

// inWords is what an audit says: how much it finds, and the first of it.
func inWords(report decisions.Report, err error, ok bool) string {
	said := fmt.Sprintf("%d mismatches, %d remarks, %d of another version", len(report.Mismatches), len(report.Remarks), report.OtherVersion)
	for _, list := range [][]decisions.Mismatch{report.Mismatches, report.Remarks} {
		if len(list) > 0 {
			said += fmt.Sprintf("; %d %s %s: %s", list[0].Position, list[0].Event, list[0].Subject, list[0].Problem)
		}
	}
	switch {
	case !ok:
		said = "no log takes it"
	case err != nil:
		said = err.Error()
	}
	said, _, _ = strings.Cut(said, "json: ") // the rest is the library's
	return said
}

// say adds a line.
func (s *sayings) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

var update = flag.Bool("update", false, "write down what audits say of forgeries")

// same compares the lines with those of a file.
func (s *sayings) same(t *testing.T, file string) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the figures are those of amd64")
	}
	slices.Sort(s.lines)
	if *update {
		must.Do(t, os.WriteFile(file, []byte(strings.Join(s.lines, "\n")+"\n"), 0o644))
	}
	text := must.Get(os.ReadFile(file))(t)
	kept := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range s.lines {
		if !slices.Contains(kept, line) {
			t.Errorf("an audit said something else before: %s", line)
		}
	}
	for _, line := range kept {
		if !slices.Contains(s.lines, line) {
			t.Errorf("an audit said before: %s", line)
		}
	}
}

// Law: an event of a log of today that is removed, doubled or exchanged with the next is found,
// all that follows being numbered anew, unless nothing else speaks of it (forgery.FreeMoves).
func TestMovedEventsAreFound(t *testing.T) {
	said := new(sayings)
	t.Run("logs", func(t *testing.T) { moved(t, said) })
	said.same(t, "testdata/said_of_moves.txt")
}

func moved(t *testing.T, said *sayings) {
	for _, h := range golden(t) {
		if h.earlier() {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			honest, _, _ := h.audit(t, h.all)
			moves := forgery.Moves(h.all)
			draws := rand.New(rand.NewPCG(2, uint64(len(moves))))
			draws.Shuffle(len(moves), func(i, j int) { moves[i], moves[j] = moves[j], moves[i] })
			for i, m := range moves[:min(forgeries(t), len(moves))] {
				report, err, ok := h.audit(t, m.Events)
				if i < few {
					said.add(h, m.At, string(m.What), report, err, ok)
				}
				e := h.all[m.At]
				found := !ok || err != nil || len(report.Mismatches) > 0 || report.OtherVersion > honest.OtherVersion
				if found || forgery.IsFreeMove(e.Kind, m.What) {
					continue
				}
				t.Errorf("event %d of %d, %s by %s, %s, is not found: %.300s", m.At+1, len(h.all), e.Kind, e.Actor, m.What, e.Data)
			}
		})
	}
}

// few is how many forgeries of each log are tried where no more are asked for.
const few = 40

// forgeries is how many of each log are tried.
func forgeries(t *testing.T) int {
	text := os.Getenv("CAMPAIGND_FORGERIES")
	if text == "" {
		return few
	}
	return must.Get(strconv.Atoi(text))(t)
}

// Law: mismatches and remarks stand in the order of the log, also those of times, which show
// only once all events were read.
func TestMismatchesAreInTheOrderOfTheLog(t *testing.T) {
	for _, h := range golden(t) {
		forged := slices.Clone(h.all)
		first, last := len(forged)/2, len(forged)-1
		forged[first].Time = forged[first].Time.AddDate(10, 0, 0)
		forged[last].ID = "another"
		report, err, ok := h.audit(t, forged)
		if err != nil || !ok || len(report.Mismatches) < 2 {
			t.Errorf("%s: %+v %v", h.name, report.Mismatches, err)
		}
		for _, list := range [][]decisions.Mismatch{report.Mismatches, report.Remarks} {
			if !slices.IsSortedFunc(list, func(x, y decisions.Mismatch) int { return int(x.Position) - int(y.Position) }) {
				t.Errorf("%s: %+v", h.name, list)
			}
		}
	}
}

// Law: who reported what a person says can be in the log, and is the same for all that was
// recorded with it; of the engine, an instrument, a program and a simulated expert it cannot.
// A person's next request has a time of its own. A payload is in the version that says what
// it says. What an event says goes with what was asked, measured and handed out. All of it is
// said of the event that was changed.
func TestRulesOfEvents(t *testing.T) {
	people, unfit, several := named(t, "0.4.0/people"), named(t, "0.4.0/unfit"), named(t, "0.4.0/several")
	programs, calledOff := named(t, "0.4.0/programs"), named(t, "0.4.0/calledoff")
	files, awaiting := named(t, "0.4.0/files"), named(t, "0.4.0/awaiting")
	says := func(old, new string) func(*events.Event) {
		return func(e *events.Event) {
			if !strings.Contains(string(e.Data), old) {
				t.Fatalf("%s does not say %s: %s", e.Kind, old, e.Data)
			}
			e.Data = []byte(strings.Replace(string(e.Data), old, new, 1))
		}
	}
	at := func(h history, kind events.Kind) int {
		return slices.IndexFunc(h.all, func(e events.Event) bool { return e.Kind == kind })
	}
	told := at(unfit, events.KindNoteAdded) // recorded with the result before it
	for name, c := range map[string]struct {
		of     history
		at     int
		change func(*events.Event)
		says   string
	}{
		"an account of the engine":            {people, at(people, events.KindDecisionMade), func(e *events.Event) { e.Account = "eve (uid 1000)" }, "has none"},
		"an account of an instrument":         {people, at(people, events.KindExperimentStarted), func(e *events.Event) { e.Account = "eve (uid 1000)" }, "has none"},
		"another account in a request":        {unfit, told, func(e *events.Event) { e.Account = "mallory (uid 1)" }, "its account"},
		"no account in a request":             {unfit, told, func(e *events.Event) { e.Account = "" }, "its account"},
		"another person in a request":         {unfit, told, func(e *events.Event) { e.Actor = "person:mallory" }, "the time of the event before it"},
		"an earlier version":                  {people, at(people, events.KindDecisionMade), func(e *events.Event) { e.Version = 1 }, "is of version 2"},
		"an earlier version of the beginning": {people, 0, func(e *events.Event) { e.Version = 1 }, "is of version 2"},
		"another method":                      {programs, at(programs, events.KindMethodAnswered), func(e *events.Event) { e.Actor = "method:another" }, "it is an answer of"},
		"an attempt that was not asked for":   {programs, at(programs, events.KindMethodAnswered), says(`"attempt":1`, `"attempt":2`), "was to be asked"},
		"another instrument":                  {files, at(files, events.KindExperimentMeasured), func(e *events.Event) { e.Actor = "instrument:another" }, "was handed to"},
		"a call-off of what is at rest":       {calledOff, 24, func(e *events.Event) { says(`"e4"`, `"e1"`)(e); says("/e4", "/e1")(e) }, "which was at rest"},
		"a device that is lost while the campaign rests": {calledOff, 51, func(e *events.Event) {
			e.Kind, e.Actor, e.Account = events.KindCampaignPaused, "engine", ""
			says(`{`, `{"device":"pump-7",`)(e)
		}, "nothing before it calls for it"},
		"another reason why a value was unusable": {awaiting, 31, says("capacity is in Ah", "capacity is in h"), "for another reason"},
		"a correction of another quantity":        {several, at(several, events.KindMeasurementCorrected), says(`"new":{"name":"viscosity"`, `"new":{"name":"conductivity"`), "a value of"},
		"a correction in another unit":            {several, at(several, events.KindMeasurementCorrected), says(`"value":3,"unit":"mPa·s"`, `"value":3,"unit":"Pa·s"`), "viscosity is in Pa·s"},
		"a correction without a sound deviation":  {several, at(several, events.KindMeasurementCorrected), says(`"value":3,"unit"`, `"value":3,"sd":-1,"unit"`), "the standard deviation of viscosity"},
		"a composition without a parameter":       {several, 53, says(`"reason":"worn"`, `"reason":"worn","actual":{"lipf6":1}`), "lacks ec"},
		"a version that there is not yet":         {people, at(people, events.KindNoteAdded), func(e *events.Event) { e.Version = 2 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			forged := slices.Clone(c.of.all)
			c.change(&forged[c.at])
			report, err, _ := c.of.audit(t, forged)
			found := slices.ContainsFunc(report.Mismatches, func(m decisions.Mismatch) bool {
				return m.Position == events.Position(c.at+1) && strings.Contains(m.Problem, c.says)
			})
			if err == nil && (!found || c.says == "") {
				t.Errorf("event %d: %+v", c.at+1, report.Mismatches)
			}
		})
	}
}

// named is one of the golden logs.
func named(t *testing.T, name string) history {
	t.Helper()
	logs := golden(t)
	i := slices.IndexFunc(logs, func(h history) bool { return h.name == name })
	if i < 0 {
		t.Fatalf("there is no golden log %s", name)
	}
	return logs[i]
}

// Law: a campaign is paused where it went on, and resumed where it had been held back; what a
// person settles is called off with it. All of it is said of the event that shows it.
func TestPausesAndCallOffs(t *testing.T) {
	h := named(t, "0.4.0/calledoff")
	for name, c := range map[string]struct {
		removed events.Kind
		of      int // which one of the kind, from 0
		says    string
	}{
		"paused twice":                {events.KindCampaignResumed, 1, "paused already"},
		"resumed, and not paused":     {events.KindCampaignPaused, 1, "was not paused"},
		"settled, and not called off": {events.KindCancellationAnswered, 1, "was not called off"},
	} {
		t.Run(name, func(t *testing.T) {
			n := -1
			i := slices.IndexFunc(forgery.Moves(h.all), func(m forgery.Move) bool {
				if m.What != forgery.Removed || h.all[m.At].Kind != c.removed {
					return false
				}
				n++
				return n == c.of
			})
			report, err, _ := h.audit(t, forgery.Moves(h.all)[i].Events)
			if err != nil || !slices.ContainsFunc(report.Mismatches, func(m decisions.Mismatch) bool {
				return strings.Contains(m.Problem, c.says)
			}) {
				t.Errorf("%+v %v", report.Mismatches, err)
			}
		})
	}
}

// Law: what another build has worked out may differ by a tolerance of the span of the parameter, of
// the objective, or of one where a number is neither, however a parameter is called.
func TestTolerance(t *testing.T) {
	spans := map[string]float64{"hours": 1000, "mean": 1000, "": 100}
	for _, c := range []struct {
		path   string
		by     float64
		differ bool
	}{
		{"/candidates/0/parameters/hours", 0.09, false},
		{"/candidates/0/parameters/hours", 0.11, true},
		{"/candidates/0/parameters/other", 0.00009, false},
		{"/candidates/0/parameters/other", 0.00011, true},
		{"/candidates/0/prediction/mean", 0.009, false},
		{"/candidates/0/prediction/mean", 0.011, true}, // though a parameter is called mean
		{"/objective/mean", 0.00009, false},
		{"/objective/mean", 0.00011, true},
		{"/objective/scale", 0.009, false},
		{"/objective/noise", 0.00011, true},
	} {
		if got := decisions.Difference(spans, c.path, 0.5+c.by, 0.5); (got != "") != c.differ {
			t.Errorf("%s is %g away: %q", c.path, c.by, got)
		}
	}
}

// Law: where a version of a method decided that this program does not have, what that one called
// for is not held against the log, nor what it did not call for; the audit says that it left it
// out.
func TestAnotherVersionDecided(t *testing.T) {
	version := regexp.MustCompile(`("policy":\{[^}]*"version":)\d+`)
	for _, h := range golden(t) {
		if h.earlier() {
			continue
		}
		forged := slices.Clone(h.all)
		decided := 0
		for i := range forged {
			if forged[i].Kind == events.KindDecisionMade {
				forged[i].Data = version.ReplaceAll(forged[i].Data, []byte("${1}99"))
				decided++
			}
		}
		report, err, ok := h.audit(t, forged)
		if err != nil || !ok || len(report.Mismatches) > 0 || report.OtherVersion < decided {
			t.Errorf("%s: of %d decisions of another version %d are left out: %+v %v",
				h.name, decided, report.OtherVersion, report.Mismatches, err)
		}
		if h.name != "0.4.0/label" {
			continue
		}
		for _, m := range forgery.Moves(forged) {
			if m.At != 103 || m.What != forgery.Removed { // a fit
				continue
			}
			if report, err, _ := h.audit(t, m.Events); err != nil || len(report.Mismatches) > 0 {
				t.Errorf("%s without a %s: %+v %v", h.name, h.all[m.At].Kind, report.Mismatches, err)
			}
		}
	}
}
