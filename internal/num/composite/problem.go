package composite

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/jet"
	"github.com/campaignd/campaignd/internal/num/qmc"
)

// Function is a known function of arguments in the user's units: the quantities
// of a problem, then its parameters. It may be a workspace that one goroutine
// uses at a time.
type Function interface {
	// Value returns the function at the arguments. It may be NaN or infinite.
	Value(arguments []float64) float64
	// Jet returns the function with its derivatives at jets of the arguments. Those
	// that it does not use may be nil. The next call may overwrite the result.
	Jet(s *jet.Space, arguments []jet.Jet) jet.Jet
	// Uses reports whether the function depends on an argument.
	Uses(argument int) bool
	// Affine reports whether it is affine in the marked arguments, whatever the
	// values of the others.
	Affine(marked []bool) bool
}

// Scale turns a standardized value f of a quantity's model into the user's
// units: Center + Spread·f, or the exponential of that where the model is of the
// logarithm.
type Scale struct {
	Center, Spread float64
	Log            bool
}

// Value returns f in the user's units.
func (s Scale) Value(f float64) float64 {
	y := s.Center + float64(s.Spread*f)
	if s.Log {
		return math.Exp(y)
	}
	return y
}

// Problem is the objective and its constraints, as functions of quantities and parameters.
type Problem struct {
	// Quantities are the modelled ones, the first arguments of each function.
	Quantities []Scale
	// Parameters is the number of arguments after them, which are known exactly.
	Parameters int
	// Objective to be optimized: its greatest value with Maximize, otherwise its least. Nil:
	// anything that keeps the constraints is as good, an improvement of 1.
	Objective Function
	Maximize  bool
	// Constraints are kept where they are ≤ 0.
	Constraints []Function
	// Seed of the points.
	Seed uint64
}

const (
	// Points is the number of components of a mixture.
	Points = 256
	// epsilon is ε, the share of each standard deviation in which functions are
	// linearized.
	epsilon = 0.1
)

// Alone is the function that is one of its arguments.
type Alone int

// Value implements [Function].
func (a Alone) Value(arguments []float64) float64 { return arguments[a] }

// Jet implements [Function].
func (a Alone) Jet(_ *jet.Space, arguments []jet.Jet) jet.Jet { return arguments[a] }

// Uses implements [Function].
func (a Alone) Uses(argument int) bool { return argument == int(a) }

// Affine implements [Function].
func (a Alone) Affine([]bool) bool { return true }

// caps reports whether a constraint limits the objective against its direction,
// where that is a quantity itself: the improvement within the limit then has a
// closed form (see [acquisition.LogCappedEI]), and neither is taken for independent
// of the other.
func (p *Problem) caps(c Function) bool {
	limit, ok := c.(*Limit)
	return ok && p.seeks(limit.Argument) && limit.Least != p.Maximize
}

// seeks reports whether the objective is an argument itself, a quantity whose model
// is not of its logarithm.
func (p *Problem) seeks(argument int) bool {
	sought, alone := p.Objective.(Alone)
	return alone && argument == int(sought) && argument < len(p.Quantities) &&
		!p.Quantities[argument].Log
}

// bounds are those of the objective, minimized, that are part of its improvement:
// limits against its direction, and exact ones along it.
func (p *Problem) bounds() acquisition.Bounds {
	out := acquisition.Unbounded()
	for _, c := range p.Constraints {
		limit, ok := c.(*Limit)
		switch {
		case !ok || !p.seeks(limit.Argument):
		case p.caps(c):
			out.Lower = math.Max(out.Lower, p.sign()*limit.At)
		case limit.Exact:
			out.Upper = math.Min(out.Upper, p.sign()*limit.At)
		}
	}
	return out
}

// Cap is the strictest limit of the objective against its direction, where that is
// a quantity itself.
func (p *Problem) Cap() (at float64, ok bool) {
	for _, c := range p.Constraints {
		if limit, is := c.(*Limit); is && p.caps(c) && (!ok || p.sign()*limit.At > p.sign()*at) {
			at, ok = limit.At, true
		}
	}
	return at, ok
}

