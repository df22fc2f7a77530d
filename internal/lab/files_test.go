package lab_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/filestore"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/attest"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
	"github.com/campaignd/campaignd/projections/campaign"
)

// watchedLog looks, before an event that names a file is appended, whether its bytes are there.
type watchedLog struct {
	events.Store
	t       *testing.T
	address string
	files   filestore.Files
	named   int
}

func (w *watchedLog) Append(
	ctx context.Context, name string, expected events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	for _, e := range batch {
		if e.Kind != events.KindFileAttached {
			continue
		}
		payload, err := events.Decode(e)
		if err != nil {
			return nil, err
		}
		f := payload.(*events.FileAttached)
		if !f.Kept() {
			continue
		}
		w.named++
		state, err := w.files.State(ctx, f.Digest, f.Size)
		if err != nil || state != filestore.Sound {
			w.t.Errorf("%s is about to be recorded, and is %q: %v", f.File, state, err)
		}
	}
	return w.Store.Append(ctx, name, expected, batch...)
}

// wherever runs a test with a store in a folder, and with one in a database.
func wherever(t *testing.T, test func(t *testing.T, address string)) {
	t.Run("folder", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "bench.campaign")) })
	t.Run("database", func(t *testing.T) { test(t, store.In(pgtest.URL(t), "bench")) })
}

// filing is a store with a campaign that is run by hand, held by this process and watched.
func filing(t *testing.T, address string) (*lab.Local, *watchedLog, string) {
	t.Helper()
	private(t)
	files := must.Get(store.OpenFiles(address))(t)
	t.Cleanup(func() { files.Close() })
	watched := &watchedLog{t: t, address: address, files: files}
	local := must.Get(lab.OpenLocal(t.Context(), address, lab.LocalOptions{
		Registry: builtin.Registry(),
		Open: func(address string, o store.Options) (events.Store, error) {
			log, err := store.Open(address, o)
			watched.Store = log
			return watched, err
		},
	}))(t)
	t.Cleanup(func() { local.Close() })
	file := must.Get(campaignfile.Parse(builtin.Registry(), "bench.yaml", []byte(byHand)))(t)
	err := local.Define(t.Context(), events.CampaignDefined{Definition: file.Definition}, engine.Request{Actor: "person:ada"})
	if err != nil {
		t.Fatal(err)
	}
	return local, watched, file.Definition.Name
}

func attaching(name string) engine.Request {
	return engine.Request{Actor: "person:ada", Attach: &engine.Attach{Attachment: events.Attachment{Name: name}}}
}

// Law: the bytes of a file are on the disk before the event that names it is appended; an
// event that names bytes which are not there, or are others, is refused.
func TestBytesComeBeforeTheEvent(t *testing.T) { wherever(t, bytesComeBeforeTheEvent) }

