package lab

import (
	"context"
	"slices"
	"sync"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Aborted is the outcome of the order to abort one campaign of several.
type Aborted struct {
	Campaign string `json:"campaign,omitempty"`
	Store    string `json:"store"`
	// CalledOff are the experiments that are being called off by it.
	CalledOff []string `json:"called_off"`
	// Driven is set where a process drives the campaign, which gives the
	// instrument the order.
	Driven bool `json:"driven" doc:"Whether a process drives the campaign: without one the instrument does not get the order yet."`
	// Error says why it failed: what the campaign has sent may go on.
	Error string `json:"error,omitempty"`
	// Err is that error.
	Err error `json:"-"`
}

// AbortDevice aborts the campaigns of a lab that use a device: all at once, since one that does
// not answer must not keep the others moving. It returns the outcome for each, and the error of
// any refusal by may.
func AbortDevice(
	ctx context.Context, all []*Campaign, device string, r engine.Request, may func(*Campaign) error,
) ([]Aborted, error) {
	var use []*Campaign
	var aborted []Aborted
	var known []string
	for _, c := range all {
		if err := c.record.Broken(); err != nil { // which devices it uses is not known
			aborted = append(aborted, Aborted{Campaign: c.Name(), Store: c.Store()}.With(nil, err))
			continue
		}
		var names []string
		c.Read(func(core *engine.Core) { names = engine.DevicesOf(core.State()) })
		known = append(known, names...)
		if slices.Contains(names, device) {
			use = append(use, c)
		}
	}
	if use == nil && aborted == nil {
		return nil, NoDevice(device, known)
	}
	each := make([]Aborted, len(use))
	var group sync.WaitGroup
	for i, c := range use {
		group.Go(func() {
			var stored []events.Event
			err := may(c)
			if err == nil {
				stored, err = c.Submit(ctx, r)
			}
			one := Aborted{Campaign: c.Name(), Store: c.Store(), Driven: c.Running() != nil}
			each[i] = one.With(stored, err)
		})
	}
	group.Wait()
	return append(each, aborted...), nil
}

// With returns the outcome of the order, from the events that it recorded or its error. Having
// nothing left to call off is not an error.
func (a Aborted) With(stored []events.Event, err error) Aborted {
	a.CalledOff = CalledOff(stored)
	if err != nil && problem.CodeOf(err) != problem.Conflict {
		a.Err = err
		a.Error = err.Error()
	}
	return a
}

// CalledOff are the experiments whose commands are called off by events.
func CalledOff(stored []events.Event) []string {
	ids := []string{}
	for _, e := range stored {
		if e.Kind == events.KindCancellationOrdered {
			ids = append(ids, events.CloudEventAttributes(e)["subject"])
		}
	}
	return ids
}

// NoDevice is the error of an order about a device that no campaign uses; known
// are the names of those that campaigns do.
func NoDevice(device string, known []string) error {
	slices.Sort(known)
	known = slices.Compact(known)
	if len(known) == 0 {
		return problem.New(problem.NotFound, "no campaign uses the device %q, nor any other", device).About(device)
	}
	return problem.New(problem.NotFound, "no campaign uses the device %q; in use are %s", device,
		format.List(known...)).About(device)
}
