//go:build unix

package killtest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/built"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/testinstrument"
)

// older is the folder of an older copy of the ledger.
func (c *campaignRun) older() string { return filepath.Join(c.bench, "ledger.old") }

// keepLedger makes a copy of the ledger, which may come back one day.
func (c *campaignRun) keepLedger(t *testing.T) {
	t.Helper()
	copyFolder(t, c.older(), testinstrument.LedgerDir(c.bench))
}

func copyFolder(t *testing.T, to, from string) {
	t.Helper()
	err := os.RemoveAll(to)
	if err == nil {
		err = os.CopyFS(to, os.DirFS(from))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// loseMemory does to the ledger of an instrument that has been killed what happens
// to files: it is deleted, cut off, or that of an earlier day; or the store is taken
// to where there is none. Where campaignd lives on, a new life of the instrument
// may be reading it already.
func (c *campaignRun) loseMemory(t *testing.T) {
	t.Helper()
	ledger := testinstrument.LedgerDir(c.bench)
	switch c.rng.IntN(3) {
	case 0:
		err := os.RemoveAll(ledger)
		for tries := 0; err != nil && tries < 100; tries++ { // a life that just begins or ends writes into it
			time.Sleep(10 * time.Millisecond)
			err = os.RemoveAll(ledger)
		}
		if err != nil && len(living(t, c.bench)) == 0 {
			t.Fatal(err)
		}
	case 1:
		files := must.Get(filepath.Glob(filepath.Join(ledger, "*.jsonl")))(t)
		for _, file := range files {
			if info, err := os.Stat(file); err == nil && c.rng.IntN(2) == 0 {
				must.Do(t, os.Truncate(file, c.rng.Int64N(info.Size()+1)))
			}
		}
	case 2:
		copyFolder(t, ledger, c.older())
	}
}

// Law: a command whose handle the log has is found again by it after campaignd and the instrument
// were killed and the ledger is gone: it is performed once, and nobody is asked.
func TestHandleOutlivesTheLedger(t *testing.T) {
	t.Parallel()
	s := &suite{
		scenario: scenario{name: "handle", bench: &testinstrument.Options{Real: true, Resume: true, Signs: true}},
		binary:   built.Program(t),
	}
	c := s.newCampaign(t, 1)
	l := c.start(t)
	for began := time.Now(); l.phase() != string(events.KindInstrumentSignalled); time.Sleep(time.Millisecond) {
		if time.Since(began) > longest {
			t.Fatalf("no sign of life: the log ends with %s\n%s", l.phase(), l.words())
		}
	}
	l.kill()
	killInstrument(t, c.bench)
	l.end()
	must.Do(t, os.RemoveAll(testinstrument.LedgerDir(c.bench)))
	for !c.finished {
		c.live(t, false)
	}
	c.countActs(t)
	if n := count(c.history, events.KindExperimentUnresolved); n > 0 {
		t.Errorf("%d experiments were left to a person", n)
	}
	c.audit(t)
}
