package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/filestore"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/events/transfer"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

func mustOpen(t *testing.T, address string, o store.Options) events.Store {
	t.Helper()
	var s events.Store
	var err error
	for range 200 { // who was killed is dead once its lease has ended
		if s, err = store.Open(address, o); !errors.Is(err, events.ErrInUse) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// attach puts bytes and appends the event that names them.
func attach(t *testing.T, address string, s events.Store, file, content string) string {
	t.Helper()
	files := must.Get(store.OpenFiles(address))(t)
	defer files.Close()
	kept := must.Get(files.Put(t.Context(), strings.NewReader(content)))(t)
	e := must.Get(events.New("a", &events.FileAttached{File: file,
		Attachment: events.Attachment{Name: file + ".csv", Digest: kept.Digest, Size: kept.Size}}))(t)
	must.Get(s.Append(t.Context(), "a", events.AnySequence, e))(t)
	return kept.Digest
}

// house makes a store with events, values and files, one of which is lost.
func house(t *testing.T, address string) {
	t.Helper()
	s := mustOpen(t, address, store.Options{})
	defer s.Close()
	fill(t, s, 30)
	attach(t, address, s, "f1", "1,2\n")
	attach(t, address, s, "f2", strings.Repeat("large", 100_000))
	lost := attach(t, address, s, "f3", "lost")
	attach(t, address, s, "f4", "1,2\n")
	must.Do(t, s.SetValues(t.Context(), events.KeyValue{Key: "kept", Value: []byte("1")}))
	fill(t, s, 5)
	if database, _, err := store.Split(address); store.InDatabase(address) {
		if err != nil {
			t.Fatal(err)
		}
		pgtest.SQL(t, database, fmt.Sprintf(`delete from cd_file where digest = '%s'`, lost))
		return
	}
	hash := events.HashIn(lost)
	must.Do(t, os.Remove(filepath.Join(address, filestore.Folder, hash[:2], hash)))
}

// same fails unless two stores prove the same, and the second has the files.
func same(t *testing.T, from, to string) {
	t.Helper()
	one, other := mustOpen(t, from, store.Options{ReadOnly: true}), mustOpen(t, to, store.Options{ReadOnly: true})
	defer one.Close()
	defer other.Close()
	was, is := all(t, one), all(t, other)
	if len(was) == 0 || fmt.Sprint(was) != fmt.Sprint(is) {
		t.Errorf("there were %d events, and there are %d", len(was), len(is))
	}
	head, err1 := one.Head(t.Context())
	now, err2 := other.Head(t.Context())
	if err := errors.Join(err1, err2); err != nil || head != now {
		t.Fatalf("the heads are %v and %v, %v", head, now, err)
	}
	for i := int64(1); i <= head.N; i += 1 + head.N/40 {
		p1, err1 := one.ProveEvent(t.Context(), events.Position(i), head.N)
		p2, err2 := other.ProveEvent(t.Context(), events.Position(i), head.N)
		x1, err3 := one.ProveExtends(t.Context(), i, head.N)
		x2, err4 := other.ProveExtends(t.Context(), i, head.N)
		if err := errors.Join(err1, err2, err3, err4); err != nil || !slices.Equal(p1, p2) || !slices.Equal(x1, x2) {
			t.Fatalf("the proofs of %d differ: %v", i, err)
		}
	}
	for kv, err := range other.Values(t.Context(), "") {
		if err != nil || kv.Key != "kept" || string(kv.Value) != "1" {
			t.Errorf("it has the value %q, %v", kv, err)
		}
	}
	files := must.Get(store.OpenFiles(to))(t)
	defer files.Close()
	for e, err := range events.ReadKinds(t.Context(), other, "", events.KindFileAttached) {
		if err != nil {
			t.Fatal(err)
		}
		payload := must.Get(events.Decode(e))(t)
		f, want := payload.(*events.FileAttached), filestore.Sound
		if f.File == "f3" {
			want = filestore.Missing
		}
		if state, err := files.State(t.Context(), f.Digest, f.Size); state != want {
			t.Errorf("%s is %q, %v", f.File, state, err)
		}
	}
}

// writes reports whether a store can be opened for writing; where it cannot, the
// error must be one of those that say what to do.
func writes(t *testing.T, address string) bool {
	t.Helper()
	if there, err := store.Exists(address); err != nil || !there {
		return false
	}
	var s events.Store
	var err error
	for range 200 {
		if s, err = store.Open(address, store.Options{}); !errors.Is(err, events.ErrInUse) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err == nil {
		return s.Close() == nil
	}
	if !errors.Is(err, events.ErrMoved) && !errors.Is(err, events.ErrUnfinished) {
		t.Errorf("%s is refused with %v", address, err)
	}
	return false
}

// Law: a store that was moved, from wherever to wherever, is the same store: events, proofs,
// values and files; what was missing is said. The old one can be read and not written, and
// says where it went; moved again nothing happens, and it can come home.
func TestMove(t *testing.T) {
	t.Parallel()
	folder := func(t *testing.T) string { return filepath.Join(t.TempDir(), "bench.campaign") }
	database := func(t *testing.T) string { return store.In(pgtest.URL(t), "bench") }
	for name, c := range map[string]struct{ from, to func(*testing.T) string }{
		"folder to folder": {folder, folder}, "folder to database": {folder, database},
		"database to folder": {database, folder}, "database to database": {database, database},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := c.from(t), c.to(t)
			house(t, from)
			m := must.Get(transfer.Move(t.Context(), from, to))(t)
			if m.Files.Copied != 2 || m.Files.Bytes != 500_004 || len(m.Files.Faulty) != 1 || m.Files.Faulty[0].File != "f3" {
				t.Errorf("of the files it says %+v", m.Files)
			}
			same(t, from, to)
			var moved *events.MovedError
			if _, err := store.Open(from, store.Options{}); !errors.As(err, &moved) || moved.To != to {
				t.Errorf("the old store: %v", err)
			}
			again, err := transfer.Move(t.Context(), from, to)
			if err != nil || !again.Again || again.Head != m.Head {
				t.Errorf("again: %+v, %v", again, err)
			}
			if _, err := transfer.Move(t.Context(), from, folder(t)); !errors.Is(err, events.ErrMoved) {
				t.Errorf("moved elsewhere: %v", err)
			}
			if _, err := transfer.Backup(t.Context(), to, from); !errors.Is(err, events.ErrMoved) {
				t.Errorf("copied into what has been moved: %v", err)
			}
			s := mustOpen(t, to, store.Options{})
			fill(t, s, 3)
			must.Do(t, s.Close())
			if _, err := transfer.Move(t.Context(), to, from); err != nil {
				t.Fatalf("home: %v", err)
			}
			same(t, to, from)
			if !writes(t, from) || writes(t, to) {
				t.Error("it is home, and cannot be used there, or can be elsewhere")
			}
		})
	}
}

// Law: a log in a database that was open before the store was moved appends nothing afterwards;
// and where it appended just before the mark, there is no mark.
func TestNothingIsAppendedPastAMove(t *testing.T) {
	address := store.In(pgtest.URL(t), "bench")
	s := mustOpen(t, address, store.Options{})
	defer s.Close()
	fill(t, s, 3)
	late := mustOpen(t, address, store.Options{Shared: true})
	defer late.Close()
	before := must.Get(s.Head(t.Context()))(t)
	fill(t, late, 1)
	if err := store.SetMarks(t.Context(), address, s, before, store.Marks{Moved: "elsewhere"}); !errors.Is(err, events.ErrInUse) {
		t.Errorf("it is marked past an append: %v", err)
	}
	now, err := s.Head(t.Context())
	if err == nil {
		err = store.SetMarks(t.Context(), address, s, now, store.Marks{Moved: "elsewhere"})
	}
	if err != nil {
		t.Fatal(err)
	}
	e := events.Event{Kind: "test.late", Version: 1, Data: []byte("{}")}
	for _, log := range []events.Store{late, s} {
		if _, err := log.Append(t.Context(), "a", events.AnySequence, e); !errors.Is(err, events.ErrMoved) {
			t.Errorf("appended to what has been moved: %v", err)
		}
	}
	if head, err := s.Head(t.Context()); err != nil || head != now {
		t.Errorf("it had %d events and has %d, %v", now.N, head.N, err)
	}
}

// Law: only an empty place, or what an earlier copy of the same store has left, is moved to, and
// nothing there is changed otherwise. What is not sound is not moved.
func TestMoveRefuses(t *testing.T) {
	folder := t.TempDir()
	from, other, stray := filepath.Join(folder, "from"), filepath.Join(folder, "other"), filepath.Join(folder, "stray")
	house(t, from)
	house(t, other)
	s := mustOpen(t, other, store.Options{})
	fill(t, s, 1)
	s.Close()
	if err := errors.Join(os.Mkdir(stray, 0o700), os.WriteFile(filepath.Join(stray, "thesis.tex"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]error{other: transfer.ErrDiffers, stray: nil, from: nil} {
		if _, err := transfer.Move(t.Context(), from, to); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("to %s: %v", to, err)
		}
	}
	if !writes(t, from) || !writes(t, other) {
		t.Error("a store that was refused cannot be used any more")
	}
	if names, _ := os.ReadDir(stray); len(names) != 1 && !slices.ContainsFunc(names, func(d os.DirEntry) bool { return d.Name() == "LOCK" }) {
		t.Errorf("a folder of somebody else's holds %v", names)
	}
}

// movesAt names the step at which the process of this test is killed, from and to.
const movesAt = "CAMPAIGND_TEST_MOVES_AT"

// Law: wherever a move is killed, at most one of the two stores can be written; the same command
// again completes it, and then that one is the new one.
func TestMoveIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	if said := strings.Split(os.Getenv(movesAt), "\n"); len(said) == 3 {
		transfer.AtSteps(func(step string) {
			if step == said[0] {
				p, _ := os.FindProcess(os.Getpid())
				_ = p.Kill()
				time.Sleep(time.Hour)
			}
		})
		_, err := transfer.Move(t.Context(), said[1], said[2])
		t.Fatalf("it was not killed: %v", err)
	}
	killed := func(t *testing.T, step, from, to string) {
		house(t, from)
		child := exec.Command(os.Args[0], "-test.run=^TestMoveIsKilledAnywhere$")
		child.Env = append(os.Environ(), movesAt+"="+strings.Join([]string{step, from, to}, "\n"))
		if out, err := child.CombinedOutput(); err == nil || bytes.Contains(out, []byte("not killed")) {
			t.Fatalf("%v\n%s", err, out)
		}
		old := writes(t, from)
		if finished := step == "finished"; old != (step != "left" && !finished) ||
			writes(t, to) != (finished || step == "created") { // and an empty store it is then
			t.Errorf("killed where it is %q the old one is written: %v", step, old)
		}
		err := events.ErrInUse
		for n := 0; errors.Is(err, events.ErrInUse) && n < 200; n++ { // see mustOpen
			if _, err = transfer.Move(t.Context(), from, to); err != nil {
				time.Sleep(50 * time.Millisecond)
			}
		}
		if err != nil {
			t.Fatalf("again: %v", err)
		}
		same(t, from, to)
		if writes(t, from) || !writes(t, to) {
			t.Error("completed, it is not the new one that is written")
		}
	}
	for _, step := range []string{"opened", "created", "marked", "files copied", "copied", "left", "finished"} {
		t.Run(step, func(t *testing.T) {
			folder := t.TempDir()
			killed(t, step, filepath.Join(folder, "from"), filepath.Join(folder, "to"))
		})
	}
	if testing.Short() {
		return
	}
	t.Run("left in a database", func(t *testing.T) {
		database := pgtest.URL(t)
		killed(t, "left", store.In(database, "from"), store.In(database, "to"))
	})
}

// Law: a backup of a store that is in use is that store at a moment; the next one adds what is
// new; where the store does not extend the backup, the backup stays as it is.
func TestBackup(t *testing.T) {
	places := map[string]func(t *testing.T) string{
		"of a folder":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "bench.campaign") },
		"of a database": func(t *testing.T) string { return store.In(pgtest.URL(t), "bench") },
	}
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			from, to := place(t), filepath.Join(t.TempDir(), "backup.campaign")
			house(t, from)
			s := mustOpen(t, from, store.Options{}) // in use, all the time
			defer s.Close()
			first, err := transfer.Backup(t.Context(), from, to)
			if err != nil || first.Copied != first.Head.N || first.Files.Copied != 2 {
				t.Fatalf("%+v, %v", first, err)
			}
			same(t, from, to)
			fill(t, s, 4)
			attach(t, from, s, "f5", "new")
			second, err := transfer.Backup(t.Context(), from, to)
			if err != nil || second.Already != first.Head.N || second.Copied != second.Head.N-first.Head.N ||
				second.Files.Copied != 1 || second.Files.Already != 2 {
				t.Fatalf("%+v, %v", second, err)
			}
			same(t, from, to)
			for _, address := range []string{from, to} {
				if m, err := store.MarksOf(t.Context(), address); err != nil || m != (store.Marks{}) {
					t.Errorf("%s is marked %+v, %v", address, m, err)
				}
			}
			// Somebody went on with the backup: it is none any more.
			fork := mustOpen(t, to, store.Options{})
			e := events.Event{Kind: "test.else", Version: 1, Data: []byte("{}")}
			must.Get(fork.Append(t.Context(), "a", events.AnySequence, e))(t)
			fork.Close()
			fill(t, s, 9)
			if _, err := transfer.Backup(t.Context(), from, to); !errors.Is(err, transfer.ErrDiffers) {
				t.Errorf("of what does not extend it: %v", err)
			}
			if !writes(t, to) {
				t.Error("the backup that was refused is marked")
			}
		})
	}
}

