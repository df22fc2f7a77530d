// Package chaos drives whole campaigns with the people and devices that a
// simulation leaves out: experts who are absent, late, careless or contradict
// themselves, devices that forget, are slow, do not confirm, are off for hours
// or lie, an operator who corrects, pauses and mistypes, and a program that is
// killed at any moment.
//
// A [World] is drawn from a seed. [World.Live] lives it through in virtual
// time, inside a bubble of testing/synctest, and [Life.Judge] says which laws
// were broken. The judge reads the log's bytes, and what the device and the
// people noted themselves; it asks the engine nothing but what it is to be
// compared with.
//
//   - A campaign ends, or waits for a person and names what that person has to do;
//     once everyone is honest, it ends.
//   - No command is acted on twice, none before its intent is in the log, and none
//     while the fate of another is unknown.
//   - Nothing that was reported is lost: results, answers and requests that were
//     taken.
//   - Nothing that anybody says ends the run.
//   - The audit is clean, and replayed, restored and live states are the same.
//   - The budget is kept.
//
// In some worlds people ask for everything that can be asked for: a [clerk]
// makes requests of every kind, with each optional field set and left out,
// several at the same instant, of running, paused and ended campaigns, between
// programs that are killed, are of another build and lose their device. A
// [coverage] finds by reflection what such requests can hold, so that a new
// field that no clerk sets fails the test.
//
// A [line] is a world whose campaign has a procedure: several machines, places and batches. Its judge
// reads the machines' journal of what really moved, and the log. Controls break one rule each, which
// the judge has to find. No test can break two of them without changing the engine: tickets that end
// by time, and tickets that one machine alone sees; these are between campaigns.
package chaos
