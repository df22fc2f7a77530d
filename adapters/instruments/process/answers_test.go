//go:build unix

package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func init() {
	// asked answers recover with what fate gives, and notes each question.
	asked := func(p *program, fate func(id any) message, dies func(op string) bool) {
		p.serve(func(op string, id any, command string) bool {
			if p.life == 1 && dies(op) {
				os.Exit(0)
			}
			if op == "recover" {
				p.note("recovers", command)
				p.say(fate(id))
			}
			return op == "recover"
		})
	}
	never := func(string) bool { return false }
	atStart := func(op string) bool { return op == "start" }
	fate := func(f string) func(any) message {
		return func(id any) message { return message{"id": id, "fate": f} }
	}
	faulty["is asked"] = func(p *program) { asked(p, fate("unknown"), never) }
	faulty["dies before confirming, and says perhaps"] = func(p *program) { asked(p, fate("perhaps"), atStart) }
	faulty["dies before confirming, and cannot look"] = func(p *program) {
		asked(p, func(id any) message { return message{"id": id, "error": "the ledger is locked"} }, atStart)
	}
	diesOverTwo := func(p *program) {
		awaited := 0
		p.serve(func(op string, _ any, _ string) bool {
			if op != "await" || p.life > 1 {
				return false
			}
			if awaited++; awaited == 2 {
				os.Exit(0)
			}
			return true
		})
	}
	faulty["dies over two, and cannot say"] = func(p *program) {
		p.recovers = false
		diesOverTwo(p)
	}
	faulty["dies over two, and can say no more"] = func(p *program) {
		p.recovers = p.life == 1
		diesOverTwo(p)
	}
	faulty["dies, says that it runs, and disowns it"] = func(p *program) {
		p.serve(func(op string, id any, _ string) bool {
			switch {
			case p.life == 1 && op == "start", p.life == 2 && op == "await":
				os.Exit(0)
			case op == "recover":
				p.say(message{"id": id, "fate": map[bool]string{true: "running", false: "not started"}[p.life == 2]})
				return true
			}
			return false
		})
	}
	faulty["tells unasked"] = func(p *program) {
		p.serve(func(op string, _ any, command string) bool {
			if op == "await" {
				p.say(message{"command": command, "outcome": result(10)})
			}
			return op == "await"
		})
	}
	faulty["tells unasked, declines and tells again"] = func(p *program) {
		p.serve(func(op string, id any, command string) bool {
			if op == "await" {
				p.say(message{"command": command, "outcome": result(10)})
				p.say(message{"id": id, "error": "that is over"})
				p.say(message{"command": command, "outcome": result(11)})
			}
			return op == "await"
		})
	}
	faulty["tells at the start"] = func(p *program) {
		p.serve(func(op string, id any, command string) bool {
			switch op {
			case "start":
				p.say(message{"command": "test/e2", "outcome": result(12)}) // which was refused
				p.say(message{"id": id, "ok": true})
				p.say(message{"command": command, "outcome": result(10)})
			case "await":
				p.say(message{"id": id, "outcome": result(11)})
			}
			return op == "start" || op == "await"
		})
	}
	cancels := func(answer message) func(*program) {
		return func(p *program) {
			p.serve(func(op string, id any, _ string) bool {
				if op == "cancel" && answer != nil {
					answer["id"] = id
					p.say(answer)
				}
				return op == "cancel"
			})
		}
	}
	faulty["cannot cancel"] = cancels(message{"error": "the pump is stuck"})
	faulty["cannot stop"] = cancels(message{"error": "the oven is closed", "cannot": true})
	faulty["does not know, and cannot cancel"] = func(p *program) {
		p.serve(func(op string, id any, _ string) bool {
			switch op {
			case "await":
				p.say(message{"id": id, "outcome": message{"status": "unknown", "cause": "the line broke"}})
			case "cancel":
				p.say(message{"id": id, "error": "the pump is stuck"})
			}
			return op == "await" || op == "cancel"
		})
	}
	faulty["says nothing of a cancellation"] = cancels(message{})
	faulty["does not answer a cancellation"] = cancels(nil)
	faulty["prints a lot"] = func(p *program) {
		p.serve(func(op string, _ any, command string) bool {
			if op == "start" {
				for range map[string]int{"test/e1": 20, "test/e2": 1, "test/e3": 39}[command] {
					p.raw("pump 1 is warm")
				}
			}
			return false
		})
	}
}

// kill ends the program, and returns when that has been seen.
func kill(t *testing.T, inst *process.Instrument) {
	t.Helper()
	must.Do(t, inst.Program().Kill())
	for inst.Program() != nil {
		time.Sleep(time.Millisecond)
	}
}

