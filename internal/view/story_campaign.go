package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// In this file are the events of the campaign as a whole. Each method returns the words for one
// kind; kind, subject and account are added by [Story.Entry]. It is a sentence without a doer: who
// began the campaign is in the event, and readers look for the campaign.
func (s *Story) campaignDefined(_ events.Event, p *events.CampaignDefined) Entry {
	def := &p.Definition
	budget := format.Count(def.Budget.Experiments, "experiment")
	if !def.Measures() {
		budget = format.Count(def.Budget.Comparisons, "comparison")
	}
	return Entry{Text: fmt.Sprintf("campaign %s begins: %s, at most %s", def.Name, Seeks(def), budget)}
}

// Changes are written with the amended definition, which [Story.Follow] has
// taken in by then.
func (s *Story) campaignAmended(e events.Event, p *events.CampaignAmended) Entry {
	changes := make([]string, len(p.Changes))
	for i, c := range p.Changes {
		changes[i] = Change(s.def, c)
	}
	return Entry{Who: doer(e), Text: "amended the campaign: " + strings.Join(changes, "; ")}
}

// The doer may be the engine, which pauses where a person is needed.
func campaignPaused(e events.Event, p *events.CampaignPaused) Entry {
	return Entry{Who: doer(e), Text: "paused the campaign", Reason: p.Reason}
}

func campaignResumed(e events.Event, p *events.CampaignResumed) Entry {
	return Entry{Who: doer(e), Text: "resumed the campaign", Reason: p.Reason}
}

func campaignStopped(e events.Event, p *events.CampaignStopped) Entry {
	return Entry{Who: doer(e), Text: "stopped the campaign", Reason: p.Reason}
}

// The detail is a sentence where the rule gave one; the reason alone is its
// name.
func campaignCompleted(_ events.Event, p *events.CampaignCompleted) Entry {
	reason := p.Detail
	if reason == "" {
		reason = p.Reason
	}
	return Entry{Text: "the campaign is complete", Reason: reason}
}

// A new epoch means that the store may be behind the instruments, so that commands must not look
// like those of before.
func (s *Story) recoveryDone(_ events.Event, p *events.RecoveryDone) Entry {
	switch {
	case p.Epoch != "":
		return Entry{Text: "taken up from an older copy of the store, or one from elsewhere;" +
			" commands carry the word " + p.Epoch + " from here on"}
	case len(p.Commands) == 0:
		return Entry{Text: "taken up again; nothing was under way"}
	}
	fates := make([]string, len(p.Commands))
	for i, c := range p.Commands {
		fates[i] = fmt.Sprintf("%s is %s", s.called(c.Subject()), c.Fate)
	}
	return Entry{Text: "taken up again; the instrument says: " + strings.Join(fates, ", ")}
}

// Anchors that replace earlier ones have a reason.
func anchorsDeclared(_ events.Event, p *events.AnchorsDeclared) Entry {
	text := "declared " + format.Count(len(p.Points), "anchor")
	if !p.Instead {
		return Entry{Who: p.Expert, Text: text}
	}
	return Entry{Who: p.Expert, Text: text + " instead of those before", Reason: p.Reason}
}

// The note's text is its reason, so that it stands where reasons do.
func noteAdded(e events.Event, p *events.NoteAdded) Entry {
	text := "notes"
	if p.About != "" {
		text += " on " + p.About
	}
	return Entry{Who: doer(e), Text: text, Reason: p.Text}
}

// Change writes a change of a definition: "budget.experiments: 25 → 40". What
// stands in a list is called by its name: "parameters.ec.max: 0.45 → 0.4".
// Paths are JSON pointers; a name says more than a number to a person.
func Change(def *definition.Campaign, c events.Change) string {
	steps := strings.Split(strings.TrimPrefix(c.Path, "/"), "/")
	if len(steps) > 1 {
		if i, err := strconv.Atoi(steps[1]); err == nil {
			if name := nameInList(def, steps[0], i); name != "" {
				steps[1] = name
			}
		}
	}
	path := strings.Join(steps, ".")
	switch {
	case c.From == "":
		return fmt.Sprintf("%s: %s (new)", path, c.To)
	case c.To == "":
		return fmt.Sprintf("%s: %s (removed)", path, c.From)
	}
	return fmt.Sprintf("%s: %s → %s", path, c.From, c.To)
}

// nameInList returns the name of an element of one of a definition's lists, ""
// where it has none. An index that the amended definition does not have is one
// that was removed; it stays a number.
func nameInList(def *definition.Campaign, list string, i int) string {
	if def == nil || i < 0 {
		return ""
	}
	switch {
	case list == "parameters" && i < len(def.Parameters):
		return def.Parameters[i].Name
	case list == "constraints" && i < len(def.Constraints):
		return def.Constraints[i].Name
	case list == "excluded" && i < len(def.Excluded):
		return def.Excluded[i].Name
	case list == "experts" && i < len(def.Experts):
		return def.Experts[i].Name
	}
	return ""
}

// methodAnswered is routine where the program proposed something: the decision says what comes of
// it.
func (s *Story) methodAnswered(_ events.Event, p *events.MethodAnswered) Entry {
	who := "the program " + ProgramName(&p.Program)
	if p.Cause == "" {
		return Entry{Who: who, Text: "proposed " + s.line(p.Parameters), Reason: p.Reason, Routine: true}
	}
	return Entry{Who: who, Text: "proposed nothing for " + p.Decision, Reason: p.Cause}
}

// ProgramName is the name of a program with its version.
func ProgramName(p *events.Program) string { return strings.TrimSpace(p.Name + " " + p.Version) }
