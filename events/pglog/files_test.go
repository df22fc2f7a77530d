package pglog

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/filestore"
	"github.com/campaignd/campaignd/events/filestore/filestoretest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// holding opens a store and takes hold of it.
func holding(t testing.TB, d *Database, name, worker string) *Log {
	t.Helper()
	w := must.Get(d.Work(t.Context(), worker, func() []byte { return nil }))(t)
	t.Cleanup(w.Close)
	l := mustOpen(t, d, name, Options{})
	must.Do(t, l.Hold(t.Context(), w))
	return l
}

// The files in a database keep the laws.
func TestFiles(t *testing.T) {
	t.Parallel()
	filestoretest.Run(t, func(t testing.TB) filestoretest.Subject {
		address := freshDatabase(t)
		d := mustConnect(t, address)
		holding(t, d, "lab", "one")
		mustOpen(t, d, "another", Options{})
		return filestoretest.Subject{
			Files: d.Files("lab"),
			Another: func() filestore.Files {
				// Of the same digests in another store nothing is seen.
				must.Get(d.Files("another").Put(t.Context(), strings.NewReader("named")))(t)
				return mustConnect(t, address).Files("lab")
			},
			Overwrite: func(digest string, content []byte) {
				t.Helper()
				where := fmt.Sprintf(`digest = '%s' and store = (select store from cd_head where name = 'lab')`, digest)
				if content == nil {
					pgtest.SQL(t, address, `delete from cd_file where `+where)
					return
				}
				parts := `cd_file_part where put = (select put from cd_file where ` + where + `)`
				statements := []string{`delete from ` + parts}
				for i := 0; i*partSize < len(content); i++ {
					part := content[i*partSize : min(len(content), (i+1)*partSize)]
					statements = append(statements, fmt.Sprintf(`insert into cd_file_part select put, %d, '\x%s' from cd_file where %s`,
						i, hex.EncodeToString(part), where))
				}
				pgtest.SQL(t, address, statements...)
			},
			Pieces: partSize,
		}
	})
}

// Law: what follows a put that was cut off at any step ends in one whole file; what that one
// has left is listed, and removed.
func TestFilesOfAPutThatWasCutOff(t *testing.T) {
	d := mustConnect(t, freshDatabase(t))
	holding(t, d, "lab", "one")
	files := d.Files("lab")
	for i, step := range []string{"begun", "written", "compared", "placed"} {
		cut := d.Files("lab")
		cut.step = func(at string) {
			if at == step {
				panic("cut off")
			}
		}
		content := filestoretest.Bytes(uint64(i), partSize+5)
		func() {
			defer func() { _ = recover() }()
			_, _ = cut.Put(t.Context(), bytes.NewReader(content))
			t.Errorf("it was not cut off at %s", step)
		}()
		kept := filestoretest.MustPut(t, files, content)
		if state := filestoretest.StateOf(t, files, kept); state != filestore.Sound {
			t.Errorf("cut off at %s and put again, it is %s", step, state)
		}
	}
	all := func(string) bool { return true }
	left, err := files.Unnamed(t.Context(), all)
	if err != nil || len(left) != 3 { // of the last one nothing is left: it was placed
		t.Errorf("there are %v, %v", left, err)
	}
	must.Do(t, files.Remove(t.Context(), left))
	if left, err := files.Unnamed(t.Context(), all); err != nil || len(left) > 0 {
		t.Errorf("they were removed, and there are %v, %v", left, err)
	}
}

// Law: only who holds a store removes files of it, also when it was the holder a moment ago; and
// without a store nothing is kept.
func TestFilesAreRemovedByTheHolder(t *testing.T) {
	address := freshDatabase(t)
	one, other := mustConnect(t, address), mustConnect(t, address)
	l := holding(t, one, "lab", "one")
	kept := filestoretest.MustPut(t, other.Files("lab"), []byte("never attached"))
	left, err := other.Files("lab").Unnamed(t.Context(), func(string) bool { return false })
	if err != nil || len(left) != 1 {
		t.Fatal(left, err)
	}
	refused := func(d *Database, who string) {
		t.Helper()
		if err := d.Files("lab").Remove(t.Context(), left); !errors.Is(err, events.ErrInUse) {
			t.Errorf("%s: %v", who, err)
		}
		if state := filestoretest.StateOf(t, one.Files("lab"), kept); state != filestore.Sound {
			t.Errorf("%s: it is %s", who, state)
		}
	}
	refused(other, "no worker")
	must.Do(t, l.Close())
	holding(t, other, "lab", "other")
	refused(one, "the holder of before")
	if err := other.Files("lab").Remove(t.Context(), left); err != nil {
		t.Error(err)
	}
	if state := filestoretest.StateOf(t, one.Files("lab"), kept); state != filestore.Missing {
		t.Errorf("removed, it is %s", state)
	}
	if _, err := one.Files("none").Put(t.Context(), strings.NewReader("a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a store: %v", err)
	}
}

// Law: a put is acknowledged once a standby has the bytes, and what was acknowledged is there
// after the primary is lost; one that is in the middle then is gone on with, and whole.
func TestFilesAreDurable(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts three servers")
	}
	c := pgtest.NewCluster(t, pgtest.Options{Standbys: 2})
	d := must.Get(connectTo(t.Context(), c.Address(""), time.Minute, defaultPollTime))(t)
	defer func() { _ = d.Close() }()
	mustOpen(t, d, "lab", Options{})
	files := d.Files("lab")
	content := filestoretest.Bytes(3, 6*partSize)

	for _, standby := range c.Standbys() {
		standby.Signal(t, syscall.SIGSTOP)
	}
	putting := make(chan error)
	go func() {
		_, err := files.Put(t.Context(), bytes.NewReader(content[:10]))
		putting <- err
	}()
	select {
	case err := <-putting:
		t.Errorf("no standby has it: %v", err)
	case <-time.After(2 * time.Second):
	}
	for _, standby := range c.Standbys() {
		standby.Signal(t, syscall.SIGCONT)
	}
	if err := <-putting; err != nil {
		t.Error(err)
	}

	first := filestoretest.MustPut(t, files, content[:partSize])
	failover := &acting{at: 3 * partSize, act: func() { c.Primary.Crash(t); c.Failover(t) }}
	second := must.Get(files.Put(t.Context(), io.TeeReader(bytes.NewReader(content), failover)))(t)
	for _, kept := range []filestore.Kept{first, second} {
		if state := filestoretest.StateOf(t, files, kept); state != filestore.Sound {
			t.Errorf("what was acknowledged is %s", state)
		}
	}
}

// acting acts once so many bytes were read.
type acting struct {
	at  int
	act func()
}

func (a *acting) Write(p []byte) (int, error) {
	if a.at -= len(p); a.at <= 0 && a.act != nil {
		a.act()
		a.act = nil
	}
	return len(p), nil
}