// Law: a command whose outcome is known is over: no later run of the program is asked what became
// of it, and whoever asks for its fate is told that it has finished, also by a program that
// remembers nothing.
func TestFinishedIsFinished(t *testing.T) {
	inst, _, dir := openFaulty(t, "is asked")
	ctx := within(t, 20*time.Second)
	must.Do(t, inst.Start(ctx, command(1)))
	if o, err := inst.Await(ctx, command(1)); err != nil || o.Status != instruments.Measured {
		t.Fatalf("Await: %+v, %v", o, err)
	}
	for range 2 {
		if fate, err := inst.Recover(ctx, command(1)); fate != instruments.FateFinished || err != nil {
			t.Errorf("Recover: %q, %v; want finished", fate, err)
		}
		kill(t, inst)
	}
	must.Do(t, inst.Start(ctx, command(2)))
	if asked := noted(dir, "recovers"); len(asked) > 0 {
		t.Errorf("it was asked about %q", asked)
	}
}

// Law: a command that was sent and not confirmed is neither started nor refused where the program
// gives no fate, or one that the protocol does not have: each of those who ask is told so, and it
// is not sent again.
func TestNoFate(t *testing.T) {
	for fault, says := range map[string]string{
		"dies before confirming, and says perhaps": `"perhaps"`,
		"dies before confirming, and cannot look":  "the ledger is locked",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			inst, book, dir := openFaulty(t, fault)
			ctx := within(t, 20*time.Second)
			err := inst.Start(ctx, command(1))
			if err == nil || errors.Is(err, instruments.ErrRefused) || !strings.Contains(err.Error(), "exit status 0") {
				t.Errorf("of a program that ended, Start says %v", err)
			}
			for range 2 {
				err := inst.Start(ctx, command(1))
				if err == nil || errors.Is(err, instruments.ErrRefused) || !strings.Contains(err.Error(), says) {
					t.Errorf("Start again: %v, want %s", err, says)
				}
			}
			fate, err := inst.Recover(ctx, command(1))
			if fate != "" || err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("Recover: %q, %v, want %s", fate, err, says)
			}
			starts(t, dir, 1)
			book.expect("could not be asked about command test/e1")
		})
	}
}

// Law: that a program says of a command that it runs confirms it: one that says later that it never
// started it has lost its memory, and is not sent it again.
func TestRunningIsConfirmed(t *testing.T) {
	inst, _, dir := openFaulty(t, "dies, says that it runs, and disowns it")
	ctx := within(t, 20*time.Second)
	if err := inst.Start(ctx, command(1)); err == nil {
		t.Error("a start that was not confirmed was none")
	}
	if err := inst.Start(ctx, command(1)); err != nil {
		t.Errorf("it runs, and Start says %v", err)
	}
	o, err := inst.Await(ctx, command(1))
	if err != nil || o.Status != instruments.Unknown || !strings.Contains(o.Cause, "had confirmed it") {
		t.Errorf("Await: %+v, %v", o, err)
	}
	starts(t, dir, 1)
}

// Law: of all commands that were under way when a program ended which cannot say what became of
// them, each is unknown.
func TestEachIsUnknown(t *testing.T) {
	for _, fault := range []string{"dies over two, and cannot say", "dies over two, and can say no more"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			inst, _, dir := openFaulty(t, fault)
			ctx := within(t, 20*time.Second)
			var wg sync.WaitGroup
			for n := range 3 {
				must.Do(t, inst.Start(ctx, command(n)))
			}
			for n := range 3 {
				wg.Go(func() {
					o, err := inst.Await(ctx, command(n))
					if err != nil || o.Status != instruments.Unknown {
						t.Errorf("command %d: %+v, %v", n, o, err)
					}
				})
			}
			wg.Wait()
			starts(t, dir, 3)
		})
	}
}

// Law: the result of a command of an earlier campaignd counts, however the program tells it: as the
// answer to the question for it, or unasked while that is open. The first one stands, and each
// further one is reported.
func TestEarlierCommandIsToldUnasked(t *testing.T) {
	for _, fault := range []string{"tells unasked", "tells unasked, declines and tells again"} {
		inst, book, dir := openFaulty(t, fault)
		for range 2 {
			o, err := inst.Await(within(t, 20*time.Second), command(1))
			if err != nil || o.Measurement == nil || o.Measurement.Objective.Value != 10 {
				t.Errorf("%s: Await: %+v, %v", fault, o, err)
			}
		}
		if fault != "tells unasked" {
			book.expect("a second result for command test/e1 is dropped")
		}
		starts(t, dir, 0)
	}
}

// Law: a result that comes unasked counts for a command that was sent, also before it is asked for,
// and for no other: one that was refused has none.
func TestToldUnasked(t *testing.T) {
	inst, book, _ := openFaulty(t, "tells at the start")
	ctx := within(t, 20*time.Second)
	outside := command(2)
	outside.ID = ""
	if err := inst.Start(ctx, outside); !errors.Is(err, instruments.ErrRefused) {
		t.Errorf("without an ID, Start says %v", err)
	}
	known := command(2)
	if err := inst.Cancel(ctx, known); err != nil { // it is known, and was never sent
		t.Error(err)
	}
	must.Do(t, inst.Start(ctx, command(1)))
	book.expect(`a result for command "test/e2", which was not started, is dropped`)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		fate, err := inst.Recover(ctx, command(1))
		if fate == instruments.FateFinished && err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("told, it is %q, %v", fate, err)
		}
	}
	if o, err := inst.Await(ctx, command(1)); err != nil || o.Measurement == nil || o.Measurement.Objective.Value != 10 {
		t.Errorf("Await: %+v, %v", o, err)
	}
}

