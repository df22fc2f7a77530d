package devices

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var (
	ada   = engine.Request{Actor: "person:ada", Account: "ada"}
	named = []string{"oven", "spectrometer"}
)

// Law: the last word on an instrument holds, whichever process of the lab it was said to; who asks for what others
// have just recorded is told, and the others are woken once they hear of it. What a word leaves out of the
// calibration stays as it was.
func TestServiced(t *testing.T) {
	w := newWorld(t, 0, 0, 0, none)
	one, two := NewServices(w.open(&process{n: 1})), NewServices(w.open(&process{n: 2}))
	names := map[string]string{"meter": "spectrometer", "bath": "oven"}
	is := func(s *Services, fresh bool, want string) {
		t.Helper()
		all, _ := s.Of(names, fresh)
		if got := all["meter"].Withheld(time.Now()); !strings.HasPrefix(got, want) || got != "" && want == "" {
			t.Errorf("the meter is withheld: %q, want %q", got, want)
		}
		if bath := all["bath"].Withheld(time.Now()); bath != "" {
			t.Errorf("the bath is withheld: %s", bath)
		}
	}
	is(one, false, "")
	is(two, false, "")
	_, changed := two.Of(names, false)
	must.Do(t, one.Say(engine.Serviced{Resource: "spectrometer", Out: true, Reason: "lamp exchanged"}, named, ada))
	is(one, false, "spectrometer is out of service since ")
	is(two, false, "")
	is(two, true, "spectrometer is out of service since ")
	two.Hear()
	select {
	case <-changed:
	default:
		t.Error("the other process is not woken")
	}
	tomorrow := time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
	back := engine.Serviced{Resource: "spectrometer", CalibratedUntil: tomorrow, Files: []string{"https://lab.example.org/c/2206.pdf"}}
	must.Do(t, two.Say(back, named, ada))
	is(two, false, "")
	is(one, true, "")
	must.Do(t, one.Say(engine.Serviced{Resource: "spectrometer"}, named, ada))
	s := must.Get(one.List(named))(t)[1]
	if !s.Soon(time.Now()) || s.Withheld(time.Now().AddDate(0, 0, 2)) != "the calibration of spectrometer expired on "+tomorrow ||
		s.By != "person:ada" || s.Files != nil {
		t.Errorf("it is %+v", s)
	}
	last := must.Get(time.ParseInLocation(time.DateOnly, tomorrow, time.Local))(t).AddDate(0, 0, 1)
	if s.Withheld(last.Add(-time.Second)) != "" || s.Withheld(last) == "" || s.Soon(last.Add(-8*24*time.Hour)) || s.Soon(last) {
		t.Errorf("the calibration does not hold for that day: %s", s.CalibratedUntil)
	}
	must.Do(t, one.Say(engine.Serviced{Resource: "spectrometer", CalibratedUntil: "none"}, named, ada))
	if s := must.Get(one.List(nil))(t); len(s) != 1 || !s[0].CalibratedUntil.IsZero() {
		t.Errorf("they are %+v", s)
	}
	exact := time.Now().Add(time.Hour).Truncate(time.Second)
	twice := ada.Identified("k")
	word := engine.Serviced{Resource: "oven", CalibratedUntil: exact.Format(time.RFC3339)}
	must.Do(t, errors.Join(one.Say(word, named, twice), two.Say(word, named, twice)))
	if s := must.Get(two.List(nil))(t)[0]; !s.CalibratedUntil.Equal(exact) {
		t.Errorf("it is %+v", s)
	}
	service := make(Service)
	said := 0
	log := must.Get(w.open(&process{n: 3}).Store())(t)
	for e := range must.Each(t, log.ReadCampaign(t.Context(), events.ServiceStream, 0)) {
		said++
		if fault, err := service.Apply(e); fault != "" || err != nil || e.Account != "ada" {
			t.Errorf("%s: %s, %v", e.Data, fault, err)
		}
	}
	if said != 5 { // the repeated request counts once
		t.Errorf("%d words are recorded", said)
	}
}

