package view

import (
	"cmp"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// SignText writes the latest sign of life of a command under way: "40 %, cycle 12 of 30, the next sign
// within 7 h"; empty for none.
func SignText(sign *campaign.Sign) string {
	if sign == nil {
		return ""
	}
	text := cmp.Or(engine.SignText(sign.Sign), "at work")
	if promised := sign.Promised(); promised > 0 {
		text += ", the next sign within " + format.Duration(promised)
	}
	return text
}

func (s *Story) instrumentSignalled(_ events.Event, p *events.InstrumentSignalled) Entry {
	text := s.resource(p.Act, p.Instrument) + " is at work on " + s.called(p.Subject())
	if said := engine.SignText(p.Sign); said != "" {
		text += ": " + said
	}
	if p.Handle != "" {
		text += ", as " + p.Handle
	}
	return Entry{Text: text}
}
