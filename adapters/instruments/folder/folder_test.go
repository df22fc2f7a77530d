package folder_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/folder"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/adapters/instruments/remote"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// campaign is that of the tests.
var campaign = definition.Campaign{
	Name:       "mixture",
	Parameters: []definition.Parameter{{Name: "salt", Unit: "mol/kg", Min: new(float64), Max: at(2)}},
	Objective:  definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize},
}

func at(x float64) *float64 { return &x }

// robot works on the requests of a folder until the test ends: takes them away or leaves them, marks
// the begin and the end of its acts, and writes results in the form that the settings read.
type robot struct {
	t    *testing.T
	root string
	s    folder.Settings
	mu   sync.Mutex
}

func (r *robot) in(parts ...string) string {
	return filepath.Join(append([]string{r.root}, parts...)...)
}

// acts is the file for its acts.
func (r *robot) acts() string { return r.in("acts") }

// bench is a folder with a robot at work, and the settings that reach it.
func bench(t *testing.T, s folder.Settings) (*robot, folder.Settings) {
	s.Device = device
	s.Every = definition.Duration(5 * time.Millisecond)
	s.Folder = t.TempDir()
	s.Complete(&campaign)
	if faults := s.Check(&campaign, nil); faults != nil {
		t.Fatal(faults)
	}
	r := &robot{t: t, root: s.Folder, s: s}
	for _, dir := range []string{s.Requests, s.Results, "taken"} {
		must.Do(t, os.Mkdir(r.in(dir), 0o755))
	}
	return r, s
}

var device = remote.DeviceSettings{Name: "robot", Identity: "R2", Capacity: 2,
	Parameters: []instruments.ParameterSpec{{Name: "salt", Unit: "mol/kg", Min: new(float64), Max: at(2)}}}

// values are where results have what was measured; a place in JSON begins with a slash.
func values(slash string) remote.Values {
	return remote.Values{
		Quantities: map[string]remote.Reading{"conductivity": {At: slash + "sigma", Unit: "mS/cm"}},
		Actual:     map[string]string{"salt": slash + "made"},
	}
}

// forms are the ways in which devices read requests and write results.
func forms() map[string]folder.Settings {
	columns := []folder.RequestColumn{{Name: "Run", Value: "{id}"}, {Name: "Salt", Value: "{parameters.salt}"}}
	return map[string]folder.Settings{
		"json, taken away": {TakesAway: true, Durable: true, Result: folder.ResultFile{ID: "/run", Values: values("/")}},
		"tables with a marker, left there": {
			Request: folder.RequestFile{Columns: columns},
			Result:  folder.ResultFile{Ending: ".csv", Marker: ".done", ID: "run", Values: values("")},
		},
		"tables that stay the same": {
			TakesAway: true, Request: folder.RequestFile{Columns: columns},
			Result: folder.ResultFile{Ending: ".csv", UnchangedFor: definition.Duration(40 * time.Millisecond), Values: values("")},
		},
	}
}

// Law: it passes the suite of all instruments, in front of a device that writes slowly and has no
// memory.
func TestSuite(t *testing.T) {
	for name, s := range forms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s := bench(t, s)
			r.work()
			instrumenttest.Run(t, instrumenttest.Env{
				Open:       func(context.Context) (instruments.Instrument, error) { return open(t, s) },
				Definition: campaign,
				Points:     []definition.Point{salt(0.5), salt(1.5)},
				AllowRuns:  true, AllowOutOfLimits: true,
				Acts:     instrumenttest.ActsIn(r.acts()),
				Patience: 10 * time.Second, Prompt: time.Second,
			})
		})
	}
}

func open(t *testing.T, s folder.Settings) (*remote.Instrument, error) {
	return folder.New(s, campaign, instruments.Environment{Logf: t.Logf})
}

func salt(x float64) definition.Point { return definition.Point{"salt": definition.Number(x)} }

// work takes up requests until the test ends.
func (r *robot) work() {
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	r.t.Cleanup(func() { stop(); wg.Wait() })
	wg.Go(func() {
		begun := make(map[string]bool)
		for ctx.Err() == nil {
			paths, _ := filepath.Glob(r.in(r.s.Requests, "[^.]*"))
			for _, path := range paths {
				name := filepath.Base(path)
				if begun[name] {
					continue
				}
				text, err := os.ReadFile(path)
				if r.s.TakesAway && err == nil {
					err = os.Rename(path, r.in("taken", name))
				}
				if err != nil {
					continue // withdrawn
				}
				begun[name] = true
				wg.Go(func() { r.perform(strings.TrimSuffix(name, r.s.Request.Ending), text) })
			}
			time.Sleep(2 * time.Millisecond)
		}
	})
}

