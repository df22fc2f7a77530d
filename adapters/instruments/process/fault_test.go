//go:build unix

package process_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func openFaulty(t *testing.T, fault string) (*process.Instrument, *logbook, string) {
	t.Helper()
	cfg, dir := misbehaving(t, fault)
	inst, book := open(t, cfg)
	inst.Hurry()
	return inst, book, dir
}

// openImpatient is openFaulty with a short time to reply.
func openImpatient(t *testing.T, fault string) (*process.Instrument, *logbook, string) {
	t.Helper()
	cfg, dir := misbehaving(t, fault)
	cfg.ReplyWithin = definition.Duration(400 * time.Millisecond)
	inst, book := open(t, cfg)
	inst.Hurry()
	return inst, book, dir
}

func starts(t *testing.T, dir string, want int) {
	t.Helper()
	if got := len(noted(dir, "starts")); got != want {
		t.Errorf("the program was told to start %d times, want %d", got, want)
	}
}

// A start that is not confirmed in time is an error that leaves it open whether
// it acted; it is not sent again to a program that cannot say.
func TestHangOnStart(t *testing.T) {
	inst, _, dir := openImpatient(t, "hangs on start")
	ctx, cmd := within(t, 20*time.Second), command(1)
	for range 2 {
		if err := inst.Start(ctx, cmd); err == nil || errors.Is(err, instruments.ErrRefused) || ctx.Err() != nil {
			t.Fatalf("Start: %v, want an error that leaves it open", err)
		}
	}
	starts(t, dir, 1)
	if fate, err := inst.Recover(ctx, cmd); fate != instruments.FateUnknown || err != nil {
		t.Errorf("Recover: %q, %v; want unknown", fate, err)
	}
}

// A confirmation that comes late still counts, and is reported.
func TestLateConfirmation(t *testing.T) {
	inst, book, dir := openImpatient(t, "confirms late")
	ctx, cmd := within(t, 20*time.Second), command(1)
	if err := inst.Start(ctx, cmd); err == nil {
		t.Fatal("Start did not time out")
	}
	book.expect("came late")
	if err := inst.Start(ctx, cmd); err != nil {
		t.Errorf("Start after the confirmation: %v", err)
	}
	starts(t, dir, 1)
}

func TestStartNeedsAWord(t *testing.T) {
	inst, _, _ := openFaulty(t, "says neither ok nor no")
	if err := inst.Start(within(t, 20*time.Second), command(1)); err == nil || errors.Is(err, instruments.ErrRefused) {
		t.Errorf("Start: %v, want an error that leaves it open", err)
	}
}

func TestRefusal(t *testing.T) {
	inst, _, _ := openFaulty(t, "refuses")
	err := inst.Start(within(t, 20*time.Second), command(1))
	if !errors.Is(err, instruments.ErrRefused) || !strings.Contains(err.Error(), "the door is open") {
		t.Errorf("Start: %v, want a refusal with the program's reason", err)
	}
}

// A program that dies is started again and asked. What it says decides; where
// it cannot tell, a person does. In no case is a command sent twice, unless the
// program itself disowns a start it had not confirmed.
func TestDeath(t *testing.T) {
	for _, test := range []struct {
		fault       string
		startFails  bool
		secondFails bool
		starts      int
		status      instruments.Status // of Await; empty: not awaited
	}{
		{"dies before confirming, and disowns", true, false, 2, instruments.Measured},
		{"dies before confirming, and lost memory", true, false, 1, instruments.Unknown},
		{"dies while measuring, and finished", false, false, 1, instruments.Measured},
		{"dies while measuring, and disowns", false, false, 1, instruments.Unknown},
		{"dies while measuring, and lost memory", false, false, 1, instruments.Unknown},
		{"dies while measuring, and cannot say", false, false, 1, instruments.Unknown},
		{"dies again when it is asked", false, false, 1, instruments.Measured},
		{"dies with a result on its lips", false, false, 1, instruments.Measured},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			inst, book, dir := openFaulty(t, test.fault)
			ctx, cmd := within(t, 20*time.Second), command(1)
			if err := inst.Start(ctx, cmd); (err != nil) != test.startFails || errors.Is(err, instruments.ErrRefused) {
				t.Fatalf("Start: %v", err)
			}
			if test.startFails {
				if err := inst.Start(ctx, cmd); err != nil {
					t.Fatalf("Start again: %v", err)
				}
			}
			first, err := inst.Await(ctx, cmd)
			if err != nil || first.Status != test.status {
				t.Fatalf("Await: %+v, %v; want %s", first, err, test.status)
			}
			if test.status == instruments.Unknown {
				if first.Cause == "" {
					t.Error("there is no cause")
				}
				if fate, err := inst.Recover(ctx, cmd); fate != instruments.FateUnknown || err != nil {
					t.Errorf("Recover: %q, %v", fate, err)
				}
			}
			if err := inst.Start(ctx, cmd); err != nil {
				t.Errorf("Start after the outcome: %v", err)
			}
			starts(t, dir, test.starts)
			book.expect("exit status 3")
			if strings.Contains(book.String(), "could not be asked") {
				t.Errorf("a death is told as something else, too:\n%s", book)
			}
		})
	}
}

