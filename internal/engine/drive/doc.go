// Package drive is the loop around [engine.Core]: it does the core's steps, one
// after the other, against a log, an instrument and experts.
//
//	       Next            perform             Append            Apply
//	Core ────────► Step ───────────► payloads ────────► events ────────► Core
//
// [Runner] is a campaign's single writer. An event is on disk before anything
// acts on it, so that a campaign which is killed at any moment goes on where it
// was.
//
// The loop never waits for an adapter, nor for a model. Three parts do so in
// goroutines of their own, and none of them changes the campaign:
//
//   - the bench makes fits, decisions and judgments on a shadow core that folds the same
//     events. A computation that events have overtaken is made again; a decision that was
//     overtaken three times in a row is made before anything else is taken in;
//   - the device is the campaign's instrument: the lease that keeps others off it, and the
//     tickets of commands if campaigns share it;
//   - the couriers carry commands to the instrument and questions to the experts, ask for the
//     fate of commands that another process dispatched, and keep track of all in flight.
//
// They send their news to the loop as messages, which it applies in the order of arrival. So
// are the requests of people ([Runner.Submit]).
//
// A panic, of a method or an adapter, is a message too: the loop throws it
// again, so that it ends this run where the caller can recover from it, and not
// the process with all its campaigns.
package drive
