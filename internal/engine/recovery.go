package engine

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// No answer of a device about its past outweighs what the log has confirmed.
//
// An instrument's memory may be gone, be that of an earlier day or of another
// machine, or never have reached the disk. So "running" and "finished" are believed,
// since they repeat nothing, and "not started" of a command that was once sent to
// something real is not: nobody knows, and a person looks. That holds where the log
// has experiment.started, and where it has experiment.dispatched alone. There, too,
// the program may have acted and been killed before it confirmed, or before the
// confirmation was recorded; only a memory that is durable before the act could tell,
// and whether it is, nobody can see from outside. An honest instrument says "not
// started" only in the moment between the two, so that hardly a person is called
// in vain. What certainly was not sent is refused ([instruments.ErrRefused]) and put off.
//
// A simulation may forget, and is started again: nothing physical has happened.

// past is what the log knows of a command and of the instrument it was sent to.
type past struct {
	confirmed  bool   // by experiment.started
	repeatable bool   // nothing physical has happened
	replaced   string // by which other device the instrument has been, if by any
}

// past is called in the loop, for goroutines to come.
func (r *Runner) past(x *campaign.Experiment) past {
	return past{
		confirmed:  x.Status == campaign.Started,
		repeatable: !x.Real && r.description.Simulated && x.Instrument == r.description.Name,
		replaced:   r.replacement(x),
	}
}

// replacement says how the instrument differs from the one that an experiment was
// dispatched to; empty where it does not.
func (r *Runner) replacement(x *campaign.Experiment) string {
	now := r.description
	if x.Instrument == now.Name && (x.Identity == "" || x.Identity == now.Identity) {
		return ""
	}
	return fmt.Sprintf("it was sent to %s, and now there is %s", named(x.Instrument, x.Identity), named(now.Name, now.Identity))
}

func named(name, identity string) string {
	if identity == "" {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, identity)
}

// withReplacement adds a remark to what is recorded at the start of a run where
// another instrument stands in the place of the one that was sent the last command:
// what it measures counts, and whoever reads the log should know.
func (r *Runner) withReplacement(payloads ...events.Payload) []events.Payload {
	s := r.core.State()
	for i := len(s.Experiments) - 1; i >= 0; i-- {
		x := &s.Experiments[i]
		if x.Command == "" || x.Instrument == "person" {
			continue
		}
		if how := r.replacement(x); how != "" {
			note := &events.NoteAdded{About: x.ID, Text: "the instrument has been replaced: " + how}
			if n := len(s.Notes); n == 0 || s.Notes[n-1].Text != note.Text {
				payloads = append(payloads, note)
			}
		}
		break
	}
	return payloads
}

// recover asks the instrument what became of commands that another process
// dispatched, records it, and goes on accordingly. What nobody knows is left
// to a person.
func (r *Runner) recover(ctx, tending context.Context, experiments []string) error {
	s := r.core.State()
	fates := make([]instruments.Fate, len(experiments))
	pasts := make([]past, len(experiments))
	done := &events.RecoveryDone{Build: r.Build}
	payloads := r.withReplacement(done)
	for i, id := range experiments {
		x := s.Experiment(id)
		pasts[i] = r.past(x)
		fate, cause := r.fate(ctx, command(s, x), pasts[i])
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		fates[i] = fate
		done.Commands = append(done.Commands, events.RecoveredCommand{Experiment: id, Command: x.Command, Fate: string(fate)})
		if fate == instruments.FateUnknown {
			payloads = append(payloads, &events.ExperimentUnresolved{Experiment: id, Command: x.Command, Instrument: x.Instrument, Cause: cause})
		}
	}
	if err := r.append(ctx, "engine", s.LastEvent, payloads...); err != nil {
		return err
	}
	for i, id := range experiments {
		if fates[i] != instruments.FateUnknown {
			r.tendExperiment(tending, *s.Experiment(id), fates[i], pasts[i])
		}
	}
	return nil
}

// fate asks what became of a command, and says what is to be believed of the
// answer; cause explains an unknown fate.
func (r *Runner) fate(ctx context.Context, cmd instruments.Command, p past) (fate instruments.Fate, cause string) {
	fate, cause = r.answer(ctx, cmd)
	if fate != instruments.FateNotStarted || p.repeatable {
		return fate, cause
	}
	cause = "the command had been sent, and the instrument says that it never started it, which its memory alone cannot prove"
	if p.confirmed {
		cause = "the instrument had confirmed the command and now says that it never started it"
	}
	if p.replaced != "" {
		cause += "; it is another one: " + p.replaced
	}
	return instruments.FateUnknown, cause
}

// answer is what the instrument says became of a command; cause explains an
// unknown fate.
func (r *Runner) answer(ctx context.Context, cmd instruments.Command) (fate instruments.Fate, cause string) {
	recoverer, ok := r.Instrument.(instruments.Recoverer)
	if !ok {
		return instruments.FateUnknown, "the instrument keeps no memory of commands beyond its own process"
	}
	fate, err := recoverer.Recover(ctx, cmd)
	for attempt := 1; err != nil && attempt < attempts && pause(ctx, retryPause); attempt++ {
		fate, err = recoverer.Recover(ctx, cmd)
	}
	if err != nil {
		return instruments.FateUnknown, fmt.Sprintf("the instrument cannot say: %v", err)
	}
	if fate == instruments.FateUnknown {
		return fate, "the instrument does not know what became of the command"
	}
	return fate, ""
}
