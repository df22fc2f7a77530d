package logtest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/campaignd/campaignd/events"
)

// set is a change that gives a key a value.
func set(key, value string) events.KeyValue {
	return events.KeyValue{Key: key, Value: []byte(value)}
}

// hasValues reports whether the store keeps exactly want below a prefix, by
// both ways of asking. One key at a time and all below a prefix must agree, and
// the order is that of the keys. A value that is there and empty differs from
// none by not being nil, which bytes.Equal alone would not see.
func (s *subject) hasValues(prefix string, want ...events.KeyValue) error {
	ctx, cancel := s.context()
	defer cancel()
	var got []events.KeyValue
	for kv, err := range s.store().Values(ctx, prefix) {
		if err != nil {
			return err
		}
		got = append(got, kv)
	}
	equal := func(x, y events.KeyValue) bool { return x.Key == y.Key && bytes.Equal(x.Value, y.Value) }
	if !slices.EqualFunc(got, want, equal) {
		return fmt.Errorf("below %q there is %q, want %q", prefix, got, want)
	}
	for _, kv := range want {
		if got, err := s.store().Value(ctx, kv.Key); err != nil || got == nil || !bytes.Equal(got, kv.Value) {
			return fmt.Errorf("%q is %q, %v; want %q", kv.Key, got, err, kv.Value)
		}
	}
	return nil
}

// checkValues sets, overwrites, empties and removes values by both methods. An
// empty value is a value. Neither the events nor the head may change by it. The
// caller's own bytes are changed afterwards: the store keeps a copy. "a",
// "a/1", "a0" and "a/2" lie next to each other in a sorted store, and "a0"
// sorts behind all of "a/": a prefix that is taken one byte too far, or a key
// without an end, mixes them up.
func checkValues(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	all, err := s.fill(5)
	if err != nil {
		return err
	}
	before, err := s.store().Head(ctx)
	if err != nil {
		return err
	}
	// Changed below, after the store has acknowledged it.
	own := []byte("2")
	steps := []error{
		s.store().SetValues(ctx, set("a/2", "x"), events.KeyValue{Key: "a/1", Value: own},
			set("a", ""), set("b/ü", "3")),
		s.store().SetValuesLazily(ctx, set("a/2", "y"), set("a0", "4")),
		// SetValues without changes succeeds.
		s.store().SetValues(ctx),
		s.store().SetValues(ctx, events.KeyValue{Key: "a0"}, events.KeyValue{Key: "never set"},
			set("c", "5")),
	}
	own[0] = '!'
	if err := errors.Join(steps...); err != nil {
		return err
	}
	err = errors.Join(
		s.hasValues("", set("a", ""), set("a/1", "2"), set("a/2", "y"), set("b/ü", "3"), set("c", "5")),
		s.hasValues("a/", set("a/1", "2"), set("a/2", "y")),
		s.hasValues("z"),
	)
	if err != nil {
		return err
	}
	if got, err := s.store().Value(ctx, "a0"); got != nil || err != nil {
		return fmt.Errorf("what was removed is %q, %v", got, err)
	}
	if offset, err := s.store().Offset("a"); offset != 0 || err != nil {
		return fmt.Errorf("a value is taken for an offset: %d, %v", offset, err)
	}
	if after, err := s.store().Head(ctx); err != nil || after != before {
		return fmt.Errorf("values are hashed: %v, %v", after, err)
	}
	return s.holds(all)
}

