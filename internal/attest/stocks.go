package attest

import (
	"context"
	"fmt"
	"reflect"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/lab/devices"
	"github.com/campaignd/campaignd/internal/lab/stocks"
)

// Draws are the draws from stocks of the lab in the logs of its campaigns, which were audited before
// the log of the lab.
type Draws struct{ all []draw }

// draw has the parts of the lab's stocks that a command was given, by their names in the lab.
type draw struct {
	campaign, experiment, command string
	parts                         []events.Drawn
}

// collect adds the draws of a campaign.
func (d *Draws) collect(ctx context.Context, log events.Log, name string) error {
	var def *definition.Campaign
	for e, err := range events.ReadCampaign(ctx, log, name, 0) {
		if err != nil {
			return err
		}
		payload, err := events.Decode(e)
		if err != nil {
			return err
		}
		switch p := payload.(type) {
		case *events.CampaignDefined:
			def = &p.Definition
		case *events.CampaignAmended:
			def = &p.Definition
		case *events.ExperimentDispatched:
			d.add(def, draw{name, p.Experiment, p.Command, p.Drawn})
		case *events.ActDispatched:
			if len(p.Experiments) > 0 {
				d.add(def, draw{name, p.Experiments[0], p.Command, p.Drawn})
			}
		}
	}
	return nil
}

// add adds what a command draws from stocks of the lab.
func (d *Draws) add(def *definition.Campaign, all draw) {
	one := all
	one.parts = nil
	for _, part := range all.parts {
		if def != nil && def.Stocks[part.Stock].Lab != "" {
			part.Stock = def.Stocks[part.Stock].Lab
			one.parts = append(one.parts, part)
		}
	}
	if one.parts != nil {
		d.all = append(d.all, one)
	}
}

// lab audits the stocks in the log of a lab: nothing was taken twice, and each draw of a campaign has
// its take. A take without a draw is of a command that was not sent. Each word on the service of an
// instrument came from a person, about a time that lay ahead.
func (r *Audit) lab(ctx context.Context, log events.Log, draws *Draws) error {
	shelf := stocks.NewShelf()
	taken := make(map[string][]*events.StockTaken)
	for e, err := range events.ReadCampaign(ctx, log, events.StocksStream, 0) {
		if err != nil {
			return err
		}
		problem, err := shelf.Apply(e)
		if err != nil {
			return err
		}
		if problem != "" {
			r.mismatch(e.Campaign, decisions.Mismatch{Position: e.Position, Event: e.Kind, Subject: "stocks", Problem: problem})
		}
		if payload, _ := events.Lab.Decode(e); e.Kind == events.KindStockTaken {
			p := payload.(*events.StockTaken)
			taken[p.Command] = append(taken[p.Command], p)
			r.Takes++
		}
	}
	service := make(devices.Service)
	for e, err := range events.ReadCampaign(ctx, log, events.ServiceStream, 0) {
		if err != nil {
			return err
		}
		problem, err := service.Apply(e)
		if err != nil {
			return err
		}
		if problem != "" {
			r.mismatch(e.Campaign, decisions.Mismatch{Position: e.Position, Event: e.Kind, Subject: "service", Problem: problem})
		}
	}
	if draws == nil {
		return nil
	}
	for _, d := range draws.all {
		given := false
		for _, p := range taken[d.command] {
			given = given || p.Campaign == d.campaign && p.Experiment == d.experiment && reflect.DeepEqual(p.Taken, d.parts)
		}
		if !given {
			r.mismatch(d.campaign, decisions.Mismatch{Event: events.KindExperimentDispatched, Subject: d.experiment,
				Problem: fmt.Sprintf("it draws %v from stocks of the lab, which were not taken for %s", d.parts, d.command)})
		}
	}
	return nil
}

func (r *Audit) mismatch(campaign string, m decisions.Mismatch) {
	r.Mismatches = append(r.Mismatches, Mismatch{Campaign: campaign, Mismatch: m})
}
