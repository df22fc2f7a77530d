package pebblelog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/records"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// readOnlyMount is a file system that is mounted for reading only.
type readOnlyMount struct{ vfs.FS }

func (readOnlyMount) refuse(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: syscall.EROFS}
}
func (m readOnlyMount) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, m.refuse("create", name)
}
func (m readOnlyMount) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, m.refuse("open", name)
}
func (m readOnlyMount) ReuseForWrite(_, name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, m.refuse("rename", name)
}
func (m readOnlyMount) Lock(name string) (io.Closer, error)      { return nil, m.refuse("open", name) }
func (m readOnlyMount) Link(_, name string) error                { return m.refuse("link", name) }
func (m readOnlyMount) Remove(name string) error                 { return m.refuse("remove", name) }
func (m readOnlyMount) RemoveAll(name string) error              { return m.refuse("remove", name) }
func (m readOnlyMount) Rename(name, _ string) error              { return m.refuse("rename", name) }
func (m readOnlyMount) MkdirAll(dir string, _ os.FileMode) error { return m.refuse("mkdir", dir) }

// readWhole opens a store for reading and checks all of it: at least acked of the
// workload's events, every byte sound.
func readWhole(t testing.TB, fsys vfs.FS, dir string, acked int) (log *Log, err error) {
	if log, err = Open(dir, Options{FS: fsys, ReadOnly: true}); err != nil {
		return nil, err
	}
	n := int(log.Last())
	if n < acked || n > 0 && !batchEnds(n) {
		return log, fmt.Errorf("%d events were acknowledged and %d are there", acked, n)
	}
	if err := holds(t, log, n); err != nil {
		return log, err
	}
	report, err := log.Verify(t.Context())
	if err == nil && !report.Sound() {
		err = fmt.Errorf("verified: %+v", report.Faults)
	}
	return log, err
}

// Law: reading needs no right to write and no lock. A store that was closed, or
// whose process was killed, is read from a mount for reading only; one that a
// process writes to is read at the same time, by many, and each sees a whole log
// with everything acknowledged before, however its files come and go meanwhile.
func TestReadingNeedsNoLock(t *testing.T) {
	t.Run("closed, on a read-only mount", func(t *testing.T) {
		fsys := vfs.NewMem()
		log := mustOpen(t, fsys, small)
		must.Do(t, errors.Join(work(t, log, 1, 60, func(int) {}), log.Close()))
		for range 2 {
			log := must.Get(readWhole(t, readOnlyMount{fsys}, "store", 60))(t)
			defer func() { _ = log.Close() }()
		}
	})
	disks := map[string]func(t *testing.T) (vfs.FS, string){
		"in memory": func(*testing.T) (vfs.FS, string) { return vfs.NewMem(), "store" },
		"on disk":   func(t *testing.T) (vfs.FS, string) { return nil, t.TempDir() + "/store" },
	}
	for name, disk := range disks {
		t.Run("written to, "+name, func(t *testing.T) {
			fsys, dir := disk(t)
			o := small
			o.FS = fsys
			log := must.Get(Open(dir, o))(t)
			defer func() { _ = log.Close() }()
			const n = 600
			var acked atomic.Int64
			done := make(chan error, 1)
			go func() { done <- work(t, log, 1, n, func(i int) { acked.Store(int64(i)) }) }()
			mount := fsys
			if mount != nil {
				mount = readOnlyMount{fsys}
			}
			var kept []*Log
			opened := 0
			for acked.Load() < n {
				reader, err := readWhole(t, mount, dir, int(acked.Load()))
				if err != nil {
					t.Fatalf("after %d of %d events: %v", acked.Load(), n, err)
				}
				if opened++; opened%8 == 1 {
					kept = append(kept, reader)
				} else if err := reader.Close(); err != nil {
					t.Fatal(err)
				}
			}
			must.Do(t, <-done)
			// Whoever began to read long ago goes on to read what was there.
			for _, reader := range kept {
				if err := errors.Join(holds(t, reader, int(reader.Last())), reader.Close()); err != nil {
					t.Error(err)
				}
			}
			if _, err := Open(dir, Options{FS: fsys}); !errors.Is(err, events.ErrInUse) {
				t.Errorf("a second writer: %v", err)
			}
			t.Logf("opened %d times", opened)
		})
	}
}

