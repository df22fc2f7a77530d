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

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/engine"
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
