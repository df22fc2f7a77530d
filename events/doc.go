// Package events is the vocabulary of campaignd: everything that can happen in
// a lab campaign, as immutable facts, and the contract of the log that keeps
// them.
//
// # Events
//
// An [Event] is an envelope (who, when, why, in which campaign, at which place
// of the log) around an opaque payload. The payload is the JSON form of one of
// the Go types of this package; [Kind] and version say which one, through the
// explicit table in kinds.go. Kind names are strings chosen once and kept for
// ever: they are never derived from Go names, so that renaming a type cannot
// break a log.
//
// An event states what happened, in the past tense. It is never changed or
// removed: a correction is a new event that names the one it corrects.
//
// # Nouns
//
// One file per noun: campaign.go, experiment.go, question.go, model.go,
// decision.go, with what experts answer in answer.go and what they are shown in
// attributions.go. A campaign has experiments ("e7"), questions ("q12"),
// decisions ("d31") and exclusions ("n2"); their identifiers count up within
// the campaign and do not depend on the clock, so that a campaign that was
// killed and continued names things exactly as the undisturbed one does.
//
// A question is one family of events whatever it asks for: its [Form] says what
// that is, and which part of an [Answer] answers it.
//
// # The log
//
// [Log] is the contract; events/memlog keeps a log in memory. [Store] is that
// of a log which outlives its process and proves what it holds: events/store
// opens one, events/pebblelog keeps it on disk, and events/pglog in a PostgreSQL
// database. events/logtest is the suite they pass. events/bus carries a log's events to Watermill handlers.
package events
