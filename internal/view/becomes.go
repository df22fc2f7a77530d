package view

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Becomes is the effect of an amendment on the findings of a campaign of several quantities, by the
// models of its measurements: another bound or objective makes another composition the best.
type Becomes struct {
	Before Stands `json:"before"`
	After  Stands `json:"after"`
	// Missing are measured values that count no more: they lie out of the range, or are
	// in another unit, that is declared now.
	Missing []Uncounted `json:"missing,omitempty"`
}

// Stands are a campaign's findings under a definition.
type Stands struct {
	// Best is the experiment of the best composition by the models, of a trade-off of the
	// suggestion, of a preference of what is preferred to all; "" for none. Front are
	// those on the front of a trade-off.
	Best  string   `json:"best,omitempty"`
	Front []string `json:"front,omitempty"`
	// Constraints says how many measured experiments keep the constraints on outcomes;
	// nil where there are none.
	Constraints *KeptBy `json:"constraints,omitempty"`
	// Text says it in a few lines.
	Text []string `json:"text"`
	Rows []Row    `json:"-"`
}

// KeptBy counts the experiments that keep the constraints by their measured values. Those that are
// Unknown lack a quantity.
type KeptBy struct {
	Measured int `json:"measured"`
	Keep     int `json:"keep"`
	Unknown  int `json:"unknown,omitempty"`
}

// Uncounted is a value of a quantity that an experiment gave, and that does not count.
type Uncounted struct {
	Quantity   string  `json:"quantity"`
	Experiment string  `json:"experiment"`
	Value      float64 `json:"value"`
	Unit       string  `json:"unit,omitempty"`
}

// BecomesOf compares a campaign with the result of an amendment. It is nil for campaigns of one
// quantity, and where nothing differs. Models are worked out, which takes a while.
func BecomesOf(ctx context.Context, before, after *engine.Core) (*Becomes, error) {
	if !before.State().Definition.Several() && !after.State().Definition.Several() {
		return nil, nil
	}
	var b Becomes
	var err error
	if b.Before, err = standsOf(ctx, before); err != nil {
		return nil, err
	}
	if b.After, err = standsOf(ctx, after); err != nil {
		return nil, err
	}
	b.Missing = uncounted(before.State(), after.State())
	if b.Missing == nil && slices.Equal(b.Before.Text, b.After.Text) {
		return nil, nil
	}
	return &b, nil
}

// BecomesOfAmendment is [BecomesOf] for an amendment among recorded events, nil without one.
func BecomesOfAmendment(
	ctx context.Context, reg registry.Registry, log events.Log, name string, stored []events.Event,
) (*Becomes, error) {
	at := slices.IndexFunc(stored, func(e events.Event) bool { return e.Kind == events.KindCampaignAmended })
	if at < 0 {
		return nil, nil
	}
	before := engine.NewCore(reg)
	if err := before.Forward(ctx, log, name, stored[at].Sequence-1); err != nil {
		return nil, err
	}
	after := before.Clone()
	if err := after.Apply(stored[at]); err != nil {
		return nil, err
	}
	return BecomesOf(ctx, before, after)
}

func standsOf(ctx context.Context, core *engine.Core) (Stands, error) {
	summary, err := core.Summarize(ctx)
	if err != nil {
		return Stands{}, err
	}
	c := Summarized(core, summary)
	s := Stands{Rows: c.FoundInShort(), Constraints: keptBy(core.State())}
	switch {
	case c.Tradeoff != nil:
		for _, m := range c.Tradeoff.Members {
			s.Front = append(s.Front, m.Experiment)
		}
		if best := c.Tradeoff.Compromise; best != nil {
			s.Best = best.Experiment
		}
	case len(c.Ranking) > 0:
		s.Best = c.Ranking[0].Experiment
	case c.BestByModel != nil && !c.BestByModel.Doubtful:
		s.Best = c.BestByModel.Experiment
	}
	if k := s.Constraints; k != nil {
		text := fmt.Sprintf("kept by %d of %s, by what was measured", k.Keep, format.Count(k.Measured, "experiment"))
		if k.Unknown > 0 {
			text += fmt.Sprintf("; of %d a quantity is missing", k.Unknown)
		}
		s.Rows = append(s.Rows, Row{"constraints", text})
	}
	for _, row := range s.Rows {
		s.Text = append(s.Text, strings.TrimPrefix(row.Name+": "+row.Text, ": "))
	}
	return s, nil
}

// keptBy counts the experiments that keep the constraints; nil without constraints.
func keptBy(s *campaign.State) *KeptBy {
	if len(s.Definition.ConstraintsOnOutcomes) == 0 {
		return nil
	}
	var k KeptBy
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Status != campaign.Measured || x.Excluded {
			continue
		}
		k.Measured++
		switch s.Keeps(x) {
		case campaign.KeepsAll:
			k.Keep++
		case campaign.KeepsUnknown:
			k.Unknown++
		}
	}
	return &k
}

// uncounted are the values that counted before, and are missing under the definition of
// after, of quantities that both declare.
func uncounted(before, after *campaign.State) (values []Uncounted) {
	for _, q := range after.Definition.Declared() {
		for i := range before.Experiments {
			x := &before.Experiments[i]
			was, ok := before.Quantity(x, q.Name)
			if _, still := after.Quantity(after.Experiment(x.ID), q.Name); ok && !still {
				values = append(values, Uncounted{q.Name, x.ID, was.Value, was.Unit})
			}
		}
	}
	return values
}

// MissingText names the values that count no more: "a of e3 (12.1 mS/cm)"; "" for none.
func (b *Becomes) MissingText() string {
	var parts []string
	for _, v := range b.Missing[:min(len(b.Missing), fewIDs)] {
		parts = append(parts, fmt.Sprintf("%s of %s (%s)", v.Quantity, v.Experiment, format.Quantity(v.Value, v.Unit)))
	}
	if more := len(b.Missing) - fewIDs; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return format.List(parts...)
}

// Lines writes it for a terminal.
func (b *Becomes) Lines() []string {
	lines := []string{"Found by what was measured, before:"}
	for _, text := range b.Before.Text {
		lines = append(lines, "  "+text)
	}
	lines = append(lines, "and now:")
	for _, text := range b.After.Text {
		lines = append(lines, "  "+text)
	}
	if text := b.MissingText(); text != "" {
		lines = append(lines, "Missing now, as out of range or in another unit: "+text)
	}
	return lines
}