// Law: a command is cancelled when the program says so. Otherwise it may not have been, and why is
// said.
func TestCancelSaysWhyNot(t *testing.T) {
	for fault, says := range map[string]string{
		"cannot cancel":                  "the pump is stuck",
		"cannot stop":                    "the oven is closed",
		"says nothing of a cancellation": "without ok or error",
		"does not answer a cancellation": "within 400ms",
		"fails":                          "", // which cancels
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			inst, _, _ := openImpatient(t, fault)
			ctx := within(t, 20*time.Second)
			must.Do(t, inst.Start(ctx, command(1)))
			err := inst.Cancel(ctx, command(1))
			var slow interface{ Timeout() bool }
			if errors.As(err, &slow) != (fault == "does not answer a cancellation") {
				t.Errorf("Cancel: %v, which may still be answered: %t", err, slow != nil)
			}
			if errors.Is(err, instruments.ErrUnstoppable) != (fault == "cannot stop") {
				t.Errorf("Cancel: %v", err)
			}
			if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
				t.Errorf("Cancel: %v, want %q", err, says)
			}
		})
	}
}

// Law: a command of unknown fate is called off at the program: it may be on its way.
func TestCancelOfUnknownFate(t *testing.T) {
	inst, _, _ := openImpatient(t, "does not know, and cannot cancel")
	ctx := within(t, 20*time.Second)
	must.Do(t, inst.Start(ctx, command(1)))
	if o, err := inst.Await(ctx, command(1)); err != nil || o.Status != instruments.Unknown {
		t.Fatalf("%+v, %v", o, err)
	}
	if err := inst.Cancel(ctx, command(1)); err == nil || !strings.Contains(err.Error(), "the pump is stuck") {
		t.Errorf("Cancel: %v; the program was not asked", err)
	}
}

// Law: of the lines that are no messages the first 20 are reported, and then once that there are
// more; all are counted.
func TestManyStrayLines(t *testing.T) {
	inst, book, _ := openFaulty(t, "prints a lot")
	ctx := within(t, 20*time.Second)
	for n, c := range []struct{ printed, more int }{{20, 0}, {21, 1}, {60, 1}} {
		must.Do(t, inst.Start(ctx, command(n+1)))
		said := book.String()
		lines := strings.Count(said, "is not a message")
		if more := strings.Count(said, "further lines"); lines != 20 || more != c.more {
			t.Errorf("of %d lines %d are reported, and %d times that there are more:\n%s", c.printed, lines, more, said)
		}
		if watch := inst.Watch(); watch.StrayLines != c.printed || watch.FirstStray != "pump 1 is warm" {
			t.Errorf("of %d lines: %+v", c.printed, watch)
		}
	}
}

// Law: a campaign's instrument is opened with the settings that the campaign gives it; where acts
// are counted, the program learns where; a record is kept where the campaign has a store. Settings
// that cannot be read are an error.
func TestOpenedByItsDriver(t *testing.T) {
	cfg, dir := misbehaving(t, "fails")
	cfg.Command = append([]string{"sh", "-c", `echo "$CAMPAIGND_ACTS" > "$0"; exec "$@"`, filepath.Join(dir, "acts")}, cfg.Command...)
	def := campaign
	def.Instrument.Driver = process.Choose(cfg)
	store := t.TempDir()
	makeStore(t, store)
	open := func(def definition.Campaign, acts string) (instruments.Instrument, error) {
		return process.Driver.Open(t.Context(), def, instruments.Environment{
			Folder: dir, Store: store, Acts: acts, Logf: func(string, ...any) {},
		})
	}
	for _, acts := range []string{"", filepath.Join(dir, "counted")} {
		inst := must.Get(open(def, acts))(t)
		ctx := within(t, 20*time.Second)
		if d, err := inst.Describe(ctx); err != nil || d.Name != "test/faulty" {
			t.Errorf("it is %+v, %v", d, err)
		}
		if err := inst.Start(ctx, command(1)); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(store, "instrument.json")); err != nil {
			t.Errorf("there is no record: %v", err)
		}
		if got := noted(dir, "acts"); len(got) != 1 || got[0] != acts {
			t.Errorf("its acts go to %q, want %q", got, acts)
		}
		if err := inst.(*process.Instrument).Close(); err != nil {
			t.Error(err)
		}
	}
	if settings, err := process.SettingsOf(def); err != nil || settings.Env[process.ActsVariable] != "" {
		t.Errorf("the campaign's own settings were changed: %+v, %v", settings, err)
	}
	bad := campaign
	bad.Instrument.Driver = definition.NewChoice(process.Name, map[string]any{"command": 5})
	if inst, err := open(bad, ""); err == nil || inst != nil {
		t.Errorf("a command that is a number is %v, %v", inst, err)
	}
}
