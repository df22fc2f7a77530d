package console

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// mostBatches is how many batches the table shows.
const mostBatches = 20

// openAct is an act that a person can settle: its fate is unknown, or people carry it out.
type openAct struct {
	campaign.Act
	Text    string
	Unknown bool
	Chosen  bool
}

// batchesPart is the table of batches, and the acts that the form below it settles, with the quantities
// that one of them measures.
type batchesPart struct {
	view.BatchTable
	Settled []openAct
	Gives   []givenField
}

// givenField is the field for a quantity that an act gives.
type givenField struct{ Field, Name, Unit, Value string }

// prefixGave begins the names of these fields.
const prefixGave = "gave."

// batchesOf fills in the table. The act that is settled first is the one that was typed, else that of
// the address.
func (p *campaignPage) batchesOf(r *http.Request, core *engine.Core, s *view.Campaign) {
	p.Batches.BatchTable = view.BatchesIn(core, mostBatches)
	chosen := p.Typed("resolve", "experiment")
	if chosen == "" {
		chosen = r.URL.Query().Get("act")
	}
	for i := range s.Acts {
		a := s.Acts[i]
		unknown := a.Command.Fate == campaign.Unknown
		if !unknown && !(a.Open() && s.Definition.At(a.Resource).ByHand) {
			continue
		}
		text := fmt.Sprintf("%s, %s of %s at %s%s", a.ID, a.Stage, view.ActOf(a.Batch, a.Experiments), a.Resource, view.WithDrawn(&a))
		p.Batches.Settled = append(p.Batches.Settled, openAct{a, text, unknown, a.ID == chosen})
		stage := core.State().Batch(a.Batch).Stage(a.Stage)
		for _, q := range s.Definition.Giving(stage.Gives).Declared() {
			field := givenField{prefixGave + q.Name, q.Name, q.Unit, p.Typed("resolve", prefixGave+q.Name)}
			if !slices.Contains(p.Batches.Gives, field) {
				p.Batches.Gives = append(p.Batches.Gives, field)
			}
		}
	}
}

// actsNeed lists the acts for which a person is needed.
func actsNeed(s *view.Campaign, base string) (needs []need) {
	for i := range s.Acts {
		a := &s.Acts[i]
		at := subjectAt(base, a.ID)
		name := fmt.Sprintf("%s (%s of %s)", a.ID, a.Stage, view.ActOf(a.Batch, a.Experiments))
		switch {
		case a.Command.BeingCalledOff(): // that comes first
		case a.Command.Fate == campaign.Unknown:
			needs = append(needs, need{Text: fmt.Sprintf("The fate of %s is unknown: %s", name, view.Sentence(a.Cause)),
				Link: at, Button: "Settle it", Alarm: true})
		case a.Command.Stalled:
			needs = append(needs, need{Text: fmt.Sprintf("%s has been silent for long over %s.", a.Resource, name),
				Link: at, Button: "Look at it", Alarm: true})
		case a.Open() && s.Definition.At(a.Resource).ByHand:
			needs = append(needs, need{Text: fmt.Sprintf("%s is done by hand at %s%s.", name, a.Resource, view.WithDrawn(a)), Link: at, Button: "Say how it ended"})
		}
	}
	return needs
}

// subjectAt is the address of an experiment's page, or of the form that settles an act.
func subjectAt(base, subject string) string {
	if events.ActNumber(subject) > 0 {
		return base + "?tab=" + tabBatches + "&act=" + url.QueryEscape(subject) + "#settle"
	}
	return base + "/experiments/" + url.PathEscape(subject)
}

// showSubject shows a refused form again, on the page of its experiment or with the campaign's acts.
func showSubject(v *visit) error {
	if events.ActNumber(text(v.r, "experiment")) > 0 {
		return showCampaign(v)
	}
	return showExperiment(v)
}

// settledAct reads the form that settles an act. Values without a choice mean that it is done. Those of
// several experiments are given in a table, by the command line or the API.
func settledAct(r *http.Request, of *lab.Campaign, id string) (engine.Request, error) {
	word := engine.Resolve{
		Experiment: id, Resolution: events.Resolution(text(r, "resolution")), Reason: text(r, "reason"),
		Voided: events.Voided(text(r, "voided")),
	}
	def := definitionOf(of)
	for _, field := range slices.Sorted(maps.Keys(r.PostForm)) {
		name, ok := strings.CutPrefix(field, prefixGave)
		if !ok || text(r, field) == "" {
			continue
		}
		value, err := exchange.Number(name, text(r, field))
		switch {
		case err != nil:
			return engine.Request{}, err
		case def.Several():
			word.Quantities = append(word.Quantities, definition.Quantity{Name: name, Value: value})
		default:
			word.Value = &value
		}
		definition.Default(&word.Resolution, events.ResolvedDone)
	}
	if word.Resolution == "" {
		return engine.Request{}, problem.New(problem.Invalid, "choose what became of %s", id).About(id)
	}
	return engine.Request{Resolve: &word}, nil
}
