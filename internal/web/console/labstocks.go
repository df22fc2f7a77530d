package console

import (
	"cmp"
	"fmt"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab/stocks"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// labStocksPage shows the stocks and places of the lab.
type labStocksPage struct {
	*shell
	Stocks   []stockCard
	Places   []stocks.Place
	Chosen   string // the one that the form is about
	What     string // as it was typed
	CanCount bool
}

// showLabStocks lists the stocks and places of the lab, with the forms that count a stock and free a place.
func showLabStocks(v *visit) error {
	chosen := cmp.Or(text(v.r, "stock"), v.r.URL.Query().Get("stock"))
	p := labStocksPage{shell: v.shell("Stocks and places of the lab"), Chosen: chosen, What: text(v.r, "what")}
	p.Watch = "*"
	if err := p.Visitor.may(See, ""); err != nil {
		return err
	}
	p.CanCount = p.Visitor.may(Run, "") == nil
	all, err := v.lab.Stocks()
	if err != nil {
		return err
	}
	for i := range all {
		p.Stocks = append(p.Stocks, stockCard{Stock: all[i], Text: view.LeftText(&all[i])})
		if p.Chosen == "" && all[i].ComesToAnEnd() {
			p.Chosen = all[i].Name
		}
	}
	if p.Places, err = v.lab.Places(); err != nil {
		return err
	}
	return v.write(drawStocks(p))
}

// mayInLab refuses a visitor without a permission in the whole lab, and records that.
func (v *visit) mayInLab(permission string) error {
	err := v.visitor().may(permission, "")
	if err != nil {
		v.visitor().refused(permission, "")
	}
	return err
}

// freeLabPlace records a person's word that a batch is in a place of the lab no more.
func freeLabPlace(v *visit) error {
	if err := v.mayInLab(Run); err != nil {
		return err
	}
	f := stocks.Free{Place: text(v.r, "place"), Campaign: text(v.r, "campaign"), Batch: text(v.r, "batch"), Reason: text(v.r, "reason")}
	if v.refusal = v.lab.Free(f, requested(v.r, engine.Request{})); v.refusal != nil {
		return showLabStocks(v)
	}
	return v.redirect("/stocks", "freed")
}

// countLabStock records a person's word on a stock of the lab.
func countLabStock(v *visit) error {
	if err := v.mayInLab(Run); err != nil {
		return err
	}
	n := engine.Count{Stock: text(v.r, "stock"), Lot: text(v.r, "lot"), Reason: text(v.r, "reason")}
	all, err := v.lab.Stocks()
	if err != nil {
		return err
	}
	what := &n.Labels
	for i := range all {
		if all[i].Name == n.Stock && all[i].Unit != "" {
			what = &n.Amount
		}
	}
	*what = text(v.r, "what")
	if v.refusal = v.lab.Count(n, requested(v.r, engine.Request{})); v.refusal != nil {
		return showLabStocks(v)
	}
	return v.redirect("/stocks", "counted")
}

// ending are the stocks of the lab that come to an end, in words. What cannot be read is shown by the
// stocks' own page.
func (v *visit) ending() (texts []string, stocks bool) {
	all, err := v.lab.Stocks()
	for i := range all {
		if all[i].ComesToAnEnd() {
			texts = append(texts, endingText(&all[i]))
		}
	}
	places, _ := v.lab.Places()
	return texts, err != nil || len(all)+len(places) > 0
}

func endingText(s *campaign.Stock) string {
	return fmt.Sprintf("%s of the lab comes to an end: %s.", s.Name, view.LeftText(s))
}
