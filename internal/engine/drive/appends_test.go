package drive_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// appending is a log that notes what was appended at once.
type appending struct {
	events.Log
	batches [][]events.Kind
}

func (l *appending) Append(
	ctx context.Context, stream string, after events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	var kinds []events.Kind
	for _, e := range batch {
		kinds = append(kinds, e.Kind)
	}
	l.batches = append(l.batches, kinds)
	return l.Log.Append(ctx, stream, after, batch...)
}

// Law: a procedure of five stages for one experiment waits for the disk 1.2 times as often as its acts alone
// must, which are dispatched, accepted and ended, and no more often: the batch is planned, the experiment has
// its result, and the batch ends.
func TestAppendsOfAProcedure(t *testing.T) {
	const most = 3 * (15 + 3)
	for _, always := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			def := plated(func(def *definition.Campaign) {
				def.Budget.Experiments, def.Parallel, def.Batch.Of = 3, 1, 1
				def.Procedure[4].Always = always
				for name, in := range def.Instruments {
					in.StallAfter = definition.Duration(actTakes + time.Minute)
					def.Instruments[name] = in
				}
			})
			all := memlog.New()
			log := &appending{Log: all}
			must.Do(t, <-newStations().attend(t, all, def, func(r *drive.Runner) { r.Log = log }).over)
			acts, appends := 0, 0
			for _, kinds := range log.batches {
				ofAct := func(k events.Kind) bool { return strings.HasPrefix(string(k), "act.") }
				switch {
				case slices.ContainsFunc(kinds, ofAct):
					acts++
					appends++
				case slices.Contains(kinds, events.KindBatchPlanned), slices.Contains(kinds, events.KindBatchEnded),
					slices.Contains(kinds, events.KindExperimentMeasured):
					appends++
				}
			}
			if acts != 3*15 || appends > most {
				t.Errorf("always %t: %d appends of acts, %d in all: %v", always, acts, appends, log.batches)
			}
			audited(t, log, def.Name)
		})
	}
}
