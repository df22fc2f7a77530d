package app

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// explainCommand is `campaignd explain`.
//
// No model is fitted: the models' predictions were recorded with the decision.
var explainCommand = command{
	name: "explain",
	args: cobra.RangeArgs(1, 2),
	run: func(c *call, args []string) error {
		if err := c.namesDecision(args); err != nil {
			return err
		}
		return c.decided(args, func(_ target, s *session, id string) error { return explain(c, s, id) })
	},
}

// decided opens for reading the store of a command that is about a decision, an experiment or a
// question.
func (c *call) decided(args []string, do func(t target, s *session, id string) error) error {
	t, args, err := c.targetAndArgs(args, 1)
	if err != nil {
		return err
	}
	s, err := c.open(c.ctx, t, reading)
	if err != nil {
		return err
	}
	defer s.Close()
	return do(t, s, args[0])
}

// namesDecision is an error where a single argument is a file or a store, and names no decision: it
// lists the decisions.
func (c *call) namesDecision(args []string) error {
	if len(args) > 1 {
		return nil
	}
	if _, err := os.Stat(args[0]); err != nil {
		return nil
	}
	return c.reading(args, func(_ target, _ *session, core *engine.Core) error {
		return whichDecision(args[0], core.State().Decisions)
	})
}

// whichDecision answers a command that was given a target and no decision, of n.
func whichDecision(arg string, n int) error {
	switch n {
	case 0:
		return fmt.Errorf("%w%s has no decision yet: there is nothing to explain", errNo, arg)
	case 1:
		return badInput("say which decision: campaignd explain %s d1 is the only one", shellArg(arg))
	default:
		return badInput("say which decision: campaignd explain %s d%d is the latest, and they go from d1 to d%d;"+
			" an experiment (e7) or a question (q3) names the decision behind it", shellArg(arg), n, n)
	}
}

// explain prints the recorded data of a decision, or of the one behind an experiment or question.
//
// The record folds the log once, and from it comes the state at the decision as well as the one
// now.
func explain(c *call, s *session, id string) error {
	record, decision, why, err := behind(c.ctx, s, id)
	if err != nil {
		return err
	}
	if events.ActNumber(id)+events.BatchNumber(id) > 0 {
		return explainActs(c, s, record, id)
	}
	if x := experimentIn(record, id); x != nil && !c.json && (decision == "" || x.calledOff) {
		if decision == "" {
			c.printf("%s: %s\nNo decision is behind it: %s.\n", id, x.line, why)
		}
		if err := printStory(c, s, record, id); err != nil {
			return err
		}
		if decision == "" {
			c.printUse(id, x)
			return nil
		}
		c.printf("\n")
	}
	if decision == "" {
		return explainUndecided(c, s, record, id, why)
	}
	d, err := record.Decision(c.ctx, s.Log(), decision)
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(d)
	}
	if err := d.Write(c.stdout, commandFor); err != nil {
		return err
	}
	if x := experimentIn(record, id); x != nil {
		c.printUse(id, x)
	}
	return nil
}

// printUse prints what an experiment used up, and its acts where it goes through a procedure.
func (c *call) printUse(id string, x *explained) {
	if x.drawn != "" {
		c.printf("\n%s used up %s.\n", id, x.drawn)
	}
	if x.batch == "" {
		return
	}
	c.printf("\nIts acts, in %s\n", x.batch)
	for _, line := range x.acts {
		c.printf("  %s\n", plaintext.Line(line))
	}
}

// explainUndecided prints, for programs, an experiment without a decision that goes through a procedure;
// of anything else there is nothing to explain.
func explainUndecided(c *call, s *session, record *view.Record, id, why string) error {
	timeline, err := record.Timeline(c.ctx, s.Log())
	if err != nil {
		return err
	}
	var document struct {
		Experiment campaign.Experiment `json:"experiment"`
		Why        string              `json:"why"`
		Acts       []view.ActRecord    `json:"acts"`
	}
	record.Read(func(core *engine.Core) {
		if x := core.State().Experiment(id); x != nil {
			document.Experiment, document.Why = *x, why
			document.Acts = timeline.ActRecords(core.State(), core.State().ActsFor(x))
		}
	})
	if document.Acts == nil {
		return noDecision(id, why)
	}
	return c.printJSON(document)
}

