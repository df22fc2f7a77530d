// Package pebblelog keeps a log on disk, in Pebble.
//
// # A store
//
// A store is a directory:
//
//	FORMAT    one line: what this is, and the version of its layout
//	HEAD      the newest tree head, in two slots (see below)
//	LOCK      held while a process has the store open for writing
//	pebble/   the database
//
// The database has four kinds of keys:
//
//	e position            → the event's record (events.AppendRecord) and the
//	                        hashes of the Merkle tree that it completes
//	s campaign sequence   → the event's position
//	o consumer            → a consumer's offset
//	v key                 → a value apart from the events (events.ValueStore)
//
// # Durability
//
// One goroutine, the committer, assigns positions, grows the tree and writes
// what the writers have queued as one batch. A second one waits until the disk
// has it and then answers the writers, while the committer prepares the next
// batch. Nothing is visible to a reader of the log before it is durable, and
// readers see it just before its writer is answered. A batch that met a
// conflict is never written: the committer decides before it adds anything to
// what it writes.
//
// After the first failure to write, nothing more is written: the log refuses to
// append, readers go on, and the disk is left as a crash at that moment would
// leave it. No failure ends the process.
//
// # Reading
//
// A reader takes no lock and writes nothing: it holds the files of one moment
// open (Options.ReadOnly), so that it disturbs no writer and is disturbed by
// none. It needs the right to read the files, which a new store gives to its
// user alone. Of a store that is being written to, it also shows what was
// written a moment ago and is not known to be durable, which its notes say.
//
// # Integrity
//
// The records are the leaves of an RFC 6962 Merkle tree, so that a log can be
// shown to contain an event and to extend an earlier checkpoint. A record does
// not hold its event's position: that is the key it is stored under, and the
// leaf's index plus one. So an event in another's place is a fault of the tree,
// which Verify finds; a reader finds it because the sequences of its campaign
// no longer count up. The tree's head (the number of events and the root hash)
// is also kept in HEAD, outside the database, because the database alone may
// take a damaged tail for the end of the log. Opening compares the two and
// refuses a store that has fewer events than its head says, without changing
// it. [Log.Verify] checks every byte that matters.
//
// HEAD is written after each sync of the database, and itself left for the
// system to sync. So its newest state survives the death of the process but not
// a power failure: a power failure and damage to the end of the database,
// together, could hide the events of the last moments.
package pebblelog
