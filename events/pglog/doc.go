// Package pglog keeps logs in a PostgreSQL database, so that many machines have
// the same ones and the loss of one machine loses nothing.
//
// # A store
//
// A store is a row of cd_head and the rows that name it:
//
//	cd_head    a row a store: how many events there are, their root hash, the
//	           right edge of their tree, and who holds the store
//	cd_event   a row an event: its position, campaign and sequence, its record
//	           (events.AppendRecord), the hashes that it completes, and which
//	           append wrote it
//	cd_offset  consumers' offsets
//	cd_value   values that are no events (events.ValueStore)
//	cd_file    attached files ([Files]): their digests, and their bytes
//	           in parts (cd_file_part)
//	cd_worker  a row a process that can hold stores: its heartbeat
//	cd_letter  what processes ask of each other, and the answers
//	cd_schema  the version of these tables
//
// Records, hashes and root are those of events/pebblelog, byte for byte. The
// tree is computed here: the database is not trusted with it, and [Log.Verify]
// computes all of it again.
//
// # One statement
//
// An append is one statement: it changes the head's row from what the writer
// has seen to what it becomes, and inserts the events of a group only if that
// row was still so. Positions without a gap, the batch that is stored whole, the
// tree, the refusal of a writer that was late, and the one that has lost its
// hold on the store ([Log.Hold]) are the same comparison. Each log has a
// committer, which groups what its writers have queued. After it came too late
// it queues at the row instead, so that it is not always late.
//
// # Unknown ends
//
// A connection can break when the statement is on its way, and then it may be
// stored or not. Each append has a random identifier: on a new connection the
// head either stands where it stood, and the same statement is sent again, of
// which at most one can match; or it has moved, and the first event behind it
// says whose append it was. So a writer gets ErrUncertain only where it did not
// wait for that.
//
// # Three rules
//
// The primary of a replicated database acknowledges a commit once a standby has
// it. That alone does not keep what was acknowledged. Three rules do, which this
// package keeps; the trials of internal/tests/faults lose events without them:
//
//   - No statement is ever cancelled. PostgreSQL answers the cancelling of a
//     commit that waits for a standby by showing it to all, though no standby
//     has it. A context ends its caller's wait and never the statement;
//     a statement that takes too long loses its connection; and the request to
//     cancel, which pgx sends whenever a connection breaks, is refused (dial).
//   - A warning is an unknown end. When another session cancels the wait, the
//     server reports success, with a warning that pgx keeps to itself.
//   - Each new connection begins with a barrier: an empty commit that a standby
//     must confirm, in a bounded time. A primary of the past, which no
//     standby follows any more, can show events that were never acknowledged and lack
//     others; it cannot pass the barrier. Nor is a server believed that is on an
//     earlier timeline than one that was seen.
//
// Nor does a primary whose machine is gone, and which neither answers nor
// refuses, hold anything up: while a statement is not answered, another primary
// is looked for, and once one is seen, all that is connected to the old one is
// cut.
//
// What they cannot prevent is that an administrator cancels a wait while
// connections of other processes live: their readers see that commit before a
// standby has it, until their next barrier.
//
// # Workers
//
// A process that is to be the only one to append to a store is a [Worker], and
// takes hold of the store ([Log.Hold]). That raises the epoch in the head's
// row, which every append compares: whatever an earlier holder has still on its
// way is not stored. The heartbeat is for liveness alone, one row a process: a
// worker that was not heard of for five seconds is taken for dead, and ceases to
// believe itself after four, by its own clock. Who could not reach the database
// itself for a while waits that long before it takes others for dead: after a
// failover all of them come back together.
//
// Processes ask each other by letters in the database ([Database.Ask]), so that
// they need no other way to each other.
//
// # Reading
//
// Readers use the primary alone, and take the head with each look, in one
// statement: a database that has less than was seen is damaged, and not a
// shorter log. Followers are woken by notifications, which are sent after the
// appends and never in their transaction, where they would make every append of
// the database wait for the one before; and by a look at all their heads each
// second.
package pglog
