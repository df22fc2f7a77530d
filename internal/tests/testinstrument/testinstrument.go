// Package testinstrument is a small instrument program for tests that kill
// things. It lives inside the test binary itself:
//
//	func TestMain(m *testing.M) {
//		testinstrument.RunIfAsked() // does not return in the child
//		os.Exit(m.Run())
//	}
//
// A test, or a campaign file that it writes, names the instrument through
// [Config]. The instrument counts its physical acts in a file of its own, apart
// from the ledger that keeps it from acting twice, so that [Acts] tells what
// really happened: every call of Measure appends a line and syncs it before
// anything else.
package testinstrument

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/adapters/instruments/sdk"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/clock"
)

// Variable is the environment variable that turns a test binary into the
// instrument. Its value is a JSON [Options].
const Variable = "CAMPAIGND_TEST_INSTRUMENT"

// Options of the instrument.
type Options struct {
	// Dir holds the ledger ("ledger") and the acts ("acts.jsonl").
	Dir string `json:"dir"`
	// Latency of each measurement.
	Latency definition.Duration `json:"latency,omitempty"`
	// Capacity is the number of simultaneous commands; 0 stands for 1.
	Capacity int `json:"capacity,omitempty"`
	// Real makes the instrument say that it is not simulated.
	Real bool `json:"real,omitempty"`
	// Memory is the lifetime of its ledger. An instrument with a lost memory still claims that it
	// can recover.
	Memory Memory `json:"memory,omitempty"`
	// Room, if set, is a file that stands for the device if several programs drive one: each
	// measurement has it alone, and a collision is recorded as an act of the command "!". Not on
	// all systems.
	Room string `json:"room,omitempty"`
	// Resume makes a restarted program finish the work of a killed one, without acting again, so
	// that a kill leaves no unknown fate.
	Resume bool `json:"resume,omitempty"`
	// Signs makes it give the run of each command a handle, by which a restarted program that resumes
	// finds it, also where the ledger is gone.
	Signs bool `json:"signs,omitempty"`
	// Identity of the device; "" stands for "test bench".
	Identity string `json:"identity,omitempty"`
	// Durable makes it declare its ledger to be durable and complete, as it is where
	// Memory is Kept.
	Durable bool `json:"durable,omitempty"`
}

// Memory is how long a ledger lasts.
type Memory string

const (
	Kept Memory = ""     // it is durable before the act, as it has to be
	Late Memory = "late" // it reaches the disk some time after the act
	None Memory = "none" // each process begins with an empty one
)

// lateBy is the lag of a late ledger.
const lateBy = 60 * time.Millisecond

// ledger prepares the ledger of this process and returns its folder, and a function to call at the
// end.
func (o Options) ledger() (dir string, end func(), err error) {
	kept := LedgerDir(o.Dir)
	if o.Memory == Kept {
		return kept, func() {}, nil
	}
	if dir, err = os.MkdirTemp(o.Dir, "memory-"); err != nil || o.Memory == None {
		return dir, func() {}, err
	}
	mirror := func(to, from string) {
		files, _ := filepath.Glob(filepath.Join(from, "*.jsonl"))
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				_ = os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o666)
			}
		}
	}
	if err := os.MkdirAll(kept, 0o777); err != nil {
		return "", nil, err
	}
	mirror(dir, kept)
	go func() {
		for range time.Tick(lateBy) {
			mirror(kept, dir)
		}
	}()
	return dir, func() { mirror(kept, dir) }, nil
}

// LedgerDir is the folder of the ledger of the instrument in dir.
func LedgerDir(dir string) string { return filepath.Join(dir, "ledger") }

// Config returns the settings of a process instrument that runs this test
// binary as the instrument.
func Config(o Options) (process.Settings, error) {
	binary, err := os.Executable()
	if err != nil {
		return process.Settings{}, err
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return process.Settings{}, err
	}
	value, err := json.Marshal(o)
	if err != nil {
		return process.Settings{}, err
	}
	return process.Settings{
		Command: []string{binary},
		Env: map[string]string{
			Variable: string(value),
			"GORACE": "atexit_sleep_ms=0", // the race detector's second of rest at every exit
		},
	}, nil
}

