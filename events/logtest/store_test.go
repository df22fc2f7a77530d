package logtest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/pebblelog"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// brokenStore is a sound store with one fault.
type brokenStore struct {
	events.Store
	campaigns func([]string) []string
	head      func(tlog.Tree) tlog.Tree
	report    func(*events.Report)
	check     func(campaign string, err error) error
	extends   func(old tlog.Tree, err error) error
	inclusion func(p events.Position, size int64, proof tlog.RecordProof, err error) (tlog.RecordProof, error)
	growth    func(old, size int64, proof tlog.TreeProof, err error) (tlog.TreeProof, error)
	values    func(changes []events.KeyValue) []events.KeyValue
	swap      func(s events.Store, key string, before, after []byte) (bool, error)
	err       error
}

func (b *brokenStore) SetValues(ctx context.Context, changes ...events.KeyValue) error {
	if b.values != nil {
		changes = b.values(changes)
	}
	return b.Store.SetValues(ctx, changes...)
}

func (b *brokenStore) SwapValue(ctx context.Context, key string, before, after []byte) (bool, error) {
	if b.swap != nil {
		return b.swap(b.Store, key, before, after)
	}
	return b.Store.SwapValue(ctx, key, before, after)
}

func (b *brokenStore) Campaigns(ctx context.Context) ([]string, error) {
	names, err := b.Store.Campaigns(ctx)
	if b.campaigns != nil {
		names = b.campaigns(names)
	}
	return names, err
}

func (b *brokenStore) Head(ctx context.Context) (tlog.Tree, error) {
	head, err := b.Store.Head(ctx)
	if b.head != nil {
		return b.head(head), nil
	}
	return head, err
}

func (b *brokenStore) Verify(ctx context.Context) (events.Report, error) {
	report, err := b.Store.Verify(ctx)
	if b.report != nil {
		b.report(&report)
	}
	return report, err
}

func (b *brokenStore) Check(ctx context.Context, campaign string) error {
	err := b.Store.Check(ctx, campaign)
	if b.check != nil {
		return b.check(campaign, err)
	}
	return err
}

func (b *brokenStore) VerifyExtends(ctx context.Context, old tlog.Tree) error {
	err := b.Store.VerifyExtends(ctx, old)
	if b.extends != nil {
		return b.extends(old, err)
	}
	return err
}

func (b *brokenStore) ProveEvent(ctx context.Context, p events.Position, size int64) (tlog.RecordProof, error) {
	proof, err := b.Store.ProveEvent(ctx, p, size)
	if b.inclusion != nil {
		return b.inclusion(p, size, proof, err)
	}
	return proof, err
}

func (b *brokenStore) ProveExtends(ctx context.Context, old, size int64) (tlog.TreeProof, error) {
	proof, err := b.Store.ProveExtends(ctx, old, size)
	if b.growth != nil {
		return b.growth(old, size, proof, err)
	}
	return proof, err
}

func (b *brokenStore) Err() error { return errors.Join(b.err, b.Store.Err()) }