// perform makes one measurement.
func (r *robot) perform(name string, request []byte) {
	var id string
	var salt float64
	if r.s.Request.Columns != nil {
		rows, err := csv.NewReader(strings.NewReader(string(request))).ReadAll()
		if err != nil {
			r.t.Error(err)
			return
		}
		id = rows[1][0]
		salt, _ = strconv.ParseFloat(rows[1][1], 64)
	} else {
		var q struct {
			ID         string
			Parameters map[string]float64
		}
		if err := json.Unmarshal(request, &q); err != nil {
			r.t.Error(err)
			return
		}
		id, salt = q.ID, q.Parameters["salt"]
	}
	r.act(id + " begin")
	time.Sleep(40 * time.Millisecond)
	r.act(id + " end")
	value := 10 - salt*salt
	result := r.in(r.s.Results, name+r.s.Result.Ending)
	text := fmt.Sprintf(`{"run": %q, "sigma": %v, "made": %v}`, id, value, salt)
	if strings.HasSuffix(result, ".csv") {
		text = fmt.Sprintf("run;sigma;made\n%s;%s;%s\n", id,
			strings.Replace(fmt.Sprintf("%.6f", value), ".", ",", 1), strings.Replace(fmt.Sprintf("%.6f", salt), ".", ",", 1))
	}
	// In two pieces, slowly, as programs do that know nothing of renames.
	f, err := os.Create(result)
	if err == nil {
		_, err = f.WriteString(text[:len(text)/2])
		time.Sleep(10 * time.Millisecond)
	}
	if err == nil {
		_, err = f.WriteString(text[len(text)/2:])
		err = errors.Join(err, f.Close())
	}
	if err == nil && r.s.Result.Marker != "" {
		err = os.WriteFile(r.in(r.s.Results, name+r.s.Result.Marker), nil, 0o644)
	}
	if err != nil {
		r.t.Error(err)
	}
}

func (r *robot) act(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := os.OpenFile(r.acts(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		r.t.Error(err)
	}
}

// command is one of the tests.
func command(id string, x float64) instruments.Command {
	return instruments.Command{ID: id, Campaign: "mixture", Experiment: "e1", Parameters: salt(x), Replicate: 1}
}

// still is a folder in which no robot works: what happens to a command is up to the test.
func still(t *testing.T, s folder.Settings) (*robot, folder.Settings, *remote.Instrument) {
	r, s := bench(t, s)
	i := must.Get(open(t, s))(t)
	t.Cleanup(func() { i.Close() })
	must.Get(i.Describe(t.Context()))(t)
	return r, s, i
}

// fate is that of a command for a new process.
func fate(t *testing.T, s folder.Settings, cmd instruments.Command) instruments.Fate {
	t.Helper()
	i := must.Get(open(t, s))(t)
	defer i.Close()
	return must.Get(i.Recover(t.Context(), cmd))(t)
}

// Law: a kill at any moment of a hand-over leaves a command that is begun, or one that is known not
// to be and can be called off for good. Nothing in between is guessed.
func TestKilledWhileHandingOver(t *testing.T) {
	r, s, i := still(t, forms()["json, taken away"])
	request := r.in(s.Requests, "mixture.A.e1.json")
	ready := r.in(s.Requests, ".mixture.A.e1.json.ready")
	cmd := command("mixture/A/e1", 1)
	must.Do(t, i.Start(t.Context(), cmd))

	// Handed over, and not noted: the request lies there, or the device has taken it.
	entry := r.in("ledger", "mixture.A.e1.jsonl")
	text := string(must.Get(os.ReadFile(entry))(t))
	claimed := text[:strings.Index(text, `{"confirmed"`)]
	must.Do(t, os.WriteFile(entry, []byte(claimed), 0o644))
	must.Do(t, os.Rename(request, r.in("taken", "mixture.A.e1.json")))
	if f := fate(t, s, cmd); f != instruments.FateUnknown {
		t.Errorf("a request that is gone without a trace is %s", f)
	}
	// Not handed over: it is ready under a name that the device does not read.
	must.Do(t, os.Rename(r.in("taken", "mixture.A.e1.json"), ready))
	if f := fate(t, s, cmd); f != instruments.FateNotStarted {
		t.Errorf("a request that was not handed over is %s", f)
	}
	// Then it can be called off, and does not begin afterwards.
	must.Do(t, i.Cancel(t.Context(), cmd))
	if err := i.Start(t.Context(), cmd); !errors.Is(err, instruments.ErrRefused) {
		t.Errorf("a start after it was called off: %v", err)
	}
	for _, path := range []string{request, ready} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is there after it was called off", path)
		}
	}
	if f := fate(t, s, cmd); f != instruments.FateFinished {
		t.Errorf("after it was called off it is %s", f)
	}
}