// Law: a command of an earlier campaignd whose outcome is awaited is under way like any
// other: of a program that dies meanwhile, the next run is asked what became of it.
func TestDeathOverAnEarlierCommand(t *testing.T) {
	inst, _, dir := openFaulty(t, "dies while measuring, and lost memory")
	o, err := inst.Await(within(t, 20*time.Second), command(1))
	if err != nil || o.Status != instruments.Unknown || !strings.Contains(o.Cause, "does not know what became of it") {
		t.Errorf("Await: %+v, %v; want unknown, as the program says", o, err)
	}
	starts(t, dir, 0)
}

// A program that cannot be used is an error at once, with its last line of
// standard error.
func TestDeathAtOnce(t *testing.T) {
	inst, _, _ := openFaulty(t, "dies at once")
	_, err := inst.Describe(within(t, 20*time.Second))
	if err == nil || !strings.Contains(err.Error(), "No module named 'pump'") {
		t.Errorf("Describe: %v, want the program's last line of standard error", err)
	}
}

func TestHandshakeFaults(t *testing.T) {
	for fault, want := range map[string]string{
		"speaks another version": "speaks version 2",
		"says nothing":           "did not answer the request \"handshake\" within 400ms",
		"reads nothing":          "did not answer the request \"handshake\" within 400ms",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			inst, _, _ := openImpatient(t, fault)
			if _, err := inst.Describe(within(t, 20*time.Second)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Describe: %v, want %q", err, want)
			}
		})
	}
}

// The first result stands; every further one is dropped and reported.
func TestTwoResults(t *testing.T) {
	inst, book, _ := openFaulty(t, "gives two results")
	ctx, cmd := within(t, 20*time.Second), command(1)
	must.Do(t, inst.Start(ctx, cmd))
	for range 2 {
		o, err := inst.Await(ctx, cmd)
		if err != nil || o.Measurement == nil || o.Measurement.Objective.Value != 10 {
			t.Fatalf("Await: %+v, %v; want the first result, 10", o, err)
		}
	}
	for _, dropped := range []string{`"value":11`, `"value":12`, `"value":13`} {
		book.expect(dropped)
	}
	book.expect("a second result for command test/e1 is dropped, the first stands")
}

// What a program writes beside the protocol is reported in words and changes
// nothing.
func TestNonsense(t *testing.T) {
	inst, book, _ := openFaulty(t, "talks nonsense")
	ctx, cmd := within(t, 20*time.Second), command(1)
	must.Do(t, inst.Start(ctx, cmd))
	if o, err := inst.Await(ctx, cmd); err != nil || o.Status != instruments.Measured {
		t.Errorf("Await: %+v, %v", o, err)
	}
	for _, words := range []string{
		"print to standard error instead: Initializing pump 1…",
		"neither the id of a request nor a command",
		"request 4711, which was never made",
		`{"id": 4712, "outcome": tru`,
		`"other/e1", which was not started, is dropped`,
		"a line of 3145729 bytes",
		`unknown field "okay", which is ignored`,
		"a second answer to request",
		"pump 1 is warm",
	} {
		book.expect(words)
	}
}

// A result that is not a number never becomes one.
func TestResults(t *testing.T) {
	for _, test := range []struct {
		fault  string
		status instruments.Status
		cause  string
		refuse string // by the engine's check
	}{
		{"measures NaN", instruments.Failed, "NaN, which is neither a number nor JSON", ""},
		{"measures null", instruments.Failed, "has no value", ""},
		{"measures nothing", instruments.Failed, "no measurement", ""},
		{"measures words", instruments.Failed, "12.9", ""},
		{"measures too much", instruments.Failed, "1e999", ""},
		{"measures without a sum", instruments.Unknown, `"done" is not a status of an experiment`, ""},
		{"fails", instruments.Failed, "a bubble", ""},
		{"measures in S/m", instruments.Measured, "", "S/m"},
		{"measures out of range", instruments.Measured, "", "12900"},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			inst, _, _ := openFaulty(t, test.fault)
			ctx, cmd := within(t, 20*time.Second), command(1)
			must.Do(t, inst.Start(ctx, cmd))
			o, err := inst.Await(ctx, cmd)
			if err != nil || o.Status != test.status || !strings.Contains(o.Cause, test.cause) {
				t.Fatalf("Await: %+v, %v; want %s with %q", o, err, test.status, test.cause)
			}
			err = instruments.CheckOutcome(campaign, o)
			if test.refuse == "" && err != nil ||
				test.refuse != "" && (err == nil || !strings.Contains(err.Error(), test.refuse)) {
				t.Errorf("the engine's check says %v, want %q", err, test.refuse)
			}
		})
	}
}

