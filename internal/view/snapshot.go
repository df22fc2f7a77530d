package view

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
)

// resting is a campaign at rest. A snapshot from the store is not trusted fully:
// if it cannot be restored, log gives the campaign again.
type resting struct {
	sequence events.Sequence
	packed   []byte     // a [packing]: JSON, compressed
	log      events.Log // holds its events; nil where it was packed in this process
}

// packing is the content of a campaign at rest. The core's snapshot does not hold the places of the
// decisions, which [Record.Made] looks up.
type packing struct {
	Core engine.Snapshot   `json:"core"`
	Made []events.Sequence `json:"made,omitempty"`
}

// Rest takes the folded state out of memory, unless the campaign was read since the last call, and
// reports whether it is out. The next reader, or the next event, brings it back. A caller that
// calls it at intervals thus puts records to rest that were not read for a whole interval.
func (r *Record) Rest() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read || r.core != nil && r.pack() != nil {
		r.read = false
		return false
	}
	if r.core != nil {
		r.standing()
		r.core, r.made = nil, nil
	}
	if r.reading.TryLock() { // otherwise it is being read, and rests another time
		r.timeline = nil
		r.reading.Unlock()
	}
	return true
}

// pack brings the snapshot of the folded state up to date. The lock is held. An
// unchanged campaign keeps its old snapshot, which may be the store's.
func (r *Record) pack() error {
	switch {
	case r.broken != nil:
		return r.broken
	case r.resting != nil && r.resting.sequence == r.sequence():
		return nil
	}
	core, err := r.core.Snapshot()
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err == nil {
		err = json.NewEncoder(w).Encode(packing{core, r.made})
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	r.resting = &resting{sequence: r.sequence(), packed: bytes.Clone(packed.Bytes())}
	return nil
}

// wake brings a campaign at rest back, and reports whether it is there. A
// snapshot that cannot be restored is dropped, and the log folded. The lock is
// held. Where it returns false, broken says why.
//
// A snapshot that was packed in this process and cannot be restored breaks the
// record, since it has no log to go back to; one from the store does not.
func (r *Record) wake() bool {
	if r.core != nil || r.broken != nil {
		return r.core != nil
	}
	core, made, err := r.resting.unpack(r)
	if err == nil {
		r.core, r.made = core, made
		return true
	}
	from := r.resting
	r.resting = nil
	if from.log == nil {
		r.broken = err
		return false
	}
	r.core = engine.NewCore(r.registry)
	// Without a usable snapshot the log is folded, as if there had been none.
	r.fold(context.Background(), from.log, from.sequence)
	if r.broken == nil && r.core.State().Sequence != from.sequence {
		r.broken = err
	}
	if r.broken != nil {
		r.core = nil
	}
	return r.core != nil
}

// unpack returns a record's campaign at rest, and the sequences of its decisions. Its owner and its
// event are looked at again after the checksum: a value may be whole and stand under another key.
func (at *resting) unpack(r *Record) (*engine.Core, []events.Sequence, error) {
	text := flate.NewReader(bytes.NewReader(at.packed))
	var p packing
	if err := json.NewDecoder(text).Decode(&p); err != nil {
		return nil, nil, err
	}
	core := engine.NewCore(r.registry)
	if err := core.Restore(p.Core); err != nil {
		return nil, nil, err
	}
	if s := core.State(); s.Sequence != at.sequence || s.Name != r.name {
		return nil, nil, fmt.Errorf("the snapshot is of event %d of %q", s.Sequence, s.Name)
	}
	return core, p.Made, nil
}

// Snapshots keep records of a store's campaigns as values of the store, so that
// a process that opens it folds only the events that came since. They are a
// cache: with, without and with damaged ones, every reader sees the same. One
// is believed where it has its checksum, is of this build of the program and of
// that campaign, and the log begins with the events that it was folded from.
//
// The methods may be called by several goroutines.
type Snapshots struct {
	store events.Store
	build events.Build

	mu      sync.Mutex
	extends map[tlog.Tree]bool  // heads that were compared with the log
	kept    map[string]keptKeys // of each campaign that was looked for or written
}

// keptKeys are the keys of a campaign's values. They are remembered so that a
// Write need not look through the store again.
type keptKeys struct {
	good []string // oldest first: the last one is believed
	bad  []string // to be removed
}

// NewSnapshots returns the snapshots in a store that build writes and believes: nil for a build
// without a revision, for two such programs may fold differently.
func NewSnapshots(store events.Store, build events.Build) *Snapshots {
	return &Snapshots{
		store: store, build: build,
		extends: make(map[tlog.Tree]bool),
		kept:    make(map[string]keptKeys),
	}
}

// snapshotFormat is the version of the layout of a snapshot's value: the checksum of all that
// follows (SHA-256), the length of the heading (4 bytes, big-endian), the heading as JSON, and the
// campaign at rest.
const snapshotFormat = 1

// mostSnapshots is how many are kept of a campaign: an older one is there where
// the newest cannot be believed.
const mostSnapshots = 2

// heading identifies the subject of a snapshot.
type heading struct {
	Build events.Build `json:"build"`
	// Head is that of the log, at the event or later.
	Head   tlog.Tree `json:"head"`
	Stands Campaign  `json:"stands"`
}

// snapshotPrefix begins the keys of a campaign's snapshots. The format is in it,
// so that another version of the program neither reads nor removes them; the
// sequence follows with leading zeros, so that keys sort by it.
func snapshotPrefix(campaign string) string {
	return fmt.Sprintf("record/%d/%s/", snapshotFormat, url.PathEscape(campaign))
}

// Restore puts a record before its first event, at rest, to the state of the newest snapshot that
// is believed. The record stays as it is without such a snapshot. An error of the store is not
// returned: the log is folded instead.
func (s *Snapshots) Restore(ctx context.Context, r *Record) {
	found, stands, keys := s.newest(ctx, r.name, func(Campaign) bool { return true })
	if found != nil {
		r.mu.Lock()
		r.core = nil
		r.stands = stands
		r.resting = found
		r.snapshots = s
		r.mu.Unlock()
	}
	s.mu.Lock()
	s.kept[r.name] = keys
	s.mu.Unlock()
}

// newest returns the newest snapshot of a campaign that is believed and that fits accepts, nil
// without one, and the keys of all that are kept. It looks from the newest on, and notes those that
// it passed over as bad, to be removed by the next Write.
func (s *Snapshots) newest(
	ctx context.Context, campaign string, fits func(Campaign) bool,
) (found *resting, stands *Campaign, keys keptKeys) {
	if s.build.Revision == "" {
		return nil, nil, keys
	}
	var all []events.KeyValue
	for kv, err := range s.store.Values(ctx, snapshotPrefix(campaign)) {
		if err != nil {
			return nil, nil, keys
		}
		all = append(all, kv)
	}
	for i, kv := range slices.Backward(all) {
		h, packed, ok := parseSnapshot(kv.Value)
		if !ok || h.Build != s.build || h.Stands.Campaign != campaign || h.Stands.Definition == nil ||
			!fits(h.Stands) || !s.extended(ctx, h.Head) {
			keys.bad = append(keys.bad, kv.Key)
			continue
		}
		for _, older := range all[:i+1] {
			keys.good = append(keys.good, older.Key)
		}
		found = &resting{sequence: h.Stands.Sequence, packed: packed, log: s.store}
		return found, &h.Stands, keys
	}
	return nil, nil, keys
}

// extended reports whether the log extends a head. Answers are remembered, since
// the snapshots of one process share few heads; an error that says neither is
// asked again.
func (s *Snapshots) extended(ctx context.Context, head tlog.Tree) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.extends[head]
	if !ok {
		err := s.store.VerifyExtends(ctx, head)
		if known = err == nil; known || errors.Is(err, events.ErrNotExtended) {
			s.extends[head] = known
		}
	}
	return known
}

