package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// LabStocks are the stocks of the lab, in the order of their names.
type LabStocks struct {
	Stocks []view.StockStatus `json:"stocks"`
}

type (
	labStocksOutput struct{ Body LabStocks }
	labCountInput   struct {
		As   string `query:"as" maxLength:"200" doc:"Who counted it, where the server lets one act for others."`
		Body bodyOf[engine.Count]
	}
)

// stocks registers the operations on the stocks of the lab, which its campaigns share.
func (a *API) stocks() {
	huma.Register(a.huma, operation("list-stocks", http.MethodGet, "/stocks", "The stocks of the lab",
		"Campaigns share them. What is left, as the lab's log has it."),
		func(context.Context, *struct{}) (*labStocksOutput, error) { return a.labStocks() })
	count := operation("count-stock", http.MethodPost, "/stocks", "Say what there is of a stock of the lab",
		"It was refilled, or counted: the labels that are there, or the amount. It takes the place of what the lab's log knew, "+
			"and campaigns that wait for it go on. With an Idempotency-Key it can be sent again: it counts once.")
	huma.Register(a.huma, a.keyedBy(count, ""), func(ctx context.Context, in *labCountInput) (*labStocksOutput, error) {
		by := asked(ctx, engine.Request{})
		by.Actor, by.Account = a.ActingAs(ctx, in.As)
		if err := engine.CheckActor(by.Actor); err != nil {
			return nil, problems.Of(problem.New(problem.Invalid, "as: %w", err))
		}
		if err := a.lab.Count(in.Body.body, by); err != nil {
			return nil, problems.Of(err)
		}
		return a.labStocks()
	})
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
	return out, nil
}