// Law: whoever reads holds no more than a chunk: as many events as were asked for, and
// none after the one with which their records exceed 1 MiB.
func TestChunks(t *testing.T) {
	log := mustOpen(t, vfs.NewMem(), Options{})
	defer func() { _ = log.Close() }()
	batch := make([]events.Event, 6)
	for i := range batch {
		batch[i] = testEvent(i + 1)
		batch[i].Data = make([]byte, 300<<10)
	}
	must.Get(log.Append(t.Context(), "c", 0, batch...))(t)
	for asked, want := range map[int]int{1: 1, 3: 3, 6: 4} {
		ofLog, err := log.chunk(nil, records.NewOrder(0), 0, log.Last(), asked)
		if err != nil || len(ofLog) != want {
			t.Errorf("asked for %d events of the log: %d, %v; want %d", asked, len(ofLog), err, want)
		}
		ofCampaign, err := log.campaignChunk(nil, "c", 0, log.Last(), asked)
		if err != nil || len(ofCampaign) != want {
			t.Errorf("asked for %d events of the campaign: %d, %v; want %d", asked, len(ofCampaign), err, want)
		}
	}
}

// lateHead is a file system with a writer whose newest events HEAD knows only a moment
// after a reader, who has them, looked at it again.
type lateHead struct {
	vfs.FS
	looks int
	again time.Time
}

func (f *lateHead) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	if name == "store/HEAD" {
		if f.looks++; f.looks == 2 {
			f.again = time.Now()
		}
		if f.looks <= 2 || time.Since(f.again) < lookPause {
			name = "before"
		}
	}
	return f.FS.Open(name, o...)
}

// Law: a writer that is about to write HEAD is not taken for one that stopped before it.
func TestHeadIsWaitedFor(t *testing.T) {
	fsys := vfs.NewMem()
	log := mustOpen(t, fsys, Options{})
	defer func() { _ = log.Close() }()
	must.Do(t, work(t, log, 1, 10, func(int) {}))
	before, err := readFile(fsys, "store/HEAD")
	must.Do(t, errors.Join(err, writeFile(fsys, "before", before), work(t, log, 11, 20, func(int) {})))
	reader := must.Get(readWhole(t, &lateHead{FS: fsys}, "store", 20))(t)
	defer func() { _ = reader.Close() }()
	if report, err := reader.Verify(t.Context()); err != nil || report.Notes != nil {
		t.Errorf("noted %q, %v", report.Notes, err)
	}
}

// Law: a copy of a store that is being written to, HEAD first, is whole or refused.
func TestCopyWhileWritten(t *testing.T) {
	fsys := vfs.NewMem()
	log := mustOpen(t, fsys, small)
	defer func() { _ = log.Close() }()
	var acked atomic.Int64
	done := make(chan error, 1)
	const n = 400
	go func() { done <- work(t, log, 1, n, func(i int) { acked.Store(int64(i)) }) }()
	whole, refused := 0, 0
	for acked.Load() < n {
		before := int(acked.Load())
		files := map[string][]byte{}
		err := func() error {
			names, err := fsys.List("store/pebble")
			if err != nil {
				return err
			}
			paths := []string{"store/FORMAT", "store/HEAD"}
			slices.Sort(names)
			for _, name := range names {
				paths = append(paths, "store/pebble/"+name)
			}
			for _, path := range paths {
				if files[path], err = readFile(fsys, path); err != nil {
					return err
				}
			}
			return nil
		}()
		if errors.Is(err, fs.ErrNotExist) {
			continue // the copy failed, and says so
		}
		if err != nil {
			t.Fatal(err)
		}
		copied, err := readWhole(t, writeFiles(t, files), "store", before)
		switch {
		case errors.Is(err, events.ErrDamaged):
			refused++
		case err != nil:
			t.Fatal(err)
		default:
			whole++
			_ = copied.Close()
		}
	}
	must.Do(t, <-done)
	t.Logf("%d copies were whole, %d refused", whole, refused)
}

