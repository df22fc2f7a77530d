package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// ActTexts says in order what became of the acts of a batch: of all, or of those for one experiment.
// Each line names the stage and the instrument, when it began and how long it had waited since it could
// have, which try it was, what it gave and what it used up.
func ActTexts(s *campaign.State, b *campaign.Batch, experiment string) (lines []string) {
	for a := range s.ActsOf(b) {
		if experiment == "" || a.Serves(experiment) {
			lines = append(lines, ActText(s, a, experiment))
		}
	}
	return lines
}

// ActText is one of [ActTexts].
func ActText(s *campaign.State, a *campaign.Act, experiment string) string {
	began := a.Command.DispatchedAt
	text := fmt.Sprintf("%-4s %s at %s", a.ID, a.Stage, a.Resource)
	if experiment == "" || len(a.Experiments) > 1 {
		text += " for " + events.ExperimentList(a.Experiments)
	}
	text += ", " + began.Local().Format(time.TimeOnly)
	if !a.EndedAt.IsZero() {
		text += " for " + format.Duration(a.EndedAt.Sub(began).Round(time.Millisecond))
	}
	if waited := began.Sub(couldBegin(s, a)); waited >= time.Second {
		text += ", having waited " + format.Duration(waited.Round(time.Second))
	}
	if n := try(s, a); n > 1 {
		text += fmt.Sprintf(", try %d", n)
	}
	return text + WithDrawn(a) + ": " + becameOf(s, a, experiment)
}

// WithDrawn says what an act uses up: ", with tips A1, B1"; "" for nothing.
func WithDrawn(a *campaign.Act) string {
	if len(a.Command.Drawn) == 0 {
		return ""
	}
	return ", with " + format.Drawn(a.Command.Drawn)
}

// couldBegin is when an act could have begun at the earliest: what was before it had ended, and its time
// had come.
func couldBegin(s *campaign.State, a *campaign.Act) time.Time {
	b := s.Batch(a.Batch)
	at := b.PlannedAt
	for _, edge := range b.Stage(a.Stage).After {
		for before := range s.ActsOf(b) {
			serves := func(x string) bool { return before.Serves(x) }
			if before.Stage != edge.Stage || before.EndedAt.After(a.Command.DispatchedAt) || !slices.ContainsFunc(a.Experiments, serves) {
				continue
			}
			if ended := before.EndedAt.Add(time.Duration(edge.From)); ended.After(at) {
				at = ended
			}
		}
	}
	return at
}

// try counts the acts of a stage for the same experiments up to this one.
func try(s *campaign.State, a *campaign.Act) (n int) {
	for other := range s.ActsOf(s.Batch(a.Batch)) {
		if other.Stage == a.Stage && other.Serves(a.Experiments[0]) {
			if n++; other.ID == a.ID {
				break
			}
		}
	}
	return n
}

// becameOf says how an act stands, or how it ended and what it gave, for one experiment or all.
func becameOf(s *campaign.State, a *campaign.Act, experiment string) string {
	switch {
	case a.Command.BeingCalledOff():
		return "is being called off"
	case a.Command.Fate == campaign.Unknown:
		return "its fate is unknown, " + a.Cause
	case a.Open():
		return "under way" + commandText(&a.Command, a.Command.DispatchedAt)
	case experiment != "":
		return givenText(s, a.For(experiment))
	}
	if a.Status != events.ActDone {
		return strings.TrimSuffix(actStatusText(a.Status)+", "+a.Cause, ", ")
	}
	if len(a.Experiments) == 1 {
		return givenText(s, a.For(a.Experiments[0]))
	}
	return "done" + failedIn(a.Gave)
}

// givenText says what an act gave for an experiment.
func givenText(s *campaign.State, given events.Given) string {
	text := strings.TrimSuffix(actStatusText(given.Status)+", "+given.Cause, ", ")
	if given.Status == events.ActDone && given.Measurement != nil {
		story := NewStory(s.Definition)
		if gave := cmp.Or(story.measured(given.Measurement), story.line(given.Measurement.Actual)); gave != "" {
			text = gave
		}
	}
	return text
}

// actStatusText is an outcome in a word or a few.
func actStatusText(status events.ActStatus) string {
	return strings.TrimPrefix(strings.TrimPrefix(actOutcome(status), "is "), "was ")
}
