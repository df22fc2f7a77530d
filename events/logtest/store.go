package logtest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
)

// RunStore checks the contract of [events.Store]: every law of [Run], and those of a store's
// proofs. open returns a new, empty store; the suite closes it. reopen closes a store and opens it
// again.
func RunStore(
	t *testing.T, open func(testing.TB) events.Store, reopen func(testing.TB, events.Store) events.Store,
) {
	run(t, slices.Concat(laws, storeLaws),
		func(t testing.TB) events.Log { return open(t) },
		func(t testing.TB, log events.Log) events.Log { return reopen(t, log.(events.Store)) })
}

// storeLaws are the laws of [events.Store] beyond those of a log.
var storeLaws = []law{
	{"Campaigns", "Campaigns names the campaigns in the order of their first events",
		false, checkCampaigns},
	{"Head", "the head is that of the RFC 6962 tree over the events' records", false, checkHead},
	{"Verify", "a log as it was written is sound, and its root is the head's", false, checkVerify},
	{"Extends", "a log extends each earlier head of its own, and no other", false, checkExtends},
	{"Proofs", "each event, and each growth, can be proved to someone who has a head alone",
		false, checkProofs},
	{"Working", "a store that works says so", false, checkWorking},
	{"Values", "a key has the value that was last set, no other key shares it, and it adds no event",
		false, checkValues},
	{"ValuesRefused", "if one change of several is refused, none is made",
		false, checkValuesRefused},
	{"SwapValue", "a value is changed by one of those who have seen what it was, and by no other",
		false, checkSwapValue},
	{"ClosedStore", "a closed store proves nothing any more", false, checkClosedStore},
	{"SameHead", "a store has the same head and campaigns after reopening, and extends it as " +
		"it grows", true, checkSameHead},
	{"ValuesReopened", "the values are there after reopening, and what was removed is not",
		true, checkValuesReopened},
}

// store is the log under test as a store. RunStore has opened a store, so that
// the assertion cannot fail.
func (s *subject) store() events.Store { return s.Log.(events.Store) }

// tree is a Merkle tree that is computed from events alone: the oracle for a store's answers. It
// shares the records' form with the store (events.AppendRecord) and nothing else: hashes and proofs
// are those of the library that a stranger would use. hashes are all of the stored hashes in the
// library's order, leaves those of the records alone.
type tree struct {
	hashes []tlog.Hash
	leaves []tlog.Hash
}

// ReadHashes implements tlog.HashReader.
func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		out[i] = t.hashes[index]
	}
	return out, nil
}

// root returns the root hash of the first n events.
func (t *tree) root(n int64) (tlog.Hash, error) { return tlog.TreeHash(n, t) }

// treeOf returns the tree over events. It takes every event again and keeps
// nothing between calls: slow, and independent of how a store grows its tree.
func treeOf(all []events.Event) (*tree, error) {
	t := new(tree)
	for i, e := range all {
		record, err := events.AppendRecord(nil, e)
		if err != nil {
			return nil, err
		}
		hashes, err := tlog.StoredHashes(int64(i), record, t)
		if err != nil {
			return nil, err
		}
		t.hashes = append(t.hashes, hashes...)
		t.leaves = append(t.leaves, tlog.RecordHash(record))
	}
	return t, nil
}

// grown returns the tree over n more events than the log has. They are of
// several campaigns, in batches: the tree is over the whole log.
func (s *subject) grown(n int) (*tree, error) {
	ctx, cancel := s.context()
	defer cancel()
	// Ten events a batch, and a rest: a store may hash a batch at a time, and
	// the last is not full.
	for i := 0; i < n; i += 10 {
		var batch []events.Event
		for j := i; j < min(i+10, n); j++ {
			batch = append(batch, sample(j))
		}
		if _, err := s.Append(ctx, []string{"a", "ab", "a/ü"}[i%3], events.AnySequence,
			batch...); err != nil {
			return nil, err
		}
	}
	all, err := s.readAll(0)
	if err != nil {
		return nil, err
	}
	return treeOf(all)
}

// checkCampaigns appends to campaigns again after others have begun: only the
// first event counts for the order. A store that lists the keys of its index
// has them by name, and one that remembers the newest write has them by that;
// lists of campaigns would then change their order as they go on.
func checkCampaigns(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	var want []string
	// Neither alphabetical order nor that of the newest events is that of the
	// beginnings.
	for i, campaign := range []string{"m", "z", "a", "m", "ü/b", "zz", "a", "z"} {
		got, err := s.store().Campaigns(ctx)
		if err != nil || !slices.Equal(got, want) {
			return fmt.Errorf("after %d appends the campaigns are %q, %v; want %q",
				i, got, err, want)
		}
		if _, err := s.Append(ctx, campaign, events.AnySequence, plain(1+i)...); err != nil {
			return err
		}
		if !slices.Contains(want, campaign) {
			want = append(want, campaign)
		}
	}
	// A batch that was refused begins none.
	var conflict *events.ConflictError
	if _, err := s.Append(ctx, "refused", 7, plain(1)...); !errors.As(err, &conflict) {
		return fmt.Errorf("a conflict: %v", err)
	}
	if got, err := s.store().Campaigns(ctx); err != nil || !slices.Equal(got, want) {
		return fmt.Errorf("after a refusal the campaigns are %q, %v; want %q", got, err, want)
	}
	return nil
}

