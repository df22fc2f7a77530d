package bundle

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// kept is a campaign with files of these names, whose bytes are their names.
func kept(names ...string) Source {
	s := &campaign.State{
		Name: "bench", Source: "name: bench\n", DefinedAt: time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC),
		Definition: &definition.Campaign{Name: "bench", Objective: definition.Objective{Name: "y"}},
	}
	for i, name := range names {
		s.Files = append(s.Files, campaign.File{
			ID: events.FileID(i + 1), Actor: "person:ada", Time: s.DefinedAt.Add(time.Duration(i) * time.Hour),
			Attachment: events.Attachment{Name: name, Digest: "sha256:x", Size: int64(len(name))},
		})
	}
	return Source{
		State: s,
		Log:   func(w io.Writer) error { _, err := io.WriteString(w, "{}\n"); return err },
		Open: func(f *campaign.File) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(f.Name)), nil
		},
	}
}

// Law: whatever files are called, each lies in the bundle's own folder, under a name that no
// other has and that every system takes, with the ending that it had.
func TestPathsOfFiles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"CON", "aux.csv", "../../etc/passwd", `..\..\x`, "a:b", "x.", "x ", " ", "", ".", "..", ".hidden", "-rf", "Ä.csv", "a\x00b", "\u202egpj.exe",
			strings.Repeat("long", 100) + ".tar.gz", "x." + strings.Repeat("y", 200),
		})).Draw(rt, "name")
		f := &campaign.File{ID: "f7", Experiment: "e3", Attachment: events.Attachment{Name: name}}
		at := PathOf(f)
		rest, ok := strings.CutPrefix(at, "experiments/e3/f7-")
		if !ok || !filepath.IsLocal(at) || strings.ContainsAny(rest, `/\:*?"<>| `) || len(rest) > maxSafeName ||
			strings.HasSuffix(at, ".") || strings.ContainsFunc(at, func(r rune) bool { return r <= ' ' || r > '~' }) {
			rt.Fatalf("%q lies at %q", name, at)
		}
	})
	if at := PathOf(&campaign.File{ID: "f1", Attachment: events.Attachment{Name: strings.Repeat("ä", 60) + ".csv"}}); !strings.HasSuffix(at, ".csv") {
		t.Errorf("it lost its ending: %s", at)
	}
}

// Law: a folder and an archive hold the same, and the same campaign gives the same archive.
func TestBundles(t *testing.T) {
	s := kept("a.csv", "photo.png", "=1+1")
	folder := filepath.Join(t.TempDir(), "out")
	must.Do(t, WriteFolder(folder, Entries(s)))
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		must.Do(t, WriteZip(b, "bench", Entries(s)))
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two archives of the same campaign differ")
	}
	archive := must.Get(zip.NewReader(bytes.NewReader(first.Bytes()), int64(first.Len())))(t)
	files := 0
	for _, part := range archive.File {
		in := must.Get(part.Open())(t)
		text := must.Get(io.ReadAll(in))(t)
		name := strings.TrimPrefix(part.Name, "bench/")
		same, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil || !bytes.Equal(same, text) {
			t.Errorf("%s holds %q, and in the folder %q: %v", part.Name, text, same, err)
		}
		files++
		if name == IndexName && !strings.Contains(string(text), "'=1+1") {
			t.Errorf("the index holds a formula: %s", text)
		}
	}
	if files != 7 {
		t.Errorf("there are %d files", files)
	}
}

// Law: a file that is missing or altered fails the bundle, and nothing is left of it; a folder
// that holds something is not written to.
func TestBrokenBundle(t *testing.T) {
	s := kept("a.csv", "b.csv")
	s.Open = func(f *campaign.File) (io.ReadCloser, error) {
		if f.ID == "f2" {
			return nil, fmt.Errorf("it is missing")
		}
		return io.NopCloser(strings.NewReader(f.Name)), nil
	}
	folder := filepath.Join(t.TempDir(), "out")
	if err := WriteFolder(folder, Entries(s)); err == nil || !strings.Contains(err.Error(), "f2 (b.csv)") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("a part of it is left")
	}
	if err := WriteZip(io.Discard, "", Entries(s)); err == nil {
		t.Error("an archive lacks a file")
	}
	full := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(full, "mine"), nil, 0o600))
	if err := WriteFolder(full, Entries(kept())); err == nil {
		t.Error("a folder with something in it was written to")
	}
	if _, err := os.Stat(filepath.Join(full, "mine")); err != nil {
		t.Error(err)
	}
}