// Answers belong to their requests, in whichever order they come.
func TestOutOfOrder(t *testing.T) {
	inst, _, _ := openFaulty(t, "answers out of order")
	ctx := within(t, 20*time.Second)
	var wg sync.WaitGroup
	for n := 1; n <= 2; n++ {
		must.Do(t, inst.Start(ctx, command(n)))
		wg.Go(func() {
			o, err := inst.Await(ctx, command(n))
			if err != nil || o.Measurement == nil || o.Measurement.Objective.Value != float64(n) {
				t.Errorf("Await of command %d: %+v, %v", n, o, err)
			}
		})
	}
	wg.Wait()
}

// Close leaves no process behind, however unwilling, nor its helpers.
func TestNoOrphans(t *testing.T) {
	inst, _, dir := openFaulty(t, "does not leave")
	must.Do(t, inst.Start(within(t, 20*time.Second), command(1)))
	program := inst.Program().Pid
	helper := must.Get(strconv.Atoi(noted(dir, "helper")[0]))(t)
	must.Do(t, inst.Close())
	for _, pid := range []int{program, helper} {
		if !vanishes(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	if _, err := inst.Await(t.Context(), command(1)); !errors.Is(err, process.ErrClosed) {
		t.Errorf("Await after Close: %v, want ErrClosed", err)
	}
	if err := inst.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

// Law: a program that does not end with its input is asked to, before it is killed: it
// can put its device to rest.
func TestCloseAsksBeforeItKills(t *testing.T) {
	t.Parallel()
	inst, _, dir := openFaulty(t, "leaves when it is told")
	inst.GracePeriod(2 * time.Second)
	must.Get(inst.Describe(within(t, 20*time.Second)))(t)
	pid := inst.Program().Pid
	must.Do(t, inst.Close())
	if got, want := noted(dir, "told"), []string{"its input ended", "terminate"}; !slices.Equal(got, want) {
		t.Errorf("the program was told %q, want %q", got, want)
	}
	if !vanishes(pid) {
		t.Error("it is still there")
	}
}

// Law: a program that dies is started again when something is wanted of it, whenever it
// dies: also while it is being introduced, when nobody waits for an answer of it.
func TestDeathInIntroduction(t *testing.T) {
	cfg, dir := misbehaving(t, "dies in its introduction")
	// The introduction of the second life goes on once its death is being noticed, and
	// ends while whoever takes the remark on that death takes their time.
	dying, introduced := make(chan struct{}), make(chan struct{})
	inst := must.Get(process.New(cfg, campaign, t.TempDir(), func(format string, args ...any) {
		switch text := fmt.Sprintf(format, args...); {
		case strings.Contains(text, "differently than before"):
			<-dying
		case strings.Contains(text, "exit status 3); experiments under way"):
			close(dying)
			<-introduced
		}
	}))(t)
	inst.Hurry()
	ctx, cmd := within(t, 20*time.Second), command(1)
	must.Get(inst.Describe(ctx))(t)
	must.Do(t, inst.Program().Kill())
	for inst.Program() != nil {
		time.Sleep(time.Millisecond)
	}
	go func() {
		<-dying
		time.Sleep(100 * time.Millisecond)
		close(introduced)
	}()
	_, _ = inst.Describe(ctx) // what it said before it died, or why it died
	<-introduced
	for inst.Start(ctx, cmd) != nil && ctx.Err() == nil {
		_, _ = inst.Describe(ctx) // it is another device now
	}
	if o, err := inst.Await(ctx, cmd); err != nil || o.Status != instruments.Measured {
		t.Errorf("Await: %+v, %v, after %d lives", o, err, len(noted(dir, "life")))
	}
	starts(t, dir, 1)
	if err := inst.Close(); err != nil {
		t.Error(err)
	}
}

// Law: a command goes to the device that was described to whoever sends it: where the
// program is started again and is another one, it is refused, until that one was described.
func TestAnotherDevice(t *testing.T) {
	cfg, dir := misbehaving(t, "becomes another device")
	inst := must.Get(process.New(cfg, campaign, t.TempDir(), t.Logf))(t)
	defer inst.Close()
	inst.Hurry()
	ctx := within(t, 20*time.Second)
	must.Get(inst.Describe(ctx))(t)
	must.Do(t, inst.Program().Kill())
	for inst.Program() != nil {
		time.Sleep(time.Millisecond)
	}
	if err := inst.Start(ctx, command(1)); !errors.Is(err, instruments.ErrRefused) || !strings.Contains(err.Error(), "another") {
		t.Errorf("the command of the first device: %v", err)
	}
	if d, err := inst.Describe(ctx); err != nil || d.Identity != "another" {
		t.Fatal(d, err)
	}
	if err := inst.Start(ctx, command(1)); err != nil {
		t.Error(err)
	}
	starts(t, dir, 1)
}

// vanishes waits until there is no such process, or only its remains.
func vanishes(pid int) bool {
	for range 500 {
		if syscall.Kill(pid, 0) != nil || slices.Contains([]string{"Z", "X"}, state(pid)) {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// An answer that came and cannot be read is never waited for in silence: it is
// asked for again where that can help, and otherwise nobody can tell, at once and
// with the reason. What was no answer changes nothing.
func TestUnreadableAnswers(t *testing.T) {
	for _, test := range []struct {
		fault  string
		status instruments.Status
		cause  string
		awaits int
	}{
		{"answers too much", instruments.Unknown, "wrote a line of 2097204 bytes", 1},
		{"answers too much and names the request last", instruments.Unknown, "put large data into a file", 1},
		{"tells too much unasked", instruments.Unknown, "put large data into a file", 1},
		{"answers too much to nobody", instruments.Unknown, "put large data into a file", 2},
		{"stammers once", instruments.Measured, "", 2},
		{"stammers", instruments.Unknown, "12.5", 2},
		{"stammers with NaN", instruments.Unknown, "NaN", 2},
		{"stammers while it measures", instruments.Measured, "", 2},
		{"is loud while it measures", instruments.Measured, "", 1},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			inst, _, dir := openFaulty(t, test.fault)
			ctx, cmd := within(t, 20*time.Second), command(1)
			must.Do(t, inst.Start(ctx, cmd))
			o, err := inst.Await(ctx, cmd)
			if err != nil || o.Status != test.status || !strings.Contains(o.Cause, test.cause) {
				t.Fatalf("Await: %.300s, %v; want %s with %q", fmt.Sprintf("%+v", o), err, test.status, test.cause)
			}
			if n := len(noted(dir, "awaits")); n != test.awaits {
				t.Errorf("it was asked %d times, want %d", n, test.awaits)
			}
			starts(t, dir, 1)
		})
	}
}

// Law: a confirmation that is too long to be read confirms nothing, at once and with the
// reason; it was the one answer, and another is dropped.
func TestUnreadableConfirmation(t *testing.T) {
	inst, book, dir := openFaulty(t, "confirms with too much")
	err := inst.Start(within(t, 20*time.Second), command(1))
	if err == nil || errors.Is(err, instruments.ErrRefused) || !strings.Contains(err.Error(), "put large data into a file") {
		t.Errorf("Start: %v, want an error that leaves it open, with the reason", err)
	}
	book.expect(`a second answer to request 3 is dropped: {"id":3,"ok":true}`)
	starts(t, dir, 1)
}

// Law: a damaged line is asked for again, and its command is unknown only if that does not
// help: also where nobody had asked yet, or had asked another run of the program. Who asks
// next asks for it.
func TestUnreadableBeforeItIsAwaited(t *testing.T) {
	for fault, lives := range map[string]int{"stammers unasked": 1, "stammers unasked in its second life": 2} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			inst, book, dir := openFaulty(t, fault)
			ctx, cmd := within(t, 20*time.Second), command(1)
			must.Do(t, inst.Start(ctx, cmd))
			if lives == 2 {
				waiting, stop := context.WithCancel(ctx)
				var wg sync.WaitGroup
				wg.Go(func() { _, _ = inst.Await(waiting, cmd) })
				for len(noted(dir, "awaits")) == 0 && ctx.Err() == nil {
					time.Sleep(time.Millisecond)
				}
				stop()
				wg.Wait()
				must.Do(t, inst.Program().Kill())
				for inst.Program() != nil {
					time.Sleep(time.Millisecond)
				}
				must.Get(inst.Describe(ctx))(t)
			}
			book.expect("a line on standard output is not a message")
			for range 20 {
				if fate, err := inst.Recover(ctx, cmd); err != nil || fate != instruments.FateFinished {
					t.Fatalf("Recover: %q, %v; want finished", fate, err)
				}
			}
			if o, err := inst.Await(ctx, cmd); err != nil || o.Status != instruments.Measured {
				t.Errorf("Await: %+v, %v; want the result that the program has", o, err)
			}
			must.Do(t, inst.Close())
			if n := len(noted(dir, "awaits")); n != lives {
				t.Errorf("it was asked %d times in %d lives", n, lives)
			}
			if text := book.String(); strings.Contains(text, "asked for the outcome of command test/e1 again") {
				t.Errorf("this run was not asked before, and it says:\n%s", text)
			}
		})
	}
}
