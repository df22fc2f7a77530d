package pebblelog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// damagedStore returns the files of a store with n events of the workload. The
// newest are only in the write-ahead log if the store was killed, and in
// tables if it was closed.
func damagedStore(t *testing.T, n int, killed bool) map[string][]byte {
	t.Helper()
	disk := newCrashDisk()
	log := mustOpen(t, disk, small)
	must.Do(t, work(t, log, 1, n, func(int) {}))
	var files map[string][]byte
	if killed {
		files = readFiles(t, disk.crash(100, rand.New(rand.NewPCG(1, 1))))
	}
	must.Do(t, log.Close())
	if files == nil {
		files = readFiles(t, disk)
	}
	delete(files, "store/LOCK")
	delete(files, "store/pebble/LOCK")
	return files
}

// readFiles returns the contents of all files under the store, as far as it is there.
func readFiles(t testing.TB, fsys vfs.FS) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, dir := range []string{"store", "store/pebble"} {
		names, err := fsys.List(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, name := range names {
			path := fsys.PathJoin(dir, name)
			info := must.Get(fsys.Stat(path))(t)
			if info.IsDir() {
				continue
			}
			f := must.Get(fsys.Open(path))(t)
			files[path] = must.Get(io.ReadAll(f))(t)
			_ = f.Close()
		}
	}
	return files
}

// writeFiles returns a file system with the given files.
func writeFiles(t testing.TB, files map[string][]byte) vfs.FS {
	t.Helper()
	fsys := vfs.NewMem()
	must.Do(t, fsys.MkdirAll("store/pebble", 0o755))
	for path, content := range files {
		must.Do(t, writeFile(fsys, path, slices.Clone(content)))
	}
	return fsys
}

// damage is one way to damage a file; a nil result deletes it.
type damage struct {
	name string
	do   func([]byte) []byte
}

// damages returns the ways to damage a file of a size.
func damages(size int) []damage {
	out := []damage{{"deleted", func([]byte) []byte { return nil }}}
	// Everything in a small file; the ends and places in between of a large.
	offsets := map[int]bool{}
	for i := range 10 {
		offsets[i*size/10] = true
		offsets[i] = true
		offsets[size-1-i] = true
	}
	var sorted []int
	for at := range offsets {
		if at >= 0 && at < size {
			sorted = append(sorted, at)
		}
	}
	slices.Sort(sorted)
	for _, at := range sorted {
		bit := at % 8
		out = append(out, damage{fmt.Sprintf("bit %d of byte %d flipped", bit, at), func(b []byte) []byte {
			b[at] ^= 1 << bit
			return b
		}})
		if at%3 == 0 || at > size-8 {
			out = append(out, damage{fmt.Sprintf("cut to %d bytes", at), func(b []byte) []byte { return b[:at] }})
		}
	}
	for i := range 8 {
		at := i * size / 8
		out = append(out, damage{fmt.Sprintf("zeroed from byte %d", at), func(b []byte) []byte {
			clear(b[at:min(at+512, len(b))])
			return b
		}})
	}
	return out
}

// TestDamage: whatever is flipped, zeroed, cut off or deleted in any file of a
// store, either opening refuses, or Verify reports it, or the log is complete
// and as it was, because the bytes were not in use. A store that is refused is
// left as it is, and a reader never gets a shorter or another log without an
// error.
func TestDamage(t *testing.T) {
	const n = 60
	for _, killed := range []bool{false, true} {
		name := "closed"
		if killed {
			name = "killed"
		}
		t.Run(name, func(t *testing.T) {
			files := damagedStore(t, n, killed)
			run, wait := pool()
			count := map[string]int{}
			results := make(chan string, 64)
			done := make(chan struct{})
			go func() {
				for r := range results {
					count[r]++
				}
				close(done)
			}()
			for path, content := range files {
				for i, d := range damages(len(content)) {
					if testing.Short() && i%5 != 0 {
						continue
					}
					run(func() {
						damaged := map[string][]byte{}
						for p, c := range files {
							damaged[p] = slices.Clone(c)
						}
						if damaged[path] = d.do(damaged[path]); damaged[path] == nil {
							delete(damaged, path)
						}
						result, err := outcome(t, damaged, n)
						if err != nil {
							t.Errorf("%s %s: %s: %v", path, d.name, result, err)
						}
						results <- result
					})
				}
			}
			wait()
			close(results)
			<-done
			t.Logf("%d files: %v", len(files), count)
		})
	}
}

// outcome opens and checks a damaged store of n events and says how the damage
// was met; the error says that it was not.
func outcome(t testing.TB, files map[string][]byte, n int) (string, error) {
	fsys := writeFiles(t, files)
	log, err := Open("store", Options{FS: fsys, MustExist: true})
	if err != nil {
		if !errors.Is(err, events.ErrDamaged) && !errors.Is(err, events.ErrNewerFormat) {
			return "refused", fmt.Errorf("without ErrDamaged: %w", err)
		}
		after := readFiles(t, fsys)
		for path, content := range files {
			if string(after[path]) != string(content) {
				return "refused", fmt.Errorf("and %s was changed: %w", path, err)
			}
		}
		return "refused", nil
	}
	defer func() { _ = log.Close() }()
	report, err := log.Verify(t.Context())
	if err != nil {
		return "open", err
	}
	readErr := holds(t, log, n)
	if report.Sound() {
		return "unharmed", readErr
	}
	if report.Read < report.Events && !errors.Is(readErr, events.ErrDamaged) {
		return "reported", fmt.Errorf("a reader is not told: %v; %v", readErr, report.Faults)
	}
	return "reported", nil
}
