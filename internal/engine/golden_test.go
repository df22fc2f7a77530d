package engine_test

import (
	"bufio"
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/coexbo"
	"github.com/campaignd/campaignd/policies/duel"
)

var update = flag.Bool("update", false, "write a new golden log; never change an old one")

// Law: golden logs stay readable. A log of each version that was ever
// published still folds to the same science, and its audit refutes nothing; logs are
// added, never changed.
func TestGoldenLogs(t *testing.T) {
	if *update {
		writeGoldenLog(t, "v1")
	}
	logs, err := filepath.Glob("testdata/golden-*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) == 0 {
		t.Skip("nothing is published yet")
	}
	for _, path := range logs {
		t.Run(path, func(t *testing.T) {
			all := golden(t, path)
			core, err := engine.Load(t.Context(), builtin.Registry(), refill(t, all), all[0].Campaign)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(path, ".jsonl") + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), science(core.State())); diff != "" {
				t.Error(diff)
			}
			report, err := engine.Audit(t.Context(), builtin.Registry(), refill(t, all), all[0].Campaign, events.Build{Version: "another"})
			if err != nil || len(report.Mismatches) > 0 {
				t.Errorf("audit: %+v %v", report.Mismatches, err)
			}
		})
	}
}

// golden returns the events of a golden log.
func golden(t *testing.T, path string) (all []events.Event) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		e, err := events.UnmarshalCloudEvent(lines.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// Law: what an earlier version of the policies decided can be made again, by its
// rules, and a campaign that it began goes on by the rules of today: each decision says whose
// they are, and the audit has nothing to say of either.
func TestEarlierVersionsAreAudited(t *testing.T) {
	choices := definition.Policy{Trust: coexbo.CoExBO{}.Choice()}
	duels := definition.Policy{Duel: duel.RAEUBO{}.Choice()}
	for name, policy := range map[string]definition.Policy{"choices": choices, "duels": duels} {
		t.Run(name, func(t *testing.T) {
			def, err := study.Define("branin", 4, 6, study.WithExpert(2), func(def *definition.Campaign) {
				def.Policy = policy
				def.Initial = definition.Initial{Comparisons: ptr(8)}
				if !policy.Measures() {
					study.SimulatedExpert(def, 0, func(s *humansim.Settings) { s.Task = "branin" })
					def.Instrument, def.Budget = definition.Instrument{}, definition.Budget{Comparisons: 13}
					return
				}
				def.Initial.Experiments = ptr(3)
			})
			if err != nil {
				t.Fatal(err)
			}
			log := memlog.New()
			audit := func() map[int]int {
				t.Helper()
				report, err := engine.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{})
				if err != nil || len(report.Mismatches) > 0 || report.Older > 0 || report.Reproduced != report.Decisions {
					t.Errorf("audit: %+v, %v", report, err)
				}
				versions := make(map[int]int)
				for _, e := range history(t, log) {
					if payload, _ := events.Decode(e); e.Kind == events.KindDecisionMade {
						versions[payload.(*events.DecisionMade).Policy.Version]++
					}
				}
				return versions
			}
			r, err := study.Runner(t.Context(), log, def, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.DecideAs(policies.Oldest)
			if err := r.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := audit()
			if before[policies.Oldest] == 0 || len(before) != 1 {
				t.Fatalf("it has decisions of the versions %v", before)
			}

			def.Budget.Experiments += min(def.Budget.Experiments, 1)
			def.Budget.Comparisons += min(def.Budget.Comparisons, 2)
			request := engine.Request{Actor: "person:ada", Amend: &events.CampaignAmended{Definition: def}}
			if _, err := engine.Submit(t.Context(), log, r.Core(), request, r.Core().State().EndedAt); err != nil {
				t.Fatal(err)
			}
			if _, err := study.Simulate(t.Context(), log, def); err != nil {
				t.Fatal(err)
			}
			after := audit()
			if after[policies.Oldest] != before[policies.Oldest] || after[policies.Version] == 0 || len(after) != 2 {
				t.Errorf("it went on with decisions of the versions %v", after)
			}
		})
	}
}

func writeGoldenLog(t *testing.T, version string) {
	t.Helper()
	log, core := simulate(t, electrolyte(t, 8, 8))
	var b bytes.Buffer
	for _, e := range history(t, log) {
		line, err := events.MarshalCloudEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	if err := os.WriteFile("testdata/golden-"+version+".jsonl", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/golden-"+version+".txt", []byte(science(core.State())), 0o644); err != nil {
		t.Fatal(err)
	}
}
