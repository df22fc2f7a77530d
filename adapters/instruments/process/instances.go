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

// instance is a life of the program, as the record of a store keeps it, so that
// the next run knows of one that outlived its campaignd. It is told of, never
// ended: nobody here can know that it does not move a pump just now.
type instance struct {
	PID int `json:"pid"`
	// Birth is the system's word for when the process began, which tells it from a
	// later one with the same number; empty where there is none.
	Birth   string    `json:"birth,omitempty"`
	Program string    `json:"program"`
	Since   time.Time `json:"since"`
}

func (n instance) alive() bool { return running(n.PID, n.Birth) }

// KeepRecord names a file for the instances of the program that are alive. It
// is called before the instrument is used. The file's folder need not be there yet.
func (i *Instrument) KeepRecord(file string) { i.record = file }

// recorded reads the instances that are alive.
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

// rerecord changes the record, and reports whether that was possible.
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
		i.logf("the record of running instruments cannot be kept: %v", err)
	}
	return err == nil
}

// enlist records a life of the program, unless that was done.
func (i *Instrument) enlist(p *peer) {
	if p.enlisted.Load() {
		return
	}
	pid := p.cmd.Process.Pid
	done := i.rerecord(func(alive []instance) []instance {
		if slices.ContainsFunc(alive, func(n instance) bool { return n.PID == pid }) {
			return alive
		}
		return append(alive, instance{PID: pid, Birth: birth(pid), Program: i.program(), Since: p.born.UTC().Truncate(time.Second)})
	})
	p.enlisted.Store(done)
}

// strike takes a life that has ended off the record.
func (i *Instrument) strike(p *peer) {
	pid := p.cmd.Process.Pid
	i.rerecord(func(alive []instance) []instance {
		return slices.DeleteFunc(alive, func(n instance) bool { return n.PID == pid })
	})
}

// earlier names the instances that are alive beside the one that is given; empty
// if there are none.
func (i *Instrument) earlier(p *peer) string {
	if i.record == "" {
		return ""
	}
	i.recording.Lock()
	alive, _ := i.recorded()
	i.recording.Unlock()
	var names []string
	for _, n := range alive {
		if p == nil || n.PID != p.cmd.Process.Pid {
			names = append(names, fmt.Sprintf("process %d, %s, since %s", n.PID, n.Program, n.Since.Local().Format("2 Jan 15:04:05")))
		}
	}
	return strings.Join(names, "; ")
}

// tellEarlier says that an earlier run has left instances behind.
func (i *Instrument) tellEarlier() {
	if names := i.earlier(nil); names != "" {
		i.logf("an earlier instance of the instrument's program is still alive (%s): it may hold the device, or finish an experiment. If it does not end by itself, look at the device, then end it with kill", names)
	}
}
