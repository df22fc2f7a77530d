// Package filestoretest has the laws of [filestore.Files] as tests, for whatever
// keeps the files.
package filestoretest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/filestore"
)

// Subject is the files of a new store, which this process holds.
type Subject struct {
	Files filestore.Files
	// Another returns the same files, as another one who uses them opens them.
	Another func() filestore.Files
	// Overwrite gives the bytes of a digest others, past the files; nil removes
	// them.
	Overwrite func(digest string, content []byte)
	// Pieces is how many bytes are read or written at a time.
	Pieces int
}

// Run checks the laws of [filestore.Files]. Open returns a new subject, and
// closes it when the test ends.
func Run(t *testing.T, open func(testing.TB) Subject) {
	for _, law := range []struct {
		name string
		run  func(*testing.T, Subject)
	}{
		{"PutAndOpen", putAndOpen},
		{"Refused", refused},
		{"FlatMemory", flatMemory},
		{"Altered", altered},
		{"ReadUntilTheContextEnds", readUntilTheContextEnds},
		{"HostileDigests", hostileDigests},
		{"ConcurrentPuts", concurrentPuts},
		{"Unnamed", unnamed},
	} {
		t.Run(law.name, func(t *testing.T) { law.run(t, open(t)) })
	}
}

// Bytes are n bytes that follow from a seed.
func Bytes(seed uint64, n int) []byte {
	content := make([]byte, n)
	chance := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = chance.Read(content)
	return content
}

