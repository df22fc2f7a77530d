package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// A campaign that drives something real does so under a lease of the device, by the
// identity that it describes. The lease can be lost while the campaign runs: what keeps
// others off is gone, or another device answers in its place. Then nothing more is sent, and
// the campaign pauses until a person has looked; resuming it takes the lease anew, of the
// device that is there then. What is under way is awaited all the same.
//
// Several campaigns may share a device. Then each command waits for its turn before it is
// dispatched: while it waits it is only requested, so that no time runs against the
// instrument and nothing has a fate. It keeps its turn until its fate is known.

// Lease keeps other campaigns off a device, or lets them have it in turn. Its methods may
// be called by several goroutines.
type Lease interface {
	// Check returns nil while the lease holds, and otherwise why not.
	Check() error
	// Turns is nil where nobody else may use the device.
	Turns() Turns
	// Release gives the lease back.
	Release()
}

// Turns are the queue of commands at a device that campaigns share.
type Turns interface {
	// Wait returns once the device has room for a command. ahead is told who comes first,
	// when it begins to wait and when that changes.
	Wait(ctx context.Context, ahead func(who string)) (Turn, error)
	// Adopt returns the turns of commands that are under way, and forgets those of the
	// campaign's other commands, all of earlier processes.
	Adopt(commands []string) (map[string]Turn, error)
}

// Turn is the room that a device has for one command.
type Turn interface {
	// Begin notes the command, before it is sent: the turn keeps until End, also when this
	// process ends.
	Begin(command string) error
	// Check returns nil while others see the turn.
	Check() error
	// End makes room for others.
	End()
	// Leave lets go of a turn that keeps.
	Leave()
}

// leaseEvery is how often the lease is looked at where nothing else happens; a test's is
// shorter.
var leaseEvery = 5 * time.Second

// Exclusive reports whether a campaign drives something that has to be leased. A simulation
// can be shared; and a person at the bench sees whom they work for.
func Exclusive(def definition.Campaign, d instruments.Description) bool {
	return !d.Simulated && !def.Instrument.ByHand
}

// device names what a description is of.
func deviceOf(d instruments.Description) string { return cmp.Or(d.Identity, d.Name) }

// takeLease takes the lease of what an instrument describes, and the turns of what is under way.
func (r *Runner) takeLease(d instruments.Description) error {
	if r.Lock == nil || r.lease != nil || !Exclusive(*r.core.State().Definition, d) {
		return nil
	}
	lease, err := r.Lock(d)
	if err != nil {
		return err
	}
	if err := r.takeTurns(lease); err != nil {
		lease.Release()
		return err
	}
	r.lease = lease
	return nil
}

// takeTurns takes up the turns of commands whose fate is open.
func (r *Runner) takeTurns(lease Lease) error {
	turns := lease.Turns()
	if turns == nil {
		return nil
	}
	s := r.core.State()
	var commands []string
	experiments := make(map[string]string)
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if !AtWork(x) {
			continue
		}
		if turn := r.turns[x.ID]; turn != nil {
			if turn.Check() == nil {
				continue
			}
			turn.Leave()
		}
		commands = append(commands, x.Command)
		experiments[x.Command] = x.ID
	}
	adopted, err := turns.Adopt(commands)
	for command, turn := range adopted {
		r.turns[experiments[command]] = turn
	}
	return err
}

// AtWork reports whether the device may be at work on an experiment.
func AtWork(x *campaign.Experiment) bool {
	switch x.Status {
	case campaign.Dispatched, campaign.Started, campaign.Unresolved:
		return x.Command != ""
	}
	return false
}

// checkLease looks whether the device is still the campaign's.
func (r *Runner) checkLease() {
	if r.lost != "" || r.lease == nil {
		return
	}
	err := r.lease.Check()
	for _, turn := range r.turns {
		if err == nil {
			err = turn.Check()
		}
	}
	if err != nil {
		r.lose(err.Error())
	}
}

// lose gives the lease up: nothing more is sent under it. Turns stay, for the device is at
// work on what it was sent.
func (r *Runner) lose(why string) {
	r.lost = cmp.Or(r.lost, why)
	if r.lease != nil {
		r.lease.Release()
		r.lease = nil
	}
	r.handBack()
}

