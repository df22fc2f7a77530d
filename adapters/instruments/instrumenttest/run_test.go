package instrumenttest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// suiteVariable has TestRunOf run the suite as an author's test does. Its value says on
// what.
const suiteVariable = "INSTRUMENTTEST_RUN_OF"

func TestRunOf(t *testing.T) {
	of := os.Getenv(suiteVariable)
	if of == "" {
		t.Skip("it is run by TestRunPassesNothingUnjudged")
	}
	e := env(newBench(), func(b *broken) {
		if strings.HasPrefix(of, "unmeasurable") {
			b.start = func(context.Context, instruments.Command) error {
				return errors.Join(instruments.ErrRefused, instruments.ErrPermanent)
			}
		}
	})
	e.Patience = 10 * time.Second
	e.AllowRuns = !strings.HasPrefix(of, "forbidden")
	e.AllowUnjudged = strings.HasSuffix(of, "accepted")
	instrumenttest.Run(t, e)
}

// Law: a test that could not test an instrument does not pass, and says what to set.
func TestRunPassesNothingUnjudged(t *testing.T) {
	for _, test := range []struct {
		of    string
		fails bool
		says  string
	}{
		{"sound", false, "ok"},
		{"forbidden", true, "set Env.AllowRuns"},
		{"forbidden, accepted", false, "PASS"},
		{"unmeasurable", true, "set Env.Points"},
		{"unmeasurable, accepted", false, "PASS"},
	} {
		t.Run(test.of, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run", "^TestRunOf$", "-test.v")
			cmd.Env = append(os.Environ(), suiteVariable+"="+test.of)
			out, err := cmd.CombinedOutput()
			if fails := err != nil; fails != test.fails {
				t.Errorf("it fails: %v, want %v:\n%s", fails, test.fails, out)
			}
			if test.says != "ok" && !strings.Contains(string(out), test.says) {
				t.Errorf("it does not say %q:\n%s", test.says, out)
			}
		})
	}
}

// Law: the lines of a record are read as docs/process-instrument.md describes them.
func TestActsAreRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "acts")
	read := instrumenttest.ActsIn(file)
	if acts, err := read(); err != nil || len(acts) > 0 {
		t.Errorf("a file that is not there: %v, %v", acts, err)
	}
	text := "a/e1\na/e2 begin\r\n\nthe end\na/e2 end\nhoming axis 2\n" +
		"a/e4 begin {\"salt\":1.1,\"tips\":[\"C5\"]}\na/e4 part 2 {\"dmc\":0}\na/e4 part 3 end\na/e5 {\"salt\":\na/e6 part two\na/e3"
	must.Do(t, os.WriteFile(file, []byte(text), 0o666))
	acts := must.Get(read())(t)
	want := []instrumenttest.Act{
		{Command: "a/e1"},
		{Command: "a/e2", Mark: instrumenttest.Begins},
		{},
		{Command: "the", Mark: instrumenttest.Ends},
		{Command: "a/e2", Mark: instrumenttest.Ends},
		{Command: "homing axis 2"},
		{Command: "a/e4", Mark: instrumenttest.Begins, Set: `{"salt":1.1,"tips":["C5"]}`},
		{Command: "a/e4", Part: 2, Set: `{"dmc":0}`},
		{Command: "a/e4", Part: 3, Mark: instrumenttest.Ends},
		{Command: `a/e5 {"salt":`},
		{Command: "a/e6 part two"},
	}
	if len(acts) != len(want) {
		t.Fatalf("%v, want %v", acts, want)
	}
	for n := range want {
		if acts[n] != want[n] {
			t.Errorf("line %d: %+v, want %+v", n+1, acts[n], want[n])
		}
	}
}

// Law: an instrument that defers is waited for as campaignd waits, and not called
// unjudged while the patience lasts.
func TestDeferralsAreWaitedFor(t *testing.T) {
	t.Parallel()
	busyUntil := time.Now().Add(time.Second)
	refusals := 0
	e := env(newBench(), func(b *broken) {
		b.start = func(ctx context.Context, cmd instruments.Command) error {
			if ctx.Err() == nil && time.Now().Before(busyUntil) {
				refusals++
				return instruments.ErrRefused
			}
			return b.sound.Start(ctx, cmd)
		}
	})
	e.Patience, e.RetryAfter = 20*time.Second, 50*time.Millisecond
	report := must.Get(instrumenttest.Examine(t.Context(), e))(t)
	for _, r := range report.Results {
		if r.Verdict == instrumenttest.Fail || r.Unjudged {
			t.Errorf("%s: %s: %s", r.Check, r.Verdict, r.Reason)
		}
	}
	if refusals == 0 || refusals > 10 { // 50, 100, 200 ms …
		t.Errorf("it was asked %d times while it was busy", refusals)
	}
}

// Law: an instrument that does not fit the campaign is sent nothing.
func TestNothingIsSentToWhatDoesNotFit(t *testing.T) {
	b := newBench()
	report := must.Get(instrumenttest.Examine(t.Context(), env(b, func(broken *broken) {
		broken.describe = func(ctx context.Context) (instruments.Description, error) {
			d, err := broken.sound.Describe(ctx)
			d.Parameters[0].Step = 0.001
			return d, err
		}
	})))(t)
	if len(b.acts) > 0 || report.Dispatched > 0 ||
		len(report.Failed()) != 1 || len(report.Unjudged()) != len(report.Results)-1 {
		t.Errorf("it acted on %v; %+v", b.acts, report)
	}
}
