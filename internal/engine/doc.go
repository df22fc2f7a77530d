// Package engine drives a campaign.
//
// [Core] is pure: it folds events and says, from the state alone, what is to be
// done next. It owns no goroutine, reads no clock and has no effect. [Runner]
// is the only loop around it: it makes fits and decisions, writes events, and
// then, only then, talks to instruments and people.
//
//	       Next            perform             Append            Apply
//	Core ────────► Step ───────────► payloads ────────► events ────────► Core
//
// Everything a step needs follows from the log, so a campaign that is killed at
// any moment goes on where it was, and [Audit] can make every fit and every
// decision again.
package engine
