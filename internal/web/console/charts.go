package console

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/report"
)

// chartsPage shows the report's figures, as internal/view/report groups them, in the
// colors of the page.
type chartsPage struct {
	*shell
	Groups []report.FigureGroup
	// Explore is set where the page has interactive charts in place of some of the figures: where
	// something is measured, and a browser runs scripts. Still is set where the address asks for
	// the figures alone.
	Explore, Still bool
}

// Jumps lead to the parts of the page: a link for each, in their order.
func (p *chartsPage) Jumps() (links []jump) {
	if p.Explore {
		links = append(links, jump{"course", "Course"}, jump{"model", "One composition"}, jump{"map", "Map"},
			jump{"slices", "Along each parameter"}, jump{"importance", "Importance"}, jump{"pairs", "Any two"})
	}
	for i, g := range p.Groups {
		links = append(links, jump{fmt.Sprintf("part-%d", i), g.Title})
	}
	return links
}

// jump is a link to a part of a page, by the identifier of its element.
type jump struct{ ID, Text string }

// plotted is a chart that answers, as the page introduces it.
type plotted struct{ Name, Title, Hint string }

func plottedAs(name, title, hint string) plotted { return plotted{name, title, hint} }

// explored reports whether the page has an interactive chart of its own for a group of the report.
func explored(g report.FigureGroup) bool {
	return strings.HasSuffix(g.Title, " along each parameter") || slices.Contains([]string{
		"Course", "The models over a mixture of three", "The model over two parameters", "The model along each parameter",
	}, g.Title)
}

// figureCache keeps the figures of the campaigns that were looked at last:
// drawing them takes models, hence seconds. It is keyed by the lab's own
// campaign, not by its name, which several stores may have.
type figureCache struct {
	mu    sync.Mutex
	known map[*lab.Campaign]*drawnFigures
}

// drawnFigures are a campaign's figures as of an event, with the components of a mixture that a
// reader chose last. They belong to the log alone and not to a visitor, so that all share them:
// rights are checked before they are looked up. Their links lead to pages that check again.
type drawnFigures struct {
	mu       sync.Mutex // held while they are drawn: other requests wait for them
	sequence events.Sequence
	triangle [3]string
	groups   []report.FigureGroup
}

// mostDrawn is how many campaigns' figures are kept: they are large, and few
// campaigns are looked at in one day.
const mostDrawn = 24

// newFigureCache returns an empty cache; one serves a whole console.
func newFigureCache() *figureCache { return &figureCache{known: make(map[*lab.Campaign]*drawnFigures)} }

// of returns the entry of a campaign; when there are too many, all others are
// dropped. To keep those that were used last would take an order of uses; to
// draw some of them again takes seconds, once in a long while. A request that
// still holds a dropped entry goes on with it.
func (f *figureCache) of(c *lab.Campaign) *drawnFigures {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.known[c]
	if d == nil {
		if len(f.known) >= mostDrawn {
			clear(f.known)
		}
		d = new(drawnFigures)
		f.known[c] = d
	}
	return d
}

// showCharts serves charts that answer, with the rest of the report's figures; ?still all of
// these, for browsers without scripts. ?top=, ?left= and ?right= choose the
// components of a mixture that maps are drawn over; a name that it does not have
// gives those that vary most.
func showCharts(v *visit) error {
	query := v.r.URL.Query()
	triangle := [3]string{query.Get("top"), query.Get("left"), query.Get("right")}
	groups, err := v.drawn(v.r.Context(), v.of, triangle)
	if err != nil {
		return err
	}
	p := &chartsPage{shell: v.shell("Charts of " + v.of.Name()), Groups: groups}
	p.Still = query.Has("still") || triangle != [3]string{}
	if p.Explore = v.of.Defined().Measures() && len(groups) > 0 && !p.Still; p.Explore {
		p.Groups = slices.DeleteFunc(slices.Clone(groups), explored)
	}
	p.in(v.of, pageCharts)
	return v.write(drawCharts(p))
}

// drawn returns the figures of a campaign, drawn anew when the log has grown. The sequence is taken
// before they are drawn: events recorded meanwhile may be in them already, and they are drawn once
// more than needed, never too seldom. A drawing that fails or is cut off is not kept. No lock is
// held while they are sent: a visitor who reads slowly holds up no other.
func (c *Console) drawn(ctx context.Context, of *lab.Campaign, triangle [3]string) ([]report.FigureGroup, error) {
	d := c.figures.of(of)
	d.mu.Lock()
	defer d.mu.Unlock()
	at := of.Sequence()
	if d.groups != nil && d.sequence == at && d.triangle == triangle {
		return d.groups, nil
	}
	log, err := of.Log()
	if err != nil {
		return nil, err
	}
	groups, err := report.Figures(ctx, report.Input{
		Registry: c.lab.Registry(), Log: log, Campaign: of.Name(), Store: of.Store(), Triangle: triangle, Shown: of.Shown(),
	}, figure.Page{
		Palette: figure.Classes,
		Link:    func(id string) string { return subjectPath(of.Name(), id) },
	})
	if err == nil {
		d.groups = groups
		d.sequence = at
		d.triangle = triangle
	}
	return groups, err
}
