package notify

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
)

// ofInstruments stands for the lab in matters about the service of its instruments; no campaign has the
// name.
const ofInstruments = "/instruments"

// service folds an event about the service of an instrument. People hear once that it is out of service,
// once that its calibration expires soon, and once that it has expired: the latter two begin to hold by
// time alone. The next word on the instrument ends them.
func (p *Planner) service(e events.Event) {
	payload, err := events.Lab.Decode(e)
	said, ok := payload.(*events.ResourceServiced)
	if err != nil || !ok {
		return // of a later version: it concerns no one
	}
	s := engine.Service{ResourceServiced: *said, At: e.Time, By: e.Actor}
	name, until := s.Resource, s.CalibratedUntil
	e.Campaign = ofInstruments
	for _, k := range []kind{serviced, expiring, expired} {
		p.close(e, k, name, "another word on it")
	}
	switch {
	case s.Out:
		p.begin(e, &matter{Kind: serviced, Subject: name, Heading: s.Withheld(e.Time),
			Lines: []string{"Campaigns that need it wait. Say that it is back, once it is."}})
	case !until.IsZero():
		p.begin(e, &matter{Kind: expiring, Subject: name, From: until.Add(-engine.ExpiresSoon), Expires: until,
			Heading: s.Words(e.Time) + ", which is soon", Lines: []string{"From then on no command is handed to it."}})
		p.begin(e, &matter{Kind: expired, Subject: name, From: until, Heading: s.Withheld(until),
			Lines: []string{"Campaigns that need it wait. Say that it was calibrated, once it is."}})
	}
}
