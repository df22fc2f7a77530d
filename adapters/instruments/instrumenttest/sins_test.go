//go:build unix

package instrumenttest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// sinful runs the suite on the program in a mode, with its record of acts or without.
func sinful(t *testing.T, mode string, counted bool) (report instrumenttest.Report, folder string) {
	t.Helper()
	env, folder := programEnv(t, mode)
	if !counted {
		env.Acts = nil
	}
	report = must.Get(instrumenttest.Examine(t.Context(), env))(t)
	return report, folder
}

// programEnv is the environment of the suite for the program in a mode, in a folder of
// its own.
func programEnv(t *testing.T, mode string) (env instrumenttest.Env, folder string) {
	t.Helper()
	binary := must.Get(os.Executable())(t)
	folder = t.TempDir()
	settings := process.Settings{
		Command: []string{binary},
		Env:     map[string]string{programVariable: mode, "GORACE": "atexit_sleep_ms=0"},
	}
	if mode == "slow" || mode == "wrongid" || mode == "keeps" || mode == "actsfirst" || mode == "queues" {
		settings.ReplyWithin = definition.Duration(briefReplies)
	}
	if mode == "busy" {
		settings.ReplyWithin = definition.Duration(actOutlasts / 2)
	}
	def := campaign
	if slices.Contains([]string{"draws", "counts", "fromthefirst"}, mode) {
		def.Stocks = map[string]definition.Stock{"tips": {Labels: "A1-B12"}, "solvent": {Amount: "1 mL"}}
		def.Instrument.Draws = map[string]definition.Draw{"tips": "2", "solvent": "salt mL"}
	}
	return instrumenttest.Env{
		Open: func(context.Context) (instruments.Instrument, error) {
			return process.New(settings, campaign, folder, nil)
		},
		Definition:       def,
		Points:           salts(1, 0.25, 1.75, 0.5),
		Acts:             instrumenttest.ActsIn(filepath.Join(folder, "acts")),
		AllowRuns:        true,
		AllowOutOfLimits: true,
		Patience:         20 * time.Second,
		Prompt:           time.Second,
	}, folder
}

func salts(values ...float64) []definition.Point {
	var points []definition.Point
	for _, x := range values {
		points = append(points, definition.Point{"salt": definition.Number(x)})
	}
	return points
}

