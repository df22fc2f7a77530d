// Package decisions audits what the engine of a campaign did on its own.
//
// [Audit] folds the log and, from the state before each event, makes again what
// the engine would have written: every fit, every decision with all that it led
// to, every request of the initial design. What people, instruments and experts
// said are facts. Of these it checks what follows from other events: who can
// have said it, what led to it, that it is about what was asked, and that the
// campaign's definition admits it (facts.go and envelope.go, a table by kind
// each).
//
// Fits and decisions are made ahead of the audit on all cores (ahead.go). What
// another version of a method made is neither confirmed nor refuted
// (versions.go).
//
// The pieces: audit.go walks the log and finds its batches; envelope.go holds
// actor, cause, time, trace and mark of each event to what a runner writes;
// facts.go what was said; derived.go makes again what the engine wrote;
// differ.go compares; clock.go looks at all times at the end.
package decisions
