package diagnose

import (
	"fmt"
	"math"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// Slice is the model along one parameter through the best composition.
type Slice struct {
	Parameter string `json:"parameter"`
	Unit      string `json:"unit,omitempty"`
	// Index is the parameter's place in the definition.
	Index int `json:"-"`
	// Exchange is how the other parameters give way.
	Exchange Exchange `json:"-"`
	// Categories names the places of X of a categorical parameter.
	Categories []string `json:"categories,omitempty"`
	// X are values of the parameter in its unit, ascending; for categories 0,
	// 1, …
	X []float64 `json:"x"`
	// Mean and SD are the posterior there, without noise, in the objective's
	// unit.
	Mean []float64 `json:"mean"`
	SD   []float64 `json:"sd"`
	// Excluded marks where nothing may be suggested.
	Excluded []bool `json:"excluded"`
	// Best is the best composition's value of the parameter.
	Best float64 `json:"best"`
	// Points are the measurements, seen along the parameter.
	Points []Seen `json:"points"`
	// Effect is the greatest difference of the mean along the slice, and
	// EffectSD the posterior standard deviation of that difference.
	Effect   float64 `json:"effect"`
	EffectSD float64 `json:"effect_sd"`
}

// Seen is a measurement seen along one parameter.
type Seen struct {
	Experiment string  `json:"experiment"`
	X          float64 `json:"x"`
	Value      float64 `json:"value"`
	// Near is the prior correlation with the slice next to it: 1 on the slice.
	Near float64 `json:"near"`
}

// samples is the number of points of a slice along a numeric parameter.
const samples = 61

// Slices computes the model along every parameter that can be varied, through
// the composition best. It fails if best is not in the space.
func Slices(
	def *definition.Campaign, sp *space.Space, model *quantity.Model, best definition.Point,
) ([]Slice, error) {
	f := NewFrame(def, sp)
	x, err := sp.Encode(best)
	if err != nil {
		return nil, fmt.Errorf("slices through the best composition: %w", err)
	}
	var out []Slice
	for i, p := range def.Parameters {
		s := slicer{model: model, space: sp, Slice: Slice{Parameter: p.Name, Unit: p.Unit, Index: i}}
		if len(p.Categories) > 0 {
			if err := s.categories(p, best); err != nil {
				return nil, err
			}
		} else if !s.numeric(f, i, x) {
			continue
		}
		s.effect()
		out = append(out, s.Slice)
	}
	return out, nil
}

// slicer computes a slice.
type slicer struct {
	Slice
	model *quantity.Model
	space *space.Space
	at    [][]float64 // the points of the unit cube
}

// numeric samples the slice along a numeric parameter; ok is false if it cannot be varied. A
// measurement is placed at the point of the slice with its value of the parameter, or at the nearer
// end if it lies beyond.
func (s *slicer) numeric(f *Frame, i int, best []float64) (ok bool) {
	dir, how, ok := f.Direction(best, i)
	if !ok {
		return false
	}
	from, to := f.Reach(best, dir)
	if !(to > from) {
		return false
	}
	s.Exchange, s.Best = how, f.Value(i, best)
	for k := range samples {
		x := Along(best, dir, from+(to-from)*float64(k)/(samples-1))
		s.sample(f.Value(i, x), x, s.space.Decode(x))
	}
	for k, x := range s.model.X {
		t := min(max(x[f.at[i]]-best[f.at[i]], from), to)
		s.see(k, f.Value(i, x), Along(best, dir, t))
	}
	return true
}

// categories exchanges one category for each other.
func (s *slicer) categories(p definition.Parameter, best definition.Point) error {
	place := make(map[string]int, len(p.Categories)) // only looked up
	for k, c := range p.Categories {
		place[c.Name] = k
		s.Categories = append(s.Categories, c.Name)
		point := make(definition.Point, len(best))
		for name, v := range best {
			point[name] = v
		}
		point[p.Name] = definition.Category(c.Name)
		x, err := s.space.Encode(point)
		if err != nil {
			return fmt.Errorf("the slice along %s: %w", p.Name, err)
		}
		s.sample(float64(k), x, point)
	}
	s.Best = float64(place[best[p.Name].Name()])
	for k, o := range s.model.Observations {
		c := place[o.Point[p.Name].Name()]
		s.see(k, float64(c), s.at[c])
	}
	return nil
}

// sample adds the posterior at x, a point of the unit cube that stands for the
// composition point.
func (s *slicer) sample(value float64, x []float64, point definition.Point) {
	p := s.model.PredictAt(x)
	_, excluded := s.space.Excluded(point)
	s.X = append(s.X, value)
	s.Mean = append(s.Mean, p.Mean)
	s.SD = append(s.SD, p.SD)
	s.Excluded = append(s.Excluded, excluded)
	s.at = append(s.at, x)
}

// see adds the k-th observation, at a value of the parameter; beside is the
// point of the slice next to it.
func (s *slicer) see(k int, value float64, beside []float64) {
	kernel := s.model.Kernel()
	o := s.model.Observations[k]
	s.Points = append(s.Points, Seen{
		Experiment: o.Experiment,
		X:          value,
		Value:      o.Value,
		Near:       kernel.Eval(s.model.X[k], beside) / kernel.OutputScale(),
	})
}

// effect finds the greatest difference along the slice. The two extremes are
// correlated, so that the deviation of their difference is less than that of two
// independent values.
func (s *slicer) effect() {
	low, high := 0, 0
	for k, m := range s.Mean {
		if m < s.Mean[low] {
			low = k
		}
		if m > s.Mean[high] {
			high = k
		}
	}
	j := s.model.GP().Joint([][]float64{s.at[low], s.at[high]})
	s.Effect = s.Mean[high] - s.Mean[low]
	s.EffectSD = math.Sqrt(max(0, j.Cov[0]+j.Cov[3]-j.Cov[1]-j.Cov[2])) *
		s.model.Between(j.Mean[0], j.Mean[1])
}
