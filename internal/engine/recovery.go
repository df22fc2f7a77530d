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
// machine, or never have reached the disk. So "not started" is not taken at its
// word where the log holds experiment.started, where another device answers than
// the one that was sent the command, or where the instrument denies, too, what it
// has given a result of. Then nobody knows, and a person looks.
//
// What was dispatched and never confirmed is different: the log does not say that
// the instrument ever saw it. There "not started" is believed, of a [Recoverer]
// alone, whose promise is a memory that is durable before it acts; `campaignd
// instrument check` puts that to the test. A simulation may forget: nothing
// physical has happened.

// past is what the log knows of a command and of the instrument it was sent to.
type past struct {
	confirmed bool                 // by experiment.started
	replaced  string               // by which other device the instrument has been, if by any
	witness   *instruments.Command // of the instrument's last result
}

// past is called in the loop, for goroutines to come.
func (r *Runner) past(x *campaign.Experiment) past {
	s := r.core.State()
	p := past{confirmed: x.Status == campaign.Started, replaced: r.replacement(x)}
	for i := range s.Experiments {
		y := &s.Experiments[i]
		if y.ID != x.ID && y.Status == campaign.Measured && y.Command != "" && y.Instrument == r.description.Name && r.replacement(y) == "" {
			cmd := command(s, y)
			p.witness = &cmd
		}
	}
	return p
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
	if fate != instruments.FateNotStarted || r.description.Simulated {
		return fate, cause
	}
	switch {
	case p.confirmed:
		return instruments.FateUnknown, "the instrument had confirmed the command and now says that it never started it"
	case p.replaced != "":
		return instruments.FateUnknown, "the instrument says that it never started the command, but it is another one: " + p.replaced
	case p.witness != nil:
		if fate, _ := r.answer(ctx, *p.witness); fate == instruments.FateNotStarted {
			return instruments.FateUnknown, fmt.Sprintf(
				"the instrument says that it never started the command, and says the same of %s, whose result it gave: its memory is gone", p.witness.Experiment)
		}
	}
	return fate, ""
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
