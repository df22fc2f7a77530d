// Package engine decides what a campaign does.
//
// [Core] folds a campaign's events and says, from them alone, what is to be
// done next. It is pure: it owns no goroutine, reads no clock, and what it is
// given it does not change. Package drive is the loop around it, which does the
// steps and records what came of them.
//
//	       Next            (drive)             Append            Apply
//	Core ────────► Step ───────────► payloads ────────► events ────────► Core
//
// Everything a step needs follows from the log, so a campaign that is killed at
// any moment goes on where it was, and an audit (internal/attest/decisions) can
// make every fit and every decision again.
//
// # World and steps
//
// What the log cannot say is [World], which the caller of Next fills in:
// the time, what is waited for in this process, how many commands the
// instrument works on, where the campaign stands in the queue of an instrument
// that it shares ([Ticket]), whether the instrument is the campaign's at all.
// With the folds it is [Now], which rules are functions of; the first in their list
// that has a step gives what [Core.Next] returns. They say, in this order:
//
//   - a lost device pauses the campaign;
//   - commands that another process dispatched are looked into before anything else;
//   - silent instruments, expired questions, the end of the campaign;
//   - questions are put, and what is no longer wanted is called off;
//   - a row of failures pauses the campaign;
//   - requested experiments are queued for and dispatched;
//   - doubts in measurements, the initial design, replicates;
//   - and then the policy decides, on models that are fitted first.
//
// A step has one effect. Those that only compute, [Fit], [Judge] and [Decide],
// can take minutes where there are many measurements: [Core.Make] makes them,
// and drive has it do so in the background. A fit is good for as long as what
// it reads is the same ([Core.Basis]), a decision at the very event that it was
// made from.
//
// # What people, instruments and experts say
//
// A person's [Request] goes through [Core.Handle], which returns the events
// that fulfill it or says what stands against it and what can be done instead.
// [Core.Granted] makes a batch of them. What an instrument answers goes through
// [Concluded], what an expert answers through [Heard]: these refuse nothing, but
// cut what cannot be recorded, for no result may be lost. Only [Core.Apply]
// changes a core.
//
// # What is shown
//
// [Core.Counts] is a campaign in numbers, for nothing. [Core.Read] fits the
// models that no fit is recorded of yet, for those who look at the campaign: no
// decision reads them.
//
// # What is where
//
// next.go has World, the steps and the list of rules; decision.go, initial.go,
// outlier.go, circuit_breaker.go and backoff.go the longer ones. make.go makes
// what a step computes. request.go lists what people can ask for, each a type
// in the file of its noun: tell.go, correct.go, resolve.go, exclude.go, steer.go; guard.go
// refuses what no one can have meant. outcome.go and reply.go take what
// instruments and experts say, followups.go says what that leads to. batch.go
// and repeat.go are about recording: envelopes, and requests that count once.
// read.go and summary.go are for those who look on.
package engine
