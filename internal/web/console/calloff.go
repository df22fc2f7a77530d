package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// cancelling reads the form that calls an experiment off, by the instrument's
// word or by the end of its program.
func cancelling(r *http.Request, _ *lab.Campaign) (engine.Request, error) {
	return engine.Request{Cancel: &engine.Cancel{
		Experiment: text(r, "experiment"), EndProgram: text(r, "end_program") != "", Reason: text(r, "reason"),
	}}, nil
}

// voiding reads the form by which a person says that the device was without
// power.
func voiding(r *http.Request, _ *lab.Campaign) (engine.Request, error) {
	return engine.Request{Cancel: &engine.Cancel{
		Experiment: text(r, "experiment"), Voided: events.VoidedByPower, Reason: text(r, "reason"),
	}}, nil
}

// abortDevice aborts every campaign of the lab that uses a device. Those that the
// visitor may not see are not named, and those that they may not run are not
// aborted: the page says so.
func (c *Console) abortDevice(r *http.Request, _ *lab.Campaign, by engine.Request) error {
	visitor := visitorOf(r.Context())
	seen := slices.DeleteFunc(c.lab.Campaigns(), func(of *lab.Campaign) bool {
		return visitor.may(See, of.Name()) != nil
	})
	by.Abort = &engine.Abort{Reason: text(r, "reason")}
	aborted, err := lab.AbortDevice(r.Context(), seen, text(r, "device"), by, func(of *lab.Campaign) error {
		err := visitor.may(Run, of.Name())
		if err != nil {
			visitor.refused(Run, of.Name())
		}
		return err
	})
	if err != nil {
		return err
	}
	var failed []string
	for _, a := range aborted {
		if a.Err != nil {
			failed = append(failed, a.Campaign+" ("+a.Error+")")
		}
	}
	if failed == nil {
		return nil
	}
	return problem.New(problem.Unavailable, "the other campaigns of the device are aborted; NOT aborted: %s",
		strings.Join(failed, "; ")).With(problem.Remedy{Text: "stop the device by its own stop"})
}

// calledOffNeeds lists the experiments that are being called off and have no answer yet. base is
// the address of the campaign's page.
func calledOffNeeds(s *view.Campaign, base string, driven bool) (needs []need) {
	var waiting []string
	instrument := ""
	for _, o := range s.CallingOff() {
		if driven && o.UnderWay() {
			continue // it gets the order just now
		}
		waiting = append(waiting, o.Subject)
		instrument = o.Instrument
	}
	if waiting != nil {
		n := need{
			Text: view.BeingCalledOff(waiting) + ", and " + instrument + " has not answered. Look at it, and use its own stop.",
			Link: subjectAt(base, waiting[0]), Button: "Look at it", Alarm: true,
		}
		if !driven {
			n.Text = view.BeingCalledOff(waiting) + ", and " + instrument +
				" does not know of it, since nothing drives the campaign. Use its own stop."
			n.Link = ""
			n.Post = base + "/run"
			n.Button = "Run it, to have it stopped"
		}
		needs = append(needs, n)
	}
	if o := s.Contradicted; o != nil {
		needs = append(needs, need{
			Text: o.Subject + " was settled as " + o.Outcome + ", and " + o.Instrument +
				" has answered otherwise since. Look at the device before anything more is sent.",
			Link: subjectAt(base, o.Subject), Button: "See what it said", Alarm: true,
		})
	}
	return needs
}

// Cancellable reports whether the experiment can be called off now.
func (p *experimentPage) Cancellable() bool {
	return p.CanResolve && p.Command.CallOff == nil && (p.Status == campaign.Requested || p.Command.AtWork())
}
