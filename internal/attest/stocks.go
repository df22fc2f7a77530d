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

// Draws are the draws from stocks of the lab, and the batches in its places, in the logs of its
// campaigns, which were audited before the log of the lab.
type Draws struct {
	all   []draw
	stays []stay
}

// stay is an act that brings a batch to a place of the lab.
type stay struct {
	of         events.Occupant // without the store
	place, act string
}

// draw has the parts of the lab's stocks that a command was given, by their names in the lab.
type draw struct {
	campaign, experiment, command string
	parts                         []events.Drawn
}

// collect adds the draws of a campaign.
func (d *Draws) collect(ctx context.Context, log events.Log, name string) error {
	var def *definition.Campaign
	instance := ""
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
			def, instance = &p.Definition, p.Instance
		case *events.CampaignAmended:
			def = &p.Definition
		case *events.ExperimentDispatched:
			d.add(def, draw{name, p.Experiment, p.Command, p.Drawn})
		case *events.ActDispatched:
			if len(p.Experiments) > 0 {
				d.add(def, draw{name, p.Experiments[0], p.Command, p.Drawn})
			}
			of := events.Occupant{Campaign: name, Instance: instance, Batch: p.Batch}
			if place := entered(def, p.Stage); place != "" {
				d.stays = append(d.stays, stay{of, place, p.Act})
			}
		}
	}
	return nil
}

// entered is the place of the lab to which a stage brings a batch, or "".
func entered(def *definition.Campaign, stage string) string {
	if def == nil || def.Stage(stage) == nil {
		return ""
	}
	if place := def.Place(def.Stage(stage).Holds); place != nil {
		return place.Lab
	}
	return ""
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

// lab audits the stocks and places in the log of a lab: nothing was taken twice, no place was fuller than
// it can be, and each draw of a campaign and each of its batches in a place has its take. A take without
// a draw is of a command that was not sent. Each word on the service of an instrument came from a person,
// about a time that lay ahead.
func (r *Audit) lab(ctx context.Context, log events.Log, draws *Draws) error {
	shelf := stocks.NewShelf()
	taken := make(map[string][]*events.StockTaken)
	occupied := make(map[stay]bool)
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
		payload, err := events.Lab.Decode(e)
		if err != nil {
			return err
		}
		switch p := payload.(type) {
		case *events.StockTaken:
			taken[p.Command] = append(taken[p.Command], p)
			r.Takes++
		case *events.PlaceTaken:
			of := p.Occupant
			of.Store = ""
			occupied[stay{of: of, place: p.Place}] = true
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
	for _, s := range draws.stays {
		if !occupied[stay{of: s.of, place: s.place}] {
			r.mismatch(s.of.Campaign, decisions.Mismatch{Event: events.KindActDispatched, Subject: s.act,
				Problem: fmt.Sprintf("it brings %s to %s of the lab, which was not taken for it", s.of.Batch, s.place)})
		}
	}
	return nil
}

func (r *Audit) mismatch(campaign string, m decisions.Mismatch) {
	r.Mismatches = append(r.Mismatches, Mismatch{Campaign: campaign, Mismatch: m})
}