// checkHead compares the head after every event with a tree that is computed
// from the events alone. A head that lags behind the events, or covers one that
// is not there, makes an honest store look forged; one that hashes its own form
// of a record in place of the shared one cannot be checked by others at all.
func checkHead(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	var all []events.Event
	// All shapes of a tree of up to 19 leaves, complete ones (1, 2, 4, 8, 16)
	// among them, where the right edge collapses to one hash.
	for n := range 20 {
		head, err := s.store().Head(ctx)
		if err != nil {
			return err
		}
		want, err := treeOf(all)
		if err != nil {
			return err
		}
		root, err := want.root(int64(n))
		if err != nil || head != (tlog.Tree{N: int64(n), Hash: root}) {
			return fmt.Errorf("the head of %d events is %v, %v; their root hash is %v",
				n, head, err, root)
		}
		stored, err := s.Append(ctx, "a", events.AnySequence, sample(n))
		if err != nil {
			return err
		}
		all = append(all, stored...)
	}
	return nil
}

// checkVerify also checks the store campaign by campaign, one that it does not
// hold included. Sizes are that of an empty log, of one event, and of more than
// a store is likely to read at once. Verify that cries wolf is as bad as one
// that sees nothing: after the first false report no one believes the next.
// What it must find in a damaged store is tested with the store.
func checkVerify(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	for _, n := range []int{0, 1, 700} { // 700 are more than a store is likely to read at once
		want, err := s.grown(n)
		if err != nil {
			return err
		}
		size := int64(len(want.leaves))
		root, err := want.root(size)
		if err != nil {
			return err
		}
		report, err := s.store().Verify(ctx)
		if err != nil {
			return err
		}
		for _, campaign := range []string{"", "a", "absent"} {
			if err := s.store().Check(ctx, campaign); err != nil {
				return fmt.Errorf("of %d events, those of %q: %w", size, campaign, err)
			}
		}
		if !report.Sound() || report.More != 0 {
			return fmt.Errorf("of %d events there are faults: %v and %d more",
				size, report.Faults, report.More)
		}
		if report.Events != events.Position(size) || report.Read != report.Events || report.Root != root {
			return fmt.Errorf("%d events with the root %v are reported as %+v", size, root, report)
		}
		if head, err := s.store().Head(ctx); err != nil || head.Hash != report.Root {
			return fmt.Errorf("the head is %v, %v, and what was verified %v",
				head, err, report.Root)
		}
	}
	return nil
}

// checkExtends tries heads with a wrong hash, with a wrong size, and of sizes that no log has. A
// rewritten log has a head of the right size with another hash. A store that compares sizes alone
// says yes to any log that is longer.
func checkExtends(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	var heads []tlog.Tree
	for range 5 {
		head, err := s.store().Head(ctx)
		if err != nil {
			return err
		}
		heads = append(heads, head)
		if _, err := s.Append(ctx, "a", events.AnySequence, plain(7)...); err != nil {
			return err
		}
	}
	for _, head := range heads {
		if err := s.store().VerifyExtends(ctx, head); err != nil {
			return fmt.Errorf("its own head of %d events: %w", head.N, err)
		}
		other := head
		// One bit of the root: nothing but the hash tells the two apart.
		other.Hash[0] ^= 1
		for _, wrong := range []tlog.Tree{other, {N: head.N + 1, Hash: head.Hash}} {
			if err := s.store().VerifyExtends(ctx, wrong); !errors.Is(err, events.ErrNotExtended) {
				return fmt.Errorf("another head of %d events: %v, want ErrNotExtended",
					wrong.N, err)
			}
		}
	}
	// These come from a file that anyone may have written. Sizes at the edges
	// of the type overflow in the arithmetic of the tree, where they are not
	// refused first.
	for _, n := range []int64{36, math.MaxInt64, -1, math.MinInt64} {
		if err := s.store().VerifyExtends(ctx,
			tlog.Tree{N: n, Hash: heads[4].Hash}); !errors.Is(err, events.ErrNotExtended) {
			return fmt.Errorf("a head of %d events of 35: %v, want ErrNotExtended", n, err)
		}
	}
	return nil
}