// Write keeps a snapshot of a record, unless one of its last event exists. Nothing waits for the
// disk: a snapshot that a crash loses is folded again. Old and bad ones are removed by the same
// call.
func (s *Snapshots) Write(ctx context.Context, r *Record) error {
	if s.build.Revision == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snapshots = s
	key := fmt.Sprintf("%s%020d", snapshotPrefix(r.name), r.sequence())
	s.mu.Lock()
	keys := s.kept[r.name]
	s.mu.Unlock()
	good := slices.Clone(keys.good)
	if len(good) > 0 && good[len(good)-1] == key {
		return nil
	}
	if err := r.pack(); err != nil {
		return err
	}
	head, err := s.store.Head(ctx) // it holds the event: a store gives none before it is durable
	if err != nil {
		return err
	}
	value, err := formatSnapshot(heading{s.build, head, r.standing()}, r.resting.packed)
	if err != nil || len(value) > events.MaxValueSize {
		return err // one that is too long is not kept: the log is folded
	}
	var changes []events.KeyValue
	for len(good) >= mostSnapshots {
		changes = append(changes, events.KeyValue{Key: good[0]})
		good = good[1:]
	}
	for _, bad := range keys.bad {
		changes = append(changes, events.KeyValue{Key: bad})
	}
	changes = append(changes, events.KeyValue{Key: key, Value: value}) // which may be a bad one's
	if err := s.store.SetValuesLazily(ctx, changes...); err != nil {
		return err
	}
	s.mu.Lock()
	s.kept[r.name] = keptKeys{good: append(good, key)}
	s.mu.Unlock()
	return nil
}

// formatSnapshot writes a value as snapshotFormat describes it. The heading is
// apart from the state, so that a lab's list is drawn without unpacking any.
func formatSnapshot(h heading, packed []byte) ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	value := make([]byte, sha256.Size, sha256.Size+4+len(text)+len(packed))
	value = binary.BigEndian.AppendUint32(value, uint32(len(text)))
	value = append(append(value, text...), packed...)
	sum := sha256.Sum256(value[sha256.Size:])
	copy(value, sum[:])
	return value, nil
}

// parseSnapshot reads a value. Nothing of it is decoded before the checksum holds, and lengths are
// compared with the bytes at hand: a store may hand out anything.
func parseSnapshot(value []byte) (h heading, packed []byte, ok bool) {
	if len(value) < sha256.Size+4 {
		return h, nil, false
	}
	rest := value[sha256.Size:]
	if sum := sha256.Sum256(rest); !bytes.Equal(sum[:], value[:sha256.Size]) {
		return h, nil, false
	}
	n := binary.BigEndian.Uint32(rest)
	if rest = rest[4:]; uint64(n) > uint64(len(rest)) {
		return h, nil, false
	}
	if json.Unmarshal(rest[:n], &h) != nil {
		return h, nil, false
	}
	return h, bytes.Clone(rest[n:]), true
}
