package drive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// patiently runs a campaign in real time, which a bubble of synctest makes short,
// until it has ended or waits for something with the given text.
func patiently(t *testing.T, log events.Log, def definition.Campaign, d *device, text string) *drive.Runner {
	t.Helper()
	r, waiting := start(t, log, def, d)
	r.Now, r.Eager = time.Now, false
	ended := make(chan error, 1)
	go func() { ended <- r.Run(t.Context()) }()
	for limit := time.After(24 * time.Hour); ; {
		select {
		case err := <-ended:
			if err != nil || text != "" {
				t.Fatalf("the campaign ended (%v) and never waited for %q", err, text)
			}
			return r
		case w := <-waiting:
			if text != "" && strings.Contains(w, text) {
				synctest.Wait() // for the loop, whose state the caller reads
				return r
			}
		case <-limit:
			t.Fatalf("the campaign hangs; it was to wait for %q", text)
		}
	}
}

// dispatches returns when each experiment was handed to the instrument.
func dispatches(t *testing.T, log events.Log) (times []time.Time) {
	for _, e := range history(t, log) {
		if e.Kind == events.KindExperimentDispatched {
			times = append(times, e.Time)
		}
	}
	return times
}

// sleepUntilDefined brings the time of a bubble to that at which simulated campaigns
// are defined: an audit looks at the order of times.
func sleepUntilDefined() { time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))) }

// sound checks that an audit has nothing to say.
func sound(t *testing.T, log events.Log) {
	t.Helper()
	if report := audit(t, history(t, log)); len(report.Mismatches) > 0 {
		t.Errorf("audit: %+v", report.Mismatches)
	}
}

// Law: an instrument that is off for a moment costs time and nothing else: no
// budget, no person, and no word on the composition.
func TestRebootIsSurvived(t *testing.T) {
	refused := fmt.Errorf("%w: rebooting", instruments.ErrRefused)
	for name, c := range map[string]struct {
		refuse func(d *device, off func() bool)
	}{
		"refused": {func(d *device, off func() bool) {
			d.start = func(instruments.Command) error {
				if off() {
					return refused
				}
				return nil
			}
		}},
		"put off": {func(d *device, off func() bool) {
			d.await = func(instruments.Command) (instruments.Outcome, error) {
				if off() {
					return instruments.Outcome{Status: instruments.Deferred, Cause: "rebooting"}, nil
				}
				return measured(12), nil
			}
		}},
		"out of reach, and certainly not started": {func(d *device, off func() bool) {
			d.description.Simulated = true // of a real one nobody could tell
			d.recall = func(cmd instruments.Command) instruments.Fate {
				if d.acts[cmd.ID] > 0 {
					return instruments.FateFinished
				}
				return instruments.FateNotStarted
			}
			d.start = func(instruments.Command) error {
				if off() {
					return fmt.Errorf("no route to host")
				}
				return nil
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sleepUntilDefined()
				d, began := newDevice("serial 1"), time.Now()
				starts := 0
				c.refuse(d, func() bool { starts++; return starts > 1 && time.Since(began) < 30*time.Second })
				log := memlog.New()
				r := patiently(t, log, electrolyte(t, 1, 4, unaided), d, "")
				s := r.Core().State()
				if s.Count(campaign.Measured) != 4 || s.Spent() != 4 || s.Count(campaign.Failed) != 0 {
					t.Errorf("%d of 4 were measured and %d failed", s.Count(campaign.Measured), s.Count(campaign.Failed))
				}
				if n := s.Count(campaign.Deferred); n < 2 || n > 4 {
					t.Errorf("in half a minute it was put off %d times", n)
				}
				if model := viewOf(t, r.Core()).Feasibility; model != nil {
					t.Errorf("the model of what is feasible has learned from it: %+v", model)
				}
				sound(t, log)
			})
		})
	}
}

// Law: between attempts the instrument is left alone for 5 s, 10 s, 20 s, … and at
// most 10 min; what it has put off for an hour is left to a person, who reads why;
// resuming tries at once.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleepUntilDefined()
		d := newDevice("serial 1")
		open := true
		d.start = func(instruments.Command) error {
			if open {
				return fmt.Errorf("%w: the door is open", instruments.ErrRefused)
			}
			return nil
		}
		log := memlog.New()
		r := patiently(t, log, electrolyte(t, 1, 3, unaided), d, "a person: the campaign is paused")
		times := dispatches(t, log)
		var gaps []time.Duration
		for i := 1; i < len(times); i++ {
			gaps = append(gaps, times[i].Sub(times[i-1]))
		}
		want := []time.Duration{5, 10, 20, 40, 80, 160, 320, 600, 600, 600, 600, 600}
		for i := range want {
			want[i] *= time.Second
		}
		if !slices.Equal(gaps, want) {
			t.Errorf("it was tried after %v, want %v", gaps, want)
		}
		if s := r.Core().State(); s.Spent() > 1 || !strings.Contains(s.Reason, "put off everything for 1h1") || !strings.Contains(s.Reason, "the door is open") {
			t.Errorf("%d were spent, and the campaign is paused: %s", s.Spent(), s.Reason)
		}
		open = false
		before := time.Now()
		if _, err := r.Submit(t.Context(), engine.Request{Actor: "person:eve", Resume: &events.CampaignResumed{}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := r.Core().State(); s.Count(campaign.Measured) != 3 || time.Since(before) > 0 {
			t.Errorf("resumed, %d of 3 were measured after %v", s.Count(campaign.Measured), time.Since(before))
		}
		sound(t, log)
	})
}

