package diagnose

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/projections/quantity"
)

// LeaveOneOut is the model's check of itself: each composition, with all its replicates, predicted
// from all others (Rasmussen and Williams 2006, Eq. 5.12).
//
// The campaign's own hyperparameters would be too optimistic: they were fitted to the left-out
// value, and with few measurements and a lengthscale for each parameter they find patterns in pure
// noise. So the model is fitted again ten times, each time without a tenth of the compositions, and
// those are predicted with hyperparameters that have not seen them. Above mostBlind measurements a
// fit takes long and the difference is small: then the campaign's own hyperparameters are used.
// With an approximate model, a sample of the compositions is left out, one by one.
type LeaveOneOut struct {
	// Refitted is true if the hyperparameters have not seen the predicted values.
	Refitted bool  `json:"refitted"`
	Rows     []Row `json:"rows"`
	// SampleOf is the number of compositions that Rows were drawn from; 0 where they
	// are all.
	SampleOf int `json:"sample_of,omitempty"`
	// R2 is 1 − Σ(measured − predicted)² / Σ(measured − mean measured)²: 1 is perfect, 0 as good as
	// always predicting the mean. Nil if all measured values are equal.
	R2 *float64 `json:"r2"`
	// RankCorrelation of measured and predicted values (Spearman); nil if all of either are equal.
	RankCorrelation *float64 `json:"rank_correlation"`
	// ZSD is the root mean square of the rows' Z: 1 if the model knows its own uncertainty, more if
	// it is overconfident.
	ZSD float64 `json:"z_sd"`
	// Coverage of the intervals that should hold 50, 80 and 95 % of the rows.
	Coverage []Coverage `json:"coverage"`
}

// Row is one composition, in the objective's unit.
type Row struct {
	Experiments []string `json:"experiments"`
	// Measured is the mean of the replicates, Predicted and SD the prediction from the others,
	// including its noise.
	Measured  float64 `json:"measured"`
	Predicted float64 `json:"predicted"`
	SD        float64 `json:"sd"`
	// Z is (Measured − Predicted)/SD.
	Z float64 `json:"z"`
}

// Coverage is how often an interval of a nominal probability holds the measured
// value.
type Coverage struct {
	// Nominal is the interval's probability.
	Nominal float64 `json:"nominal"`
	// Within counts the rows whose measured value it holds, Share is their
	// share.
	Within int     `json:"within"`
	Share  float64 `json:"share"`
	// Low and High bound the counts that a calibrated model gives in 95 of 100
	// cases (central interval of the binomial distribution).
	Low  int `json:"low"`
	High int `json:"high"`
	// Fewer and More are the probabilities of so few and of so many under a
	// calibrated model.
	Fewer float64 `json:"fewer"`
	More  float64 `json:"more"`
}

// leastRows is the minimum number of compositions for leaving one out to be informative.
const leastRows = 3

const (
	// folds is the number of parts of the compositions, each left out of one
	// fit.
	folds = 10
	// mostBlind is the number of measurements up to which the model is fitted
	// again.
	mostBlind = 100
	// mostLeftOut is the number of compositions left out of an approximate model. Each takes as
	// long as a prediction, and R² of so many is known to a few hundredths.
	mostLeftOut = 500
	// drawnSalt keeps the draw of these apart from others.
	drawnSalt = 0x6c656674 // "left"
)

// leaveOneOut makes the check; nil for fewer than leastRows compositions.
func leaveOneOut(ctx context.Context, def *definition.Campaign, m *quantity.Model) (*LeaveOneOut, error) {
	if m.GP().Len() < leastRows {
		return nil, nil
	}
	left := leftOutOf(m)
	out := left.seen(m)
	if n := len(m.Observations); n <= mostBlind && m.GP().Len() > leastRows && m.Fidelity() == nil {
		err := out.blind(ctx, def, m)
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil { // if the others cannot be fitted, the campaign's own serves
			out = left.seen(m)
		}
	}
	out.judge()
	return out, nil
}

// leftOut are compositions, each predicted from all others at the campaign's own hyperparameters,
// standardized.
type leftOut struct {
	y, mean, sd []float64
	at          map[string]int // the index of each experiment
}

// leftOutOf leaves out all compositions of an exact model, and mostLeftOut of an approximate one,
// in the order of the process. Those of two quantities belong to the same experiments as far as
// these measured both: each experiment draws by its number.
func leftOutOf(m *quantity.Model) leftOut {
	rows := rowsOf(m)
	lots := make([]uint64, m.GP().Len())
	drawn := make([]int, len(lots))
	for row := range drawn {
		lots[row], drawn[row] = math.MaxUint64, row
	}
	for k, row := range rows {
		number := events.ExperimentNumber(m.Observations[k].Experiment)
		lots[row] = min(lots[row], rand.NewPCG(drawnSalt, uint64(number)).Uint64())
	}
	if m.GP().Inducing() > 0 && len(drawn) > mostLeftOut {
		slices.SortStableFunc(drawn, func(a, b int) int { return cmp.Compare(lots[a], lots[b]) })
		drawn = drawn[:mostLeftOut]
		slices.Sort(drawn)
	}
	out := leftOut{at: make(map[string]int)}
	out.y, out.mean, out.sd = m.LeaveOneOut(drawn)
	for k, row := range rows {
		if i, ok := slices.BinarySearch(drawn, row); ok {
			out.at[m.Observations[k].Experiment] = i
		}
	}
	return out
}

