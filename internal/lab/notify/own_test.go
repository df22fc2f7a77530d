package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// own is a lab's log in memory: what outlives a process.
type own struct {
	events.Store // of which a notifier uses nothing but what is below

	log    *memlog.Log
	mu     sync.Mutex
	values map[string][]byte
	// act, if set, is called before each change and once it is made; an error is what the
	// change answers. Where appends is set, changes of values do not call it.
	act     func() error
	appends bool
}

func newOwn() *own { return &own{log: memlog.New(), values: make(map[string][]byte)} }

func (o *own) acts() error {
	if o.act == nil {
		return nil
	}
	return o.act()
}

func (o *own) keeps() error {
	if o.appends {
		return nil
	}
	return o.acts()
}

func (o *own) Append(
	ctx context.Context, stream string, expected events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	if err := o.acts(); err != nil {
		return nil, err
	}
	stored, err := o.log.Append(ctx, stream, expected, batch...)
	return stored, errors.Join(err, o.acts())
}

func (o *own) ReadCampaign(ctx context.Context, stream string, after events.Sequence) iter.Seq2[events.Event, error] {
	return o.log.ReadCampaign(ctx, stream, after)
}

func (o *own) LastSequence(ctx context.Context, stream string) (events.Sequence, error) {
	return o.log.LastSequence(ctx, stream)
}

func (o *own) Value(_ context.Context, key string) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.values[key], nil
}

// SwapValue has no part in act: who may send is decided by it, and nothing else.
func (o *own) SwapValue(_ context.Context, key string, from, to []byte) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !bytes.Equal(o.values[key], from) {
		return false, nil
	}
	o.values[key] = to
	return true, nil
}

func (o *own) SetValuesLazily(_ context.Context, changes ...events.KeyValue) error {
	if err := errors.Join(o.keeps(), events.CheckValues(changes)); err != nil {
		return err
	}
	o.mu.Lock()
	for _, c := range changes {
		if o.values[c.Key] = c.Value; c.Value == nil {
			delete(o.values, c.Key)
		}
	}
	o.mu.Unlock()
	return o.keeps()
}

// text is all that it holds, a snapshot unpacked.
func (o *own) text(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for e := range must.Each(t, o.log.Read(t.Context(), 0)) {
		b.WriteString(string(e.Kind) + " " + string(e.Data) + "\n")
	}
	var state any
	if packed := o.values[snapshotKey]; packed != nil {
		must.Do(t, unpack(packed, &state))
	}
	data := must.Get(json.Marshal(state))(t)
	return b.String() + string(data)
}

// kinds are the kinds of its events.
func (o *own) kinds(t testing.TB) (kinds []events.Kind) {
	t.Helper()
	for e := range must.Each(t, o.log.Read(t.Context(), 0)) {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}
