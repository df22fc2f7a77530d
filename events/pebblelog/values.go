package pebblelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/records"
)

// Value implements [events.ValueStore]. The copy keeps an empty value from being nil, which means
// that the key has no value.
func (l *Log) Value(ctx context.Context, key string) (value []byte, err error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("store: value of %q: %w", key, context.Cause(ctx))
	}
	err = l.use(func(db *pebble.DB) error {
		found, closer, err := db.Get(valueKey(key))
		if errors.Is(err, pebble.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		value = append([]byte{}, found...)
		return closer.Close()
	})
	if err != nil {
		return nil, fmt.Errorf("store: value of %q: %w", key, damagedValue(err))
	}
	return value, nil
}

// Values implements [events.ValueStore]. They are read before the first is
// handed on: the database is not held open while the caller's code runs.
func (l *Log) Values(ctx context.Context, prefix string) iter.Seq2[events.KeyValue, error] {
	all, err := l.values(ctx, prefix)
	return records.Values(prefix, all, err)
}

// values copies its result: the database may be closed meanwhile.
func (l *Log) values(ctx context.Context, prefix string) (all []events.KeyValue, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	lower := valueKey(prefix)
	err = l.use(func(db *pebble.DB) error {
		it, err := db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: []byte{valuePrefix + 1}})
		if err != nil {
			return err
		}
		for ok := it.First(); ok && bytes.HasPrefix(it.Key(), lower); ok = it.Next() {
			value, err := it.ValueAndErr()
			if err != nil {
				return errors.Join(err, it.Close())
			}
			all = append(all, events.KeyValue{
				Key:   string(it.Key()[1:]),
				Value: append([]byte{}, value...),
			})
		}
		return errors.Join(it.Error(), it.Close())
	})
	return all, damagedValue(err)
}

// damagedValue makes damage of a table the store's own error.
func damagedValue(err error) error {
	if pebble.IsCorruptionError(err) {
		return fmt.Errorf("%w: %w", events.ErrDamaged, err)
	}
	return err
}

// SetValues implements [events.ValueStore].
func (l *Log) SetValues(ctx context.Context, changes ...events.KeyValue) error {
	return l.setValues(ctx, pebble.Sync, changes)
}

// SetValuesLazily implements [events.ValueStore].
func (l *Log) SetValuesLazily(ctx context.Context, changes ...events.KeyValue) error {
	return l.setValues(ctx, pebble.NoSync, changes)
}

// setValues writes all changes or none, in one batch of the database. Values go
// past the committer: they take no part in positions or the tree, and Pebble
// orders writes of the same key by itself.
func (l *Log) setValues(
	ctx context.Context, how *pebble.WriteOptions, changes []events.KeyValue,
) error {
	l.swapping.RLock()
	defer l.swapping.RUnlock()
	return l.changeValues(ctx, how, changes)
}

// SwapValue implements [events.ValueStore].
func (l *Log) SwapValue(ctx context.Context, key string, before, after []byte) (bool, error) {
	l.swapping.Lock()
	defer l.swapping.Unlock()
	now, err := l.Value(ctx, key)
	if err != nil {
		return false, err
	}
	same := (now == nil) == (before == nil) && bytes.Equal(now, before)
	if !same { // even so, a store that does not write must report that
		return false, l.changeValues(ctx, pebble.Sync, nil)
	}
	if err := l.changeValues(ctx, pebble.Sync, []events.KeyValue{{Key: key, Value: after}}); err != nil {
		return false, err
	}
	return true, nil
}

// changeValues is setValues for who holds swapping.
func (l *Log) changeValues(
	ctx context.Context, how *pebble.WriteOptions, changes []events.KeyValue,
) error {
	err := events.CheckValues(changes)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = l.use(func(db *pebble.DB) error {
			if l.readOnly {
				return events.ErrReadOnly
			}
			if err := l.stopped(); err != nil || len(changes) == 0 {
				return err
			}
			return l.applyValues(db, how, changes)
		})
	}
	if err != nil {
		return fmt.Errorf("store: set values: %w", err)
	}
	return nil
}

// applyValues writes changes. The disk may fail such that the database never
// answers, or answers with a panic: neither holds up the caller or ends the
// process. A batch that was under way when the disk failed may be there after a
// restart: it is uncertain, as an event would be.
func (l *Log) applyValues(
	db *pebble.DB, how *pebble.WriteOptions, changes []events.KeyValue,
) error {
	batch := db.NewBatch()
	for _, c := range changes {
		if c.Value == nil {
			_ = batch.Delete(valueKey(c.Key), nil) // only fails for an indexed batch
		} else {
			_ = batch.Set(valueKey(c.Key), c.Value, nil)
		}
	}
	// With room, so that the goroutine ends where no one waits any more.
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				l.guard.Fail(fmt.Errorf("pebble: %v", r))
			}
		}()
		done <- batch.Commit(how)
	}()
	select {
	case err := <-done:
		if err != nil {
			l.guard.Fail(err)
		}
	case <-l.guard.Failed():
	}
	if err := l.stopped(); err != nil {
		return fmt.Errorf("%w: %w", events.ErrUncertain, err)
	}
	return nil
}