// Limit is the constraint that one argument is at most At, or with Least at least
// At. It says the same as the affine function of that argument, and more of a
// quantity whose model is of the logarithm: it is a limit of the logarithm, if At is
// greater than 0, and its probability is exact. It is a workspace, as any
// [Function] may be.
type Limit struct {
	Argument int
	At       float64
	Least    bool
	// Exact takes it with the other exact limits of its argument for one interval,
	// whose probability, and the improvement within it, have a closed form. Otherwise
	// each is a function of its own, whose tails end where the points of the mixture do.
	Exact bool

	space *jet.Space
	out   jet.Jet
}

// Value implements [Function].
func (l *Limit) Value(arguments []float64) float64 {
	if l.Least {
		return l.At - arguments[l.Argument]
	}
	return arguments[l.Argument] - l.At
}

// Jet implements [Function].
func (l *Limit) Jet(s *jet.Space, arguments []jet.Jet) jet.Jet {
	if l.space != s {
		l.space, l.out = s, s.New()
	}
	y, slope := arguments[l.Argument], 1.0
	excess := y.Value() - l.At
	if l.Least {
		excess, slope = -excess, -1
	}
	s.Compose(l.out, y, excess, slope, 0, 0)
	return l.out
}

// Uses implements [Function].
func (l *Limit) Uses(argument int) bool { return argument == l.Argument }

// Affine implements [Function].
func (l *Limit) Affine([]bool) bool { return true }

// part is the objective or a constraint, as a function of the coordinates it uses.
type part struct {
	Function
	space       *jet.Space
	quantities  []int // arguments that are its random coordinates
	parameters  []int // arguments that are its fixed coordinates
	arguments   []jet.Jet
	logarithm   jet.Jet            // of a quantity whose model is of that
	exact       bool               // affine, of quantities that no other part uses
	logarithmic bool               // a limit of a logarithm, and affine in it
	within      bool               // a constraint that is part of the improvement, or of another
	limit       bool               // an exact limit: the function is its argument
	counts      bool               // of the exact limits of an argument the first, which stands for all
	own, all    acquisition.Bounds // what the function has to keep; with the other exact limits of its argument
	weights     []float64
	mean, sd    float64 // of the component at hand
	byMean      float64 // derivatives of ln of its factor
	bySD        float64
	coordinates []float64 // derivatives by coordinate, to add up
}

// newParts takes a problem apart. It fails where a function depends on more
// quantities than jets have coordinates.
func newParts(p *Problem) ([]*part, error) {
	n := len(p.Quantities)
	var parts []*part
	sought := p.Objective
	if sought == nil {
		sought = nothing{}
	}
	for i, f := range append([]Function{sought}, p.Constraints...) {
		q := &part{Function: f, arguments: make([]jet.Jet, n+p.Parameters), own: nonPositive,
			all: nonPositive, counts: true}
		if l, ok := f.(*Limit); ok {
			q.takeLimit(p, l)
		}
		for a := range q.arguments {
			switch {
			case !f.Uses(a):
			case a < n:
				q.quantities = append(q.quantities, a)
			default:
				q.parameters = append(q.parameters, a)
			}
		}
		if len(q.quantities) > jet.MaxRandom {
			return nil, fmt.Errorf("composite: function %d depends on %d quantities, at most %d are possible",
				i, len(q.quantities), jet.MaxRandom)
		}
		q.space = jet.NewSpace(len(q.quantities), len(q.parameters))
		q.weights = make([]float64, len(q.quantities))
		q.coordinates = make([]float64, q.space.All())
		q.logarithm = q.space.New()
		for _, list := range [][]int{q.quantities, q.parameters} {
			for _, a := range list {
				q.arguments[a] = q.space.New()
			}
		}
		parts = append(parts, q)
	}
	for i, c := range p.Constraints {
		parts[1+i].within = p.caps(c)
	}
	for _, q := range parts {
		q.intersect(p, parts)
	}
	for _, q := range parts {
		q.exact = q.isExact(p, parts)
	}
	return parts, nil
}

// nonPositive bounds a constraint.
var nonPositive = acquisition.Bounds{Lower: math.Inf(-1)}

