package console

import (
	"net/url"
	"slices"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Parts of a campaign's page, as ?tab= names them. The first one shown is the campaign's main list:
// experiments, or comparisons.
const (
	tabExperiments  = ""
	tabFront        = "front"
	tabRanking      = "ranking"
	tabCompositions = "compositions"
	tabInstruments  = "instruments"
	tabBatches      = "batches"
	tabStocks       = "stocks"
	tabNotes        = "notes"
)

// Pages of a campaign that stand in its bar, by the end of their address.
const (
	pageCharts     = "charts"
	pageResults    = "results"
	pageLog        = "log"
	pageDefinition = "definition"
	pageFiles      = "files"
)

// tab is an entry of the bar that all pages of a campaign have: a part of the campaign's
// own page, or another page.
type tab struct {
	Name, Text, Link string
	Count            int // the length of its list; 0 for an empty list, or one without a count
	Current          bool
}

// barOf is the bar of a page of the campaign.
func barOf(of *lab.Campaign, current string) (bar []tab) {
	of.Read(func(core *engine.Core) { bar = barIn(core.State(), address(of), current) })
	return bar
}

// barIn lists the parts that a campaign's page has, then the other pages.
func barIn(s *campaign.State, path, current string) []tab {
	bar := partsIn(s, path, current, nil)
	page := func(name, text string) {
		bar = append(bar, tab{Name: name, Text: text, Link: path + "/" + name, Current: name == current})
	}
	page(pageCharts, "Charts")
	if s.Definition.Measures() {
		page(pageResults, "Results")
	}
	page(pageFiles, "Files")
	page(pageLog, "Log")
	page(pageDefinition, "Campaign file")
	return bar
}

// partsIn lists the parts of a campaign's page. With is the query that keeps their addresses at an
// earlier state, the experiment as of which the page is shown; nil for now.
func partsIn(s *campaign.State, path, current string, with url.Values) (bar []tab) {
	part := func(name, text string, count int) {
		query := url.Values{}
		for key, values := range with {
			query[key] = values
		}
		if name != "" {
			query.Set("tab", name)
		}
		link := path
		if len(query) > 0 {
			link += "?" + query.Encode()
		}
		bar = append(bar, tab{name, text, link, count, name == current})
	}
	def := s.Definition
	measures := def.Measures()
	if measures {
		part(tabExperiments, "Experiments", len(s.Experiments))
	} else {
		part(tabExperiments, "Comparisons", len(s.Questions))
	}
	if def.Tradeoff() != nil {
		part(tabFront, "Front", 0)
	}
	if def.Preferred() != nil {
		part(tabRanking, "Ranking", 0)
	}
	part(tabCompositions, "Compositions", 0)
	if measures && with == nil { // the activity of instruments is shown of now alone
		part(tabInstruments, "Instruments", 0)
	}
	if n := len(s.Batches); n > 0 {
		part(tabBatches, "Batches", n)
	}
	if n := len(s.Stocks); n > 0 {
		part(tabStocks, "Stocks", n)
	}
	if n := len(s.Notes) + len(s.Exclusions); n > 0 {
		part(tabNotes, "Notes and exclusions", n)
	}
	return bar
}

// tabShown is the part that an address asks for: the first one by default, and for an unknown one.
func tabShown(s *campaign.State, asked string, with url.Values) string {
	parts := partsIn(s, "", asked, with)
	if slices.ContainsFunc(parts, func(t tab) bool { return t.Current }) {
		return asked
	}
	return tabExperiments
}

// in says which campaign the page belongs to and follows, and which entry of its bar it is.
func (s *shell) in(of *lab.Campaign, page string) {
	s.Campaign, s.Watch = of.Name(), of.Name()
	s.Bar = barOf(of, page)
}
