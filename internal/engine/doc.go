// Package engine decides what a campaign does.
//
// [Core] folds a campaign's events and derives the next step from them alone. It is pure: it
// owns no goroutine, reads no clock, and does not change its arguments. Package drive is the
// loop around it, which performs the steps and records their outcomes.
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
// [World] holds the facts that are not in the log; the caller of Next fills them in: the time,
// what this process waits for, how many commands the instrument works on, the campaign's place
// in the queue of an instrument that it shares ([Ticket]), and whether the campaign has the
// instrument at all. With the folds it is [Now], which rules are functions of; the first in
// their list that has a step gives what [Core.Next] returns. They say, in this order:
//
//   - a lost device pauses the campaign;
//   - commands that another process dispatched are looked into before anything else;
//   - silent instruments, expired questions, the end of the campaign;
//   - questions are put, and experiments no longer wanted are called off;
//   - a row of failures pauses the campaign;
//   - requested experiments are queued for and dispatched, with what they draw from the stocks, and
//     a stock that does not suffice is waited for;
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
// A person's [Request] goes through [Core.Handle], which returns the events that fulfill it, or
// an error with the obstacle and the remedies. [Core.Granted] makes a batch of them. An
// instrument's answer goes through [Concluded], an expert's through [Heard]: these refuse
// nothing, but cut the parts that cannot be recorded, for no result may be lost. Only
// [Core.Apply] changes a core.
//
// # What is shown
//
// [Core.Counts] is a campaign in numbers, at no cost. [Core.Read] fits models without a
// recorded fit, for readers of the campaign: no decision reads them.
//
// # What is where
//
// next.go has World, the steps and the list of rules; decision.go, initial.go, outlier.go,
// circuit_breaker.go and backoff.go the longer ones. make.go performs the computations of
// steps. request.go lists people's requests, each a type in the file of its noun: tell.go,
// correct.go, resolve.go, exclude.go, steer.go; guard.go refuses requests that no one can have
// meant. outcome.go and reply.go take the answers of instruments and experts, followups.go adds
// the consequences. batch.go and repeat.go are about recording: envelopes, and requests that
// count once. read.go and summary.go are for readers.
package engine
