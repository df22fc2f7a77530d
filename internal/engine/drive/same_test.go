package drive_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: a measurement that equals the one before, of another composition, bit for bit is flagged,
// and counts; it is not repeated for that, pauses nothing, and a person has the last word. An
// instrument whose values come again, because it counts, rounds or is at a limit, is not accused
// of each, and a run of one value is.
func TestEqualMeasurementsAreFlagged(t *testing.T) {
	for name, c := range map[string]struct {
		values  []float64
		flagged []string
	}{
		"a stale value":           {[]float64{7.25, 11.64, 11.64, 10.04}, []string{"e3"}},
		"a stuck value":           {[]float64{7.25, 11.64, 11.64, 11.64, 11.64}, []string{"e3", "e4", "e5"}},
		"a limit":                 {[]float64{0, 5.5, 0, 0, 6.5, 0, 0}, nil},
		"a limit from the outset": {[]float64{0, 0, 5.5, 0, 0}, []string{"e2"}},
		"counts":                  {[]float64{3, 4, 3, 5, 4, 3, 6, 6, 7, 7}, nil},
		"two came again":          {[]float64{3, 4, 3, 5, 4, 6, 6}, []string{"e7"}},
		"other values":            {[]float64{7.25, 7.250000001, 7.25}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDevice("serial 1")
			next := 0
			d.await = func(cmd instruments.Command) (instruments.Outcome, error) {
				next++
				o := measured(c.values[next-1])
				o.Measurement.Actual = cmd.Parameters
				return o, nil
			}
			log := memlog.New()
			r, _ := start(t, log, electrolyte(t, 1, len(c.values), unaided), d)
			must.Do(t, run(t, r)())
			s := r.Core().State()
			var flagged []string
			for i := range s.Experiments {
				x := &s.Experiments[i]
				if x.Flag != nil && x.Flag.Verdict == events.VerdictSame {
					flagged = append(flagged, x.ID)
					if x.Excluded || !strings.Contains(x.Flag.Reason, "just before") {
						t.Errorf("%s: %+v", x.ID, x.Flag)
					}
				}
			}
			if !slices.Equal(flagged, c.flagged) {
				t.Errorf("%v were flagged, want %v", flagged, c.flagged)
			}
			if s.Status != campaign.Completed || s.Count(campaign.Measured) != len(c.values) {
				t.Errorf("the campaign is %s with %d measurements", s.Status, s.Count(campaign.Measured))
			}
			sound(t, log)
			if c.flagged == nil {
				return
			}
			all := history(t, log)
			k := find(t, all, events.KindMeasurementFlagged, `"same"`, 0)
			if forged := slices.Replace(slices.Clone(all), k, k+1, edit(t, all[k], "experiment", "e1")); len(audit(t, forged).Mismatches) == 0 {
				t.Error("the first measurement was said to equal one before")
			}
			request := engine.Request{Actor: "person:eve", Correct: &engine.Correct{Experiment: c.flagged[0], Reason: "it is one of its own"}}
			must.Get(engine.Submit(t.Context(), log, r.Core(), request, s.EndedAt))(t)
			if x := r.Core().State().Experiment(c.flagged[0]); x.Flag != nil || x.Excluded {
				t.Errorf("a person's word is not the last: %+v", x.Flag)
			}
			sound(t, log)
		})
	}
}
