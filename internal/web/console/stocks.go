package console

import (
	"cmp"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strconv"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// stockCard is a stock on a campaign's page.
type stockCard struct {
	campaign.Stock
	Text    string        // how much is left
	Picture template.HTML // its labels; empty for an amount, and for too many labels
}

// stocksOf lists the stocks of a campaign. path is the address of its page.
func stocksOf(s *campaign.State, path string) (cards []stockCard) {
	for _, stock := range s.Stocks {
		cards = append(cards, stockCard{stock, view.LeftText(&stock), pictureOf(s, &stock, path)})
	}
	return cards
}

// counting reads the form by which a stock is counted.
func counting(r *http.Request, of *lab.Campaign) (engine.Request, error) {
	n := &engine.Count{Stock: text(r, "stock"), Lot: text(r, "lot"), Reason: text(r, "reason")}
	of.Read(func(core *engine.Core) {
		if stock := core.State().Stock(n.Stock); stock != nil && stock.Unit != "" {
			n.Amount = text(r, "what")
		} else {
			n.Labels = text(r, "what")
		}
	})
	return engine.Request{Count: n}, nil
}

// Chosen reports whether the form that counts is about the stock: as it was typed, else the one that does
// not suffice.
func (p *campaignPage) Chosen(stock string) bool {
	if typed := p.Typed("stocks", "stock"); typed != "" {
		return typed == stock
	}
	return p.Stands.Short != nil && p.Stands.Short.Stock == stock
}

// stockNeeds are the needs of a campaign for which a stock does not suffice, or comes to an end.
func stockNeeds(s *view.Campaign, base string) (needs []need) {
	if s.Short != nil {
		needs = append(needs, need{Text: view.Sentence(s.Short.String()), Alarm: true,
			Link: base + "?tab=" + tabStocks, Button: "Count it"})
	}
	for i := range s.Stocks {
		stock := &s.Stocks[i]
		if stock.ComesToAnEnd() && (s.Short == nil || s.Short.Stock != stock.Name) {
			needs = append(needs, need{Text: stock.Name + " comes to an end: " + view.LeftText(stock) + ".",
				Link: base + "?tab=" + tabStocks, Button: "See it"})
		}
	}
	return needs
}

// Pictured reports whether one of the stocks has a picture.
func (p *campaignPage) Pictured() bool {
	return slices.ContainsFunc(p.Stocks, func(card stockCard) bool { return card.Picture != "" })
}

// use is the experiment that was given a label, and whether that is under way.
type use struct {
	experiment string
	open       bool
}

// usedBy are the labels of a stock that experiments were given since it was declared or counted.
func usedBy(s *campaign.State, stock *campaign.Stock) map[string]use {
	declared, _ := definition.ParseLabels(s.Definition.Stocks[stock.Name].Labels)
	used := make(map[string]use)
	for i := range s.Experiments {
		x := &s.Experiments[i]
		for command, parts := range s.Uses(x) {
			if command.DispatchedAt.Before(stock.CountedAt) {
				continue
			}
			for _, d := range parts {
				for _, label := range d.Labels {
					if d.Stock == stock.Name && (!stock.CountedAt.IsZero() || slices.Contains(declared, label)) {
						used[label] = use{x.ID, command.Fate != campaign.Over}
					}
				}
			}
		}
	}
	for _, label := range stock.Labels { // it was put there again
		delete(used, label)
	}
	return used
}

// mostWells is the number of labels that a picture shows, those of a plate of 384; a row of labels that are
// on no plate has so many of them.
const (
	mostWells = 384
	inRow     = 12
)

// wellLabel matches a label of a plate.
var wellLabel = regexp.MustCompile(`^([A-Z]{1,2})([1-9][0-9]?)$`)

// pictureOf draws the labels of a stock: as a plate, where they are wells of one, else one behind the
// other.
func pictureOf(s *campaign.State, stock *campaign.Stock, path string) template.HTML {
	used := usedBy(s, stock)
	all := slices.Clone(stock.Labels)
	for label := range used {
		all = append(all, label)
	}
	if stock.Unit != "" || len(all) == 0 || len(all) > mostWells {
		return ""
	}
	g, at := gridOf(all)
	title := stock.Name + ": " + view.LeftText(stock)
	return drawWells(title, g, func(row, column int) (w well) {
		label := at[[2]int{row, column}]
		by := used[label]
		switch {
		case label == "":
			return well{Class: "none"}
		case by.experiment != "":
			w = well{Class: "full", Text: by.experiment, Said: label + ": " + by.experiment, Link: path + "/experiments/" + by.experiment}
			if by.open {
				w.Class = "under"
				w.Said += ", under way"
			}
		case label == stock.Labels[0]:
			w = well{Class: "next", Said: label + ": next"}
		default:
			w = well{Said: label}
		}
		if g.columns == nil {
			w.Text = label
		}
		return w
	})
}

// gridOf puts labels in rows and columns. Rows and columns have names where all labels are wells of a
// plate, of more than one row; others stand one behind the other.
func gridOf(labels []string) (g tray, at map[[2]int]string) {
	at = make(map[[2]int]string)
	var rows []string
	last := 0
	for _, label := range labels {
		parts := wellLabel.FindStringSubmatch(label)
		if parts == nil {
			rows = nil
			break
		}
		if !slices.Contains(rows, parts[1]) {
			rows = append(rows, parts[1])
		}
		column, _ := strconv.Atoi(parts[2]) // it matched
		last = max(last, column)
	}
	if len(rows) < 2 || len(rows) > 32 || last > 48 {
		slices.SortFunc(labels, byNumber)
		g = tray{width: min(len(labels), inRow), height: (len(labels) + inRow - 1) / inRow}
		for i, label := range labels {
			at[[2]int{i / inRow, i % inRow}] = label
		}
		return g, at
	}
	slices.SortFunc(rows, byNumber)
	var columns []string
	for column := range last {
		columns = append(columns, strconv.Itoa(column+1))
		for row, name := range rows {
			if label := name + columns[column]; slices.Contains(labels, label) {
				at[[2]int{row, column}] = label
			}
		}
	}
	return tray{rows, columns, len(rows), last}, at
}

// byNumber orders labels as people count: v9 before v10, Z before AA.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
