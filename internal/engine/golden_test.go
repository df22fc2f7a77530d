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
	"github.com/campaignd/campaignd/internal/engine"
)

var update = flag.Bool("update", false, "write a new golden log; never change an old one")

// Law: golden logs stay readable. A log of each version that was ever
// published still folds to the same science; logs are added, never changed.
func TestGoldenLogs(t *testing.T) {
	if *update {
		writeGoldenLog(t, "v1")
	}
	logs, err := filepath.Glob("testdata/golden-*.jsonl")
	if err != nil || len(logs) == 0 {
		t.Fatal("there are no golden logs", err)
	}
	for _, path := range logs {
		t.Run(path, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var all []events.Event
			for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
				e, err := events.UnmarshalCloudEvent(lines.Bytes())
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, e)
			}
			core, err := engine.Load(t.Context(), refill(t, all), all[0].Campaign)
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
