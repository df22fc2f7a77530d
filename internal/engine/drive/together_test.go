package drive_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// plates is an instrument that works on up to four experiments at once for a minute, all of which
// then end in one way.
func plates(status instruments.Status) *device {
	d := newDevice("serial 1")
	d.description.Capacity = 4
	d.await = func(instruments.Command) (instruments.Outcome, error) {
		time.Sleep(time.Minute)
		return instruments.Outcome{Status: status, Cause: "the plate jammed"}, nil
	}
	return d
}

func fourAtOnce(def *definition.Campaign) { def.Parallel = 4 }

// Law: a plate that fails is one failure, and the fourth in a row pauses the campaign. The pause
// says how it counted; one that does not, of a program that counted each experiment, audits as
// it did.
func TestPlatesCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleepUntilDefined()
		log := memlog.New()
		def := electrolyte(t, 1, 30, unaided, fourAtOnce)
		r := patiently(t, log, def, plates(instruments.Failed), "a person: the campaign is paused")
		if s := r.Core().State(); s.Count(campaign.Failed) < 8 || !strings.Contains(s.Reason, "4 times in a row") {
			t.Errorf("paused after %d: %s", s.Count(campaign.Failed), s.Reason)
		}
		sound(t, log)
		all := history(t, log)
		last := find(t, all, events.KindCampaignPaused, "occurrences", 0)
		if forged := append(all[:last:last], edit(t, all[last], "occurrences", 3)); len(audit(t, forged).Mismatches) == 0 {
			t.Error("three were taken for four")
		}
		each := pausedAs(t, all[last], events.CampaignPaused{Reason: r.Core().State().Reason})
		if forged := append(all[:last:last], each); len(audit(t, forged).Mismatches) == 0 {
			t.Error("a pause that counts each experiment came long after four of them")
		}

		// A program of before paused when the first plate had failed.
		var before []events.Event
		var failed []string
		for _, e := range all {
			before = append(before, e)
			if payload, _ := events.Decode(e); e.Kind == events.KindExperimentFailed {
				failed = append(failed, payload.(*events.ExperimentFailed).Experiment)
			}
			if len(failed) == 4 {
				break
			}
		}
		end := before[len(before)-1]
		pause := pausedAs(t, all[last], events.CampaignPaused{Reason: fmt.Sprintf(
			"the last 4 experiments gave no result, %s for this reason: the plate jammed; see to the instrument", failed[3],
		)})
		pause.Sequence, pause.ID, pause.Cause, pause.Time = end.Sequence+1, "", end.ID, end.Time
		if report := audit(t, append(before, pause)); len(report.Mismatches) > 0 {
			t.Errorf("a pause of before is taken for altered: %+v", report.Mismatches)
		}
	})
}

// pausedAs is an event of a pause with another payload.
func pausedAs(t *testing.T, e events.Event, p events.CampaignPaused) events.Event {
	t.Helper()
	data := must.Get(json.Marshal(p))(t)
	e.Data = data
	return e
}

// Law: several experiments are settled in one act, which audits as one and cannot be mixed with
// another.
func TestPlatesAreSettledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleepUntilDefined()
		log := memlog.New()
		def := electrolyte(t, 1, 30, unaided, fourAtOnce)
		r := patiently(t, log, def, plates(instruments.Unknown), "the fate of e1")
		synctest.Wait()
		request := engine.Request{Actor: "person:eve", Resolve: &engine.Resolve{
			Experiment: "e1-e3", Resolution: events.ResolvedNotPerformed, Repeat: true, Reason: "the plate is still empty",
		}}
		stored, err := r.Submit(t.Context(), request)
		if err != nil || len(stored) != 9 { // each settled, requested again, and called off
			t.Fatalf("%d events: %v", len(stored), err)
		}
		time.Sleep(2 * time.Minute) // until nothing is under way
		synctest.Wait()
		sound(t, log)
		all := history(t, log)
		for k, e := range all {
			if e.Kind == events.KindExperimentResolved && e.ID != strconv.Itoa(int(stored[0].Sequence)) {
				forged := append([]events.Event{}, all...)
				forged[k] = edit(t, e, "reason", "somebody else looked")
				if len(audit(t, forged).Mismatches) == 0 {
					t.Error("two acts were taken for one")
				}
				break
			}
		}
	})
}

// Law: a plate of which some wells are known is settled in one act, each well as what became of
// it, and its commands are called off; the act audits as one.
func TestPlatesAreSettledByTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleepUntilDefined()
		log := memlog.New()
		def := electrolyte(t, 1, 30, unaided, fourAtOnce)
		r := patiently(t, log, def, plates(instruments.Unknown), "the fate of e1")
		synctest.Wait()
		value := 7.5
		point := r.Core().State().Experiment("e2").Parameters
		made := maps.Clone(point)
		for name, v := range made { // made elsewhere, of which a word is recorded in between
			if x, ok := v.Float(); ok {
				made[name] = definition.Number(x * 0.5)
				break
			}
		}
		stored := must.Get(r.Submit(t.Context(), engine.Request{Actor: "person:eve", Resolves: []engine.Resolve{
			{Experiment: "e2", Resolution: events.ResolvedMeasured, Value: &value, Actual: made, Anyway: true, Reason: "on the display"},
			{Experiment: "e1", Resolution: events.ResolvedFailed, Reason: "a bubble", Repeat: true},
			{Experiment: "e3", Resolution: events.ResolvedNotPerformed, Repeat: true, Reason: "still empty"},
		}}))(t)
		kinds := make(map[events.Kind]int)
		for _, e := range stored {
			kinds[e.Kind]++
		}
		if kinds[events.KindExperimentResolved] != 3 || kinds[events.KindExperimentRequested] != 2 ||
			kinds[events.KindCancellationOrdered] != 3 || kinds[events.KindMeasurementFlagged] != 1 {
			t.Fatalf("recorded %v", kinds)
		}
		time.Sleep(2 * time.Minute) // until nothing is under way
		synctest.Wait()
		sound(t, log)
		all := history(t, log)
		for k, e := range all {
			if e.Sequence < stored[0].Sequence || e.Sequence > stored[len(stored)-1].Sequence {
				continue
			}
			var edits []events.Event
			switch e.Kind {
			case events.KindExperimentResolved:
				if e.ID != stored[0].ID {
					edits = append(edits, edit(t, e, "reason", "somebody else looked"), edit(t, e, "repeat", nil))
				}
			case events.KindCancellationOrdered:
				edits = append(edits, edit(t, e, "reason", "somebody else looked"), edit(t, e, "repeat", "e99"))
			}
			for _, forged := range edits {
				if string(forged.Data) == string(e.Data) {
					continue
				}
				altered := append([]events.Event{}, all...)
				altered[k] = forged
				if len(audit(t, altered).Mismatches) == 0 {
					t.Errorf("%s was taken for %s", forged.Data, e.Data)
				}
			}
		}
	})
}
