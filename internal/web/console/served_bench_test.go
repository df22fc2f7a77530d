package console_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/console"
	"github.com/campaignd/campaignd/policies"
	designspace "github.com/campaignd/campaignd/projections/space"
)

// BenchmarkServed is a folder with one store: many campaigns of some 250 events, or one as long as
// they become. It reopens the store, as a new process does ("open"), once without snapshots
// ("fold-...") and once with those that the first lab has left ("kept-..."), and asks for each page
// for the first time ("first/..."), again ("again/..."), and once the campaigns have left memory
// ("rested/..."), and says how large the list and the page of a campaign are.
func BenchmarkServed(b *testing.B) {
	for _, shape := range []struct{ campaigns, experiments int }{
		{20, 45}, {200, 45}, {500, 45}, {2000, 45}, {1, 900}, {1, 1000}, {1, 2000},
	} {
		name := fmt.Sprintf("campaigns=%d/experiments=%d", shape.campaigns, shape.experiments)
		b.Run(name, func(b *testing.B) { benchmarkServed(b, shape.campaigns, shape.experiments) })
	}
}

func benchmarkServed(b *testing.B, campaigns, experiments int) {
	b.Setenv("XDG_STATE_HOME", b.TempDir())
	b.Setenv(lock.Variable, b.TempDir())
	folder := b.TempDir()
	total := fill(b, filepath.Join(folder, "many"+store.Ending), campaigns, experiments)
	options := lab.Options{
		Folder: folder, Registry: builtin.Registry(), Log: b.Logf, Build: events.Build{Revision: "benchmark"},
	}
	type site struct {
		lab   *lab.Lab
		pages *console.Console
		http.Handler
		campaign *lab.Campaign
	}
	open := func() site {
		l := must.Get(lab.Open(b.Context(), options))(b)
		c := must.Get(l.Campaign(nth(campaigns - 1)))(b)
		pages := console.New(console.Options{Lab: l})
		return site{l, pages, pages.Handler(), c}
	}
	path := "/campaigns/" + nth(campaigns-1)
	middle := experiments / 2
	pages := []struct {
		name string
		show func(site)
	}{
		{"list", func(s site) { shown(b, s, "/campaigns") }},
		{"page", func(s site) { shown(b, s, path) }},
		{"status", func(s site) {
			must.Get(s.campaign.Status(b.Context()))(b)
		}},
		{"at", func(s site) { shown(b, s, fmt.Sprintf("%s?at=%d", path, middle)) }},
		{"decision", func(s site) {
			shown(b, s, path+"/decisions/"+events.DecisionID(middle))
		}},
		{"region", func(s site) { shown(b, s, path+"/region") }},
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(total), "events")
	for b.Loop() {
		for _, how := range []string{"fold-", "kept-"} {
			began, used := time.Now(), processorTime(b)
			s := open()
			metric(b, time.Since(began), how+"open")
			metric(b, processorTime(b)-used, how+"open-processor")
			for _, again := range []string{"first", "again", "rested"} {
				for _, p := range pages {
					began := time.Now()
					p.show(s)
					metric(b, time.Since(began), how+again+"/"+p.name)
				}
				if again == "again" {
					inMemory(b, how)
					s.lab.Rest()
					s.lab.Rest()
					inMemory(b, how+"rested-")
				}
			}
			s.pages.Close()
			s.lab.Close()
		}
	}
}

// inMemory reports the heap that is live, and the memory that the system has given to the process.
func inMemory(b *testing.B, how string) {
	b.Helper()
	debug.FreeOSMemory()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(memory.HeapAlloc)/(1<<20), how+"MiB")
	var pages, resident int
	text, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		_, err = fmt.Sscan(string(text), &pages, &resident)
	}
	if err == nil { // elsewhere it is not known
		b.ReportMetric(float64(resident*os.Getpagesize())/(1<<20), how+"resident-MiB")
	}
}

// processorTime is what this process has used of the processors so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func metric(b *testing.B, took time.Duration, what string) {
	b.ReportMetric(float64(took.Microseconds())/1000, what+"-ms")
}

