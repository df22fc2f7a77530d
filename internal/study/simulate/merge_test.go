package simulate_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/study/simulate"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// build is the program that runs the shards of these tests.
var build = events.Build{Version: "v1", Go: "go1", Arch: "amd64/v1"}

// runShard runs shard i of n of a study in its folder.
func runShard(t *testing.T, s *simulate.Study, folder string, i, n int, build events.Build) {
	t.Helper()
	sh, ok := simulate.NewShard(i, n)
	if !ok {
		t.Fatalf("there is no shard %d/%d", i, n)
	}
	r := must.Get(s.OpenShard(sh, folder, build))(t)
	must.Do(t, errors.Join(s.Part(sh).Run(t.Context(), simulate.Run{Results: r, Workers: 2, Build: build}),
		r.Close()))
}

// merge merges the shards in the folder of a study, or the given folders, and
// returns the lines that its results have then.
func merge(t *testing.T, s *simulate.Study, folder string, others ...string) (string, simulate.Merged, error) {
	t.Helper()
	if len(others) == 0 {
		others = []string{folder}
	}
	var folders []string
	for _, other := range others {
		found := must.Get(simulate.FoldersOfShards(other))(t)
		folders = append(folders, found...)
	}
	r := open(t, folder)
	merged, err := s.Merge(r, folder, folders, false)
	_ = r.Close()
	return read(t, filepath.Join(folder, "results.jsonl")), merged, err
}

func read(t *testing.T, path string) string {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	return string(data)
}

// change replaces a text in a file of results, of whichever shard holds it, and
// returns the file.
func change(t *testing.T, study, from, to string) string {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(study, "shards", "*", "results.jsonl")))(t)
	for _, file := range files {
		if before := read(t, file); strings.Contains(before, from) {
			must.Do(t, os.WriteFile(file, []byte(strings.Replace(before, from, to, 1)), 0o600))
			return file
		}
	}
	t.Fatalf("no shard in %s holds %q", study, from)
	return ""
}

// Law: shards of different numbers overlap without harm, and a merge that is
// made again, or meets what was run whole, adds nothing.
func TestMergeOverlaps(t *testing.T) {
	s, folder := newStudy(t, small, simulate.Environment{}), t.TempDir()
	for _, sh := range [][2]int{{1, 2}, {2, 2}, {0, 3}, {1, 3}, {2, 3}} {
		runShard(t, s, folder, sh[0], sh[1], build)
	}
	once, merged, err := merge(t, s, folder)
	if err != nil || merged.Added != 6 || merged.Held != 6 || strings.Count(once, "\n") != 6 {
		t.Errorf("%+v, %v:\n%s", merged, err, once)
	}
	again, merged, err := merge(t, s, folder)
	if err != nil || merged.Added != 0 || again != once {
		t.Errorf("again: %+v, %v:\n%s", merged, err, again)
	}
}

// Law: one campaign with other bytes is refused, and so are results of two
// builds, and shards of another version of the study; both files, or the folder,
// are named with what differs, and nothing is written.
func TestMergeRefuses(t *testing.T) {
	s := newStudy(t, "# now\n"+small, simulate.Environment{})
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, folder string) []string // what is said
	}{
		{"bytes", func(t *testing.T, folder string) []string {
			runShard(t, s, folder, 1, 1, build)
			file := change(t, folder, `"asked":0`, `"asked":1`)
			return []string{"branin, ", ", seed ", file + ":", "step ", `"asked":1`, `"asked":0`}
		}},
		{"the end", func(t *testing.T, folder string) []string {
			runShard(t, s, folder, 1, 1, build)
			return []string{change(t, folder, `"ended":"`, `"ended":"not `) + ":", `"ended":"not `}
		}},
		{"a step less", func(t *testing.T, folder string) []string {
			runShard(t, s, folder, 1, 1, build)
			lines := strings.SplitAfter(read(t, filepath.Join(folder, "shards", "1-of-1", "results.jsonl")), "\n")
			last := lines[0][strings.LastIndex(lines[0], `,{"measured"`):strings.Index(lines[0], `],"seconds"`)]
			return []string{change(t, folder, last+`],"seconds"`, `],"seconds"`) + ":", "one has 6 steps, the other 7"}
		}},
		{"build", func(t *testing.T, folder string) []string {
			other := build
			other.Arch = "arm64"
			runShard(t, s, folder, 1, 3, other)
			return []string{"different builds", "v1 go1 amd64/v1: ", "2-of-2", "v1 go1 arm64: ", "1-of-3"}
		}},
		{"file", func(t *testing.T, folder string) []string {
			text := "# before\n" + strings.Replace(small, "experiments: 7", "experiments: 6", 1)
			before := newStudy(t, text, simulate.Environment{})
			runShard(t, before, folder, 1, 1, build)
			return []string{"1-of-1 is of another version", `line 4 of `, `was "experiments: 6", and is "experiments: 7"`,
				"run shard 1/1 again"}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			runShard(t, s, folder, 1, 2, build)
			runShard(t, s, folder, 2, 2, build)
			said := c.spoil(t, folder)
			lines, _, err := merge(t, s, folder)
			var refused *simulate.RefusedError
			if !errors.As(err, &refused) || lines != "" {
				t.Fatalf("%v\n%s", err, lines)
			}
			for _, text := range said {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in: %v", text, err)
				}
			}
		})
	}
}

