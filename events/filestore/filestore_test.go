package filestore

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// bytesOf are n bytes that follow from a seed.
func bytesOf(seed uint64, n int) []byte {
	content := make([]byte, n)
	chance := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = chance.Read(content)
	return content
}

func mustPut(t *testing.T, s *Store, content []byte) Kept {
	t.Helper()
	return must.Get(s.Put(t.Context(), bytes.NewReader(content)))(t)
}

func stateOf(t *testing.T, s *Store, kept Kept) State {
	t.Helper()
	return must.Get(s.State(t.Context(), kept.Digest, kept.Size))(t)
}

// Law: the files are open to whom the store is, and to no others; and the folder of a store that
// is not there is not made: a mistyped path is none.
func TestModes(t *testing.T) {
	folder := t.TempDir()
	must.Do(t, os.Chmod(folder, 0o750))
	s := Of(folder)
	for i := range 5 {
		mustPut(t, s, bytesOf(uint64(i), 10))
	}
	files := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o640)
		if d.IsDir() {
			want = 0o750
		} else {
			files++
		}
		if err == nil && info.Mode().Perm() != want && runtime.GOOS != "windows" {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil || files != 5 {
		t.Errorf("there are %d files: %v", files, err)
	}
	none := filepath.Join(t.TempDir(), "none")
	if _, err := Of(none).Put(t.Context(), strings.NewReader("a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a store: %v", err)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("the folder of a store was made")
	}
}

// Law: a file is durable once it is put, whatever the power does: at each write a copy of the
// disk is made as a crash would leave it, and all files that were put before are whole in
// it. What is not whole is under no digest.
func TestPutIsDurable(t *testing.T) {
	disk := vfs.NewCrashableMem()
	must.Do(t, disk.MkdirAll("store", 0o700))
	must.Do(t, on(disk, "").syncDir(""))
	var put []Kept
	crashes := 0
	check := func() {
		for _, percent := range []int{0, 50, 100} {
			crashes++
			after := on(disk.CrashClone(vfs.CrashCloneCfg{
				UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(1, uint64(crashes))),
			}), "store")
			for _, kept := range put {
				if state := stateOf(t, after, kept); state != Sound {
					t.Fatalf("crash %d: a file that was put is %s", crashes, state)
				}
			}
			unnamed, err := after.Unnamed(t.Context(), func(digest string) bool { return events.HashIn(digest) != "" })
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range unnamed {
				if !strings.HasPrefix(u.Path, Folder+"/"+incoming) {
					t.Fatalf("crash %d: it left %s", crashes, u.Path)
				}
			}
		}
	}
	watched := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			check()
		}
		return nil
	}))
	s := on(watched, "store")
	for i := range 6 {
		content := bytesOf(uint64(i/2), 1+1000*(i/2)) // each twice
		put = append(put, mustPut(t, s, content))
		check()
	}
	if crashes < 100 {
		t.Errorf("only %d crashes were tried", crashes)
	}
}

// Law: what follows a crash in the middle of a Put, by another process or the same, ends in
// one whole file, also where the one before had renamed and not synced.
func TestPutAfterAnotherThatWasCutOff(t *testing.T) {
	for _, step := range []string{"created", "written", "synced", "renamed", "placed"} {
		disk := vfs.NewCrashableMem()
		must.Do(t, errors.Join(disk.MkdirAll("store", 0o700), on(disk, "").syncDir("")))
		cut := on(disk, "store")
		cut.step = func(at string) {
			if at == step {
				panic("cut off")
			}
		}
		content := bytesOf(7, 5000)
		func() {
			defer func() { _ = recover() }()
			_, _ = cut.Put(t.Context(), bytes.NewReader(content))
			t.Errorf("it was not cut off at %s", step)
		}()
		kept := mustPut(t, on(disk, "store"), content)
		after := on(disk.CrashClone(vfs.CrashCloneCfg{}), "store") // nothing that was not synced
		if state := stateOf(t, after, kept); state != Sound {
			t.Errorf("cut off at %s and put again, it is %s after a crash", step, state)
		}
	}
}