// Law: a word that says nothing that could hold is refused, with what helps, and nothing is recorded.
func TestRefusedWords(t *testing.T) {
	w := newWorld(t, 0, 0, 0, none)
	s := NewServices(w.open(&process{n: 1}))
	for text, c := range map[string]struct {
		word engine.Serviced
		by   engine.Request
	}{
		`the lab has no instrument "spectro"`:    {engine.Serviced{Resource: "spectro", Out: true}, ada},
		"must be person:NAME":                    {engine.Serviced{Resource: "oven", Out: true}, engine.Request{Actor: "engine"}},
		"oven is out of service: when it is":     {engine.Serviced{Resource: "oven", Out: true, CalibratedUntil: "2999-01-01"}, ada},
		`"next year" is not a date`:              {engine.Serviced{Resource: "oven", CalibratedUntil: "next year"}, ada},
		"a calibration until 2026-01-01 is over": {engine.Serviced{Resource: "oven", CalibratedUntil: "2026-01-01"}, ada},
		"the file has no name":                   {engine.Serviced{Resource: "oven", Files: []string{""}}, ada},
		"c.pdf\" is not a URI":                   {engine.Serviced{Resource: "oven", Files: []string{"c.pdf"}}, ada},
		"begins with":                            {engine.Serviced{Resource: "oven", Files: []string{"file:///c.pdf"}}, ada},
	} {
		if err := s.Say(c.word, named, c.by); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
	err := s.Say(engine.Serviced{Resource: "x"}, named, ada)
	if r := problem.RemediesOf(err); !errors.Is(err, problem.NotFound) || len(r) != 1 || !strings.Contains(r[0].Text, "oven, spectrometer") {
		t.Errorf("%v has no remedy", err)
	}
	if all := must.Get(s.List(nil))(t); len(all) > 0 {
		t.Errorf("recorded is %+v", all)
	}
}

// Law: of an instrument of which the lab's log tells nothing now nothing is assumed, and it is looked for again.
func TestUnknownService(t *testing.T) {
	w := newWorld(t, 0, 0, 0, none)
	own := w.open(&process{n: 1})
	must.Do(t, own.Close())
	all, again := NewServices(own).Of(map[string]string{"": "oven"}, false)
	if why := all[""].Withheld(time.Now()); !strings.HasPrefix(why, "whether oven is in service is not known: ") {
		t.Errorf("it is withheld: %q", why)
	}
	<-again
}

// Law: what no honest log has of the service of instruments is named.
func TestFaultsOfService(t *testing.T) {
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	service := make(Service)
	for i, c := range []struct {
		actor string
		said  events.ResourceServiced
		fault string
	}{
		{"person:ada", events.ResourceServiced{Resource: "oven", Out: true}, ""},
		{"engine", events.ResourceServiced{Resource: "oven"}, `"engine" says whether oven is in service, and is not a person`},
		{"person:ada", events.ResourceServiced{Resource: "oven", CalibratedUntil: at}, "oven is said to be calibrated until a time that was over"},
		{"person:ada", events.ResourceServiced{Resource: "oven", CalibratedUntil: at}, ""}, // as it was
		{"person:ada", events.ResourceServiced{Resource: "oven", Out: true, CalibratedUntil: at.Add(time.Hour)}, "oven is out of service, and its calibration another one"},
	} {
		e := must.Get(events.Lab.New(events.ServiceStream, events.KindResourceServiced, &c.said))(t)
		e.Actor, e.Time = c.actor, at
		if fault, err := service.Apply(e); err != nil || fault != c.fault {
			t.Errorf("event %d: %q, %v", i, fault, err)
		}
	}
	freed := must.Get(events.Lab.New(events.ServiceStream, events.KindDeviceFreed, &events.DeviceFreed{}))(t)
	if fault, err := service.Apply(freed); err != nil || fault != "device.freed is not about the service of an instrument" {
		t.Errorf("%q, %v", fault, err)
	}
}
