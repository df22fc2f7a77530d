package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
)

// instance is a running program in the record that a store keeps, so that the
// next run of campaignd knows of a program that outlived the previous one. Such
// a program is reported, never killed: it may be moving a pump. Outside the
// log, since it says nothing of the campaign: lost, it costs a warning
// (docs/decisions/28-outside-the-logs.md).
type instance struct {
	PID int `json:"pid"`
	// Host is its machine, where several may read the record; else empty.
	Host string `json:"host,omitempty"`
	// Birth is when the process began, in the system's own notation. It tells
	// the process from a later one with the same PID. Empty where the system
	// does not say.
	Birth   string    `json:"birth,omitempty"`
	Program string    `json:"program"`
	Since   time.Time `json:"since"`
}

// alive reports whether the process is still the one that was recorded, and
// whether that is known: of a process on another machine it is not, and it counts
// as alive for a while.
func (n instance) alive() (alive, known bool) {
	if n.Host != "" && n.Host != hostname() {
		return time.Since(n.Since) < keepElsewhere, false
	}
	return running(n.PID, n.Birth), true
}

// keepElsewhere is how long after its start a process of another machine stays on
// the record, where that machine does not look at it again.
const keepElsewhere = 30 * 24 * time.Hour

// hostname is this machine's name, empty where it has none.
func hostname() string {
	name, _ := os.Hostname()
	return name
}

// record is where running instances of the program are recorded.
type record interface {
	// read returns the text that was written last, nil for an empty record.
	read() ([]byte, error)
	// replace writes something new, as a whole, where before is still there; it
	// reports whether it did.
	replace(before, next []byte) (done bool, err error)
	// ready reports whether there is a store to keep it.
	ready() bool
	// host is the name by which a process of this machine is recorded, empty where
	// only this machine reads the record.
	host() string
}

// fileRecord is a file in the folder of a store, which the store's lock guards
// between processes. It is replaced as a whole, so that a crash leaves the old
// record or the new one.
type fileRecord string

func (f fileRecord) read() ([]byte, error) {
	data, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return data, err
}

func (f fileRecord) replace(_, next []byte) (done bool, err error) {
	fresh := string(f) + ".new"
	if err := os.WriteFile(fresh, next, 0o600); err != nil {
		return false, err
	}
	err = os.Rename(fresh, string(f))
	return err == nil, err
}

// ready holds off for an empty folder, too: with this file alone it would be no store and
// not be made one, if campaignd was killed just then.
func (f fileRecord) ready() bool {
	exists, err := store.Exists(filepath.Dir(string(f)))
	return exists && err == nil
}

func (fileRecord) host() string { return "" }

// valueRecord is a value of a store in a database, whose address it is. Any machine
// that goes on with the campaign reads it. It is opened for each use: a program
// seldom starts or ends.
type valueRecord struct{ address, key string }

// recordTime is how long the database may take: an experiment is worth more.
const recordTime = 5 * time.Second

func (v valueRecord) read() (data []byte, err error) {
	err = v.open(func(ctx context.Context, values events.ValueStore) (err error) {
		data, err = values.Value(ctx, v.key)
		return err
	})
	return data, err
}

func (v valueRecord) replace(before, next []byte) (done bool, err error) {
	err = v.open(func(ctx context.Context, values events.ValueStore) (err error) {
		done, err = values.SwapValue(ctx, v.key, before, next)
		return err
	})
	return done, err
}

func (v valueRecord) open(do func(context.Context, events.ValueStore) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), recordTime)
	defer cancel()
	log, err := store.Open(v.address, store.Options{MustExist: true, Shared: true})
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, log), log.Close())
}

func (valueRecord) ready() bool  { return true }
func (valueRecord) host() string { return hostname() }

// KeepRecord has running instances of the program recorded with the store at an
// address: in instrument.json of a folder, which need not exist yet, or in a
// database. Of several instruments each has its own, by its name: the program of another one is not an
// earlier instance. Call it before the instrument is used.
func (i *Instrument) KeepRecord(address, resource string) {
	name := "instrument"
	if resource != "" {
		name += "-" + resource
	}
	if store.InDatabase(address) {
		i.record = valueRecord{address, name}
		return
	}
	i.record = fileRecord(filepath.Join(address, name+".json"))
}

