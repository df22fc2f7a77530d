package drive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/projections/campaign"
)

// unreachable is a simulation that can tell what became of the first experiment only after
// a few times of asking.
type unreachable struct {
	*device
	silent int // how often it does not answer at first
	asked  int
}

func (u *unreachable) Recover(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
	u.asked++
	if u.asked <= u.silent {
		return "", errors.New("no answer")
	}
	return u.device.Recover(ctx, cmd)
}

// Law: what is refused certainly did not take place: it is put off at once, and nobody is
// asked what became of it; what would be refused for ever has failed. A start that was not
// confirmed is looked into: where it began it is not sent again; where it certainly did not
// it is sent again after a second, three times in all, and then put off. An instrument that
// does not answer is asked three times, a second apart, before its word counts as missing.
func TestStart(t *testing.T) {
	lost := errors.New("no route to host")
	type ending struct {
		status  campaign.ExperimentStatus
		cause   string
		starts  int
		asked   int
		seconds int
	}
	for name, c := range map[string]struct {
		start  error
		fate   instruments.Fate
		silent int
		want   ending
	}{
		"refused": {
			start: fmt.Errorf("%w: the door is open", instruments.ErrRefused),
			want:  ending{campaign.Deferred, "the instrument refused the command: the door is open", 1, 0, 0},
		},
		"refused for ever": {
			start: fmt.Errorf("%w %w: no such salt", instruments.ErrRefused, instruments.ErrPermanent),
			want:  ending{campaign.Failed, "the instrument refused the command permanently: no such salt", 1, 0, 0},
		},
		"not confirmed, and it runs": {
			start: lost, fate: instruments.FateRunning,
			want: ending{campaign.Measured, "", 1, 1, 0},
		},
		"not confirmed, and not started": {
			start: lost, fate: instruments.FateNotStarted,
			want: ending{campaign.Deferred, "the instrument did not start it in 3 attempts: no route to host", 3, 3, 2},
		},
		"not confirmed, and slow to tell": {
			start: lost, fate: instruments.FateRunning, silent: 2,
			want: ending{campaign.Measured, "", 1, 3, 2},
		},
		"not confirmed, and never to tell": {
			start: lost, fate: instruments.FateRunning, silent: 3,
			want: ending{campaign.Unresolved,
				"the start was not confirmed (no route to host) and the instrument cannot say: no answer", 1, 3, 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sleepUntilDefined()
				u := &unreachable{device: newDevice("serial 1"), silent: c.silent}
				u.description.Simulated = true // of a real one nobody could tell that it did not start
				u.recall = func(instruments.Command) instruments.Fate { return c.fate }
				starts := 0
				u.start = func(cmd instruments.Command) error {
					if cmd.Experiment != "e1" {
						return nil
					}
					starts++
					return c.start
				}
				log := memlog.New()
				r, waiting := start(t, log, electrolyte(t, 1, 3, unaided), u)
				r.Now = time.Now
				ended := run(t, r)
				if c.want.status == campaign.Unresolved {
					until(t, waiting, "the fate of e1")
				} else if err := ended(); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				x := r.Core().State().Experiment("e1")
				took := history(t, log)[find(t, history(t, log), lastKind(x.Status), "e1", 0)].Time.Sub(x.Command.DispatchedAt)
				if got := (ending{x.Status, x.Cause, starts, u.asked, int(took.Seconds())}); got != c.want {
					t.Errorf("it ended as %+v, want %+v", got, c.want)
				}
			})
		})
	}
}

// lastKind is the kind of event by which an experiment came to its status.
func lastKind(status campaign.ExperimentStatus) events.Kind {
	return events.Kind("experiment." + string(status))
}

// mute is a device that does not say what it is at first.
type mute struct {
	*device
	silent int // how often
	asked  int
}

func (m *mute) Describe(ctx context.Context) (instruments.Description, error) {
	m.asked++
	if m.asked <= m.silent {
		return instruments.Description{}, errors.New("no answer")
	}
	return m.device.Describe(ctx)
}

// Law: an instrument that has worked for the campaign before may be slow to come back, and
// is asked three times, a second apart, what it is. One that is new is asked once.
func TestDescribe(t *testing.T) {
	def := electrolyte(t, 1, 3, unaided)
	log := memlog.New()
	r, _ := start(t, log, def, newDevice("serial 1"))
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	worked := upTo(t, history(t, log), events.KindExperimentMeasured)
	type ending struct {
		began   bool
		asked   int
		seconds int
	}
	for name, c := range map[string]struct {
		past   []events.Event
		silent int
		want   ending
	}{
		"new":               {worked[:1], 0, ending{true, 1, 0}},
		"new, and silent":   {worked[:1], 1, ending{false, 1, 0}},
		"known":             {worked, 0, ending{true, 1, 0}},
		"known, and slow":   {worked, 2, ending{true, 3, 2}},
		"known, and silent": {worked, 3, ending{false, 3, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &mute{device: newDevice("serial 1"), silent: c.silent}
				r := &drive.Runner{
					Registry: builtin.Registry(), Log: refill(t, c.past), Campaign: def.Name, Instrument: m,
				}
				before := time.Now()
				err := r.Start(t.Context())
				if got := (ending{err == nil, m.asked, int(time.Since(before).Seconds())}); got != c.want {
					t.Errorf("it ended as %+v, want %+v: %v", got, c.want, err)
				}
				if err != nil && !strings.Contains(err.Error(), "does not describe itself: no answer") {
					t.Errorf("Start says %v", err)
				}
			})
		})
	}
}