// explainActs prints what an act is and gave, or the acts of a batch, and their story.
func explainActs(c *call, s *session, record *view.Record, id string) error {
	timeline, err := record.Timeline(c.ctx, s.Log())
	if err != nil {
		return err
	}
	var lines []string
	var document any
	record.Read(func(core *engine.Core) {
		state := core.State()
		if a := state.Act(id); a != nil {
			document = timeline.ActRecords(state, slices.Values([]*campaign.Act{a}))[0]
			lines = []string{view.ActText(state, a, ""), "its batch is " + a.Batch}
			return
		}
		b := state.Batch(id)
		status := view.BatchOf(core, b)
		document = struct {
			view.BatchStatus
			Over     bool             `json:"over"`
			Scrapped bool             `json:"scrapped"`
			Acts     []view.ActRecord `json:"acts"`
		}{status, b.Over, b.Scrapped, timeline.ActRecords(state, state.ActsOf(b))}
		lines = append([]string{view.BatchText(&status) + " · " + events.ExperimentList(b.Experiments)},
			view.ActTexts(state, b, "")...)
	})
	if c.json {
		return c.printJSON(document)
	}
	for i, line := range lines {
		if i > 0 {
			line = "  " + line
		}
		c.printf("%s\n", plaintext.Line(line))
	}
	c.printf("\n")
	return printStory(c, s, record, id)
}

// behind returns the record of a session's campaign, and the decision behind an identifier there;
// without a decision (an experiment that a person chose), why.
func behind(ctx context.Context, s *session, id string) (record *view.Record, decision, why string, err error) {
	record, err = s.Record(ctx, s.name)
	if err != nil {
		return nil, "", "", err
	}
	record.Read(func(core *engine.Core) {
		if err = knownSubject(core.State(), id); err == nil {
			decision, why = view.DecisionBehind(core.State(), id)
		}
	})
	return record, decision, why, err
}

// noDecision says that no decision is behind an experiment or question: an answer, with exit
// code 1, and no wrong usage.
func noDecision(id, why string) error {
	return fmt.Errorf("%wno decision is behind %s: %s", errNo, id, why)
}

// explained is the experiment to explain: its composition in a line, what it used up, and whether its
// command was ever called off, so that its course matters more than why it was chosen.
type explained struct {
	line      string
	drawn     string
	calledOff bool
	// batch is that in which it goes through a procedure, acts what became of its acts there.
	batch string
	acts  []string
}

// experimentIn is the experiment of an identifier; nil for any other identifier.
func experimentIn(record *view.Record, id string) (e *explained) {
	record.Read(func(core *engine.Core) {
		s := core.State()
		if x := s.Experiment(id); x != nil {
			e = &explained{
				drawn:     format.Drawn(s.Used(x)),
				line:      format.CompositionsOf(s.Definition).LineWithUnits(x.Parameters),
				calledOff: x.Command.CallOff != nil || s.Contradicted == id,
				batch:     x.Batch,
			}
			if b := s.Batch(x.Batch); b != nil {
				e.acts = view.ActTexts(s, b, id)
			}
		}
	})
	return e
}

// printStory prints all records about an experiment, in order.
func printStory(c *call, s *session, record *view.Record, id string) error {
	timeline, err := record.Timeline(c.ctx, s.Log())
	if err != nil {
		return err
	}
	c.printf("What happened to %s\n", id)
	for _, line := range timeline.Lines {
		if line.Subject == id {
			c.printf("  %s  %s\n", line.Time.Local().Format(time.DateTime), line.Line(commandFor))
		}
	}
	return nil
}
