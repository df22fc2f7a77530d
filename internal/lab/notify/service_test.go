package notify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: who gets alarms is told once that an instrument is out of service, once that its calibration expires within a
// week, and once that it has expired, each when it holds and at no other time; the next word ends them, and one that was foreseen is then never sent.
func TestService(t *testing.T) {
	lab := must.Get(labfile.Parse(builtin.Registry(), "lab.yaml", []byte(
		"url: https://lab.example.org\npeople: {ada: {notify: [ntfy://ntfy.sh/x]}}\nalarms: [ada]\n")))(t)
	at := func(day, hour int) time.Time { return time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC) }
	until := at(20, 0)
	words := []struct {
		at   time.Time
		said events.ResourceServiced
	}{
		{at(2, 10), events.ResourceServiced{Resource: "meter", Out: true, Reason: "lamp <exchanged>"}},
		{at(3, 10), events.ResourceServiced{Resource: "meter", CalibratedUntil: until}},
		{at(21, 10), events.ResourceServiced{Resource: "meter", CalibratedUntil: at(30, 0)}},
		{at(22, 10), events.ResourceServiced{Resource: "meter"}},
	}
	p := NewPlanner(lab)
	p.Take(newEvent(kindBegun, at(1, 0), &begun{}), &begun{})
	var all []string
	next := 0
	for now := at(2, 0); now.Before(at(31, 0)); now = now.Add(time.Hour) {
		for ; next < len(words) && !words[next].at.After(now); next++ {
			e := must.Get(events.Lab.New(events.ServiceStream, events.KindResourceServiced, &words[next].said))(t)
			e.Actor, e.Sequence, e.Time = "person:bo", events.Sequence(next+1), words[next].at
			p.ApplyLab(e)
			p.ApplyLab(e)
		}
		due, _ := p.Due(now.Add(time.Minute))
		for _, m := range due {
			text := strings.ReplaceAll(strings.Split(m.Text, "\n\n[")[0], "\n", " / ")
			all = append(all, fmt.Sprintf("%s: %s / %s", now.Format("Jan 2 15h"), m.Title, text))
			p.Sent(m, now)
		}
	}
	want := []string{
		"Mar 2 10h: meter is out of service since 2026-03-02 10:00 UTC: lamp ‹exchanged› (person:bo) / " +
			"Campaigns that need it wait. Say that it is back, once it is. / https://lab.example.org/instruments",
		"Mar 13 00h: meter is in service, and calibrated until 2026-03-19, which is soon / " +
			"From then on no command is handed to it. / https://lab.example.org/instruments",
		"Mar 20 00h: the calibration of meter expired on 2026-03-19 / " +
			"Campaigns that need it wait. Say that it was calibrated, once it is. / https://lab.example.org/instruments",
	}
	if !slices.Equal(all, want) {
		t.Errorf("ada is told %q", all)
	}
}
