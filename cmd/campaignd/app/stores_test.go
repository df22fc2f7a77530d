package app

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// keptStore is a store that an earlier program left, in testdata/stores: of a method, finished or
// killed in the middle, with its campaign file and what that program printed of its events.
type keptStore struct {
	name   string // "86d9ee8/cobol.killed"
	folder string
	events string // the digest of what `campaignd events` printed
}

// keptStores unpacks all of them, or a share: those of a few methods.
func keptStores(t *testing.T) (all []keptStore) {
	t.Helper()
	sets, err := filepath.Glob("testdata/stores/*.zip")
	if err != nil || len(sets) < 5 {
		t.Fatalf("%d sets of stores: %v", len(sets), err)
	}
	into := t.TempDir()
	for _, set := range sets {
		packed := must.Get(zip.OpenReader(set))(t)
		commit := strings.TrimSuffix(filepath.Base(set), ".zip")
		for _, f := range packed.File {
			folder, _, _ := strings.Cut(f.Name, "/")
			if method, _, _ := strings.Cut(folder, "."); !draws.Whole() && !slices.Contains([]string{"answers", "cobol", "raeubo"}, method) {
				continue
			}
			content := must.Get(packed.Open(f.Name))(t)
			var b bytes.Buffer
			must.Get(b.ReadFrom(content))(t)
			at := filepath.Join(into, commit, f.Name)
			must.Do(t, os.MkdirAll(filepath.Dir(at), 0o700))
			must.Do(t, os.WriteFile(at, b.Bytes(), 0o600))
			if path.Base(f.Name) == "events.sha256" {
				all = append(all, keptStore{commit + "/" + folder, filepath.Dir(at), strings.TrimSpace(b.String())})
			}
		}
		must.Do(t, packed.Close())
	}
	return all
}

// Law: what any program since 0.1.0 has written is read as that one read it, goes on with
// the file that it was begun with, and is never accused: neither as it was left nor after
// this program has gone on with it. An amendment of its file is that alone, whatever defaults
// have come since. The events are what the program itself printed of them.
func TestStoresOfEarlierPrograms(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(lock.Variable, t.TempDir())
	todo := make(chan keptStore)
	var work sync.WaitGroup
	for range 4 { // most of the time is that of simulated instruments
		work.Go(func() {
			for s := range todo {
				s.check(t)
			}
		})
	}
	for _, s := range keptStores(t) {
		todo <- s
	}
	close(todo)
	work.Wait()
}

func (s keptStore) check(t *testing.T) {
	store := filepath.Join(s.folder, "old.campaign")
	printed, code := s.campaignd(t, "events", store)
	if sum := sha256.Sum256([]byte(printed)); code != 0 || hex.EncodeToString(sum[:]) != s.events {
		t.Errorf("%s: exit code %d, and the events are others than they were", s.name, code)
	}
	audit := func(when string) {
		report, code := s.campaignd(t, "audit", store)
		incomplete := strings.Contains(report, "\nINCOMPLETE: ")
		if incomplete && strings.HasPrefix(s.name, "180ee1a/") {
			t.Errorf("%s, audited %s: its version of the policies is made again, and was left out\n%s", s.name, when, report)
		}
		if code != 0 && !(code == 1 && incomplete) || strings.Contains(report, "MISMATCH") || !strings.Contains(report, "The log is sound") {
			t.Errorf("%s, audited %s: exit code %d\n%s", s.name, when, code, report)
		}
	}
	audit("as it was left")
	if report, code := s.campaignd(t, "run", filepath.Join(s.folder, "old.yaml")); code != 0 {
		t.Errorf("%s: it does not go on: exit code %d\n%s", s.name, code, report)
	}
	audit("at its end")
	file := filepath.Join(s.folder, "old.yaml")
	said, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
		return
	}
	for _, c := range []struct{ text, ends string }{
		{string(said), "nothing was changed."},
		{string(said) + "\ndescription: a campaign of before\n", `amended the campaign: description: "a campaign of before" (new)`},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Error(err)
			return
		}
		report, code := s.campaignd(t, "amend", file)
		if first, _, _ := strings.Cut(report, "\n"); code != 0 || !strings.HasSuffix(first, c.ends) {
			t.Errorf("%s: exit code %d, want %q:\n%s", s.name, code, c.ends, report)
		}
	}
	audit("amended")
}

// campaignd runs the program as a person would.
func (keptStore) campaignd(t *testing.T, args ...string) (printed string, code int) {
	var out bytes.Buffer
	code = Run(t.Context(), Builtin(), args, strings.NewReader(""), &out, &out)
	return out.String(), code
}
