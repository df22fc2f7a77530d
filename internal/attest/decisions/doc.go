// Package decisions audits the engine's own work in a campaign.
//
// [Audit] folds the log and, from the state before each event, makes the engine's records again:
// every fit, every decision with all its consequences, every request of the initial design.
// Statements of people, instruments and experts are facts. It checks the parts of them that follow
// from other events: their possible authors, their causes, that they refer to the request, and that
// the campaign's definition admits them (facts.go and envelope.go, a table by kind each).
//
// Fits and decisions are made ahead of the audit on all cores (ahead.go). Records of another
// version of a method are neither confirmed nor refuted (versions.go).
//
// The pieces: audit.go walks the log and finds its batches; envelope.go checks actor, cause, time,
// trace and mark of each event; facts.go checks statements; derived.go makes the engine's records
// again; differ.go compares; clock.go checks all times at the end.
package decisions
