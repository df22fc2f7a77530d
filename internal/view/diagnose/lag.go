package diagnose

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Lag compares two readings of an instrument's results: each belongs to its own experiment, or to
// the one that ended before it. The second comes from a program that reads a device's state before
// it is renewed, or the newest file, or a plate map that is off by one.
type Lag struct {
	Instrument string `json:"instrument"`
	// Results is the number of compared results.
	Results int `json:"results"`
	// Evidence is the number of nats by which a model explains the results better at their own
	// compositions than at those of the experiments before: below −2 they look like the earlier
	// experiments' results.
	Evidence float64 `json:"evidence"`
}

const (
	// lagged is the evidence below which results look like those of the experiments before; in more
	// than manyDimensions dimensions, where a dozen results say little of either, laggedInMany.
	// docs/results-journal.md gives the rates of found stale series and of falsely accused
	// sound ones.
	lagged, laggedInMany = -2, -3
	manyDimensions       = 4
	// surelyLagged is the evidence below which the model is not to be relied on.
	surelyLagged = -4
	// fewestLagged is the minimum number of compared results, each after one of another
	// composition, and mostLagged the maximum: the latest ones.
	fewestLagged, mostLagged = 6, 60
)

// alarming reports whether the results look like those of the experiments
// before.
func (l *Lag) alarming(dimensions int) bool {
	if dimensions > manyDimensions {
		return l.Evidence < laggedInMany
	}
	return l.Evidence < lagged
}

// lagOf compares the readings for each instrument of a campaign, and returns the worst; nil with
// too little to compare. The order is that of the ends, which with several running experiments is
// not that of the requests. Imported results have none. Each instrument is judged separately, since
// each has its own preceding experiment.
func lagOf(
	ctx context.Context, def *definition.Campaign, s *campaign.State, m *quantity.Model,
) (*Lag, error) {
	if m.Fidelity() != nil { // which other fits do not know
		return nil, nil
	}
	series := make(map[string][]int)
	for k, o := range m.Observations {
		if x := s.Experiment(o.Experiment); x != nil && x.Origin != events.OriginImport {
			series[x.Command.Instrument] = append(series[x.Command.Instrument], k)
		}
	}
	var worst *Lag
	for _, name := range slices.Sorted(maps.Keys(series)) {
		order := series[name]
		slices.SortStableFunc(order, func(a, b int) int {
			return s.Experiment(m.Observations[a].Experiment).EndedAt.
				Compare(s.Experiment(m.Observations[b].Experiment).EndedAt)
		})
		evidence, n, err := lagOfSeries(ctx, def, m, order)
		if errors.Is(err, gp.ErrNotPositiveDefinite) || errors.Is(err, gp.ErrData) {
			continue // an impossible fit gives no evidence
		}
		if err != nil {
			return nil, err
		}
		if n > 0 && (worst == nil || cmp.Less(evidence, worst.Evidence)) {
			worst = &Lag{Instrument: name, Results: n, Evidence: evidence}
		}
	}
	return worst, nil
}

// lagOfSeries returns the evidence of the results in the given order, each at its own composition,
// less that of the same results at the compositions before:
//
//	ln p(y₂ … yₙ | x₂ … xₙ) − ln p(y₂ … yₙ | x₁ … xₙ₋₁),
//
// each at the hyperparameters that explain it best. A result with the same composition as the one
// before carries no information and is left out. n is 0 with too few.
func lagOfSeries(
	ctx context.Context, def *definition.Campaign, m *quantity.Model, order []int,
) (evidence float64, n int, err error) {
	all := sampleOf(def, m)
	var own, before sample
	for i := 1; i < len(order); i++ {
		k, last := order[i], order[i-1]
		if slices.Equal(all.x[k], all.x[last]) {
			continue
		}
		own.x, before.x = append(own.x, all.x[k]), append(before.x, all.x[last])
		own.y, own.sd = append(own.y, all.y[k]), append(own.sd, all.sd[k])
	}
	if skip := len(own.y) - mostLagged; skip > 0 {
		own = sample{x: own.x[skip:], y: own.y[skip:], sd: own.sd[skip:]}
		before.x = before.x[skip:]
	}
	before.y, before.sd = own.y, own.sd
	if len(own.y) < fewestLagged || stat.StdDev(own.y, nil) <= leastSpread*greatestOf(own.y) {
		return 0, 0, nil
	}
	asIs, err := own.fit(ctx, def.Model, m.Fit)
	if err != nil {
		return 0, 0, err
	}
	asBefore, err := before.fit(ctx, def.Model, m.Fit)
	if err != nil {
		return 0, 0, err
	}
	return asIs.evidence - asBefore.evidence, len(own.y), nil
}