// Law: what is appended while a backup is made is not in it, and no value tells of it.
func TestBackupIsOfOneMoment(t *testing.T) {
	from, to := store.In(pgtest.URL(t), "bench"), filepath.Join(t.TempDir(), "backup.campaign")
	s := mustOpen(t, from, store.Options{})
	defer s.Close()
	fill(t, s, 10)
	before := must.Get(s.Head(t.Context()))(t)
	defer transfer.AtSteps(func(step string) {
		fill(t, s, 2)
		if err := s.SetValues(t.Context(), events.KeyValue{Key: "of later"}, events.KeyValue{Key: "kept", Value: []byte(step)}); err != nil {
			t.Error(err)
		}
	})()
	m, err := transfer.Backup(t.Context(), from, to)
	if err != nil || m.Head != before || m.Values != 0 {
		t.Errorf("of %d events: %+v, %v", before.N, m, err)
	}
}

// Law: 20,000 events go into a database and come back, and each store proves the same, byte for
// byte.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	address := store.In(pgtest.URL(t), "bench")
	folder := t.TempDir()
	from, back := filepath.Join(folder, "from"), filepath.Join(folder, "back")
	s := mustOpen(t, from, store.Options{})
	for range 20 {
		var batch []events.Event
		for i := range 1000 {
			batch = append(batch, events.Event{Kind: "test.happened", Version: 1, Time: time.UnixMicro(int64(i)).UTC(),
				Actor: "instrument", Data: fmt.Appendf(nil, `{"i": %d, "text": %q}`, i, strings.Repeat("x", i%600))})
		}
		must.Get(s.Append(t.Context(), "a", events.AnySequence, batch...))(t)
	}
	must.Do(t, s.Close())
	for _, way := range [][2]string{{from, address}, {address, back}} {
		began := time.Now()
		m, err := transfer.Move(t.Context(), way[0], way[1])
		if err != nil || m.Copied != 20_000 {
			t.Fatal(m, err)
		}
		t.Logf("%d events in %v", m.Copied, time.Since(began))
	}
	same(t, from, address)
	same(t, from, back)
}