// seen is the check by these predictions.
func (l *leftOut) seen(m *quantity.Model) *LeaveOneOut {
	out := &LeaveOneOut{Rows: make([]Row, len(l.y))}
	if all := m.GP().Len(); all > len(l.y) {
		out.SampleOf = all
	}
	for i, y := range l.y {
		out.Rows[i] = Row{
			Measured: m.Untransform(y), Predicted: m.Untransform(l.mean[i]),
			SD: l.sd[i] * m.Between(l.mean[i], y),
		}
	}
	for _, o := range m.Observations {
		if i, ok := l.at[o.Experiment]; ok {
			out.Rows[i].Experiments = append(out.Rows[i].Experiments, o.Experiment)
		}
	}
	return out
}

// blind predicts with hyperparameters fitted without the predicted part. The fit without a part
// gives the hyperparameters; the predictions at them are then made from all others, one composition
// left out at a time.
func (l *LeaveOneOut) blind(ctx context.Context, def *definition.Campaign, m *quantity.Model) error {
	l.Refitted = true
	all, rows := sampleOf(def, m), rowsOf(m)
	parts := min(folds, len(l.Rows))
	for part := range parts {
		var out []int
		for k, row := range rows {
			if row%parts == part {
				out = append(out, k)
			}
		}
		kept := all.without(out)
		others, err := kept.fit(ctx, def.Model, m.Fit)
		if err != nil {
			return err
		}
		whole, err := gp.New(others.data(all), m.Fit.Kernel, others.gp.Hyper())
		if err != nil {
			return err
		}
		predict := whole.LeaveOneOut
		if def.Model.Intervals == definition.IntervalsMarginal {
			cfg := gp.FitConfig{Kernel: def.Model.Kernel, FreeOutputScale: def.Model.FreeOutputScale}
			around, err := gp.Around(ctx, others.data(kept), cfg, whole.Hyper())
			if err != nil {
				return err
			}
			marginal, err := whole.Marginal(ctx, around)
			if err != nil {
				return err
			}
			predict = marginal.LeaveOneOut
		}
		_, mean, sd := predict()
		for i := part; i < len(l.Rows); i += parts {
			r := &l.Rows[i]
			r.Predicted, r.SD = all.inUnit(others.shift+others.scale*mean[i], others.scale*sd[i], r.Measured)
		}
	}
	return nil
}

// rowsOf returns the row of the process that each observation belongs to: rows
// are distinct points in order of appearance, those of known and of unknown
// noise apart (package gp).
func rowsOf(m *quantity.Model) []int {
	type key struct {
		x     string
		known bool
	}
	rows := make(map[key]int, len(m.X)) // only looked up
	out := make([]int, len(m.X))
	for k, x := range m.X {
		var b []byte
		for _, v := range x {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v+0)) // +0 turns −0 into 0
		}
		at := key{string(b), m.Observations[k].SD != nil}
		row, ok := rows[at]
		if !ok {
			row = len(rows)
			rows[at] = row
		}
		out[k] = row
	}
	return out
}

// judge computes the statistics of the rows.
func (l *LeaveOneOut) judge() {
	measured, predicted := make([]float64, len(l.Rows)), make([]float64, len(l.Rows))
	squares := 0.0
	for i := range l.Rows {
		r := &l.Rows[i]
		r.Z = (r.Measured - r.Predicted) / r.SD
		measured[i], predicted[i] = r.Measured, r.Predicted
		squares += r.Z * r.Z
	}
	l.ZSD = math.Sqrt(squares / float64(len(l.Rows)))
	l.R2 = r2(measured, predicted)
	l.RankCorrelation = rankCorrelation(measured, predicted)
	for _, nominal := range []float64{0.5, 0.8, 0.95} {
		l.Coverage = append(l.Coverage, l.CoverageAt(nominal))
	}
}

// CoverageAt returns the coverage of the central intervals of a probability in
// (0, 1).
func (l *LeaveOneOut) CoverageAt(nominal float64) Coverage { return l.coverage(nominal, 1) }

// coverage is CoverageAt with intervals stretched by a factor.
func (l *LeaveOneOut) coverage(nominal, stretch float64) Coverage {
	half := stretch * mathext.NormalQuantile((1+nominal)/2)
	c := Coverage{Nominal: nominal}
	for _, r := range l.Rows {
		if math.Abs(r.Z) <= half {
			c.Within++
		}
	}
	n := len(l.Rows)
	c.Share = float64(c.Within) / float64(n)
	b := distuv.Binomial{N: float64(n), P: nominal}
	c.Fewer, c.More = b.CDF(float64(c.Within)), 1-b.CDF(float64(c.Within)-1)
	for c.Low < n && b.CDF(float64(c.Low)) <= 0.025 {
		c.Low++
	}
	for c.High = c.Low; c.High < n && b.CDF(float64(c.High)) < 0.975; {
		c.High++
	}
	return c
}

// r2 is the coefficient of determination; nil where it is not defined.
func r2(measured, predicted []float64) *float64 {
	mean := stat.Mean(measured, nil)
	residual := 0.0
	total := 0.0
	greatest := 0.0
	for i, y := range measured {
		residual += (y - predicted[i]) * (y - predicted[i])
		total += (y - mean) * (y - mean)
		greatest = max(greatest, math.Abs(y))
	}
	if !(math.Sqrt(total/float64(len(measured))) > leastSpread*greatest) {
		return nil
	}
	value := 1 - residual/total
	return &value
}

// rankCorrelation is Spearman's: the correlation of the ranks, equal values
// sharing the mean of theirs.
func rankCorrelation(x, y []float64) *float64 {
	r := stat.Correlation(ranks(x), ranks(y), nil)
	if math.IsNaN(r) {
		return nil
	}
	return &r
}

// ranks are counted from 0.
func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case x[a] < x[b]:
			return -1
		case x[a] > x[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(x))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && x[order[to]] == x[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return out
}
