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
	return fmt.Sprintf(
		"it was sent to %s, and now there is %s", named(x.Instrument, x.Identity),
		named(now.Name, now.Identity),
	)
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

// recovery is the question what became of commands that another process
// dispatched. It is asked beside the loop, which some instruments keep waiting.
// Until it is recorded nothing else begins; requests and deadlines are seen to.
type recovery struct {
	asked []asked
	told  []told // of each that was asked; nil until the instrument has answered
}

// asked is a command whose fate is asked for, with what the log knew of it then.
type asked struct {
	experiment string
	cmd        instruments.Command
	past       past
}

// told is what is to be believed of the answer; cause explains an unknown fate.
type told struct {
	fate  instruments.Fate
	cause string
}

// recover begins to ask the instrument what became of commands that another
// process dispatched.
func (r *Runner) recover(awaiting context.Context, experiments []string) {
	s := r.core.State()
	questions := make([]asked, len(experiments))
	for i, id := range experiments {
		x := s.Experiment(id)
		questions[i] = asked{id, command(s, x), r.past(x)}
	}
	r.recovery = &recovery{asked: questions}
	r.consult(awaiting, func() {
		answers := make([]told, len(questions))
		for i, q := range questions {
			answers[i].fate, answers[i].cause = r.fate(awaiting, q.cmd, q.past)
			if awaiting.Err() != nil {
				return // that nobody waited says nothing about the command
			}
		}
		r.send(awaiting, message{recovered: answers})
	})
}

// recovered records what became of the commands that are still under way, and goes
// on accordingly. What nobody knows is left to a person. What a person has settled
// meanwhile, or was given up, is recorded already; a late answer is waited for.
func (r *Runner) recovered(ctx, awaiting context.Context) error {
	s, recovery := r.core.State(), r.recovery
	r.recovery = nil
	done := &events.RecoveryDone{Build: r.Build}
	payloads := r.withReplacement(done)
	var tend []int
	for i, q := range recovery.asked {
		x, told := s.Experiment(q.experiment), recovery.told[i]
		if x.Status != campaign.Dispatched && x.Status != campaign.Started {
			byHand := s.Definition.Instrument.ByHand && !x.Status.Open()
			if !byHand && (told.fate == instruments.FateRunning || told.fate == instruments.FateFinished) {
				tend = append(tend, i)
			}
			continue
		}
		done.Commands = append(done.Commands, events.RecoveredCommand{
			Experiment: x.ID, Command: x.Command, Fate: string(told.fate),
		})
		if told.fate == instruments.FateUnknown {
			payloads = append(payloads, &events.ExperimentUnresolved{
				Experiment: x.ID, Command: x.Command, Instrument: x.Instrument, Cause: told.cause,
			})
		} else {
			tend = append(tend, i)
		}
	}
	if err := r.append(ctx, "engine", s.LastEvent, payloads...); err != nil {
		return err
	}
	for _, i := range tend {
		q := recovery.asked[i]
		r.awaitExperiment(awaiting, *s.Experiment(q.experiment), recovery.told[i].fate, q.past)
	}
	return nil
}

// fate asks what became of a command, and says what is to be believed of the
// answer; cause explains an unknown fate.
func (r *Runner) fate(
	ctx context.Context, cmd instruments.Command, p past,
) (fate instruments.Fate, cause string) {
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
