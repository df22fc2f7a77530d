package pebblelog

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// reference is the payload of an event that names a value.
type reference struct{ Value string }

// refer writes values, each before the event that names it, and says how many events were
// acknowledged.
func refer(t testing.TB, log *Log, n int, acked func(int)) error {
	for i := 1; i <= n; i++ {
		key := fmt.Sprintf("ref/%03d", i)
		if err := log.SetValues(t.Context(), events.KeyValue{Key: key, Value: []byte(key)}); err != nil {
			return err
		}
		data, _ := json.Marshal(reference{key})
		if _, err := log.Append(t.Context(), "c", events.Sequence(i-1),
			events.Event{Kind: "test.named", Version: 1, Data: data}); err != nil {
			return err
		}
		acked(i)
		if err := log.SetValuesLazily(t.Context(), events.KeyValue{Key: "count", Value: fmt.Append(nil, i)}); err != nil {
			return err
		}
	}
	return nil
}

// Law: whenever the machine stops, each event that is there has the value that it names,
// and a value that was set lazily is one that it had.
func TestValuesCrash(t *testing.T) {
	var acked atomic.Int64
	disk := newCrashDisk()
	rng := rand.New(rand.NewPCG(3, 4))
	run, wait := pool()
	watched := disk.watch(func(op errorfs.Op) {
		for _, percent := range []int{0, 50, 100} {
			acked, crashed := int(acked.Load()), disk.crash(percent, rng)
			run(func() {
				log := mustOpen(t, crashed, small)
				defer log.Close()
				if log.Last() < events.Position(acked) {
					t.Errorf("%d events were acknowledged and %d are there", acked, log.Last())
				}
				for e, err := range log.Read(t.Context(), 0) {
					var r reference
					if err = errors.Join(err, json.Unmarshal(e.Data, &r)); err != nil {
						t.Error(err)
					}
					if value, err := log.Value(t.Context(), r.Value); err != nil || string(value) != r.Value {
						t.Errorf("crash before %d on %s: the value of event %d is %q, %v", op.Kind, op.Path, e.Sequence, value, err)
					}
				}
				var count int
				if value, err := log.Value(t.Context(), "count"); value != nil || err != nil {
					_, err = fmt.Sscan(string(value), &count)
					if err != nil || count > acked {
						t.Errorf("after %d events the count is %q, %v", acked, value, err)
					}
				}
			})
		}
	})
	o := small
	o.FS = watched
	log, err := Open("store", o)
	if err == nil {
		err = refer(t, log, 12, func(i int) { acked.Store(int64(i)) })
		err = errors.Join(err, log.Close())
	}
	wait()
	if err != nil || acked.Load() != 12 {
		t.Fatalf("the workload ended at %d: %v", acked.Load(), err)
	}
}

// Law: a disk that fails stops values as it stops events: it is said that they may not be
// there, then that nothing is taken.
func TestValuesOnAFullDisk(t *testing.T) {
	var full atomic.Bool
	fsys := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	log := mustOpen(t, fsys, Options{})
	defer log.Close()
	change := events.KeyValue{Key: "k", Value: []byte("1")}
	must.Do(t, log.SetValues(t.Context(), change))
	full.Store(true)
	if err := log.SetValues(t.Context(), change); !errors.Is(err, events.ErrUncertain) {
		t.Errorf("the disk is full: %v, want ErrUncertain", err)
	}
	for _, err := range []error{log.SetValues(t.Context(), change), log.SetValuesLazily(t.Context(), change)} {
		if !errors.Is(err, events.ErrStopped) || errors.Is(err, events.ErrUncertain) {
			t.Errorf("the disk was full: %v, want ErrStopped", err)
		}
	}
	if value, err := log.Value(t.Context(), "k"); err != nil || string(value) != "1" {
		t.Errorf("%q, %v", value, err)
	}
}