// Law: a change of the file that changes no campaign is no other version: names
// are then those of now.
func TestMergeOfOtherNames(t *testing.T) {
	folder := t.TempDir()
	runShard(t, newStudy(t, small, simulate.Environment{}), folder, 1, 1, build)
	s := newStudy(t, "# a word\n"+strings.Replace(small, "vanilla:", "plain:", 1), simulate.Environment{})
	lines, _, err := merge(t, s, folder)
	if err != nil || strings.Contains(lines, "vanilla") || strings.Count(lines, `"arm":"plain"`) != 3 {
		t.Errorf("%v\n%s", err, lines)
	}
}

// Law: campaigns that nobody has run are named, each with its shard; one whose
// line was cut off by a crash is among them. Once that shard has been run again,
// and only what it lacked, the merge is whole.
func TestMergeMissing(t *testing.T) {
	s, folder := newStudy(t, small, simulate.Environment{}), t.TempDir()
	runShard(t, s, folder, 1, 2, build)
	runShard(t, s, folder, 2, 2, build)
	torn := change(t, folder, `"seed":3`, `"seed":3`)
	data := read(t, torn)
	must.Do(t, os.WriteFile(torn, []byte(data[:len(data)-9]), 0o600))
	_, _, err := merge(t, s, folder)
	var missing *simulate.MissingError
	if !errors.As(err, &missing) || len(missing.Units) != 1 || missing.Total != 6 || missing.Of != 2 {
		t.Fatalf("%+v", err)
	}
	shards, _ := missing.ByShard()
	if len(shards) != 1 || shards[0].Folder(folder) != filepath.Dir(torn) {
		t.Fatalf("%v are to be run, and the line was torn in %s", shards, torn)
	}
	runShard(t, s, folder, shards[0].Index, 2, build)
	if again := read(t, torn); !strings.HasPrefix(again, data[:bytes.LastIndexByte([]byte(data[:len(data)-1]), '\n')+1]) ||
		strings.Count(again, "\n") != strings.Count(data, "\n") {
		t.Errorf("the shard did not go on with what it had:\n%s\n%s", data, again)
	}
	if _, merged, err := merge(t, s, folder); err != nil || merged.Added != 6 {
		t.Errorf("%+v, %v", merged, err)
	}
}

// Law: what there is can be merged where campaigns are missing; they are named
// all the same.
func TestMergeIncomplete(t *testing.T) {
	s, folder := newStudy(t, small, simulate.Environment{}), t.TempDir()
	runShard(t, s, folder, 1, 2, build)
	folders := must.Get(simulate.FoldersOfShards(folder))(t)
	r := open(t, folder)
	merged, err := s.Merge(r, folder, folders, true)
	var missing *simulate.MissingError
	if !errors.As(err, &missing) || merged.Added == 0 || merged.Added+len(missing.Units) != 6 ||
		len(s.Missing(r)) != len(missing.Units) {
		t.Errorf("%+v, %v", merged, err)
	}
}

// Law: a shard that one build has begun is not continued by another, which names
// both.
func TestShardOfOtherBuild(t *testing.T) {
	s, folder := newStudy(t, small, simulate.Environment{}), t.TempDir()
	runShard(t, s, folder, 1, 1, build)
	sh, _ := simulate.NewShard(1, 1)
	other := build
	other.Version = "v2"
	_, err := s.OpenShard(sh, folder, other)
	var refused *simulate.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "v1 go1") || !strings.Contains(err.Error(), "v2 go1") {
		t.Errorf("%v", err)
	}
	runShard(t, s, folder, 1, 1, build) // and lets go of the folder
}

// Law: a file system that keeps no locks is not taken for another process.
func TestNoLocks(t *testing.T) {
	for err, inUse := range map[error]bool{syscall.ENOSYS: false, syscall.ENOLCK: false, syscall.EAGAIN: true} {
		if got := simulate.LockError("x", err); errors.Is(got, simulate.ErrInUse) != inUse || !errors.Is(got, err) {
			t.Errorf("%v gives %v", err, got)
		}
	}
}
