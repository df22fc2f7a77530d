package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/web/server/gate"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// DeviceToAbort is the device whose campaigns are aborted.
type DeviceToAbort struct {
	Device string `json:"device" minLength:"1" maxLength:"1000" doc:"Its identity or its name, as the device describes itself, or its name in the lab file."`
	Reason string `json:"reason,omitempty" maxLength:"10000" doc:"Why, for the record."`
}

// DeviceAborted is the outcome for each campaign that uses the device.
type DeviceAborted struct {
	Device    string        `json:"device"`
	Campaigns []lab.Aborted `json:"campaigns"`
}

type (
	abortInput struct {
		As   string `query:"as" maxLength:"200" doc:"Who aborts it, where the server lets one act for others."`
		Body DeviceToAbort
	}
	abortOutput struct{ Body DeviceAborted }
)

// stopping is the body of the operation that stops a campaign for good.
type stopping struct {
	Because
	Now bool `json:"now,omitempty" doc:"Call off the experiments under way, too."`
}

type stopInput struct {
	InCampaign
	Body *stopping // optional
}

// callingOff registers the operations that stop work in progress.
//
// Aborting needs no confirmation even if a lab requires one for other acts: it makes things stand
// still, and resuming undoes it. A report that a device was without power rests on a person's word,
// like the outcome of an unresolved experiment, and is confirmed like one.
func (a *API) callingOff() {
	cancel := operation("cancel", http.MethodPost, "/campaigns/{campaign}/cancel", "Call experiments off",
		"The instrument never begins them any more, and stops where it can. That is recorded before it gets the order; "+
			"until it has answered it gets nothing else. The hardware's own stop is the safety device.")
	type input struct {
		InCampaign
		Body bodyOf[engine.Cancel]
	}
	inCampaign(a, a.recording(cancel),
		func(ctx context.Context, c *lab.Campaign, in *input) (*recordedOutput, error) {
			r := engine.Request{Cancel: &in.Body.body}
			if _, act := neededFor(&r); act != "" {
				if err := a.Confirmed(ctx, act); err != nil {
					return nil, problems.Of(err)
				}
			}
			return a.fulfill(ctx, c, r, in.Body.err)
		})
	a.steer("abort", "Abort a campaign",
		"Everything that is under way is called off, as by cancel, and the campaign pauses.",
		func(reason string) engine.Request { return engine.Request{Abort: &engine.Abort{Reason: reason}} })
	stop := operation("stop-campaign", http.MethodPost, "/campaigns/{campaign}/stop", "Stop a campaign for good",
		"It cannot be resumed. What is under way is awaited, or with now called off.")
	inCampaign(a, a.recording(stop),
		func(ctx context.Context, c *lab.Campaign, in *stopInput) (*recordedOutput, error) {
			body := stopping{}
			if in.Body != nil {
				body = *in.Body
			}
			r := engine.Request{Stop: &events.CampaignStopped{Reason: body.Reason}}
			if body.Now {
				r = engine.Request{Abort: &engine.Abort{Stop: true, Reason: body.Reason}}
			}
			return a.fulfill(ctx, c, r, nil)
		})
	huma.Register(a.huma, operation("abort-device", http.MethodPost, "/abort", "Abort every campaign that uses a device",
		"All at once, and each is reported; one that the caller may see and not run is named as not aborted."), a.abortDevice)
}

// abortDevice aborts the campaigns of a device. A campaign that the caller may see but not run is
// listed as not aborted.
func (a *API) abortDevice(ctx context.Context, in *abortInput) (*abortOutput, error) {
	order := asked(ctx, engine.Request{Abort: &engine.Abort{Reason: in.Body.Reason}})
	order.Actor, order.Account = a.ActingAs(ctx, in.As)
	if err := engine.CheckActor(order.Actor); err != nil {
		return nil, problems.Of(problem.New(problem.Invalid, "as: %w", err))
	}
	seen := slices.DeleteFunc(a.lab.Campaigns(), func(c *lab.Campaign) bool { return !gate.Sees(ctx, c.Name()) })
	aborted, err := lab.AbortDevice(ctx, seen, in.Body.Device, order, func(c *lab.Campaign) error {
		return a.Allowed(ctx, accounts.Run, c.Name())
	})
	if err != nil {
		return nil, problems.Of(err)
	}
	return &abortOutput{DeviceAborted{Device: in.Body.Device, Campaigns: aborted}}, nil
}