// RunIfAsked runs the instrument and exits if [Variable] is set, and does nothing otherwise.
func RunIfAsked() {
	value := os.Getenv(Variable)
	if value == "" {
		return
	}
	var o Options
	if err := json.Unmarshal([]byte(value), &o); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", Variable, err)
		os.Exit(2)
	}
	ledger, end, err := o.ledger()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	inst := &instrument{Options: o}
	var code int
	if o.Resume {
		code = sdk.Main(ledger, resuming{inst})
	} else {
		code = sdk.Main(ledger, inst)
	}
	end()
	os.Exit(code)
}

// Act is one physical action.
type Act struct {
	Command string `json:"command"`
	// Stage and Experiments are set of acts of a procedure.
	Stage       string    `json:"stage,omitempty"`
	Experiments []string  `json:"experiments,omitempty"`
	Process     int       `json:"process"`
	Time        time.Time `json:"time"`
	// Drawn holds the parts of the stocks that it used up.
	Drawn []events.Drawn `json:"drawn,omitempty"`
}

// Record returns the physical actions by the instrument's own record in dir, in order, without a line
// that was cut off by a kill.
func Record(dir string) (acts []Act, err error) {
	data, err := os.ReadFile(actsFile(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		var act Act
		if json.Unmarshal(line, &act) == nil {
			acts = append(acts, act)
		}
	}
	return acts, nil
}

// Acts counts the physical actions of each command, by the instrument's own
// record in dir. A line that was cut off by a kill is an action too, of the
// command "?".
func Acts(dir string) (map[string]int, error) {
	data, err := os.ReadFile(actsFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]int{}, nil
	}
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int)
	for line := range bytes.Lines(data) {
		var act Act
		if json.Unmarshal(line, &act) != nil {
			act.Command = "?"
		}
		counts[act.Command]++
	}
	return counts, nil
}

