package filestore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/campaignd/campaignd/events"
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
	kept, err := s.Put(t.Context(), bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func stateOf(t *testing.T, s *Store, kept Kept) State {
	t.Helper()
	state, err := s.State(t.Context(), kept.Digest, kept.Size)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// Law: what was put is read back, byte by byte, under the digest of its bytes; the same
// bytes are kept once; and the files are open to whom the store is, and to no others.
func TestPutAndOpen(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	s := Of(folder)
	for _, size := range []int{1, bufferSize - 1, bufferSize, bufferSize + 1, 3 * bufferSize} {
		content := bytesOf(uint64(size), size)
		kept := mustPut(t, s, content)
		if want := events.DigestOf(sha256.Sum256(content)); kept.Digest != want || kept.Size != int64(size) {
			t.Errorf("it was kept as %+v, want %s", kept, want)
		}
		if again := mustPut(t, s, content); again != kept {
			t.Errorf("put again it is %+v", again)
		}
		r, err := s.Open(kept.Digest, kept.Size)
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(r, content); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
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
}

// Law: a file is durable once it is put, whatever the power does: at each write a copy of the
// disk is made as a crash would leave it, and all files that were put before are whole in
// it. What is not whole is under no digest.
func TestPutIsDurable(t *testing.T) {
	disk := vfs.NewCrashableMem()
	if err := disk.MkdirAll("store", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := on(disk, "").syncDir(""); err != nil {
		t.Fatal(err)
	}
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
			unnamed, err := after.Unnamed(func(digest string) bool { return events.HashIn(digest) != "" })
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
		if err := errors.Join(disk.MkdirAll("store", 0o700), on(disk, "").syncDir("")); err != nil {
			t.Fatal(err)
		}
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
		if err := disk.MkdirAll("store", 0o700); err != nil {
			t.Fatal(err)
		}
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
		left, err := s.Unnamed(func(string) bool { return true })
		if err != nil || len(left) > 0 {
			t.Errorf("after %d writes it left %v, %v", n, left, err)
		}
	}
}

// Law: of a reader that fails, of no bytes and of too many nothing is kept.
func TestRefused(t *testing.T) {
	s := Of(t.TempDir())
	broken := errors.New("the line was cut")
	ended, end := context.WithCancelCause(t.Context())
	end(broken)
	for _, c := range []struct {
		name string
		ctx  context.Context
		r    io.Reader
		want error
	}{
		{"no bytes", t.Context(), strings.NewReader(""), ErrEmpty},
		{"one byte too many", t.Context(), io.LimitReader(zeros{}, MaxSize+1), ErrTooLarge},
		{"without an end", t.Context(), zeros{}, ErrTooLarge},
		{"cut off", t.Context(), io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)), broken},
		{"called off", ended, zeros{}, broken},
	} {
		if kept, err := s.Put(c.ctx, c.r); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", c.name, kept, err)
		}
	}
	if left, err := s.Unnamed(func(string) bool { return false }); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	// The folder of a store that is not there is not made: a mistyped path is none.
	folder := filepath.Join(t.TempDir(), "none")
	if _, err := Of(folder).Put(t.Context(), strings.NewReader("a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a store: %v", err)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the folder of a store was made")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Law: the largest file is kept and read in a few pieces of memory, whatever its size.
func TestFlatMemory(t *testing.T) {
	s := Of(t.TempDir())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	kept, err := s.Put(t.Context(), io.LimitReader(zeros{}, MaxSize))
	if err != nil || kept.Size != MaxSize {
		t.Fatal(kept, err)
	}
	if state := stateOf(t, s, kept); state != Sound {
		t.Errorf("it is %s", state)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 16*bufferSize {
		t.Errorf("%d bytes of memory were used for a file of %d", used, kept.Size)
	}
}

// Law: a file whose bytes are not those that were put is never read to its end, whichever
// byte differs, and its state says so; putting the bytes again mends it.
func TestAltered(t *testing.T) {
	folder := t.TempDir()
	s := Of(folder)
	content := bytesOf(3, bufferSize+100)
	kept := mustPut(t, s, content)
	_, file := s.pathOf(kept.Digest)
	for name, bad := range map[string][]byte{
		"shorter":                 content[:len(content)-1],
		"longer":                  append(slices.Clone(content), 0),
		"empty":                   {},
		"the first byte differs":  flipped(content, 0),
		"a middle byte differs":   flipped(content, bufferSize),
		"the last byte differs":   flipped(content, len(content)-1),
		"other bytes of the size": bytesOf(4, len(content)),
	} {
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if state := stateOf(t, s, kept); state != Altered {
			t.Errorf("%s: it is %s", name, state)
		}
		r, err := s.Open(kept.Digest, kept.Size)
		if err == nil {
			var got bytes.Buffer
			_, err = io.Copy(&got, iotest.OneByteReader(r))
			_ = r.Close()
			if got.Len() >= len(content) {
				t.Errorf("%s: all of it was read", name)
			}
		}
		if !errors.Is(err, ErrAltered) {
			t.Errorf("%s: %v", name, err)
		}
		mustPut(t, s, content)
		if state := stateOf(t, s, kept); state != Sound {
			t.Errorf("%s: put again, it is %s", name, state)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if state := stateOf(t, s, kept); state != Missing {
		t.Errorf("removed, it is %s", state)
	}
}

// A file that is cut short while it is read is altered too.
func TestCutWhileRead(t *testing.T) {
	s := Of(t.TempDir())
	kept := mustPut(t, s, bytesOf(5, 4*bufferSize))
	r, err := s.Open(kept.Digest, kept.Size)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, file := s.pathOf(kept.Digest)
	if _, err := io.CopyN(io.Discard, r, 10); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 2*bufferSize); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, ErrAltered) {
		t.Errorf("it says %v", err)
	}
}

func flipped(content []byte, at int) []byte {
	bad := slices.Clone(content)
	bad[at] ^= 1
	return bad
}

// Law: a digest that is none leads to no file, wherever it points.
func TestHostileDigests(t *testing.T) {
	folder := t.TempDir()
	s := Of(folder)
	mustPut(t, s, []byte("abc"))
	secret := filepath.Join(folder, "FORMAT")
	if err := os.WriteFile(secret, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, digest := range []string{
		"", "sha256:", "sha256:../../FORMAT", "../FORMAT", "FORMAT", "sha256:..", "a", "sha256:" + strings.Repeat("..", 32),
		"sha256:" + strings.Repeat("A", 64), "sha512:" + strings.Repeat("a", 64), "sha256:" + strings.Repeat("a", 63) + "/",
	} {
		if r, err := s.Open(digest, 3); !errors.Is(err, ErrMissing) {
			t.Errorf("%q opens %v, %v", digest, r, err)
		}
	}
}

// Law: whatever is put at the same time, by several stores over one folder, is whole, once.
func TestConcurrentPuts(t *testing.T) {
	folder := t.TempDir()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			s := Of(folder)
			for j := range 8 {
				content := bytesOf(uint64((i+j)%5), 40_000)
				kept, err := s.Put(t.Context(), bytes.NewReader(content))
				if err != nil || kept.Digest != events.DigestOf(sha256.Sum256(content)) {
					t.Errorf("%+v, %v", kept, err)
					return
				}
				if state, err := s.State(t.Context(), kept.Digest, kept.Size); state != Sound {
					t.Errorf("it is %q, %v", state, err)
				}
			}
		})
	}
	wg.Wait()
	left, err := Of(folder).Unnamed(func(string) bool { return false })
	if err != nil || len(left) != 5 {
		t.Errorf("there are %v, %v", left, err)
	}
}

// Law: what no event names is listed, wherever it lies, and removed; what one names stays.
func TestUnnamed(t *testing.T) {
	folder := t.TempDir()
	s := Of(folder)
	if left, err := s.Unnamed(func(string) bool { return false }); err != nil || left != nil {
		t.Errorf("without files there are %v, %v", left, err)
	}
	named, other := mustPut(t, s, []byte("named")), mustPut(t, s, []byte("never attached"))
	for _, stray := range []string{"incoming/HALF", "ab/notes.txt", "zz/" + events.HashIn(named.Digest)} {
		path := filepath.Join(folder, Folder, filepath.FromSlash(stray))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("12345"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	left, err := s.Unnamed(func(digest string) bool { return digest == named.Digest })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range left {
		got = append(got, fmt.Sprintf("%s %d", filepath.ToSlash(u.Path), u.Size))
	}
	hex := events.HashIn(other.Digest)
	want := []string{"files/" + hex[:2] + "/" + hex + " 14", "files/ab/notes.txt 5", "files/incoming/HALF 5", "files/zz/" + events.HashIn(named.Digest) + " 5"}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	if err := s.Remove(left); err != nil {
		t.Fatal(err)
	}
	if left, err = s.Unnamed(func(digest string) bool { return digest == named.Digest }); err != nil || len(left) > 0 {
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
			if _, err := Of(b.TempDir()).Put(b.Context(), bytes.NewReader(content)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("state", func(b *testing.B) {
		s := Of(b.TempDir())
		kept, err := s.Put(b.Context(), bytes.NewReader(content))
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(MaxSize)
		b.ReportAllocs()
		for range b.N {
			if state, err := s.State(b.Context(), kept.Digest, kept.Size); state != Sound {
				b.Fatal(state, err)
			}
		}
	})
}