// checkProofs checks every proof of a small log with the library that a stranger would use, and
// asks for proofs of false claims. Every event is proved in every size of the log: the shapes of
// the tree differ with each, and such code goes wrong at edges.
func checkProofs(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	want, err := s.grown(33)
	if err != nil {
		return err
	}
	last := int64(len(want.leaves))
	for size := int64(1); size <= last; size++ {
		root, err := want.root(size)
		if err != nil {
			return err
		}
		for n := int64(1); n <= size; n++ {
			inclusion, err := s.store().ProveEvent(ctx, events.Position(n), size)
			if err == nil {
				err = tlog.CheckRecord(inclusion, size, root, n-1, want.leaves[n-1])
			}
			if err != nil {
				return fmt.Errorf("that position %d is among the first %d: %w", n, size, err)
			}
			old, err := want.root(n)
			if err != nil {
				return err
			}
			growth, err := s.store().ProveExtends(ctx, n, size)
			if err == nil {
				err = tlog.CheckTree(growth, size, root, n, old)
			}
			if err != nil {
				return fmt.Errorf("that the first %d begin with the first %d: %w", size, n, err)
			}
		}
	}
	// False claims have no proof. A store that answers with some hashes in place of an error leaves
	// it to the verifier to find out, who may believe that the log was changed.
	for _, c := range []struct{ n, size int64 }{{0, last}, {last, last - 1}, {last + 1, last + 1},
		{1, last + 1}} {
		if _, err := s.store().ProveEvent(ctx, events.Position(c.n), c.size); err == nil {
			return fmt.Errorf("there is a proof that position %d is among the first %d of %d",
				c.n, c.size, last)
		}
		if _, err := s.store().ProveExtends(ctx, c.n, c.size); err == nil {
			return fmt.Errorf("there is a proof that the first %d of %d begin with the first %d",
				c.size, last, c.n)
		}
	}
	return nil
}

// checkWorking: failing disks are tested with the store that has one. Here a working store must not
// report failure. A channel of Failed that is closed too early would stop a healthy campaign: the
// lab waits on it for as long as the store is open.
func checkWorking(s *subject) error {
	if _, err := s.fill(3); err != nil {
		return err
	}
	if err := errors.Join(s.store().Err(), s.store().Probe()); err != nil {
		return err
	}
	select {
	case <-s.store().Failed():
		return errors.New("the channel of Failed is closed")
	default:
		return nil
	}
}

// checkClosedStore is checkClosed for the methods of a store beyond those of a log. A head that is
// answered from memory after closing is the fault to expect: it may be older than the one on disk.
func checkClosedStore(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	if _, err := s.fill(5); err != nil {
		return err
	}
	store := s.store()
	head, err := store.Head(ctx)
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		return err
	}
	_, campaignsErr := store.Campaigns(ctx)
	_, headErr := store.Head(ctx)
	_, verifyErr := store.Verify(ctx)
	checkErr := store.Check(ctx, "")
	_, eventErr := store.ProveEvent(ctx, 1, head.N)
	_, growthErr := store.ProveExtends(ctx, 1, head.N)
	_, valueErr := store.Value(ctx, "k")
	var valuesErr error
	for _, err := range store.Values(ctx, "") {
		valuesErr = err
	}
	for what, err := range map[string]error{
		"Check":           checkErr,
		"Value":           valueErr,
		"Values":          valuesErr,
		"SetValues":       store.SetValues(ctx, set("k", "1")),
		"SetValuesLazily": store.SetValuesLazily(ctx, set("k", "1")),
		"Campaigns":       campaignsErr,
		"Head":            headErr,
		"Verify":          verifyErr,
		"ProveEvent":      eventErr,
		"ProveExtends":    growthErr,
		"VerifyExtends":   store.VerifyExtends(ctx, head),
	} {
		if !errors.Is(err, events.ErrClosed) {
			return fmt.Errorf("%s: %v, want ErrClosed", what, err)
		}
	}
	return nil
}

// checkSameHead opens a store again and compares its head, as checkpoints rely on. A head that
// changed by opening would make every checkpoint that was kept contradict the store. A tree that is
// kept in memory, and is rebuilt at opening from another form of the records, or without the last
// batch, shows here. Writes between the openings give the edge of the tree another shape each time.
func checkSameHead(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	for range 3 {
		if _, err := s.Append(ctx, "b", events.AnySequence, plain(5)...); err != nil {
			return err
		}
		if _, err := s.Append(ctx, "a", events.AnySequence, plain(3)...); err != nil {
			return err
		}
		before, err := s.store().Head(ctx)
		if err != nil {
			return err
		}
		if s.Log = s.reopen(s.Log); s.Log == nil {
			return errors.New("the store does not open again")
		}
		if after, err := s.store().Head(ctx); err != nil || after != before {
			return fmt.Errorf("after reopening the head is %v, %v; want %v", after, err, before)
		}
		if got, err := s.store().Campaigns(ctx); err != nil || !slices.Equal(got, []string{"b", "a"}) {
			return fmt.Errorf("after reopening the campaigns are %q, %v", got, err)
		}
		if _, err := s.Append(ctx, "a", events.AnySequence, plain(1)...); err != nil {
			return err
		}
		if err := s.store().VerifyExtends(ctx, before); err != nil {
			return err
		}
	}
	return nil
}