// retake takes the lease anew, of the device that is there now.
func (r *Runner) retake(ctx context.Context) error {
	if err := r.describe(ctx); err != nil {
		return problem.New(problem.NotNow, "the campaign stays paused, since it does not have its instrument: %w", err).
			With(problem.Remedy{Text: "resume it once the instrument is there and free", Action: problem.Resume})
	}
	r.lost = ""
	r.leased++
	return nil
}

// nextLost pauses a campaign that does not have its device any more.
func (c *Core) nextLost(s *campaign.State, w World) (Step, error) {
	if w.Lost == "" || s.Status == campaign.Paused || s.Status.Ended() {
		return nil, nil
	}
	return Record{[]events.Payload{&events.CampaignPaused{
		Reason: legible(w.Lost) + ". Nothing more is sent to it. See that it is there and that nobody else uses it; resuming takes it anew",
		Device: w.Device,
	}}}, nil
}

// guard is asked, by the goroutine of a command, right before the command is sent.
type guard struct {
	leased int // when the command was dispatched
	// ask says why nothing may be sent any more, "" where it may.
	ask func(ctx context.Context) (why string)
}

// guard returns what sees that a command goes to the device that the campaign has, and
// nowhere else; in the loop.
func (r *Runner) guard() guard {
	lease, had := r.lease, r.description
	if !Exclusive(*r.core.State().Definition, had) {
		return guard{r.leased, func(context.Context) string { return "" }}
	}
	return guard{r.leased, func(ctx context.Context) string {
		if lease != nil {
			if err := lease.Check(); err != nil {
				return err.Error()
			}
		}
		now, err := r.Instrument.Describe(ctx)
		if err != nil || now.Name == had.Name && now.Identity == had.Identity {
			return "" // what is out of reach is not sent anything
		}
		return fmt.Sprintf("the instrument is another one: it was %s, and now there is %s",
			named(had.Name, had.Identity), named(now.Name, now.Identity))
	}}
}

// turning is a turn that is waited for, or that was given and is not used yet.
type turning struct {
	cancel context.CancelFunc
	ahead  string
	had    Turn // nil while it is waited for
}

// queue begins to wait for a turn.
func (r *Runner) queue(awaiting context.Context) {
	ctx, cancel := context.WithCancel(awaiting)
	t := &turning{cancel: cancel, ahead: "others"}
	r.turning = t
	turns := r.lease.Turns()
	r.wg.Go(func() {
		turn, err := turns.Wait(ctx, func(who string) {
			r.send(ctx, message{turning: t, ahead: who})
		})
		if ctx.Err() == nil {
			select {
			case r.inbox <- message{turning: t, turn: turn, err: err}:
				return
			case <-ctx.Done():
			}
		}
		if turn != nil {
			turn.End()
		}
	})
}

// turned takes in what is heard of a turn.
func (r *Runner) turned(m message) {
	switch {
	case r.turning != m.turning: // it was handed back meanwhile
		if m.turn != nil {
			m.turn.End()
		}
	case m.err != nil:
		r.lose(m.err.Error())
	case m.turn != nil:
		r.turning.had = m.turn
	default:
		r.turning.ahead = m.ahead
	}
}

// handBack gives up the turn that is waited for, or is not used.
func (r *Runner) handBack() {
	if r.turning == nil {
		return
	}
	r.turning.cancel()
	if r.turning.had != nil {
		r.turning.had.End()
	}
	r.turning = nil
}

// endTurns makes room for others where a command's fate has become known.
func (r *Runner) endTurns() {
	for id, turn := range r.turns {
		if x := r.core.State().Experiment(id); x == nil || !AtWork(x) {
			turn.End()
			delete(r.turns, id)
		}
	}
}

// leaveTurns is called when the run is over: what is under way keeps its turns.
func (r *Runner) leaveTurns() {
	r.handBack()
	for {
		select {
		case m := <-r.inbox:
			if m.turn != nil {
				m.turn.End()
			}
			continue
		default:
		}
		break
	}
	for id, turn := range r.turns {
		turn.Leave()
		delete(r.turns, id)
	}
}
