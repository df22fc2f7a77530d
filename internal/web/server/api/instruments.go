package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// LabInstruments are the instruments of the lab with their service, in the order of their names.
type LabInstruments struct {
	Instruments []engine.Service `json:"instruments"`
}

type (
	labInstrumentsOutput struct{ Body LabInstruments }
	servicedInput        struct {
		As   string `query:"as" maxLength:"200" doc:"Who says it, where the server lets one act for others."`
		Body bodyOf[engine.Serviced]
	}
)

// instruments registers the operations on the instruments of the lab.
func (a *API) instruments() {
	huma.Register(a.huma, operation("list-instruments", http.MethodGet, "/instruments", "The instruments of the lab",
		"Which are out of service, and until when they are calibrated, as people have said."),
		func(context.Context, *struct{}) (*labInstrumentsOutput, error) { return a.labInstruments() })
	say := operation("service-instrument", http.MethodPost, "/instruments", "Say whether an instrument of the lab is in service",
		"While it is out, or its calibration has expired, no campaign of the lab hands it a command; those that wait for it go on "+
			"once it is back. With an Idempotency-Key it can be sent again: it counts once.")
	huma.Register(a.huma, a.keyedBy(say, ""), func(ctx context.Context, in *servicedInput) (*labInstrumentsOutput, error) {
		by := asked(ctx, engine.Request{})
		by.Actor, by.Account = a.ActingAs(ctx, in.As)
		if err := engine.CheckActor(by.Actor); err != nil {
			return nil, problems.Of(problem.New(problem.Invalid, "as: %w", err))
		}
		if err := a.lab.Serve(in.Body.body, by); err != nil {
			return nil, problems.Of(err)
		}
		return a.labInstruments()
	})
}

func (a *API) labInstruments() (*labInstrumentsOutput, error) {
	all, err := a.lab.Services()
	if err != nil {
		return nil, problems.Of(err)
	}
	return &labInstrumentsOutput{LabInstruments{append([]engine.Service{}, all...)}}, nil
}