// TestSuiteCatchesStores runs the laws of a store on stores that each break one of them.
func TestSuiteCatchesStores(t *testing.T) {
	empty := must.Get(tlog.TreeHash(0, nil))(t)
	for _, c := range []struct {
		name   string
		store  brokenStore
		caught string // the law that must be found broken; none for a sound store
	}{
		{"sound", brokenStore{}, ""},
		{"sorts the campaigns by name", brokenStore{campaigns: func(names []string) []string {
			return slices.Sorted(slices.Values(names))
		}}, "Campaigns"},
		{"forgets the newest campaign", brokenStore{campaigns: func(names []string) []string {
			return names[:max(0, len(names)-1)]
		}}, "Campaigns"},
		{"has a root of its own", brokenStore{head: func(h tlog.Tree) tlog.Tree { h.Hash[31] ^= 1; return h }}, "Head"},
		{"has a head that stays", brokenStore{head: func(tlog.Tree) tlog.Tree { return tlog.Tree{Hash: empty} }}, "Head"},
		{"has no root for an empty log", brokenStore{head: func(h tlog.Tree) tlog.Tree {
			if h.N == 0 {
				return tlog.Tree{}
			}
			return h
		}}, "Head"},
		{"does not read all", brokenStore{report: func(r *events.Report) { r.Read = min(r.Read, 512) }}, "Verify"},
		{"verifies without a root", brokenStore{report: func(r *events.Report) { r.Root = tlog.Hash{} }}, "Verify"},
		{"finds faults where there are none", brokenStore{report: func(r *events.Report) {
			r.Faults = []events.Fault{{What: "?"}}
		}}, "Verify"},
		{"checks a campaign of no events as a fault", brokenStore{check: func(campaign string, err error) error {
			if campaign == "absent" {
				return events.ErrDamaged
			}
			return err
		}}, "Verify"},
		{"checks what is closed", brokenStore{check: func(string, error) error { return nil }}, "ClosedStore"},
		{"extends everything", brokenStore{extends: func(tlog.Tree, error) error { return nil }}, "Extends"},
		{"extends what is longer", brokenStore{extends: func(old tlog.Tree, err error) error {
			if old.N > 35 {
				return nil
			}
			return err
		}}, "Extends"},
		{"extends nothing", brokenStore{extends: func(tlog.Tree, error) error { return events.ErrNotExtended }}, "Extends"},
		{"proves another event", brokenStore{inclusion: func(
			p events.Position, size int64, proof tlog.RecordProof, err error,
		) (tlog.RecordProof, error) {
			return slices.Clip(proof[:len(proof)/2]), err
		}}, "Proofs"},
		{"proves what is not there", brokenStore{inclusion: func(
			_ events.Position, _ int64, proof tlog.RecordProof, _ error,
		) (tlog.RecordProof, error) {
			return proof, nil
		}}, "Proofs"},
		{"proves a growth that was none", brokenStore{growth: func(
			_, _ int64, proof tlog.TreeProof, _ error,
		) (tlog.TreeProof, error) {
			return proof, nil
		}}, "Proofs"},
		{"removes no value", brokenStore{values: func(changes []events.KeyValue) []events.KeyValue {
			return slices.DeleteFunc(changes, func(c events.KeyValue) bool { return c.Value == nil })
		}}, "Values"},
		{"takes an empty value for none", brokenStore{values: func(changes []events.KeyValue) []events.KeyValue {
			return slices.DeleteFunc(changes, func(c events.KeyValue) bool { return c.Value != nil && len(c.Value) == 0 })
		}}, "Values"},
		{"keeps what can be kept of wrong changes", brokenStore{values: func(changes []events.KeyValue) []events.KeyValue {
			return slices.DeleteFunc(changes, func(c events.KeyValue) bool { return events.CheckValues([]events.KeyValue{c}) != nil })
		}}, "ValuesRefused"},
		{"looks at a value, and then sets it", brokenStore{swap: func(
			s events.Store, key string, before, after []byte,
		) (bool, error) {
			now, err := s.Value(t.Context(), key)
			if err != nil || (now == nil) != (before == nil) || string(now) != string(before) {
				return false, err
			}
			time.Sleep(time.Millisecond)
			return true, s.SetValues(t.Context(), events.KeyValue{Key: key, Value: after})
		}}, "SwapValue"},
		{"swaps an empty value for a missing one", brokenStore{swap: func(
			s events.Store, key string, before, after []byte,
		) (bool, error) {
			if now, err := s.Value(t.Context(), key); err == nil && now != nil && len(now) == 0 && before == nil {
				before = now
			}
			return s.SwapValue(t.Context(), key, before, after)
		}}, "SwapValue"},
		{"has failed", brokenStore{err: events.ErrStopped}, "Working"},
		{"has a head though it is closed", brokenStore{head: func(h tlog.Tree) tlog.Tree { return h }}, "ClosedStore"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var found []string
			for _, l := range storeLaws {
				if l.durable {
					continue
				}
				inner := must.Get(pebblelog.Open("store", pebblelog.Options{FS: vfs.NewMem()}))(t)
				store := c.store
				store.Store = inner
				if l.check(&subject{Log: &store, patience: 10 * time.Second}) != nil {
					found = append(found, l.name)
				}
				if err := inner.Close(); err != nil {
					t.Error(err)
				}
			}
			if c.caught == "" && found != nil || c.caught != "" && !slices.Contains(found, c.caught) {
				t.Errorf("found broken are %v, want %q", found, c.caught)
			}
		})
	}
}

// Law: a store that comes back with another head, or without a campaign, is found out.
func TestSuiteCatchesAnotherStore(t *testing.T) {
	s := &subject{patience: 10 * time.Second}
	open := func() events.Log {
		log := must.Get(pebblelog.Open("store", pebblelog.Options{FS: vfs.NewMem()}))(t)
		t.Cleanup(func() { _ = log.Close() })
		return log
	}
	s.Log = open()
	s.reopen = func(events.Log) events.Log { return open() }
	if checkSameHead(s) == nil {
		t.Error("an empty store in place of another is not found out")
	}
}