// takeLimit makes the part one of a limit: of a quantity whose model is of the
// logarithm a limit of that, if it is greater than 0, and of an exact one the
// argument itself, with bounds.
func (q *part) takeLimit(p *Problem, l *Limit) {
	if l.Argument >= len(p.Quantities) {
		return
	}
	at := l.At
	if p.Quantities[l.Argument].Log {
		if l.At <= 0 {
			return
		}
		at = math.Log(l.At)
		q.Function, q.logarithmic = &Limit{Argument: l.Argument, At: at, Least: l.Least}, true
	}
	if !l.Exact {
		return
	}
	q.Function, q.limit = Alone(l.Argument), true
	if q.own = acquisition.Unbounded(); l.Least {
		q.own.Lower = at
	} else {
		q.own.Upper = at
	}
}

// intersect joins the exact limits of one argument: the first of them stands for the
// interval that they leave, or the improvement does.
func (q *part) intersect(p *Problem, parts []*part) {
	if !q.limit {
		return
	}
	q.all, q.within = acquisition.Unbounded(), p.seeks(q.argument())
	before := true
	for _, other := range parts {
		before = before && other != q
		if !other.limit || other.argument() != q.argument() {
			continue
		}
		q.all = q.all.Intersect(other.own)
		if before {
			q.counts, q.within = false, true
		}
	}
}

// argument is that of an exact limit.
func (q *part) argument() int { return q.quantities[0] }

// nothing is the objective of a problem without one.
type nothing struct{}

func (nothing) Value([]float64) float64 { return 0 }
func (nothing) Uses(int) bool           { return false }
func (nothing) Affine([]bool) bool      { return true }
func (nothing) Jet(s *jet.Space, _ []jet.Jet) jet.Jet {
	return s.New()
}

// isExact reports whether a part has a normal distribution that is independent of
// the others, but for those that it is taken together with.
func (q *part) isExact(p *Problem, all []*part) bool {
	marked := make([]bool, len(q.arguments))
	for _, a := range q.quantities {
		marked[a] = true
		if p.Quantities[a].Log && !q.logarithmic {
			return false
		}
		for i, other := range all {
			if other == q || other.within || !other.Uses(a) {
				continue
			}
			joined := q.limit && (other.limit || i == 0 && p.seeks(a))
			if !joined {
				return false
			}
		}
	}
	return q.Affine(marked)
}

// normals returns n quasi-random draws of d independent standard normal values.
func normals(n, d int, seed uint64) ([][]float64, error) {
	sequence, err := qmc.NewScrambled(max(d, 1), seed)
	if err != nil {
		return nil, err
	}
	rows := sequence.Points(n)
	for _, row := range rows {
		for j, u := range row {
			row[j] = mathext.NormalQuantile(max(u, 0x1p-53))
		}
	}
	return rows, nil
}

// Incumbent returns the value that an improvement of one member is measured against, from its draw
// at each design that was tried: the standardized values of the quantities, and the parameters. It
// is the best value of the objective among the designs that keep every constraint, and the worst of
// all where none does: see [acquisition.Incumbent].
func (p *Problem) Incumbent(quantities, parameters [][]float64) (best float64, feasible bool) {
	values, kept := make([]float64, len(quantities)), make([]bool, len(quantities))
	evaluate := p.Evaluator()
	for i, row := range quantities {
		var at []float64
		if p.Parameters > 0 {
			at = parameters[i]
		}
		values[i], kept[i] = evaluate(row, at)
		values[i] *= p.sign()
	}
	best, feasible = acquisition.Incumbent(values, kept)
	return p.sign() * best, feasible
}

// Evaluator returns a function from standardized values of the quantities, and parameters, to the
// objective there, and whether every constraint is kept. It is a workspace: one goroutine uses it
// at a time.
func (p *Problem) Evaluator() func(quantities, parameters []float64) (value float64, kept bool) {
	arguments := make([]float64, len(p.Quantities)+p.Parameters)
	return func(quantities, parameters []float64) (value float64, kept bool) {
		for k, f := range quantities {
			arguments[k] = p.Quantities[k].Value(f)
		}
		copy(arguments[len(p.Quantities):], parameters)
		for _, c := range p.Constraints {
			if !(c.Value(arguments) <= 0) {
				return p.Objective.Value(arguments), false
			}
		}
		return p.Objective.Value(arguments), true
	}
}

// sign is that by which the objective is minimized.
func (p *Problem) sign() float64 {
	if p.Maximize {
		return -1
	}
	return 1
}
