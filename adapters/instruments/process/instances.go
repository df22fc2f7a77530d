package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// instance is a running program in the record that a store keeps, so that the
// next run of campaignd knows of a program that outlived the previous one. Such
// a program is reported, never killed: it may be moving a pump. Outside the
// log, since it says nothing of the campaign: lost, it costs a warning
// (docs/architecture.md, What is kept outside the logs).
type instance struct {
	PID int `json:"pid"`
	// Birth is when the process began, in the system's own notation. It tells
	// the process from a later one with the same PID. Empty where the system
	// does not say.
	Birth   string    `json:"birth,omitempty"`
	Program string    `json:"program"`
	Since   time.Time `json:"since"`
}

// alive reports whether the process is still the one that was recorded.
func (n instance) alive() bool { return running(n.PID, n.Birth) }

// KeepRecord names the file that records running instances of the program. Call
// it before the instrument is used. The file's folder need not exist yet.
func (i *Instrument) KeepRecord(file string) { i.record = file }

// recorded reads the instances that are still alive. The caller holds
// i.recording. Those that have ended are left out on the way, so that the
// record does not grow.
func (i *Instrument) recorded() (alive []instance, err error) {
	data, err := os.ReadFile(i.record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &alive)
	}
	return slices.DeleteFunc(alive, func(n instance) bool { return !n.alive() }), err
}

// rerecord changes the record, as a whole file, and reports whether that
// worked. Failing is no error: an experiment is worth more than the record. The
// file is replaced as a whole, so that a crash leaves the old record or the new
// one. recording guards the file within the process; between processes the
// store's lock does.
func (i *Instrument) rerecord(change func([]instance) []instance) (done bool) {
	if i.record == "" {
		return false
	}
	i.recording.Lock()
	defer i.recording.Unlock()
	if _, err := os.Stat(filepath.Dir(i.record)); err != nil {
		return false // the store is still to be made: a start writes it again
	}
	alive, _ := i.recorded() // a record that cannot be read is written anew
	data, err := json.Marshal(change(alive))
	if err == nil {
		err = os.WriteFile(i.record+".new", append(data, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(i.record+".new", i.record)
	}
	if err != nil {
		i.host.Logf("the record of running instruments cannot be kept: %v", err)
	}
	return err == nil
}

// enlist adds a running program to the record, once. Where it could not be
// written yet, the next start of a command tries again.
func (i *Instrument) enlist(p *peer) {
	if p.enlisted.Load() {
		return
	}
	pid := p.Cmd.Process.Pid
	done := i.rerecord(func(alive []instance) []instance {
		if slices.ContainsFunc(alive, func(n instance) bool { return n.PID == pid }) {
			return alive
		}
		return append(alive, instance{
			PID:     pid,
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
	pid := p.Cmd.Process.Pid
	i.rerecord(func(alive []instance) []instance {
		return slices.DeleteFunc(alive, func(n instance) bool { return n.PID == pid })
	})
}

// earlier names the running instances other than p; empty where there are none.
// Local time, since it is for a person at this machine.
func (i *Instrument) earlier(p *peer) string {
	if i.record == "" {
		return ""
	}
	i.recording.Lock()
	alive, _ := i.recorded()
	i.recording.Unlock()
	var names []string
	for _, n := range alive {
		if p == nil || n.PID != p.Cmd.Process.Pid {
			names = append(names, fmt.Sprintf("process %d, %s, since %s",
				n.PID, n.Program, n.Since.Local().Format("2 Jan 15:04:05")))
		}
	}
	return strings.Join(names, "; ")
}

// reportEarlier reports the instances that an earlier run has left behind.
func (i *Instrument) reportEarlier() {
	if names := i.earlier(nil); names != "" {
		i.host.Logf("an earlier instance of the instrument's program is still alive (%s): "+
			"it may hold the device, or finish an experiment. "+
			"If it does not end by itself, look at the device, then end it with kill", names)
	}
}
