package console

import (
	"fmt"
	"html/template"
	"time"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// device is an instrument of a campaign, as its page shows it. A campaign may have had several:
// each name and identity is one. All of it comes from the log; no device is asked for a page.
type device struct {
	Name, Identity, World, Driver string
	State                         state
	Present                       bool // the one that the campaign has now
	Under                         []command
	Waiting                       []command // requested, and not sent yet
	view.Signs
	Trouble string // why it is not driven now
}

// command is an experiment that a device performs or will be given, since when.
type command struct {
	ID    string
	Since time.Time
}

// devicesOf lists the instruments of a campaign, the present one first. The present one is that to
// which the last experiment was sent, else the one that the definition names. Experiments that wait
// are shown with it, since it is the one that will get them; the reason why the campaign cannot run
// is shown there as well, as it mostly is the instrument.
func devicesOf(s *campaign.State, log *view.Timeline, standing lab.Standing) (devices []device) {
	def := s.Definition
	if !def.Measures() {
		return nil
	}
	at := make(map[view.Device]int)
	present := -1
	var waiting []command
	for i := range s.Experiments {
		x := &s.Experiments[i]
		key, sent := log.SentTo[x.ID]
		if x.Status == campaign.Requested {
			waiting = append(waiting, command{x.ID, x.RequestedAt})
			continue
		}
		if !sent {
			continue
		}
		if _, known := at[key]; !known {
			at[key] = len(devices)
			devices = append(devices, deviceOf(key, log.Signs[key]))
		}
		present = at[key]
		devices[present].give(x)
	}
	if present < 0 { // nothing has been sent yet
		present = len(devices)
		devices = append(devices, device{Name: def.Driver().Name})
	}
	devices[present].Present = true
	for i := range devices {
		devices[i].rest(s.Status.Ended())
	}
	d := &devices[present]
	d.Waiting = waiting
	d.Driver = def.Driver().Name
	if def.ByHand() {
		d.Driver = "a person, by hand"
		if d.Identity == "" {
			d.Identity = "any instrument that the person uses"
		}
	}
	if standing.Trouble != nil && !s.Status.Ended() {
		d.Trouble = view.Sentence(problem.FromError(standing.Trouble).Message)
		d.State = state{"not driven", "trouble"}
	}
	devices[0], devices[present] = devices[present], devices[0]
	return devices
}

// deviceOf returns a device that was sent something, with its last signs.
func deviceOf(key view.Device, signs view.Signs) device {
	d := device{Name: key.Name, Identity: key.Identity, Signs: signs}
	if d.Error.Text != "" {
		d.Error.Text = d.Error.Experiment + ": " + view.Sentence(d.Error.Text)
	}
	return d
}

// give notes the state of the device that an experiment sent to it shows. Experiments come in their
// order, so that the last one that is in trouble gives the state.
func (d *device) give(x *campaign.Experiment) {
	d.World = map[bool]string{true: "real", false: "simulated"}[x.Command.Real]
	if x.Command.BeingCalledOff() {
		d.Under = append(d.Under, command{x.ID, x.Command.DispatchedAt})
		d.State = state{"being stopped", "trouble"}
		return
	}
	switch x.Status {
	case campaign.Dispatched, campaign.Started:
		d.Under = append(d.Under, command{x.ID, x.Command.DispatchedAt})
		if x.Command.Stalled {
			d.State = state{"stalled", "trouble"}
		}
	case campaign.Unresolved:
		d.Under = append(d.Under, command{x.ID, x.Command.DispatchedAt})
		d.State = state{"fate unknown", "trouble"}
	}
}

// rest describes the state of a device without faults.
func (d *device) rest(ended bool) {
	switch {
	case d.State != (state{}):
	case len(d.Under) > 0:
		d.State = state{"at work", "running"}
	case !d.Present:
		d.State = state{"was used before", ""}
	case ended:
		d.State = state{"released", ""}
	default:
		d.State = state{"idle", ""}
	}
}

// oldest is the command that has waited longest.
func oldest(list []command) (first command) {
	for _, q := range list {
		if first.ID == "" || q.Since.Before(first.Since) {
			first = q
		}
	}
	return first
}

// OldestUnder is the oldest command that the device has.
func (d device) OldestUnder() command { return oldest(d.Under) }

// OldestWaiting is the oldest experiment that waits to be sent.
func (d device) OldestWaiting() command { return oldest(d.Waiting) }

// age writes how long something has lasted; the page's script counts on.
// Without the script it is as old as the page.
func age(t time.Time) template.HTML {
	if t.IsZero() {
		return ""
	}
	return template.HTML(fmt.Sprintf(`<span class="age" data-age="%s">%s</span>`,
		t.UTC().Format(time.RFC3339),
		template.HTMLEscapeString(format.Duration(max(time.Since(t), 0).Truncate(time.Second)))))
}