// MustPut puts a file and fails the test where it is not kept.
func MustPut(t testing.TB, files filestore.Files, content []byte) filestore.Kept {
	t.Helper()
	kept, err := files.Put(t.Context(), bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// StateOf is the state of a kept file.
func StateOf(t testing.TB, files filestore.Files, kept filestore.Kept) filestore.State {
	t.Helper()
	state, err := files.State(t.Context(), kept.Digest, kept.Size)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// left lists the paths and sizes of the files that no event names.
func left(
	t *testing.T, files filestore.Files, named func(string) bool,
) (found []filestore.Unnamed, lines []string) {
	t.Helper()
	found, err := files.Unnamed(t.Context(), named)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range found {
		lines = append(lines, fmt.Sprintf("%s %d", strings.ReplaceAll(u.Path, `\`, "/"), u.Size))
	}
	slices.Sort(lines)
	return found, lines
}

func noDigest(string) bool { return false }

// Law: a file is read back, byte by byte, under the digest of its bytes, by all readers; and the
// same bytes are kept once.
func putAndOpen(t *testing.T, s Subject) {
	sizes := []int{1, s.Pieces - 1, s.Pieces, s.Pieces + 1, 3 * s.Pieces}
	for _, size := range sizes {
		content := Bytes(uint64(size), size)
		kept := MustPut(t, s.Files, content)
		if want := events.DigestOf(sha256.Sum256(content)); kept.Digest != want || kept.Size != int64(size) {
			t.Errorf("it was kept as %+v, want %s", kept, want)
		}
		if again := MustPut(t, s.Another(), content); again != kept {
			t.Errorf("put again it is %+v", again)
		}
		r, err := s.Another().Open(t.Context(), kept.Digest, kept.Size)
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
	if _, lines := left(t, s.Files, noDigest); len(lines) != len(sizes) {
		t.Errorf("%d files were put, and there are %q", len(sizes), lines)
	}
}

// Law: of a reader that fails, of no bytes and of too many nothing is kept.
func refused(t *testing.T, s Subject) {
	broken := errors.New("the line was cut")
	ended, end := context.WithCancelCause(t.Context())
	end(broken)
	half := Bytes(1, 3*s.Pieces/2)
	for _, c := range []struct {
		name string
		ctx  context.Context
		r    io.Reader
		want error
	}{
		{"no bytes", t.Context(), strings.NewReader(""), filestore.ErrEmpty},
		{"one byte too many", t.Context(), io.LimitReader(zeros{}, filestore.MaxSize+1),
			filestore.ErrTooLarge},
		{"without an end", t.Context(), zeros{}, filestore.ErrTooLarge},
		{"cut off", t.Context(), io.MultiReader(bytes.NewReader(half), iotest.ErrReader(broken)), broken},
		{"called off", ended, zeros{}, broken},
	} {
		if kept, err := s.Files.Put(c.ctx, c.r); !errors.Is(err, c.want) || kept != (filestore.Kept{}) {
			t.Errorf("%s: %+v, %v", c.name, kept, err)
		}
	}
	if _, lines := left(t, s.Files, noDigest); len(lines) > 0 {
		t.Errorf("it left %q", lines)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// peak reads zeros, and notes the memory in use.
type peak struct {
	in   io.Reader
	most uint64
	n    int
}

func (p *peak) Read(b []byte) (int, error) {
	if p.n++; p.n%16 == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		p.most = max(p.most, m.HeapAlloc)
	}
	return p.in.Read(b)
}

// Law: the largest file is kept and read in a few pieces of memory, whatever its size.
func flatMemory(t *testing.T, s Subject) {
	MustPut(t, s.Files, []byte("a small file, to warm up"))
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	most := before.HeapAlloc + 40*uint64(s.Pieces)
	writing := &peak{in: io.LimitReader(zeros{}, filestore.MaxSize)}
	kept, err := s.Files.Put(t.Context(), writing)
	if err != nil || kept.Size != filestore.MaxSize || writing.n < 100 {
		t.Fatal(kept, writing.n, err)
	}
	r, err := s.Files.Open(t.Context(), kept.Digest, kept.Size)
	if err != nil {
		t.Fatal(err)
	}
	reading := &peak{in: r}
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, reading, make([]byte, s.Pieces))
	if err := errors.Join(err, r.Close()); err != nil || n != kept.Size || reading.n < 100 {
		t.Fatal(n, reading.n, err)
	}
	if writing.most > most || reading.most > most {
		t.Errorf("%d bytes of memory were in use before, %d while it was written and %d while it was read",
			before.HeapAlloc, writing.most, reading.most)
	}
}

// Law: a file whose bytes are not those that were put is never read to its end, whichever
// byte differs, and its state says so; putting the bytes again mends it.
func altered(t *testing.T, s Subject) {
	content := Bytes(3, s.Pieces+100)
	kept := MustPut(t, s.Files, content)
	for name, bad := range map[string][]byte{
		"shorter":                 content[:len(content)-1],
		"longer":                  append(slices.Clone(content), 0),
		"empty":                   {},
		"the first byte differs":  flipped(content, 0),
		"a middle byte differs":   flipped(content, s.Pieces),
		"the last byte differs":   flipped(content, len(content)-1),
		"other bytes of the size": Bytes(4, len(content)),
	} {
		s.Overwrite(kept.Digest, bad)
		if state := StateOf(t, s.Files, kept); state != filestore.Altered {
			t.Errorf("%s: it is %s", name, state)
		}
		r, err := s.Files.Open(t.Context(), kept.Digest, kept.Size)
		if err == nil {
			var got bytes.Buffer
			_, err = io.Copy(&got, iotest.OneByteReader(r))
			_ = r.Close()
			if got.Len() >= len(content) {
				t.Errorf("%s: all of it was read", name)
			}
		}
		if !errors.Is(err, filestore.ErrAltered) {
			t.Errorf("%s: %v", name, err)
		}
		MustPut(t, s.Another(), content)
		if state := StateOf(t, s.Files, kept); state != filestore.Sound {
			t.Errorf("%s: put again, it is %s", name, state)
		}
	}
	if _, lines := left(t, s.Files, noDigest); len(lines) != 1 {
		t.Errorf("one file was put, and there are %q", lines)
	}
	s.Overwrite(kept.Digest, nil)
	if state := StateOf(t, s.Files, kept); state != filestore.Missing {
		t.Errorf("removed, it is %s", state)
	}
	// Of the right bytes under a size that they do not have, either.
	kept = MustPut(t, s.Files, content)
	if state, err := s.Files.State(t.Context(), kept.Digest, kept.Size+1); state != filestore.Altered {
		t.Errorf("a byte short it is %q, %v", state, err)
	}
}

func flipped(content []byte, at int) []byte {
	bad := slices.Clone(content)
	bad[at] ^= 1
	return bad
}

// Law: reading ends with the context, and says why.
func readUntilTheContextEnds(t *testing.T, s Subject) {
	kept := MustPut(t, s.Files, Bytes(5, 4*s.Pieces))
	ctx, end := context.WithCancelCause(t.Context())
	r, err := s.Files.Open(ctx, kept.Digest, kept.Size)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.CopyN(io.Discard, r, 10); err != nil {
		t.Fatal(err)
	}
	enough := errors.New("that was enough")
	end(enough)
	if n, err := io.Copy(io.Discard, r); !errors.Is(err, enough) {
		t.Errorf("it read %d bytes more, %v", n, err)
	}
}

// Law: an invalid digest leads to no file, wherever it points.
func hostileDigests(t *testing.T, s Subject) {
	MustPut(t, s.Files, []byte("abc"))
	for _, digest := range []string{
		"", "sha256:", "sha256:../../FORMAT", "../FORMAT", "FORMAT", "sha256:..", "a", "sha256:" + strings.Repeat("..", 32),
		"sha256:" + strings.Repeat("A", 64), "sha512:" + strings.Repeat("a", 64), "sha256:" + strings.Repeat("a", 63) + "/",
		"sha256:" + strings.Repeat("\x00", 64), "sha256:" + strings.Repeat("\xff", 64),
	} {
		if r, err := s.Files.Open(t.Context(), digest, 3); !errors.Is(err, filestore.ErrMissing) {
			t.Errorf("%q opens %v, %v", digest, r, err)
		}
	}
}

// Law: whatever is put at the same time, by several who use the files, is whole, once.
func concurrentPuts(t *testing.T, s Subject) {
	var wg sync.WaitGroup
	for i := range 16 {
		files := s.Another()
		wg.Go(func() {
			for j := range 8 {
				content := Bytes(uint64((i+j)%5), 40_000)
				kept, err := files.Put(t.Context(), bytes.NewReader(content))
				if err != nil || kept.Digest != events.DigestOf(sha256.Sum256(content)) {
					t.Errorf("%+v, %v", kept, err)
					return
				}
				if state, err := files.State(t.Context(), kept.Digest, kept.Size); state != filestore.Sound {
					t.Errorf("it is %q, %v", state, err)
				}
			}
		})
	}
	wg.Wait()
	if _, lines := left(t, s.Files, noDigest); len(lines) != 5 {
		t.Errorf("there are %q", lines)
	}
}

// Law: files that no event names are listed with their size, and so are those that are being put;
// they can be removed, and named files stay. A put whose bytes were removed fails.
func unnamed(t *testing.T, s Subject) {
	if _, lines := left(t, s.Files, noDigest); len(lines) > 0 {
		t.Errorf("without files there are %q", lines)
	}
	named, other := MustPut(t, s.Files, []byte("named")), MustPut(t, s.Files, []byte("never attached"))
	begun, rest := make(chan struct{}), make(chan []byte)
	half := Bytes(9, 2*s.Pieces)
	putting := make(chan error)
	go func() {
		_, err := s.Another().Put(t.Context(),
			io.MultiReader(bytes.NewReader(half), &waiting{begun: begun, rest: rest}))
		putting <- err
	}()
	<-begun
	keeps := func(digest string) bool { return digest == named.Digest }
	found, lines := left(t, s.Files, keeps)
	hash := events.HashIn(other.Digest)
	if want := "files/" + hash[:2] + "/" + hash + " 14"; len(lines) != 2 || !slices.Contains(lines, want) ||
		!slices.ContainsFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, "files/incoming/") && !strings.HasSuffix(line, " 0")
		}) {
		t.Errorf("there are %q, want %q and the file that is being put", lines, want)
	}
	if err := s.Files.Remove(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	rest <- []byte("the rest")
	if err := <-putting; err == nil {
		t.Error("what was removed while it was put is kept")
	}
	if err := s.Files.Remove(t.Context(), found); err != nil {
		t.Errorf("removed again: %v", err)
	}
	if _, lines := left(t, s.Files, keeps); len(lines) > 0 {
		t.Errorf("they were removed, and there are %q", lines)
	}
	if state := StateOf(t, s.Files, named); state != filestore.Sound {
		t.Errorf("the named one is %s", state)
	}
	if state := StateOf(t, s.Files, other); state != filestore.Missing {
		t.Errorf("the other one is %s", state)
	}
}

// waiting says that it is read, and gives the rest once there is one.
type waiting struct {
	begun chan struct{}
	rest  chan []byte
	given bool
}

func (w *waiting) Read(p []byte) (int, error) {
	if w.given {
		return 0, io.EOF
	}
	close(w.begun)
	w.given = true
	return copy(p, <-w.rest), nil
}