// UsedUp lists what was used up by more than one command, by the own records of instruments, each
// in a folder, and how many labels were used at all.
func UsedUp(dirs ...string) (twice []string, labels int, err error) {
	var data []byte
	for _, dir := range dirs {
		own, err := os.ReadFile(actsFile(dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, 0, err
		}
		data = append(data, own...)
	}
	by := make(map[string]string)
	for line := range bytes.Lines(data) {
		var act Act
		_ = json.Unmarshal(line, &act) // a line cut off by a kill does not count
		for _, d := range act.Drawn {
			for _, label := range d.Labels {
				if other := by[d.Stock+" "+label]; other != "" {
					twice = append(twice, fmt.Sprintf("%s %s by %s and %s", d.Stock, label, other, act.Command))
				}
				by[d.Stock+" "+label] = act.Command
			}
		}
	}
	return twice, len(by), nil
}

func actsFile(dir string) string { return filepath.Join(dir, "acts.jsonl") }

type instrument struct {
	Options
	objective definition.Objective
}

// Configure implements [sdk.Configurer]: the objective has the campaign's name
// and unit.
func (i *instrument) Configure(_ context.Context, c sdk.Campaign) error {
	i.objective = c.Objective
	return nil
}

// Keeps implements [sdk.Keeper].
func (i *instrument) Keeps() bool { return i.Durable }

// Describe implements [sdk.Instrument].
func (i *instrument) Describe(context.Context) (instruments.Description, error) {
	d := instruments.Description{
		Name:      "test/instrument",
		Identity:  cmp.Or(i.Identity, "test bench"),
		Capacity:  i.Capacity,
		Simulated: !i.Real,
	}
	if i.objective.Name != "" { // one of a procedure may measure nothing
		d.Outputs = []instruments.OutputSpec{{Name: i.objective.Name, Unit: i.objective.Unit}}
	}
	return d, nil
}

// Measure implements [sdk.Instrument].
func (i *instrument) Measure(ctx context.Context, cmd instruments.Command) (events.Measurement, error) {
	if i.Room != "" {
		leave, err := enter(i.Room)
		if err != nil {
			_ = i.act(instruments.Command{ID: "!"})
			return events.Measurement{}, err
		}
		defer leave()
	}
	if err := i.act(cmd); err != nil {
		return events.Measurement{}, err
	}
	if i.Signs {
		sdk.Signal(ctx, events.Sign{Handle: "run of " + cmd.ID})
	}
	select {
	case <-time.After(time.Duration(i.Latency)):
		return i.measurement(cmd), nil
	case <-ctx.Done():
		return events.Measurement{}, ctx.Err()
	}
}

// Batch implements [sdk.Batcher].
func (i *instrument) Batch(ctx context.Context, cmd instruments.Command) ([]events.Given, error) {
	if _, err := i.Measure(ctx, cmd); err != nil {
		return nil, err
	}
	return i.gave(cmd), nil
}

// gave are the results of an act for each of its experiments.
func (i *instrument) gave(cmd instruments.Command) (all []events.Given) {
	for _, x := range cmd.Experiments {
		if !cmd.Idle() {
			m := i.measurement(instruments.Command{Parameters: x.Parameters})
			all = append(all, events.Given{Experiment: x.Experiment, Measurement: &m})
		}
	}
	return all
}

func (i *instrument) act(cmd instruments.Command) error {
	f, err := os.OpenFile(actsFile(i.Dir), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	act := Act{Command: cmd.ID, Process: os.Getpid(), Time: clock.Now().UTC(), Drawn: cmd.Drawn}
	if cmd.Act != "" {
		act.Stage, act.Experiments = cmd.Stage, cmd.Serves()
	}
	line, err := json.Marshal(act)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return err
	}
	return f.Sync()
}

func (i *instrument) measurement(cmd instruments.Command) events.Measurement {
	return events.Measurement{Objective: definition.Quantity{Name: i.objective.Name,
		Value: Value(cmd.Parameters), Unit: i.objective.Unit}}
}

// Value is the measured value at a point: a smooth function with its maximum 10 where each numeric
// parameter is 0.3; categories do not matter.
func Value(p definition.Point) float64 {
	names := make([]string, 0, len(p))
	for name := range p {
		names = append(names, name)
	}
	slices.Sort(names)
	var sum float64
	for _, name := range names {
		if x, ok := p[name].Float(); ok {
			sum += (x - 0.3) * (x - 0.3)
		}
	}
	return 10 * math.Exp(-sum)
}

// resuming is an instrument whose device goes on by itself and remembers.
type resuming struct{ *instrument }

// Resume implements [sdk.Resumer]. Only a record as durable as the ledger can tell whether the
// killed process had acted.
func (r resuming) Resume(_ context.Context, cmd instruments.Command) (events.Measurement, error) {
	acts, err := Acts(r.Dir)
	if err != nil {
		return events.Measurement{}, err
	}
	if acts[cmd.ID] == 0 && r.Durable {
		return events.Measurement{}, fmt.Errorf("%w: it was claimed and the bench did not move", sdk.ErrTryAgain)
	}
	if acts[cmd.ID] == 0 {
		return events.Measurement{}, fmt.Errorf("%w: it was claimed and the bench did not move",
			sdk.ErrUnknown)
	}
	for r.Room != "" { // the device may be at work on it, for a program that was left behind
		leave, err := enter(r.Room)
		if err == nil {
			leave()
			break
		}
		time.Sleep(time.Millisecond)
	}
	return r.measurement(cmd), nil
}

// ResumeBatch implements [sdk.BatchResumer].
func (r resuming) ResumeBatch(ctx context.Context, cmd instruments.Command) ([]events.Given, error) {
	if _, err := r.Resume(ctx, cmd); err != nil {
		return nil, err
	}
	return r.gave(cmd), nil
}
