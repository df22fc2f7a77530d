// Package checkpoint reads and writes the files by which an auditor checks a log:
// signed tree heads, and proofs that a log contains an event or has only grown.
//
// A log is a Merkle tree (RFC 6962) whose leaves are the records of its events.
// A process that can write to a store can also rewrite it whole, tree and all,
// so the store cannot vouch for itself. What was written down elsewhere can: a
// tree head is a few dozen bytes and holds every event before it.
//
// The files are those that transparency logs exchange, plain text all of them:
//
//   - a checkpoint (c2sp.org/tlog-checkpoint): the log's name, which is called its
//     origin, the number of events and the root hash, signed as a note
//     (c2sp.org/signed-note) or not;
//   - a proof of inclusion (c2sp.org/tlog-proof), which carries the event's record
//     as its extra data, so that the file says what it proves;
//   - a proof of consistency, in the form that a witness takes
//     (c2sp.org/tlog-witness).
//
// Checking them needs no store and trusts nothing but the verifier keys it is
// given.
package checkpoint
