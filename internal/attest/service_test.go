package attest

import (
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: an audit of the lab's log names what is said of an instrument by no person, or of a calibration that was over,
// with its place; what people have said is sound.
func TestServiceOfALab(t *testing.T) {
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for said, c := range map[string]struct {
		actor string
		until time.Time
	}{
		"": {"person:ada", at.Add(time.Hour)},
		`"instrument:oven" says whether oven is in service`:        {"instrument:oven", at.Add(time.Hour)},
		"oven is said to be calibrated until a time that was over": {"person:ada", at.Add(-time.Hour)},
	} {
		log := memlog.New()
		for i, actor := range []string{"person:bo", c.actor} {
			p := &events.ResourceServiced{Resource: "oven", Out: i == 0}
			if i > 0 {
				p.CalibratedUntil = c.until
			}
			e := must.Get(events.Lab.New(events.ServiceStream, events.KindResourceServiced, p))(t)
			e.Actor, e.Time = actor, at
			must.Get(log.Append(t.Context(), events.ServiceStream, events.AnySequence, e))(t)
		}
		r := NewAudit()
		must.Do(t, r.lab(t.Context(), log, nil))
		if said == "" && len(r.Mismatches) > 0 || said != "" && (len(r.Mismatches) != 1 || r.Mismatches[0].Position != 2 ||
			r.Mismatches[0].Event != "resource.serviced" || !strings.HasPrefix(r.Mismatches[0].Problem, said)) {
			t.Errorf("%q: %+v", said, r.Mismatches)
		}
	}
}