// Law: a result belongs to the command whose identifier it has in its name, and inside where a place is
// named for it. One that is newer, of another command, or not whole is not taken.
func TestResultByIdentifier(t *testing.T) {
	r, s, i := still(t, forms()["json, taken away"])
	one, two := command("mixture/A/e1", 1), command("mixture/A/e2", 2)
	must.Do(t, i.Start(t.Context(), one))
	must.Do(t, i.Start(t.Context(), two))
	write := func(name, text string) {
		must.Do(t, os.WriteFile(r.in(s.Results, name), []byte(text), 0o644))
	}
	running := func(cmd instruments.Command) {
		t.Helper()
		if f := must.Get(i.Recover(t.Context(), cmd))(t); f != instruments.FateRunning {
			t.Errorf("%s is %s", cmd.ID, f)
		}
	}
	write("newest.json", `{"run":"mixture/A/e1","sigma":5,"made":1}`)
	write("mixture.A.e2.json", `{"run":"mixture/A/e2","sigma":7,"made":2}`)
	running(one)
	write("mixture.A.e1.json", `{"run":"mixture/A/e1","sigma":5,"ma`)
	running(one)
	if o := must.Get(i.Await(t.Context(), two))(t); o.Measurement == nil || o.Measurement.Objective.Value != 7 {
		t.Errorf("the second one: %+v", o)
	}
	write("mixture.A.e1.json", `{"run":"mixture/A/e2","sigma":7,"made":2}`)
	if o := must.Get(i.Await(t.Context(), one))(t); o.Status != instruments.Unknown || !strings.Contains(o.Cause, "mixture/A/e2") {
		t.Errorf("a result with another command's identifier: %+v", o)
	}
}

// Law: what was given as the outcome stands, whatever becomes of the files.
func TestOutcomeStands(t *testing.T) {
	r, s, i := still(t, forms()["json, taken away"])
	cmd := command("mixture/A/e1", 1)
	must.Do(t, i.Start(t.Context(), cmd))
	result := r.in(s.Results, "mixture.A.e1.json")
	must.Do(t, os.WriteFile(result, []byte(`{"run":"mixture/A/e1","sigma":5,"made":1}`), 0o644))
	must.Get(i.Await(t.Context(), cmd))(t)
	must.Do(t, os.Remove(result))
	again := must.Get(open(t, s))(t)
	defer again.Close()
	if o := must.Get(again.Await(t.Context(), cmd))(t); o.Measurement == nil || o.Measurement.Objective.Value != 5 {
		t.Errorf("without its file the outcome is %+v", o)
	}
}

// Law: where a folder is missing, as of a drive that is not mounted, the device is waited for, nothing
// is made in its place, and nothing is concluded about its commands.
func TestDriveAway(t *testing.T) {
	r, s, i := still(t, forms()["json, taken away"])
	cmd := command("mixture/A/e1", 1)
	must.Do(t, i.Start(t.Context(), cmd))
	must.Do(t, os.Rename(r.root, r.root+".away"))
	t.Cleanup(func() { _ = os.RemoveAll(r.root + ".away") })
	other := must.Get(open(t, s))(t)
	defer other.Close()
	if _, err := other.Describe(t.Context()); !errors.Is(err, instruments.ErrLater) {
		t.Errorf("a description without the drive: %v", err)
	}
	if f, err := other.Recover(t.Context(), cmd); err == nil {
		t.Errorf("without the drive its command is %s", f)
	}
	if err := other.Start(t.Context(), command("mixture/A/e2", 1)); !errors.Is(err, instruments.ErrRefused) {
		t.Errorf("a start without the drive: %v", err)
	}
	if _, err := os.Stat(r.root); err == nil {
		t.Error("the folder was made anew")
	}
}

// Law: files of a result are attached, and those of no other command.
func TestFiles(t *testing.T) {
	s := forms()["json, taken away"]
	s.Result.Files = []string{"{name}*.png"}
	r, s, i := still(t, s)
	must.Do(t, i.Close())
	t.Chdir(filepath.Dir(s.Folder)) // a campaign file is often named by a relative path
	s.Folder = filepath.Base(s.Folder)
	i = must.Get(open(t, s))(t)
	defer i.Close()
	cmd := command("mixture/A/e1", 1)
	must.Do(t, i.Start(t.Context(), cmd))
	for _, name := range []string{"mixture.A.e1-a.png", "mixture.A.e2-a.png", "mixture.A.e10-a.png"} {
		must.Do(t, os.WriteFile(r.in(s.Results, name), []byte("PNG"), 0o644))
	}
	must.Do(t, os.WriteFile(r.in(s.Results, "mixture.A.e1.json"), []byte(`{"run":"mixture/A/e1","sigma":5,"made":1}`), 0o644))
	o := must.Get(i.Await(t.Context(), cmd))(t)
	if o.Remarks != nil {
		t.Error(o.Remarks)
	}
	if len(o.Files) != 1 || o.Files[0].Name != "mixture.A.e1-a.png" {
		t.Errorf("the files are %+v", o.Files)
	}
}
