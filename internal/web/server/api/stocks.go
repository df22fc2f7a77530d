package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/stocks"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// LabStocks are the stocks of the lab in the order of their names, and its places in that in which a
// batch may hold them.
type LabStocks struct {
	Stocks []view.StockStatus `json:"stocks"`
	Places []stocks.Place     `json:"places,omitempty"`
}

type (
	labStocksOutput struct{ Body LabStocks }
	labCountInput   struct {
		As   string `query:"as" maxLength:"200" doc:"Who counted it, where the server lets one act for others."`
		Body bodyOf[engine.Count]
	}
	labFreeInput struct {
		As   string `query:"as" maxLength:"200" doc:"Who has looked, where the server lets one act for others."`
		Body bodyOf[stocks.Free]
	}
)

// stocks registers the operations on the stocks and places of the lab, which its campaigns share.
func (a *API) stocks() {
	huma.Register(a.huma, operation("list-stocks", http.MethodGet, "/stocks", "The stocks and places of the lab",
		"Campaigns share them. What is left, and which batches are where, as the lab's log has it."),
		func(context.Context, *struct{}) (*labStocksOutput, error) { return a.labStocks() })
	count := operation("count-stock", http.MethodPost, "/stocks", "Say what there is of a stock of the lab",
		"It was refilled, or counted: the labels that are there, or the amount. It takes the place of what the lab's log knew, "+
			"and campaigns that wait for it go on. With an Idempotency-Key it can be sent again: it counts once.")
	huma.Register(a.huma, a.keyedBy(count, ""), func(ctx context.Context, in *labCountInput) (*labStocksOutput, error) {
		return a.ofLab(ctx, in.As, func(by engine.Request) error { return a.lab.Count(in.Body.body, by) })
	})
	free := operation("free-place", http.MethodPost, "/places", "Say that a batch is in a place of the lab no more",
		"For a batch whose campaign goes on no more: a campaign frees its places itself. Those that wait for the place go on.")
	huma.Register(a.huma, a.keyedBy(free, ""), func(ctx context.Context, in *labFreeInput) (*labStocksOutput, error) {
		return a.ofLab(ctx, in.As, func(by engine.Request) error { return a.lab.Free(in.Body.body, by) })
	})
}

// ofLab records a person's word on stocks or places of the lab, and answers with them.
func (a *API) ofLab(ctx context.Context, as string, record func(engine.Request) error) (*labStocksOutput, error) {
	by := asked(ctx, engine.Request{})
	by.Actor, by.Account = a.ActingAs(ctx, as)
	if err := engine.CheckActor(by.Actor); err != nil {
		return nil, problems.Of(problem.New(problem.Invalid, "as: %w", err))
	}
	if err := record(by); err != nil {
		return nil, problems.Of(err)
	}
	return a.labStocks()
}

func (a *API) labStocks() (*labStocksOutput, error) {
	all, err := a.lab.Stocks()
	if err != nil {
		return nil, problems.Of(err)
	}
	out := new(labStocksOutput)
	if out.Body.Stocks = view.StockStatuses(all); all == nil || out.Body.Stocks == nil {
		out.Body.Stocks = []view.StockStatus{}
	}
	if out.Body.Places, err = a.lab.Places(); err != nil {
		return nil, problems.Of(err)
	}
	return out, nil
}