// recorded reads the record, and the instances in it that may be alive. The
// caller holds i.recording. Those that have ended are left out on the way, so
// that the record does not grow.
func (i *Instrument) recorded() (data []byte, alive []instance, err error) {
	if data, err = i.record.read(); err == nil && len(data) > 0 {
		err = json.Unmarshal(data, &alive)
	}
	return data, slices.DeleteFunc(alive, func(n instance) bool { alive, _ := n.alive(); return !alive }), err
}

// rerecord changes the record and reports whether that worked. A failure is tolerated: an
// experiment is worth more than the record. recording guards it within the process.
func (i *Instrument) rerecord(change func([]instance) []instance) (done bool) {
	if i.record == nil {
		return false
	}
	i.recording.Lock()
	defer i.recording.Unlock()
	if !i.record.ready() {
		return false // the store is still to be made: a start writes it again
	}
	var err error
	for range 3 { // another process that had the campaign may write it, too
		before, alive, _ := i.recorded() // a record that cannot be read is written anew
		var data []byte
		if data, err = json.Marshal(change(alive)); err != nil {
			break
		}
		if done, err = i.record.replace(before, append(data, '\n')); done || err != nil {
			break
		}
	}
	if err != nil {
		i.host.Logf("the record of running instruments cannot be kept: %v", err)
	}
	return done
}

// enlist adds a running program to the record, once. Where it could not be
// written yet, the next start of a command tries again.
func (i *Instrument) enlist(p *peer) {
	if p.enlisted.Load() {
		return
	}
	pid := p.Cmd.Process.Pid
	is := i.started(p)
	done := i.rerecord(func(alive []instance) []instance {
		if slices.ContainsFunc(alive, is) {
			return alive
		}
		return append(alive, instance{
			PID:     pid,
			Host:    i.record.host(),
			Birth:   birth(pid),
			Program: i.host.Name(),
			Since:   p.StartedAt.UTC().Truncate(time.Second),
		})
	})
	p.enlisted.Store(done)
}

// delist removes a program that has ended from the record. By its number: a
// process that has just ended here is the latest with it.
func (i *Instrument) delist(p *peer) {
	is := i.started(p)
	i.rerecord(func(alive []instance) []instance { return slices.DeleteFunc(alive, is) })
}

// started reports which instance is a program that runs here.
func (i *Instrument) started(p *peer) func(instance) bool {
	return func(n instance) bool {
		return p != nil && n.PID == p.Cmd.Process.Pid && (n.Host == "" || n.Host == hostname())
	}
}

// earlier names the instances other than p that run or may run, and says which of the two; empty if
// there are no others. Local time, since it is for a person at this machine.
func (i *Instrument) earlier(p *peer) (names, are string) {
	if i.record == nil {
		return "", ""
	}
	i.recording.Lock()
	_, alive, _ := i.recorded()
	i.recording.Unlock()
	is := i.started(p)
	var all []string
	are = "is still alive"
	for _, n := range alive {
		if is(n) {
			continue
		}
		where := ""
		if _, known := n.alive(); !known {
			where, are = " on "+n.Host, "may still be alive"
		}
		all = append(all, fmt.Sprintf("process %d%s, %s, since %s",
			n.PID, where, n.Program, n.Since.Local().Format("2 Jan 15:04:05")))
	}
	return strings.Join(all, "; "), are
}

// End implements [instruments.Ender]. A run on another machine is not ended from
// here.
func (i *Instrument) End(ctx context.Context) error {
	if err := i.Kill(ctx, false); err != nil {
		return err
	}
	if i.record == nil {
		return nil
	}
	i.recording.Lock()
	_, alive, err := i.recorded()
	i.recording.Unlock()
	if err != nil {
		return fmt.Errorf("which earlier runs of it are left cannot be read: %w", err)
	}
	for _, n := range alive {
		if _, known := n.alive(); !known {
			return fmt.Errorf("process %d may still run on %s: end it there", n.PID, n.Host)
		}
		endProcess(n.PID)
		for running(n.PID, n.Birth) {
			select {
			case <-time.After(endedEvery):
			case <-ctx.Done():
				return fmt.Errorf("process %d does not end: %w", n.PID, ctx.Err())
			}
		}
	}
	return nil
}

// endedEvery is how often an earlier run is looked at that is to end.
const endedEvery = 20 * time.Millisecond

// reportEarlier reports the instances that an earlier run has left behind.
func (i *Instrument) reportEarlier() {
	if names, are := i.earlier(nil); names != "" {
		i.host.Logf("an earlier instance of the instrument's program %s (%s): "+
			"it may hold the device, or finish an experiment. "+
			"If it does not end by itself, look at the device, then end it with kill", are, names)
	}
}