func bytesComeBeforeTheEvent(t *testing.T, address string) {
	local, watched, name := filing(t, address)
	stored, err := local.Attach(t.Context(), name, attaching("a.csv"), strings.NewReader("1,2\n"))
	if err != nil || len(stored) != 1 || watched.named != 1 {
		t.Fatalf("%v, %v, %d were seen", stored, err, watched.named)
	}
	core := must.Get(local.Load(t.Context(), name))(t)
	f := core.State().File("f1")
	content := must.Get(local.OpenFile(t.Context(), name, f))(t)
	text, err := io.ReadAll(content)
	if err = errors.Join(err, content.Close()); err != nil || string(text) != "1,2\n" || f.Size != 4 {
		t.Errorf("it holds %q, %v", text, err)
	}

	before := local.Log().Last()
	absent := attaching("b.csv")
	absent.Attach.Digest, absent.Attach.Size = events.DigestOf([32]byte{1}), 5
	other := attaching("c.csv")
	other.Attach.Digest, other.Attach.Size = f.Digest, f.Size+1
	for _, request := range []engine.Request{absent, other} {
		if _, err := local.Submit(t.Context(), name, request); !errors.Is(err, problem.NotPossible) {
			t.Errorf("%s: %v", request.Attach.Name, err)
		}
	}
	for content, code := range map[io.Reader]problem.Code{
		strings.NewReader(""):                          problem.Invalid,
		io.LimitReader(endless{}, filestore.MaxSize+1): problem.Invalid,
	} {
		if _, err := local.Attach(t.Context(), name, attaching("d.csv"), content); !errors.Is(err, code) {
			t.Errorf("want %s, got %v", code, err)
		}
	}
	if last := local.Log().Last(); last != before {
		t.Errorf("%d events were recorded", last-before)
	}
	// Law: what stays elsewhere is recorded, and not looked at.
	elsewhere := attaching("e.h5")
	elsewhere.Attach.URI = "https://bucket.example.org/e.h5"
	if _, err := local.Submit(t.Context(), name, elsewhere); err != nil {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Law: a file that is attached twice under one identifier is attached once, whichever way the
// repeat comes; the same identifier with other bytes is another request.
func TestAttachedOnce(t *testing.T) {
	local, _, name := filing(t, filepath.Join(t.TempDir(), "bench.campaign"))
	request := attaching("a.csv")
	request.ID = "once"
	first := must.Get(local.Attach(t.Context(), name, request, strings.NewReader("1,2\n")))(t)
	again, err := local.Attach(t.Context(), name, request, strings.NewReader("1,2\n"))
	if err != nil || len(again) != 1 || again[0].ID != first[0].ID {
		t.Errorf("the repeat is answered with %v, %v", again, err)
	}
	if _, err := local.Attach(t.Context(), name, request, strings.NewReader("3,4\n")); !errors.Is(err, problem.NotPossible) {
		t.Errorf("other bytes under the same identifier: %v", err)
	}
}

// Law: a process that does not hold the store attaches and reads files past the one that
// does, and the event is that one's.
func TestFilesOfAPeer(t *testing.T) { wherever(t, filesOfAPeer) }

func filesOfAPeer(t *testing.T, address string) {
	local, watched, name := filing(t, address)
	server := must.Get(local.Serve())(t)
	defer server.Close()
	peer := must.Get(lab.Take(t.Context(), watched.address, lab.LocalOptions{Registry: builtin.Registry()}))(t)
	defer peer.Close()
	if _, ok := peer.(*lab.Peer); !ok {
		t.Fatalf("the store is held by a %T", peer)
	}
	stored, err := peer.Attach(t.Context(), name, attaching("a.csv"), strings.NewReader("1,2\n"))
	if err != nil || len(stored) != 1 || watched.named != 1 {
		t.Fatalf("%v, %v, %d were seen", stored, err, watched.named)
	}
	core := must.Get(lab.Load(t.Context(), peer, name))(t)
	for _, at := range []lab.Store{peer, mustCopy(t, watched.address)} {
		content := must.Get(at.OpenFile(t.Context(), name, core.State().File("f1")))(t)
		if text, err := io.ReadAll(content); err != nil || string(text) != "1,2\n" {
			t.Errorf("%T reads %q, %v", at, text, err)
		}
		content.Close()
	}
	if _, err := mustCopy(t, watched.address).Attach(t.Context(), name, attaching("b.csv"), strings.NewReader("1")); !errors.Is(err, events.ErrReadOnly) {
		t.Errorf("a copy takes a file: %v", err)
	}
}

func mustCopy(t *testing.T, folder string) *lab.Copy {
	t.Helper()
	c := must.Get(lab.OpenCopy(folder, builtin.Registry()))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// Law: an audit of a store's files says of each what became of it, in one word, also of those
// that were withdrawn; missing and altered fail it, elsewhere does not.
func TestAuditOfFiles(t *testing.T) { wherever(t, auditOfFiles) }

func auditOfFiles(t *testing.T, address string) {
	local, watched, name := filing(t, address)
	for _, content := range []string{"sound", "missing", "altered"} {
		must.Get(local.Attach(t.Context(), name, attaching(content), strings.NewReader(content)))(t)
	}
	elsewhere := attaching("elsewhere")
	elsewhere.Attach.URI = "https://example.org/elsewhere"
	withdraw := engine.Request{Actor: "person:ada", Withdraw: &engine.Withdraw{File: "f2", Reason: "a slip"}}
	for _, request := range []engine.Request{elsewhere, withdraw} {
		must.Get(local.Submit(t.Context(), name, request))(t)
	}
	audit := func() *attest.Audit {
		t.Helper()
		r := must.Get(attest.Run(t.Context(), local.Events(), attest.Options{
			Registry: builtin.Registry(), Campaign: name, Files: watched.files,
		}))(t)
		return r
	}
	if r := audit(); !r.Passed() || r.Attached.Sound != 3 || r.Attached.Elsewhere != 1 || len(r.Attached.Files) != 1 {
		t.Errorf("before, the audit says %+v", r.Attached)
	}
	core := must.Get(local.Load(t.Context(), name))(t)
	at := func(f *campaign.File) string {
		hex := events.HashIn(f.Digest)
		return filepath.Join(address, filestore.Folder, hex[:2], hex)
	}
	s := core.State()
	alter := func() error { return os.WriteFile(at(s.File("f3")), []byte("Altered"), 0o600) }
	remove := func() error { return os.Remove(at(s.File("f2"))) }
	if store.InDatabase(address) {
		database, _, _ := store.Split(address)
		change := func(statement string, f *campaign.File) func() error {
			return func() error {
				pgtest.SQL(t, database, fmt.Sprintf(statement, f.Digest))
				return nil
			}
		}
		alter = change(`update cd_file_part set bytes = 'Altered' where put = (select put from cd_file where digest = '%s')`,
			s.File("f3"))
		remove = change(`delete from cd_file where digest = '%s'`, s.File("f2"))
	}
	mend := func() error {
		_, err := watched.files.Put(t.Context(), strings.NewReader("altered"))
		return err
	}
	for _, c := range []struct {
		change func() error
		want   string
	}{
		{alter, "f3 altered, f4 elsewhere"}, {mend, "f4 elsewhere"}, {remove, "f2 missing, f4 elsewhere"},
		{alter, "f2 missing, f3 altered, f4 elsewhere"},
	} {
		must.Do(t, c.change())
		r := audit()
		var words []string
		for _, f := range r.Attached.Files {
			words = append(words, f.File+" "+string(f.State))
		}
		if got := strings.Join(words, ", "); got != c.want || r.Passed() != (got == "f4 elsewhere") {
			t.Errorf("the audit says %q and passed is %v, want %q", got, r.Passed(), c.want)
		}
	}
}

// How long the files of a campaign with 1,000 of them take to list and to check.
func BenchmarkThousandFiles(b *testing.B) {
	b.Setenv("XDG_STATE_HOME", b.TempDir())
	folder := filepath.Join(b.TempDir(), "bench.campaign")
	local := must.Get(lab.OpenLocal(b.Context(), folder, lab.LocalOptions{Registry: builtin.Registry()}))(b)
	defer local.Close()
	file := must.Get(campaignfile.Parse(builtin.Registry(), "bench.yaml", []byte(byHand)))(b)
	name := file.Definition.Name
	if err := local.Define(b.Context(), events.CampaignDefined{Definition: file.Definition}, engine.Request{Actor: "person:ada"}); err != nil {
		b.Fatal(err)
	}
	const files = 1000
	began := time.Now()
	for range files {
		if _, err := local.Attach(b.Context(), name, attaching("a.csv"), io.LimitReader(endless{}, 100_000+time.Now().UnixNano()%100_000)); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%d files were attached, one after the other, in %v", files, time.Since(began))
	b.Run("audit", func(b *testing.B) {
		for range b.N {
			r, err := attest.Run(b.Context(), local.Events(), attest.Options{Registry: builtin.Registry(), Files: filestore.Of(folder)})
			if err != nil || r.Attached.Sound != files {
				b.Fatal(r, err)
			}
		}
	})
	b.Run("fold", func(b *testing.B) {
		for range b.N {
			core, err := local.Load(b.Context(), name)
			if err != nil || len(core.State().Files) != files {
				b.Fatal(err)
			}
		}
	})
}