// Law: whoever looks reads why the campaign waits and until when, and can say that
// it need not wait.
func TestWaitSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleepUntilDefined()
		d := newDevice("serial 1")
		open := true
		d.start = func(instruments.Command) error {
			if open {
				return fmt.Errorf("%w: the door is open", instruments.ErrRefused)
			}
			return nil
		}
		at := time.Now().Add(5 * time.Second).Format(time.TimeOnly)
		r := patiently(t, memlog.New(), electrolyte(t, 1, 3, unaided), d,
			"robot, which puts off e1 (the instrument refused the command: the door is open); tried again as e2 at "+at)
		open = false
		before := time.Now()
		if _, err := r.Submit(t.Context(), engine.Request{Actor: "person:eve", Resume: &events.CampaignResumed{}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := r.Core().State(); s.Count(campaign.Measured) != 3 || time.Since(before) > 0 {
			t.Errorf("%d of 3 were measured after %v", s.Count(campaign.Measured), time.Since(before))
		}
		if _, err := r.Core().Handle(engine.Request{Actor: "person:eve", Resume: &events.CampaignResumed{}}); err == nil {
			t.Error("what need not wait was resumed")
		}
	})
}

// Law: resuming forgives what was before it, and nothing after: what waited at that
// moment counts again if it is put off once more.
func TestResumedInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleepUntilDefined()
		d := newDevice("serial 1")
		d.start = func(instruments.Command) error {
			time.Sleep(time.Millisecond)
			return fmt.Errorf("%w: the door is open", instruments.ErrRefused)
		}
		log := memlog.New()
		r := patiently(t, log, electrolyte(t, 1, 3, unaided), d, "tried again as e4")
		if _, err := r.Submit(t.Context(), engine.Request{Actor: "person:eve", Resume: &events.CampaignResumed{}}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{4, 4, 5} { // at once, and then after 5 s
			synctest.Wait()
			if n := len(dispatches(t, log)); n != want {
				t.Errorf("it was tried %d times, want %d", n, want)
			}
			time.Sleep(3 * time.Second)
		}
	})
}

// Law: four failures in a row pause the campaign, however fast they come and
// whatever is left of the budget; the second waits before the third. That a
// composition cannot be made is not a reason to wait.
func TestBreaker(t *testing.T) {
	for name, c := range map[string]struct {
		budget int
		status instruments.Status
		gaps   []time.Duration
		reason string
	}{
		"failed":              {9, instruments.Failed, []time.Duration{0, 5 * time.Second, 10 * time.Second}, "the last 4 experiments gave no result, e4 for this reason: no power"},
		"called off":          {9, instruments.Cancelled, []time.Duration{0, 5 * time.Second, 10 * time.Second}, "e4 for this reason: no power"},
		"infeasible":          {9, instruments.Infeasible, []time.Duration{0, 0, 0}, "e4 for this reason: no power"},
		"the budget is spent": {4, instruments.Failed, []time.Duration{0, 5 * time.Second, 10 * time.Second}, "The budget is spent with them"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sleepUntilDefined()
				d := newDevice("serial 1")
				d.await = func(instruments.Command) (instruments.Outcome, error) {
					return instruments.Outcome{Status: c.status, Cause: "no power"}, nil
				}
				log := memlog.New()
				r := patiently(t, log, electrolyte(t, 1, c.budget, unaided), d, "a person: the campaign is paused")
				var gaps []time.Duration
				times := dispatches(t, log)
				for i := 1; i < len(times); i++ {
					gaps = append(gaps, times[i].Sub(times[i-1]))
				}
				if !slices.Equal(gaps, c.gaps) {
					t.Errorf("experiments followed each other after %v, want %v", gaps, c.gaps)
				}
				if s := r.Core().State(); s.Status != campaign.Paused || !strings.Contains(s.Reason, c.reason) {
					t.Errorf("the campaign is %s: %s", s.Status, s.Reason)
				}
				sound(t, log)
			})
		})
	}
}

// Law: a campaign that an earlier version let end with failures is sound, and so is
// one whose breaker a person has overruled.
func TestEndsWithFailures(t *testing.T) {
	failing := func() *device {
		d := newDevice("serial 1")
		d.await = func(cmd instruments.Command) (instruments.Outcome, error) {
			if cmd.Experiment > "e2" {
				return instruments.Outcome{Status: instruments.Failed, Cause: "no power"}, nil
			}
			return measured(12), nil
		}
		return d
	}
	def := electrolyte(t, 1, 6, unaided)
	log := memlog.New()
	r, _ := start(t, log, def, failing()) // in memory it completes, as it always did
	must.Do(t, r.Run(t.Context()))
	if s := r.Core().State(); s.Status != campaign.Completed || s.Count(campaign.Failed) != 4 {
		t.Errorf("the campaign is %s with %d failures", s.Status, s.Count(campaign.Failed))
	}
	sound(t, log)
	synctest.Test(t, func(t *testing.T) {
		sleepUntilDefined()
		log := memlog.New()
		r := patiently(t, log, def, failing(), "a person: the campaign is paused")
		if _, err := r.Submit(t.Context(), engine.Request{Actor: "person:eve", Resume: &events.CampaignResumed{}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := r.Core().State(); s.Status != campaign.Completed {
			t.Errorf("resumed, the campaign is %s", s.Status)
		}
		sound(t, log)
	})
}