func shown(b *testing.B, pages http.Handler, path string) {
	b.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	ada := console.Visitor{Name: "ada"}
	pages.ServeHTTP(w, r.WithContext(console.WithVisitor(r.Context(), ada)))
	switch path {
	case "/campaigns":
		b.ReportMetric(float64(w.Body.Len())/1000, "list-kB")
	case "/campaigns/" + nth(0): // where there is one
		b.ReportMetric(float64(w.Body.Len())/1000, "page-kB")
	}
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "campaign-") {
		b.Fatal(path, w.Code)
	}
}

func nth(n int) string { return fmt.Sprintf("campaign-%04d", n) }

// fill writes a store of campaigns that differ in their names alone, and counts its events.
func fill(b *testing.B, path string, campaigns, experiments int) (total int) {
	b.Helper()
	history := manyExperiments(b, experiments)
	many := must.Get(store.Open(path, store.Options{}))(b)
	now := time.Now().Add(-time.Hour)
	for n := range campaigns {
		var batch []events.Event
		for i, payload := range history {
			if i == 0 {
				defined := *payload.(*events.CampaignDefined)
				defined.Definition.Name = nth(n)
				payload = &defined
			}
			e := must.Get(events.New(nth(n), payload))(b)
			e.Time = now.Add(time.Duration(i) * time.Millisecond).UTC().Truncate(time.Microsecond)
			e.Actor = "person:ada"
			batch = append(batch, e)
		}
		for from := 0; from < len(batch); from += 1000 {
			to := min(from+1000, len(batch))
			must.Get(many.Append(b.Context(), nth(n), events.Sequence(from), batch[from:to]...))(b)
		}
		total += len(batch)
	}
	must.Do(b, many.Close())
	return total
}

// manyExperiments is what a campaign on Ackley's function records, with a fit after every tenth
// experiment: always the same one, for nobody waits for thousands of them here.
func manyExperiments(b *testing.B, experiments int) (all []events.Payload) {
	b.Helper()
	def, err := studytest.Define("ackley4", 1, experiments, func(def *definition.Campaign) {
		def.Policy.Trust = definition.NewChoice(policies.None, nil)
	})
	if err != nil {
		b.Fatal(err)
	}
	sp := must.Get(designspace.New(def))(b)
	points := must.Get(sp.Sample(experiments, 1))(b)
	core, rng := engine.NewCore(builtin.Registry()), rand.New(rand.NewPCG(1, 1))
	add := func(payload events.Payload) {
		e := must.Get(events.New(def.Name, payload))(b)
		e.Actor = "engine"
		stored, err := events.Assign(def.Name, events.Sequence(len(all)), []events.Event{e})
		if err == nil {
			err = core.Apply(stored[0])
		}
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, payload)
	}
	add(&events.CampaignDefined{Definition: def})
	var fit events.Payload
	for i, point := range points {
		id, decision := events.ExperimentID(i+1), events.DecisionID(i+1)
		command := "command-" + id
		at := core.State().Sequence
		add(&events.DecisionMade{
			Decision: decision, At: at, Action: events.ActionRun, Chosen: "unaided", Rule: policies.RuleChosen,
			Reason:     "its composition is expected to be the best, and nothing speaks against it",
			Candidates: []events.Candidate{{Name: "unaided", Parameters: point}},
		})
		add(&events.ExperimentRequested{
			Experiment: id, Parameters: point, Origin: events.OriginPolicy, Decision: decision, Replicate: 1,
		})
		add(&events.ExperimentDispatched{Experiment: id, Command: command, Instrument: "simulated"})
		add(&events.ExperimentStarted{Experiment: id, Command: command, Instrument: "simulated"})
		add(&events.ExperimentMeasured{
			Experiment: id, Command: command, Instrument: "simulated", Requested: point,
			Measurement: events.Measurement{
				Actual: point, Objective: definition.Quantity{Value: 10 + rng.NormFloat64()},
			},
		})
		if i%10 != 9 && i != experiments-1 {
			continue
		}
		if fit == nil {
			if fit, err = core.Fit(b.Context(), engine.Fit{ModelName: events.ModelName{Model: events.ModelObjective}, Seed: 1}, events.Build{}); err != nil {
				b.Fatal(err)
			}
		}
		add(fit)
	}
	add(&events.CampaignStopped{Reason: "enough"})
	return all
}
