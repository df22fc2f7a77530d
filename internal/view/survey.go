package view

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/projections/space"
)

// Survey evaluates the models of a campaign, those of one moment, at many
// compositions at once: along parameters, over two of them, over a mixture of
// three. One goroutine uses it at a time.
type Survey struct {
	predictor *Predictor
	def       *definition.Campaign
	space     *space.Space
	frame     *diagnose.Frame
	layers    []Layer
	through   definition.Point // the composition to go by
}

// Layer is something that the models say of every composition.
type Layer struct {
	// Name is that of a quantity; or says what it is.
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	// Kind is "quantity", "objective" of what is computed from quantities, "feasible" of
	// the probability that the constraints on outcomes are kept, or "preference" of an
	// expert's.
	Kind string `json:"kind"`
	// Goal is maximize or minimize where the campaign seeks it.
	Goal string `json:"goal,omitempty"`
	// Certain is set where it has no standard deviation.
	Certain bool `json:"certain,omitempty"`
}

// Kinds of layers.
const (
	LayerQuantity   = "quantity"
	LayerObjective  = "objective"
	LayerFeasible   = "feasible"
	LayerPreference = "preference"
)

// Axis is a parameter that is varied.
type Axis struct {
	Parameter string `json:"parameter"`
	Unit      string `json:"unit,omitempty"`
	// Categories are those of a categorical parameter, whose values X are 0, 1, ….
	Categories []string `json:"categories,omitempty"`
	// Allowed are the values of a parameter that has no others.
	Allowed []float64 `json:"allowed,omitempty"`
	// X are the values at which the models are evaluated, in the parameter's unit,
	// ascending.
	X []*float64 `json:"x"`
	// Here is the value of the composition that is gone through.
	Here *float64 `json:"here"`
	// Moves says how much each parameter changes where this one grows by one of its
	// unit: others give way under constraints. Categories move nothing.
	Moves map[string]float64 `json:"moves,omitempty"`
}

// Grid are the values of layers at the nodes of axes, null where bounds or
// constraints leave no composition or nothing is known. The first index is that of
// the layer, the second that of the node: of two axes, row by row of the second.
type Grid struct {
	Layers []Layer      `json:"layers"`
	Mean   [][]*float64 `json:"mean"`
	SD     [][]*float64 `json:"sd"`
	// Excluded names the nodes where nothing may be suggested.
	Excluded []int `json:"excluded,omitempty"`
}

// Along is the model along one parameter.
type Along struct {
	Axis
	Grid
}

// Slices are the models along every parameter that can be varied, through one
// composition.
type Slices struct {
	Here   Prediction `json:"here"`
	Slices []Along    `json:"slices"`
}

// Map is the model over two parameters.
type Map struct {
	Here  Prediction `json:"here"`
	XAxis Axis       `json:"x_axis"`
	YAxis Axis       `json:"y_axis"`
	Grid
}

// Ternary is the model over the mixtures of three components: the node of a of
// Steps parts of the first and c of the third component, the rest of the second, has
// the number a·(Steps+1)+c; it is null where a+c is more than Steps.
type Ternary struct {
	Here    Prediction `json:"here"`
	Corners []Corner   `json:"corners"`
	Steps   int        `json:"steps"`
	Grid
}