// Law: where the disk has no room at any step, a Put says so, keeps nothing under a digest
// and removes what it began.
func TestNoRoom(t *testing.T) {
	for n := 0; ; n++ {
		disk := vfs.NewMem()
		must.Do(t, disk.MkdirAll("store", 0o700))
		writes, failed := 0, false
		full := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpRemove && !failed {
				if writes++; writes > n {
					failed = true
					return &fs.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
				}
			}
			return nil
		}))
		s := on(full, "store")
		kept, err := s.Put(t.Context(), bytes.NewReader(bytesOf(1, 3*bufferSize)))
		if !failed {
			if err != nil || n < 5 {
				t.Fatalf("after %d writes it fails with %v", n, err)
			}
			return
		}
		if !errors.Is(err, ErrNoRoom) || kept.Digest != "" {
			t.Errorf("after %d writes: %+v, %v", n, kept, err)
		}
		left, err := s.Unnamed(t.Context(), func(string) bool { return true })
		if err != nil || len(left) > 0 {
			t.Errorf("after %d writes it left %v, %v", n, left, err)
		}
	}
}

// A file that is cut short while it is read is altered too.
func TestCutWhileRead(t *testing.T) {
	s := Of(t.TempDir())
	kept := mustPut(t, s, bytesOf(5, 4*bufferSize))
	r := must.Get(s.Open(t.Context(), kept.Digest, kept.Size))(t)
	defer r.Close()
	_, file := s.pathOf(kept.Digest)
	must.Get(io.CopyN(io.Discard, r, 10))(t)
	must.Do(t, os.Truncate(file, 2*bufferSize))
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, ErrAltered) {
		t.Errorf("it says %v", err)
	}
}

// Law: whatever lies among the files and is none is listed, and removed.
func TestStrays(t *testing.T) {
	folder := t.TempDir()
	s := Of(folder)
	named := mustPut(t, s, []byte("named"))
	hash := events.HashIn(named.Digest)
	strays := []string{"ab/notes.txt", "incoming/HALF", "zz/" + hash}
	for _, stray := range strays {
		path := filepath.Join(folder, Folder, filepath.FromSlash(stray))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("12345"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	isNamed := func(digest string) bool { return digest == named.Digest }
	left, err := s.Unnamed(t.Context(), isNamed)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range left {
		got = append(got, strings.TrimPrefix(filepath.ToSlash(u.Path), "files/"))
	}
	if slices.Sort(got); !slices.Equal(got, strays) {
		t.Errorf("there are %q, want %q", got, strays)
	}
	must.Do(t, s.Remove(t.Context(), left))
	if left, err = s.Unnamed(t.Context(), isNamed); err != nil || len(left) > 0 {
		t.Errorf("they were removed, and there are %v, %v", left, err)
	}
	if state := stateOf(t, s, named); state != Sound {
		t.Errorf("the named one is %s", state)
	}
}

// How long a file of 50 MiB takes to keep, and to check.
func BenchmarkFile(b *testing.B) {
	content := bytesOf(1, MaxSize)
	b.Run("put", func(b *testing.B) {
		b.SetBytes(MaxSize)
		b.ReportAllocs()
		for i := range b.N {
			content[0], content[1] = byte(i), byte(i>>8)
			must.Get(Of(b.TempDir()).Put(b.Context(), bytes.NewReader(content)))(b)
		}
	})
	b.Run("state", func(b *testing.B) {
		s := Of(b.TempDir())
		kept := must.Get(s.Put(b.Context(), bytes.NewReader(content)))(b)
		b.SetBytes(MaxSize)
		b.ReportAllocs()
		for range b.N {
			if state, err := s.State(b.Context(), kept.Digest, kept.Size); state != Sound {
				b.Fatal(state, err)
			}
		}
	})
}