// Law: whatever a program does with its device, the check that is named for it says
// so, where acts are counted. What is allowed passes, with a remark where it should be
// known.
func TestSinsAreFound(t *testing.T) {
	t.Parallel()
	sins := []struct {
		mode, sin, check string // check fails, or is remarked on
		words            string // of the failure or the remark
	}{
		{"forgets", "keeps its ledger in memory", "kill-while-running", "not started"},
		{"wrongid", "answers a start under another id", "measure", "it is not known whether"},
		{"other", "gives the outcome of what ended last", "side-by-side", "is that of command"},
		{"slow", "takes longer to accept a start than reply_within", "measure", "reply_within"},
		{"nan", "measures NaN", "measure", "allow_nan=False"},
		{"exits", "ends in the middle of each measurement", "measure", "exit status 0"},
		{"double", "acts on a start that it knows", "duplicate-start", "acted 2 times"},
		{"redo", "works off its ledger when it starts", "kill-with-campaignd", "acted 2 times"},
		{"homes", "moves when it starts", "describe", "nobody asked for"},
		{"liesdone", "says measured before the act has ended", "measure", "still acting"},
		{"newest", "returns the value of the run before", "fresh", "run before"},
		{"constant", "returns the same value always", "fresh", "every time"},
		{"onechannel", "sets one composition for both channels", "side-by-side", "alone; at the other"},
		{"cancellies", "says cancelled and goes on", "cancel-while-running", "still acting"},
		{"tardy", "says cancelled and acts afterwards", "cancel-while-running", "after it had said"},
		{"twohands", "acts on what an earlier process is working on", "second-process", "acted 2 times"},
		{"lazy", "acts when it is waited for", "unattended", "until its outcome was waited for"},
		{"hangs", "takes a start up long after it has answered the cancel", "voids", "after its cancel had been answered"},
		{"invents", "gives a measurement of what it was told to call off in time", "voids", "did not act on it"},
		{"nevervoids", "says that it voids, and knows nothing of it", "cancel-before-start", "started afterwards"},
		{"forgetsvoid", "forgets with its process what was called off", "cancel-before-start", "after a restart"},
		{"voidsatend", "keeps what was called off when it ends, and not when it is killed", "cancel-before-start", "after a restart"},
		{"old", "nothing: it is of a time before cancels were binding", "", "not say that an answered cancel is binding"},
		{"actsfirst", "acts before the start is in its ledger, which it says is durable", "durable-ledger", "said that command"},
		{"queues", "denies a start that waits in its queue, and acts on it", "durable-ledger", "said that command"},
		{"keeps", "nothing: its ledger is durable and complete, as it says", "", ""},
		{"tells", "nothing: it says how far it is, and its device finds no run by its handle", "", "not found by its handle"},
		{"asks", "nothing: its device finds a run by its handle", "", ""},
		{"denies", "says not started of a run whose handle is known, where its ledger is lost", "handle", "what has a handle has begun"},
		{"imagines", "gives a measurement to any handle", "handle", "which no run has"},
		{"mixesup", "gives the outcome of another run than that of the handle", "handle", "another one's"},
		{"sticks", "declares a safe state, and does not get there", "safe", "the valve sticks"},
		{"mute", "declares signs of life, and gives none", "signs", "gave none"},
		{"backwards", "says that less is done than before", "signs", "an earlier one 0.6"},
		{"renames", "gives a run another handle", "signs", `and now "run 8"`},
		{"late", "acts after it has given the outcome", "measure", "the record of acts holds none"},
		{"cache", "gives a known value for a known composition", "fresh", "the record of acts holds none"},
		{"lru", "remembers the last eight commands", "restart-after-completion", "acted 2 times"},
		{"recoverlies", "invents the outcome of what a crash cut short", "kill-with-campaignd", "had not ended"},
		{"nounit", "gives no unit", "measure", "unit"},
		{"si", "gives another unit", "measure", "S/m"},
		{"clock", "has ended before it began", "measure", "1970"},
		{"swap5", "gives the value of the run before, one time in five", "fresh", "which is the value of the run before"},
		{"carry", "rinses badly: 0.4 of a value is of the run before", "carry", "40 % of what lies between"},
		{"lastactual", "says that it made what the run before was asked for", "actual", "what the run before was asked for"},
		{"rounds", "doses in steps of 0.1 and says that it made what was asked for", "actual", "what was really made"},
		{"repeats", "does one of six steps twice", "measure", "acted 2 times"},
		{"busy", "nothing: it reads on when it has measured", "", "answered only after"},
		{"steps", "nothing: its device works in six steps", "", ""},
		{"coarse", "nothing: it doses in steps of 0.1 and says so", "", ""},
		{"silentsi", "gives S/m as mS/cm: no check can see it", "", ""},
		{"third", "takes its queue up again in the third process that finds it", "killed-thrice", "acted 2 times"},
		{"cancelsall", "cancels all commands with one", "cancel-one-of-two", "was called off"},
		{"unstoppable", "nothing: it cannot stop its device, and says so", "", "cannot be stopped: "},
		{"garbage", "prints debug lines on standard output", "", "no messages, such as DEBUG"},
		{"serial", "takes two commands and works on one after the other", "", "one after the other"},
		{"draws", "nothing: it uses the tips that it was given", "", ""},
		{"counts", "counts its tips by itself", "drawn", "was used: use what the command names"},
		{"fromthefirst", "takes the first tips again when it was killed", "drawn", "[A1 B1] was used"},
		{"ignorescancel", "goes on after cancel, and says so", "", ""},
		{"sound", "nothing", "", ""},
		{"noisy", "nothing: its device is noisy", "", ""},
	}
	reports := make([]instrumenttest.Report, len(sins))
	errs := make([]error, len(sins))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8) // they mostly wait
	for n, sin := range sins {
		env, _ := programEnv(t, sin.mode)
		switch sin.check {
		case "":
		case "handle":
			env.Only("describe", "measure", "fresh", "signs", sin.check)
		case "drawn": // by what other checks have it do
			env.Only("describe", "never-started", "measure", "kill-while-running", "kill-with-campaignd", sin.check)
		case "side-by-side", "carry", "actual", "restart-after-completion": // they need its measurements
			env.Only("describe", "measure", "fresh", sin.check)
		default:
			env.Only("describe", "measure", sin.check)
		}
		switch sin.mode { // each act takes its time
		case "busy":
			env.Only("describe", "measure", "cancel-while-running", "voids")
		case "onechannel":
			env.Readings = instrumenttest.LeastReadings
		}
		wg.Go(func() {
			slots <- struct{}{}
			reports[n], errs[n] = instrumenttest.Examine(t.Context(), env)
			<-slots
		})
	}
	wg.Wait()
	for n, sin := range sins {
		t.Run(sin.mode, func(t *testing.T) {
			if errs[n] != nil {
				t.Fatal(errs[n])
			}
			var text strings.Builder
			_ = reports[n].WriteText(&text)
			t.Logf("%s: %s\n%s", sin.mode, sin.sin, &text)
			found := false
			for _, r := range reports[n].Results {
				switch {
				case r.Check == "durable-ledger" && r.Verdict == instrumenttest.Skip && sin.mode != "keeps": // it declares nothing
				case (r.Check == "signs" || r.Check == "handle") && r.Verdict == instrumenttest.Skip && sin.mode != "tells" && sin.mode != "asks": // it gives none
				case r.Check == "safe" && r.Verdict == instrumenttest.Skip: // it has no such state
				case r.Check == "gave" && r.Verdict == instrumenttest.Skip: // it takes one experiment at a time
				case r.Check == "drawn" && r.Verdict == instrumenttest.Skip && sin.mode != "draws": // nothing is drawn
				case sin.check == "" && r.Verdict != instrumenttest.Pass:
					t.Errorf("%s: %s: %s", r.Check, r.Verdict, r.Reason)
				case sin.check == "" && strings.Contains(r.Reason, sin.words):
					found = true
				case sin.check == r.Check && r.Verdict == instrumenttest.Fail && strings.Contains(r.Reason, sin.words):
					found = true
				}
			}
			if !found {
				t.Errorf("it was not found: %s, by %q, with the words %q", sin.sin, sin.check, sin.words)
			}
		})
	}
}