// checkValuesRefused puts a change that is not allowed behind one that is: a
// store that writes as it goes is caught. What is just allowed is kept. Values
// hold what must be forgettable (docs/decisions/22-events-and-values.md): half of a change that
// is left would be a name without its address, or the other way round.
func checkValuesRefused(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	for what, wrong := range map[string]events.KeyValue{
		"an empty key": {Value: []byte("1")},
		"a long key":   set(strings.Repeat("k", events.MaxStringSize+1), "1"),
		"a broken key": set("a\nb", "1"),
		"a long value": {Key: "k", Value: make([]byte, events.MaxValueSize+1)},
	} {
		for _, change := range []error{
			s.store().SetValues(ctx, set("good", "1"), wrong),
			s.store().SetValuesLazily(ctx, set("good", "1"), wrong),
		} {
			if !errors.Is(change, events.ErrInvalidValue) {
				return fmt.Errorf("%s: %v, want ErrInvalidValue", what, change)
			}
		}
	}
	if err := s.hasValues(""); err != nil {
		return err
	}
	// The longest of each is kept.
	long := events.KeyValue{Key: strings.Repeat("k", events.MaxStringSize),
		Value: make([]byte, events.MaxValueSize)}
	if err := s.store().SetValues(ctx, long); err != nil {
		return err
	}
	return s.hasValues("", long)
}

// checkValuesReopened also removes a value that is removed already, which must succeed. Only
// SetValues promises durability; values that were set lazily may be lost with the process, and are
// not looked for. Removals are tested hardest here: a value that returned after a restart was
// promised to be forgotten.
func checkValuesReopened(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	if err := s.store().SetValues(ctx, set("kept", "1"), set("removed", "2")); err != nil {
		return err
	}
	for range 2 {
		if err := s.store().SetValues(ctx, events.KeyValue{Key: "removed"}); err != nil {
			return err
		}
		if s.Log = s.reopen(s.Log); s.Log == nil {
			return errors.New("the store does not open again")
		}
		if err := s.hasValues("", set("kept", "1")); err != nil {
			return err
		}
	}
	return nil
}

// checkSwapValue swaps values that are there, empty or missing, for others, and then has several
// writers swap the same one at the same time, again and again: one of them succeeds, and the value
// is that one's. Values of other keys are set meanwhile.
func checkSwapValue(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	long := make([]byte, events.MaxValueSize+1)
	for _, step := range []struct {
		before, after []byte
		swapped       bool
	}{
		{[]byte("1"), []byte("2"), false}, // the key has no value
		{[]byte{}, []byte("2"), false},
		{nil, []byte{}, true},
		{nil, []byte("3"), false}, // an empty one is one
		{[]byte{}, []byte("3"), true},
		{[]byte("4"), nil, false},
		{[]byte("3"), []byte("5"), true},
		{[]byte("5"), []byte("5"), true},
		{[]byte("5"), nil, true},
		{nil, nil, true},
		{nil, []byte("0"), true},
	} {
		got, err := s.store().SwapValue(ctx, "k", step.before, step.after)
		if err != nil || got != step.swapped {
			return fmt.Errorf("%q for %q: %v, %v", step.after, step.before, got, err)
		}
	}
	if _, err := s.store().SwapValue(ctx, "k", []byte("0"), long); !errors.Is(err, events.ErrInvalidValue) {
		return fmt.Errorf("a long value: %v, want ErrInvalidValue", err)
	}
	const writers, rounds = 8, 40
	for n := range rounds {
		var at sync.WaitGroup
		begin := make(chan struct{})
		won, errs := make([]bool, writers), make([]error, writers)
		for w := range writers {
			at.Go(func() {
				<-begin
				after := fmt.Appendf(nil, "%d by %d", n, w)
				won[w], errs[w] = s.store().SwapValue(ctx, "k", []byte("0"), after)
				errs[w] = errors.Join(errs[w],
					s.store().SetValues(ctx, set(fmt.Sprint("other/", w), fmt.Sprint(n))))
			})
		}
		close(begin)
		at.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		now, err := s.store().Value(ctx, "k")
		if err != nil {
			return err
		}
		for w, first := range won {
			if first != (string(now) == fmt.Sprintf("%d by %d", n, w)) {
				return fmt.Errorf("it is %q, and of %d writers those have changed it: %v", now, writers, won)
			}
		}
		if err := s.store().SetValues(ctx, set("k", "0")); err != nil {
			return err
		}
	}
	return s.hasValues("k", set("k", "0"))
}