// Law: a store that is refused is as it was, wherever the damage is, if it is
// checked before it is written to.
func TestCheckBeforeWriting(t *testing.T) {
	const n = 60
	all := func(log events.Store) error { return holds(t, log, n) }
	for _, killed := range []bool{false, true} {
		files := damagedStore(t, n, killed)
		refused := 0
		for path, content := range files {
			for i, d := range damages(len(content)) {
				if i%9 != 0 { // TestDamage tries them all
					continue
				}
				damaged := map[string][]byte{}
				for p, c := range files {
					damaged[p] = slices.Clone(c)
				}
				if damaged[path] = d.do(damaged[path]); damaged[path] == nil {
					delete(damaged, path)
				}
				fsys := writeFiles(t, damaged)
				log, err := Open("store", Options{FS: fsys, MustExist: true, Check: all})
				if err == nil {
					_ = log.Close()
					continue
				}
				refused++
				after := readFiles(t, fsys)
				for p, c := range damaged {
					if string(after[p]) != string(c) {
						t.Errorf("%s %s: refused (%v), and %s was changed", path, d.name, err, p)
					}
				}
			}
		}
		t.Logf("%d refused", refused)
	}
}

// Law: what is private is private at rest. A new store can be read by its user
// alone; where its user opens the directory to others, what is written later is
// theirs to read too.
func TestPrivateAtRest(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are others there")
	}
	privateAtRest(t, t.TempDir()+"/store")
}

// Law: a directory that cannot be made is an error, one that is made in a store is as the
// store is, and one that is there stays as it is.
func TestDirectoriesInTheStore(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are others there")
	}
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	must.Do(t, errors.Join(os.Mkdir(there, 0o700), os.Chmod(there, 0o755),
		os.WriteFile(filepath.Join(dir, "file"), nil, 0o600), os.Chmod(dir, 0o750)))
	fsys := modeFS{FS: vfs.Default, store: dir}
	for name, want := range map[string]fs.FileMode{"new": 0o750, "there": 0o755, "there/below": 0o750} {
		err := fsys.MkdirAll(filepath.Join(dir, name), 0o777)
		info, statErr := os.Stat(filepath.Join(dir, name))
		if err := errors.Join(err, statErr); err != nil || !info.IsDir() || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want a directory with %v", name, info, err, want)
		}
	}
	for _, name := range []string{"file", "file/below", "name\x00"} {
		if err := fsys.MkdirAll(filepath.Join(dir, name), 0o700); err == nil {
			t.Errorf("%q counts as made", name)
		}
	}
}

// Law: neither a umask that hides nothing nor one that hides too much, which another
// part of the process may set at any time, changes that. The umask is the process's, so
// that the process is this test binary again.
func TestPrivateWhateverTheUmask(t *testing.T) {
	const variable = "PEBBLELOG_TEST_UMASK"
	if mask, err := strconv.ParseInt(os.Getenv(variable), 8, 0); err == nil {
		dir := t.TempDir() + "/store"
		syscall.Umask(int(mask))
		privateAtRest(t, dir)
		return
	}
	for _, mask := range []string{"0", "177"} {
		other := exec.Command(os.Args[0], "-test.run=^TestPrivateWhateverTheUmask$", "-test.v")
		other.Env = append(os.Environ(), variable+"="+mask)
		out, err := other.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "PASS: TestPrivateWhateverTheUmask") {
			t.Errorf("with the umask %s: %v\n%s", mask, err, out)
		}
	}
}

// privateAtRest checks the permissions in a store that it makes.
func privateAtRest(t *testing.T, dir string) {
	t.Helper()
	modes := func(want, wantDir fs.FileMode, all bool) {
		t.Helper()
		seen := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			mode := info.Mode().Perm()
			if d.IsDir() && mode == wantDir || !d.IsDir() && mode == want {
				seen++
			} else if all {
				t.Errorf("%s has the permissions %v", path, mode)
			}
			return nil
		})
		if err != nil || seen < 2 {
			t.Errorf("%d files have the permissions %v: %v", seen, want, err)
		}
	}
	life := func(from, to int) {
		t.Helper()
		log := must.Get(Open(dir, small))(t)
		must.Do(t, errors.Join(work(t, log, from, to, func(int) {}), log.Close()))
	}
	life(1, 20)
	modes(0o600, 0o700, true)
	must.Do(t, os.Chmod(dir, 0o750))
	life(21, 60)
	modes(0o640, 0o750, false)
	// What was there stays as it was: how far to open it is for its user to say.
	if info, err := os.Stat(dir + "/pebble"); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a folder that was there has the permissions %v, %v", info.Mode().Perm(), err)
	}
}