// Corner is a component of a mixture, from Low, where it has no part in the sum that the three
// share, to High, where it has all of it. Weight is its coefficient in the sum.
type Corner struct {
	Parameter string  `json:"parameter"`
	Unit      string  `json:"unit,omitempty"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Weight    float64 `json:"weight"`
}

// NewSurvey returns a survey, or why it cannot, as [NewPredictor].
func NewSurvey(ctx context.Context, core *engine.Core) (*Survey, error) {
	predictor, err := NewPredictor(ctx, core)
	if err != nil {
		return nil, err
	}
	summary, err := core.Summarize(ctx)
	if err != nil {
		return nil, err
	}
	s := &Survey{predictor: predictor, def: core.State().Definition, space: core.Space()}
	s.frame = diagnose.NewFrame(s.def, s.space)
	_, s.through = summary.Leading()
	if s.through == nil && len(summary.Preferred) > 0 {
		s.through = summary.Preferred[0].Parameters
	}
	if s.through == nil {
		return nil, noModel{"there is no composition to go through yet"}
	}
	here, err := predictor.Predict(ctx, s.through)
	if err != nil {
		return nil, err
	}
	s.layers = layersOf(s.def, &here)
	return s, nil
}

// layersOf are the layers of a prediction, in the order of people's interest: the objective, the
// other quantities, whether constraints are kept, the preference.
func layersOf(def *definition.Campaign, p *Prediction) (layers []Layer) {
	sought := def.Sought()
	if p.Value != nil {
		layers = append(layers, Layer{Name: sought.Name, Unit: sought.Unit, Kind: LayerObjective, Goal: sought.Goal})
	}
	aims := make(map[string]string) // only looked up
	for _, a := range def.Tradeoff() {
		aims[a.Name] = def.ObjectiveOf(a).Goal
	}
	switch {
	case len(p.Quantities) > 0:
		for _, q := range p.Quantities {
			l := Layer{Name: q.Quantity, Unit: q.Unit, Kind: LayerQuantity, Goal: aims[q.Quantity], Certain: q.SD == 0}
			if q.Quantity == sought.Name && p.Value == nil && len(aims) == 0 {
				l.Goal = sought.Goal
			}
			layers = append(layers, l)
		}
	case p.Mean != nil:
		layers = append(layers, Layer{Name: sought.Name, Unit: sought.Unit, Kind: LayerQuantity, Goal: sought.Goal})
	}
	if p.Feasible != nil {
		layers = append(layers, Layer{Name: "probability to keep the constraints", Kind: LayerFeasible, Certain: true})
	}
	for _, e := range def.Experts {
		if _, ok := p.Preferences[e.Name]; ok {
			layers = append(layers, Layer{Name: "preferred by " + e.Name, Kind: LayerPreference, Goal: definition.Maximize})
		}
	}
	return layers
}

// Layers are the survey's views of a composition.
func (s *Survey) Layers() []Layer { return s.layers }

// Through is the composition that slices go through by default.
func (s *Survey) Through() definition.Point { return s.through }

// evaluate returns the layers' values at a point of the unit cube; NaN where they have none.
func (s *Survey) evaluate(ctx context.Context, x []float64) (mean, sd []float64, err error) {
	p, err := s.predictor.at(ctx, s.space.Decode(x), x)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range s.layers {
		m, d := math.NaN(), math.NaN()
		switch l.Kind {
		case LayerObjective:
			if p.Value != nil {
				m, d = p.Value.Mean, p.Value.SD
			}
		case LayerFeasible:
			if p.Feasible != nil {
				m = p.Feasible.Probability
			}
		case LayerPreference:
			for _, e := range s.def.Experts {
				if score, ok := p.Preferences[e.Name]; ok && l.Name == "preferred by "+e.Name {
					m, d = score.Mean, score.SD
				}
			}
		case LayerQuantity:
			if p.Quantities == nil && p.Mean != nil {
				m, d = *p.Mean, *p.SD
			}
			for _, q := range p.Quantities {
				if q.Quantity == l.Name {
					m, d = q.Mean, q.SD
				}
			}
		}
		if l.Certain {
			d = math.NaN()
		}
		mean, sd = append(mean, m), append(sd, d)
	}
	return mean, sd, nil
}

// finite is a number for JSON, with as many digits as a drawing can show; nil for NaN and
// infinities.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		return nil // it was made by the line above
	}
	return &short
}

// whole is a number for JSON as it is.
func whole(v float64) *float64 { return &v }

// newGrid is an empty grid of the survey's layers.
func (s *Survey) newGrid() Grid {
	return Grid{Layers: s.layers, Mean: make([][]*float64, len(s.layers)), SD: make([][]*float64, len(s.layers))}
}

// node adds a node to a grid: the point x of the unit cube, nil where no composition exists.
func (s *Survey) node(ctx context.Context, g *Grid, x []float64) error {
	at := len(g.Mean[0])
	if x == nil || !s.frame.Feasible(x) {
		for l := range s.layers {
			g.Mean[l], g.SD[l] = append(g.Mean[l], nil), append(g.SD[l], nil)
		}
		return nil
	}
	mean, sd, err := s.evaluate(ctx, x)
	if err != nil {
		return err
	}
	for l := range s.layers {
		g.Mean[l], g.SD[l] = append(g.Mean[l], finite(mean[l])), append(g.SD[l], finite(sd[l]))
	}
	if _, excluded := s.space.Excluded(s.space.Decode(x)); excluded {
		g.Excluded = append(g.Excluded, at)
	}
	return nil
}

// mover moves one parameter through a composition.
type mover struct {
	Axis
	index int
	// to is the point of the unit cube where the parameter has the k-th value of the axis, from x
	// on; nil where no such point exists.
	to func(x []float64, k int) []float64
}

// mover returns how a parameter is varied from x on, at so many values of a range,
// while the fixed ones stay; ok is false where it cannot be.
func (s *Survey) mover(x []float64, i, steps int, fixed ...int) (m mover, ok bool) {
	p := &s.def.Parameters[i]
	m = mover{Axis: Axis{Parameter: p.Name, Unit: p.Unit}, index: i}
	if len(p.Categories) > 0 {
		here := s.space.Decode(x)[p.Name].Name()
		for k, c := range p.Categories {
			m.Categories, m.X = append(m.Categories, c.Name), append(m.X, whole(float64(k)))
			if c.Name == here {
				m.Here = whole(float64(k))
			}
		}
		m.to = func(x []float64, k int) []float64 {
			point := s.space.Decode(x)
			point[p.Name] = definition.Category(p.Categories[k].Name)
			encoded, err := s.space.Encode(point)
			if err != nil {
				return nil
			}
			to, c := slices.Clone(x), s.space.Coordinates()[i]
			for _, at := range c { // all else stays where it is, also between steps
				to[at] = encoded[at]
			}
			return to
		}
		return m, len(p.Categories) > 1
	}
	dir, _, ok := s.frame.Direction(x, i, fixed...)
	if !ok {
		return mover{}, false
	}
	low, high := s.frame.Low(i), s.frame.Low(i)+s.frame.Range(i)
	m.Here = whole(s.frame.Value(i, x))
	values := slices.Sorted(slices.Values(p.Values))
	if len(values) == 0 {
		for k := range steps {
			values = append(values, low+(high-low)*float64(k)/float64(steps-1))
		}
	} else {
		m.Allowed = values
	}
	for _, v := range values {
		m.X = append(m.X, finite(v))
	}
	m.Moves = make(map[string]float64)
	for k, other := range s.def.Parameters {
		if len(other.Categories) == 0 && s.frame.Range(k) > 0 {
			if by := dir[s.frame.Coordinate(k)] * s.frame.Range(k) / s.frame.Range(i); by != 0 {
				m.Moves[other.Name] = by
			}
		}
	}
	m.to = func(x []float64, k int) []float64 {
		t := (values[k] - s.frame.Value(i, x)) / s.frame.Range(i)
		return diagnose.Along(x, dir, t)
	}
	return m, true
}

// parameter finds a parameter by its name.
func (s *Survey) parameter(name string) (int, error) {
	i := slices.IndexFunc(s.def.Parameters, func(p definition.Parameter) bool { return p.Name == name })
	if i < 0 {
		return 0, problem.New(problem.Invalid, "there is no parameter %q", name)
	}
	return i, nil
}

// start returns where to go through: the given composition, else that to go by.
func (s *Survey) start(at definition.Point) (point definition.Point, x []float64, err error) {
	if at == nil {
		at = s.through
	}
	x, err = s.space.Encode(at)
	if err != nil {
		err = problem.New(problem.Invalid, "at: %w", err)
	}
	return at, x, err
}

// sliceSteps is the number of values along a range in a slice.
const sliceSteps = 41

// Slices evaluates the models along every parameter that can be varied, through a
// composition; nil for the one to go by.
func (s *Survey) Slices(ctx context.Context, at definition.Point) (*Slices, error) {
	at, x, err := s.start(at)
	if err != nil {
		return nil, err
	}
	out := new(Slices)
	if out.Here, err = s.predictor.Predict(ctx, at); err != nil {
		return nil, err
	}
	for i := range s.def.Parameters {
		m, ok := s.mover(x, i, sliceSteps)
		if !ok {
			continue
		}
		along := Along{Axis: m.Axis, Grid: s.newGrid()}
		for k := range m.X {
			if err := s.node(ctx, &along.Grid, m.to(x, k)); err != nil {
				return nil, err
			}
		}
		out.Slices = append(out.Slices, along)
	}
	return out, nil
}

// Move returns a composition with another value of a parameter: as near to it as bounds and
// constraints allow, and with the others that must give way. The value is a number, or the name of
// a category.
func (s *Survey) Move(at definition.Point, parameter, to string) (definition.Point, error) {
	i, err := s.parameter(parameter)
	if err != nil {
		return nil, err
	}
	_, x, err := s.start(at)
	if err != nil {
		return nil, err
	}
	m, ok := s.mover(x, i, sliceSteps)
	if !ok {
		return nil, problem.New(problem.Invalid, "%s cannot be varied by itself: the constraints leave it no room", parameter)
	}
	if m.Categories != nil {
		k := slices.Index(m.Categories, to)
		if k < 0 {
			return nil, problem.New(problem.Invalid, "%s has no category %q", parameter, to)
		}
		return s.space.Decode(m.to(x, k)), nil
	}
	v, err := format.ReadNumber(to)
	if err != nil {
		return nil, problem.New(problem.Invalid, "%s: %w", parameter, err)
	}
	dir, _, _ := s.frame.Direction(x, i)
	from, until := s.frame.Reach(x, dir)
	t := min(max((v-s.frame.Value(i, x))/s.frame.Range(i), from), until)
	return s.space.Decode(diagnose.Along(x, dir, t)), nil
}

// Map evaluates the models over two parameters, at so many values of each range,
// through a composition; nil for the one to go by.
func (s *Survey) Map(ctx context.Context, across, up string, at definition.Point, steps int) (*Map, error) {
	i, err := s.parameter(across)
	if err != nil {
		return nil, err
	}
	j, err := s.parameter(up)
	if err != nil {
		return nil, err
	}
	if i == j {
		return nil, problem.New(problem.Invalid, "%s against itself is not a map", across)
	}
	at, x, err := s.start(at)
	if err != nil {
		return nil, err
	}
	first, ok1 := s.mover(x, i, steps, j)
	second, ok2 := s.mover(x, j, steps, i)
	if !ok1 || !ok2 {
		return nil, problem.New(problem.Invalid,
			"the constraints do not let %s and %s be varied without each other", across, up)
	}
	out := &Map{XAxis: first.Axis, YAxis: second.Axis, Grid: s.newGrid()}
	if out.Here, err = s.predictor.Predict(ctx, at); err != nil {
		return nil, err
	}
	for r := range second.X {
		row := second.to(x, r)
		for c := range first.X {
			var node []float64
			if row != nil {
				node = first.to(row, c)
			}
			if err := s.node(ctx, &out.Grid, node); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// Ternary evaluates the models over the mixtures of three components, at so many
// steps of each side, through a composition; nil for the one to go by.
func (s *Survey) Ternary(ctx context.Context, components [3]string, at definition.Point, steps int) (*Ternary, error) {
	var three [3]int
	for k, name := range components {
		i, err := s.parameter(name)
		if err != nil {
			return nil, err
		}
		three[k] = i
	}
	at, x, err := s.start(at)
	if err != nil {
		return nil, err
	}
	t, ok := s.frame.Triangle(x, three)
	if !ok {
		return nil, problem.New(problem.Invalid,
			"%s, %s and %s are not three components of one mixture with something left to share", components[0], components[1], components[2])
	}
	out := &Ternary{Steps: steps, Grid: s.newGrid()}
	for k, i := range three {
		p := &s.def.Parameters[i]
		out.Corners = append(out.Corners, Corner{
			Parameter: p.Name, Unit: p.Unit, Low: t.Low[k], High: t.High[k], Weight: t.Weight(k),
		})
	}
	if out.Here, err = s.predictor.Predict(ctx, at); err != nil {
		return nil, err
	}
	for a := range steps + 1 {
		for c := range steps + 1 {
			var node []float64
			if a+c <= steps {
				top, right := float64(a)/float64(steps), float64(c)/float64(steps)
				node = t.At([3]float64{top, max(1-top-right, 0), right})
			}
			if err := s.node(ctx, &out.Grid, node); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