// Law: starts really reach the program twice, as the suite says of itself.
func TestStartsAreDeliveredAgain(t *testing.T) {
	t.Parallel()
	report, folder := sinful(t, "sound", true)
	acts, err := instrumenttest.ActsIn(filepath.Join(folder, "acts"))()
	if most := instrumenttest.Experiments(instrumenttest.Env{}); err != nil || len(acts) == 0 || len(acts) > 2*most {
		t.Errorf("%d begins and ends of acts, where %d experiments were announced; %v", len(acts), most, err)
	}
	data := must.Get(os.ReadFile(filepath.Join(folder, "stdin")))(t)
	starts := map[string]int{}
	total := 0
	for line := range strings.Lines(string(data)) {
		if _, rest, found := strings.Cut(line, `"op":"start","command":{"id":"`); found {
			id, _, _ := strings.Cut(rest, `"`)
			starts[id]++
			total++
		}
	}
	again := 0
	for _, n := range starts {
		if n > 1 {
			again++
		}
	}
	t.Logf("%d starts of %d commands reached the program, more than one of %d", total, len(starts), again)
	if again < 7 || total-len(starts) != report.Redelivered {
		t.Errorf("%d starts of %d commands, more than one of %d; the report says that %d were delivered again",
			total, len(starts), again, report.Redelivered)
	}
}

// Law: nothing is said of acts that were not counted.
func TestWhatIsNotCountedIsNotSaid(t *testing.T) {
	t.Parallel()
	report, _ := sinful(t, "double", false)
	var b strings.Builder
	must.Do(t, report.WriteText(&b))
	text := b.String()
	for _, word := range []string{"acts once", "acts no more", "twice;", "nothing twice", "by one act", "second act"} {
		if strings.Contains(text, word) {
			t.Errorf("it says %q, and nothing was counted:\n%s", word, text)
		}
	}
	if summary := text[strings.Index(text, " checks: "):]; !strings.Contains(summary, "whether it acted once was NOT seen (--acts)") {
		t.Errorf("the summary does not say what was not seen:\n%s", summary)
	}
	for _, r := range report.Results {
		if r.Check == "duplicate-start" && !r.Unseen {
			t.Errorf("%+v", r)
		}
	}
}

// Law: a check that gave up waiting ends the program of a simulation, and names the
// process of a real device's, which it leaves at work.
func TestWhatIsLeftIsNamed(t *testing.T) {
	for mode, left := range map[string]int{"stuck": 1, "stuck twin": 0} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env, _ := programEnv(t, mode)
			env.Patience = time.Second
			var program *process.Instrument
			open := env.Open
			env.Open = func(ctx context.Context) (instruments.Instrument, error) {
				inst, err := open(ctx)
				program = inst.(*process.Instrument)
				return inst, err
			}
			report := must.Get(instrumenttest.Examine(t.Context(), env))(t)
			if len(report.Left) != left {
				t.Fatalf("it left %v; %+v", report.Left, report.Failed())
			}
			var text strings.Builder
			_ = report.WriteText(&text)
			for _, pid := range report.Left {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Errorf("process %d: %v", pid, err)
				}
				if want := fmt.Sprintf("left alone: process %d", pid); !strings.Contains(text.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, &text)
				}
			}
			for range 100 { // until it is gone
				if program.Watch().Left == 0 {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
			t.Error("its process is still there, or said to be")
		})
	}
}
