package notify

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/campaignd/campaignd/events"
)

// snapshot is a planner's folded state, kept as a value of the lab's log. It is a cache: without
// it, both the stream and the stores are folded from their first events.
type snapshot struct {
	Build    events.Build    `json:"build"`
	Sequence events.Sequence `json:"sequence"` // of the last event of [Stream]
	State    *state          `json:"state"`
}

// snapshotKey is the key of the snapshot.
const snapshotKey = "notify/snapshot"

// restore continues from a snapshot that this build believes, if there is one, and folds the stream
// since then.
func (n *Notifier) restore(ctx context.Context) (err error) {
	n.planner, n.sequence, err = n.folded(ctx)
	return err
}

// folded returns a planner that has folded the snapshot and the stream, and the last sequence
// folded.
func (n *Notifier) folded(ctx context.Context) (p *Planner, sequence events.Sequence, err error) {
	log, err := n.options.Own()
	if err != nil {
		return nil, 0, err
	}
	data, err := log.Value(ctx, snapshotKey)
	if err != nil {
		return nil, 0, err
	}
	last, err := log.LastSequence(ctx, Stream)
	if err != nil {
		return nil, 0, err
	}
	p = NewPlanner(n.options.Lab)
	// Into the planner's own state, so that maps omitted by the JSON exist. On failure the state
	// may be half filled, and a new planner is made. A snapshot that counts more events than the
	// log holds belongs to a log that was since replaced by an older copy.
	kept := snapshot{State: p.state}
	if unpack(data, &kept) == nil && kept.Build == n.options.Build && kept.Sequence <= last {
		sequence = kept.Sequence
	} else {
		p = NewPlanner(n.options.Lab)
	}
	for e, err := range log.ReadCampaign(ctx, Stream, sequence) {
		if err != nil {
			return nil, 0, err
		}
		payload, err := vocabulary.Decode(e)
		if err != nil {
			return nil, 0, err
		}
		p.Take(e, payload)
		sequence = e.Sequence
	}
	return p, sequence, nil
}

// keep stores a snapshot, unless it would hold more than the log, or is too long.
func (n *Notifier) keep() {
	n.mu.Lock()
	defer n.mu.Unlock()
	// Pending events are in the state already, but not counted by the sequence: after a restart
	// they would be folded twice. A build without a revision cannot be told from any other one
	// without.
	if !n.changed || len(n.pending) > 0 || n.options.Build.Revision == "" {
		return
	}
	log, err := n.options.Own()
	if err != nil {
		return
	}
	data, err := pack(snapshot{n.options.Build, n.sequence, n.planner.state})
	if err != nil {
		return
	}
	value := events.KeyValue{Key: snapshotKey, Value: data}
	// Lazily: a lost snapshot only costs time at the next start. On failure, the next round tries
	// again.
	n.changed = log.SetValuesLazily(context.Background(), value) != nil
}

// pack returns a value as compressed JSON with a checksum.
func pack(v any) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	err := errors.Join(json.NewEncoder(w).Encode(v), w.Close())
	return b.Bytes(), err
}

// unpack is the inverse of pack. An error means that the value is not usable, never that the
// notifier cannot continue.
func unpack(data []byte, v any) error {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(r) // its end has the checksum
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// begin records the beginning of the stream.
func (n *Notifier) begin() error {
	e := newEvent(kindBegun, n.options.Now(), &begun{})
	n.planner.Take(e, &begun{})
	n.pending = append(n.pending, e)
	if n.options.Shared {
		return n.record()
	}
	return n.flush()
}

// flush appends the pending events. Nothing else appends to the stream, so that events found there
// unacknowledged are the first of the pending ones.
//
// Only New and Step call it, one after the other: so nothing else removes pending events while the
// lock is released, and events added meanwhile stay for the next time.
func (n *Notifier) flush() error {
	n.mu.Lock()
	pending := slices.Clone(n.pending)
	n.mu.Unlock()
	if len(pending) == 0 {
		return nil
	}
	log, err := n.options.Own()
	if err != nil {
		return err
	}
	ctx := context.Background()
	there, err := log.LastSequence(ctx, Stream)
	if err != nil {
		return err
	}
	known := int(there - n.sequence)
	if known > len(pending) {
		return fmt.Errorf("another process has written the stream %s of the lab's log", Stream)
	}
	if _, err := log.Append(ctx, Stream, there, pending[known:]...); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pending = n.pending[len(pending):]
	n.sequence += events.Sequence(len(pending))
	n.changed = true
	return nil
}
