package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Service is the last word of a person on an instrument of the lab. The zero Service withholds nothing: it
// stands for an instrument without such a word, or one that is not the lab's.
type Service struct {
	events.ResourceServiced
	// At is when it was said, By who said it.
	At time.Time `json:"at,omitzero"`
	By string    `json:"by,omitempty"`
	// Unread says why it is not known. It is tried again.
	Unread string `json:"-"`
}

// ExpiresSoon is how long before its end the expiry of a calibration is announced.
const ExpiresSoon = 7 * 24 * time.Hour

// Soon reports whether the calibration expires soon.
func (s Service) Soon(now time.Time) bool {
	return !s.CalibratedUntil.IsZero() && s.Withheld(now) == "" && s.CalibratedUntil.Sub(now) <= ExpiresSoon
}

// Expired reports whether the calibration has expired.
func (s Service) Expired(now time.Time) bool {
	return !s.CalibratedUntil.IsZero() && !now.Before(s.CalibratedUntil)
}

// Withheld says why no command is handed to the instrument, or "". What it has is brought to its end.
func (s Service) Withheld(now time.Time) string {
	switch {
	case s.Unread != "":
		return fmt.Sprintf("whether %s is in service is not known: %s", s.Resource, s.Unread)
	case s.Out:
		text := fmt.Sprintf("%s is out of service since %s", s.Resource, s.At.In(now.Location()).Format("2006-01-02 15:04 MST"))
		if s.Reason != "" {
			text += ": " + s.Reason
		}
		return text + " (" + s.By + ")"
	case s.Expired(now):
		return fmt.Sprintf("the calibration of %s expired on %s", s.Resource, s.until())
	}
	return ""
}

// Words puts it into a sentence without its full stop.
func (s Service) Words(now time.Time) string {
	text := s.Withheld(now)
	if text == "" {
		text = s.Resource + " is in service"
		if !s.CalibratedUntil.IsZero() {
			text += ", and calibrated until " + s.until()
		}
	}
	return text
}

// until is the last day of the calibration, in the zone in which it was said.
func (s Service) until() string { return s.CalibratedUntil.Add(-time.Second).Format(time.DateOnly) }

// wait is the wait for an instrument that is withheld: for a person, unless that is not known.
func (s Service) wait(now time.Time) (text string, remedies []problem.Remedy) {
	switch text = s.Withheld(now); {
	case s.Unread != "":
		return "the lab's log: " + text, nil
	case s.Out:
		remedies = []problem.Remedy{{Text: "say that it is back", Action: problem.Service, Subject: s.Resource}}
	default:
		remedies = []problem.Remedy{{
			Text: "say that it was calibrated", Action: problem.Service, Subject: s.Resource,
			Ways: []string{problem.WayCalibrated},
		}}
	}
	return "a person: " + text, remedies
}

// withheld is the service of the first instrument of the campaign that is withheld, or nil.
func withheld(c Now) *Service {
	for _, name := range c.Definition.Resources() {
		if s := c.Resources[name].Service; s.Withheld(c.Now) != "" {
			return &s
		}
	}
	return nil
}

// nextService waits for a person where the next experiment needs an instrument that is withheld. Like one
// for which a stock does not suffice it is only requested. A batch is not begun while any of its
// instruments is withheld: it would be left standing on the way.
func nextService(c Now) (Step, error) {
	x := firstWith(c.State, campaign.Requested)
	if c.Status.Ended() || c.Count(underway...) > 0 || openBatch(c.State) != nil || x == nil || heldBack(c.State, x) {
		return nil, nil
	}
	s := withheld(c)
	if s == nil {
		return nil, nil
	}
	wait := Wait{Until: Deadline(c)}
	wait.For, wait.Remedies = s.wait(c.Now)
	return wait, nil
}

// Serviced is a person's word on an instrument of the lab.
type Serviced struct {
	Resource string `json:"resource" doc:"Its name in lab.yaml." maxLength:"200"`
	Out      bool   `json:"out" doc:"Whether it is out of service from here on, or back."`
	Reason   string `json:"reason,omitempty" maxLength:"10000"`
	// CalibratedUntil is a date or a time; "none" for an instrument whose calibration does not expire.
	CalibratedUntil string   `json:"calibrated_until,omitempty" doc:"The last day of its calibration, such as 2027-03-01, a time as in RFC 3339, or none. Left out: as it was." maxLength:"100"`
	Files           []string `json:"files,omitempty" doc:"Where files about it can be fetched, such as certificates." maxItems:"100"`
}

// Of returns the event that it makes at a time, before which another one held. A date is one of the time's
// zone.
func (w *Serviced) Of(before Service, now time.Time) (*events.ResourceServiced, error) {
	p := &events.ResourceServiced{
		Resource: w.Resource, Out: w.Out, Reason: strings.TrimSpace(w.Reason), CalibratedUntil: before.CalibratedUntil,
	}
	switch {
	case w.CalibratedUntil == "":
	case w.Out:
		return nil, invalid("%s is out of service: when it is back it is said until when it is calibrated", w.Resource)
	case w.CalibratedUntil == none:
		p.CalibratedUntil = time.Time{}
	default:
		until, err := time.ParseInLocation(time.DateOnly, w.CalibratedUntil, now.Location())
		if err == nil {
			until = until.AddDate(0, 0, 1)
		} else if until, err = time.Parse(time.RFC3339, w.CalibratedUntil); err != nil {
			return nil, invalid("%q is not a date", w.CalibratedUntil).
				With(problem.Remedy{Text: "write the last day of the calibration, as in 2027-03-01, or none"})
		}
		if !now.Before(until) {
			return nil, invalid("a calibration until %s is over", w.CalibratedUntil).
				With(problem.Remedy{Text: "give the last day of the new one"})
		}
		p.CalibratedUntil = until
	}
	for _, address := range w.Files {
		name := events.FileName(address)
		file := Attach{Attachment: events.Attachment{Name: name, MediaType: events.MediaTypeOf(name), URI: address}}
		if err := file.check(); err != nil {
			return nil, err
		}
		p.Files = append(p.Files, file.Attachment)
	}
	return p, nil
}
