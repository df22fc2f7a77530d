package instrumenttest_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// moody is a sound instrument whose experiments end without a measurement now
// and then, as they do in a laboratory: with a probability that is decided for
// each command by its ID, so that the outcome is final.
func moody(b *bench, seed int, rate float64) instrumenttest.Env {
	mood := func(cmd instruments.Command) (bad bool, kind uint64) {
		h := fnv.New64a()
		fmt.Fprint(h, seed, cmd.ID)
		x := h.Sum64()
		x ^= x >> 31
		x *= 0x9e3779b97f4a7c15
		return float64(x>>11)/(1<<53) < rate, x >> 3 % 5
	}
	e := env(b, func(m *broken) {
		m.start = func(ctx context.Context, cmd instruments.Command) error {
			if bad, kind := mood(cmd); bad && kind == 0 && ctx.Err() == nil {
				return fmt.Errorf("%w: the door is open", instruments.ErrRefused)
			}
			return m.sound.Start(ctx, cmd)
		}
		m.await = func(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
			o, err := m.sound.Await(ctx, cmd)
			if bad, kind := mood(cmd); err == nil && bad && o.Status == instruments.Measured {
				status := []instruments.Status{instruments.Failed, instruments.Failed,
					instruments.Infeasible, instruments.Deferred, instruments.Unknown}[kind]
				return instruments.Outcome{Status: status, Cause: "the cell leaked"}, nil
			}
			return o, err
		}
	})
	e.Patience, e.Prompt, e.Prefix = 20*time.Second, time.Second, "moody"
	return e
}

// Failures that an instrument reports honestly are no faults of it, however often
// they come: a check is made again elsewhere, or could not be judged.
func TestHonestFailuresAreNoFaults(t *testing.T) {
	seeds := 5
	if draws.Whole() {
		seeds = 15
	}
	for _, rate := range []float64{0.08, 0.3, 1} {
		for seed := range seeds {
			t.Run(fmt.Sprintf("%g/%d", rate, seed), func(t *testing.T) {
				t.Parallel()
				report := must.Get(instrumenttest.Examine(t.Context(), moody(newBench(), seed, rate)))(t)
				passed := 0
				for _, r := range report.Results {
					switch {
					case r.Verdict == instrumenttest.Fail:
						t.Errorf("%s failed: %s", r.Check, r.Reason)
					case r.Verdict == instrumenttest.Pass:
						passed++
					case r.Unjudged && !strings.Contains(r.Reason, "could not be judged"):
						t.Errorf("%s: %s", r.Check, r.Reason)
					}
				}
				if rate < 0.1 && passed < 14 {
					t.Errorf("only %d checks passed", passed)
				}
				if rate == 1 && !report.Results[2].Unjudged {
					t.Errorf("%s: %s", report.Results[2].Check, report.Results[2].Reason)
				}
			})
		}
	}
}

// killable is an instrument with a program that can be killed. What the program
// had in memory is gone then; what it did is done.
type killable struct {
	*broken
	killed func()
}

func (k killable) Kill(context.Context, bool) error {
	if k.killed != nil {
		k.killed()
	}
	return nil
}

// A program that knows after a polite end what it did, and not after a crash, is
// caught by killing it, and by nothing else.
func TestForgettingAfterAKillIsCaught(t *testing.T) {
	for _, test := range []struct {
		fault   string
		forgets func(r *run, finished bool) bool // on a kill
		caught  []string
	}{
		{"nothing", func(*run, bool) bool { return false }, nil},
		{"writes its ledger after the act", func(_ *run, finished bool) bool { return !finished },
			[]string{"kill-while-running"}},
		{"keeps its ledger in memory until it ends", func(*run, bool) bool { return true },
			[]string{"kill-after-completion", "kill-while-running", "kill-with-campaignd"}},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			b := newBench()
			forgotten := map[string]bool{}
			e := env(b, func(*broken) {})
			e.Patience, e.Prompt = 20*time.Second, time.Second
			e.Open = func(context.Context) (instruments.Instrument, error) {
				inst := &broken{sound: sound{b}}
				inst.recover = func(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
					b.mu.Lock()
					gone := forgotten[cmd.ID]
					b.mu.Unlock()
					if gone {
						return instruments.FateNotStarted, nil
					}
					return inst.sound.Recover(ctx, cmd)
				}
				return killable{inst, func() {
					b.mu.Lock()
					defer b.mu.Unlock()
					for id, r := range b.runs {
						finished := false
						select {
						case <-r.done:
							finished = true
						default:
						}
						forgotten[id] = forgotten[id] || test.forgets(r, finished)
					}
				}}, nil
			}
			report := must.Get(instrumenttest.Examine(t.Context(), e))(t)
			var failed []string
			for _, r := range report.Failed() {
				failed = append(failed, r.Check)
				if !strings.HasPrefix(r.Check, "kill") || !strings.Contains(r.Reason, "not started") {
					t.Errorf("%s: %s", r.Check, r.Reason)
				}
			}
			for _, check := range test.caught {
				if !strings.Contains(strings.Join(failed, " "), check) {
					t.Errorf("%s did not catch it; those that did: %v", check, failed)
				}
			}
			if test.caught == nil && failed != nil {
				t.Errorf("an honest program is said to fail %v", failed)
			}
		})
	}
}

// Who does not want a program killed is not surprised.
func TestNoKill(t *testing.T) {
	t.Parallel()
	b := newBench()
	e := env(b, func(*broken) {})
	e.Patience, e.Prompt, e.NoKill = 20*time.Second, time.Second, true
	e.Open = func(context.Context) (instruments.Instrument, error) {
		return killable{&broken{sound: sound{b}}, func() { t.Error("it was killed") }}, nil
	}
	report := must.Get(instrumenttest.Examine(t.Context(), e))(t)
	for _, r := range report.Results {
		if strings.HasPrefix(r.Check, "kill") && r.Verdict != instrumenttest.Skip {
			t.Errorf("%s: %s", r.Check, r.Verdict)
		}
	}
}
