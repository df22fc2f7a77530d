package events

import (
	"cmp"

	"github.com/campaignd/campaignd/events/definition"
)

// CampaignDefined opens a campaign: its complete definition, every default
// written out, and the file it came from.
type CampaignDefined struct {
	// Instance tells this campaign from every other of the same name: a random
	// word that is part of every command's identifier, so that an instrument
	// with a long memory never takes a new command for an old one.
	Instance   string              `json:"instance,omitempty"`
	Definition definition.Campaign `json:"definition"`
	// Source is the campaign file as it was read.
	Source string `json:"source,omitempty"`
	// Build is the program that opened the campaign.
	Build Build `json:"build"`
	// Rules was written by early programs of 0.1.0: the version of the rules of
	// their engine, always 1. Nothing depends on it; it is read, so that a log
	// of theirs is not taken for one that was changed.
	Rules int `json:"rules,omitempty"`
}

// Build identifies a program that computed something. Floating-point results
// are promised bit for bit only between equal OS-independent builds: same
// source, Go version, architecture and level.
type Build struct {
	Version string `json:"version"` // campaignd's version
	Go      string `json:"go"`      // Go toolchain, for example "go1.26.8"
	Arch    string `json:"arch"`    // architecture and level, for example "amd64/v1"
	// Revision is the source: the commit, the checksum of the module ("h1:…"),
	// or where neither is known, or the commit was changed, a hash of the
	// program itself ("sha256:…", behind "COMMIT+dirty." where there is one).
	Revision string `json:"revision,omitempty"`
}

// CampaignAmended replaces the definition by an allowed change of it: budget,
// bounds, further categories and values, excluded regions, policy.
type CampaignAmended struct {
	// Definition is the whole definition that holds from here on.
	Definition definition.Campaign `json:"definition"`
	// Changes lists what differs from the definition before.
	Changes []Change `json:"changes"`
	// Reason is the person's reason.
	Reason string `json:"reason,omitempty"`
	Source string `json:"source,omitempty"`
}

// Change is one difference between two definitions.
type Change struct {
	// Path is the field as a JSON pointer, for example "/budget/experiments".
	Path string `json:"path"`
	// From and To are the values as JSON; empty where there was or will be no value.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// CampaignPaused stops new experiments and questions until the campaign is resumed; those under way
// continue.
type CampaignPaused struct {
	Reason string `json:"reason,omitempty"`
	// Device is the device that the run did not have to itself any more, where
	// that is why the engine paused: its identity, or the instrument's name
	// where it has none.
	Device string `json:"device,omitempty"`
	// Occurrences is how many times in a row the engine, which paused for that,
	// saw experiments end without a result, where several that ended together
	// with one cause count once. Absent: each of them was counted.
	Occurrences int `json:"occurrences,omitempty"`
}

// CampaignResumed ends a pause.
type CampaignResumed struct {
	Reason string `json:"reason,omitempty"`
}

// CampaignStopped ends the campaign at a person's word.
type CampaignStopped struct {
	Reason string `json:"reason,omitempty"`
}

// CampaignCompleted ends the campaign by its own rules.
type CampaignCompleted struct {
	// Reason is one of the Completed constants.
	Reason string `json:"reason"`
	// Detail says it in a sentence.
	Detail string `json:"detail,omitempty"`
}

// Reasons for which a campaign completes.
const (
	CompletedBudget     = "budget"     // the budget of experiments is spent
	CompletedTime       = "time"       // the budget of time is spent
	CompletedTarget     = "target"     // the target is reached
	CompletedConverged  = "converged"  // the stopping rule sees no further improvement
	CompletedIdentified = "identified" // every expert's best composition is identified
	CompletedExhausted  = "exhausted"  // every candidate has been measured or excluded
)

// RecoveryDone says that a new process took the campaign over and what became
// of the commands that were under way.
type RecoveryDone struct {
	Build    Build              `json:"build"`
	Commands []RecoveredCommand `json:"commands,omitempty"`
	// Epoch is a random word that the identifiers of commands carry from now
	// on, behind the campaign's instance. It is there where the log may not be
	// all that happened: an older copy of it, or one from elsewhere. What an
	// instrument remembers of the rest is then about other commands.
	Epoch string `json:"epoch,omitempty"`
}

// RecoveredCommand is the fate of one command after a restart.
type RecoveredCommand struct {
	Experiment string `json:"experiment,omitempty"`
	// Act is that of a campaign with a procedure; then no experiment is named.
	Act     string `json:"act,omitempty"`
	Command string `json:"command"`
	// Fate as reported by the instrument: "running", "finished", "unknown", "not started".
	Fate string `json:"fate"`
}

// Subject is the experiment, or the act, that the command is for.
func (c RecoveredCommand) Subject() string { return cmp.Or(c.Experiment, c.Act) }

// AnchorsDeclared lists points at which an expert trusts their own judgment
// (Sinaga et al. 2026, §4).
type AnchorsDeclared struct {
	Expert string             `json:"expert"`
	Points []definition.Point `json:"points"`
	// Instead takes back those that the expert declared before, and not those
	// of the campaign file. Points may then be empty. Reason says why.
	Instead bool   `json:"instead,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// NoteAdded is a person's remark.
type NoteAdded struct {
	Text string `json:"text"`
	// About names an experiment, question or decision, or is empty.
	About string `json:"about,omitempty"`
}

// SchemaVersion implements [Versioned].
func (p CampaignDefined) SchemaVersion() int { return versionOf(&p.Definition) }

// SchemaVersion implements [Versioned].
func (p CampaignAmended) SchemaVersion() int { return versionOf(&p.Definition) }

// versionOf is the version of a payload with a definition.
func versionOf(def *definition.Campaign) int {
	switch {
	case len(def.ReferenceExperiments) > 0:
		return 5
	case len(def.Procedure) > 0:
		return 4
	case len(def.Stocks) > 0:
		return 3
	}
	return 2
}

// Subject implements Payload.
func (CampaignDefined) Subject() string   { return "" }
func (CampaignAmended) Subject() string   { return "" }
func (CampaignPaused) Subject() string    { return "" }
func (CampaignResumed) Subject() string   { return "" }
func (CampaignStopped) Subject() string   { return "" }
func (CampaignCompleted) Subject() string { return "" }
func (RecoveryDone) Subject() string      { return "" }
func (AnchorsDeclared) Subject() string   { return "" }
func (p NoteAdded) Subject() string       { return p.About }
