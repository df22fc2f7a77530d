// Package tasks holds the test problems of campaignd: functions whose optimum
// is known, behind the simulated instrument, the simulated expert, the studies
// and the tests.
//
// A task speaks the user's language: parameters with names, units and bounds,
// an objective with a unit and a goal. Its value is noiseless; noise belongs to
// the instrument.
//
// The mathematical test functions are minimized, in the form and with the
// bounds of Xu et al. 2024, App. J.2.1 (with Adachi et al. 2024, App. G.1 for
// Styblinski–Tang and Sinaga et al. 2026, §6 for Hartmann and Ackley 6); the
// chemical ones, and the utilities of Kayal et al. 2025, §5, are maximized.
//
// A [Tradeoff] is a problem with several objectives, each with a goal of its own,
// and the hypervolume that is sought.
package tasks

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
)

// ErrPoint is wrapped by errors about a point at which a task has no value: a
// parameter is missing, unknown or not a number, or the point lies outside the
// task's space.
var ErrPoint = errors.New("the task has no value at this composition")

// Slack within which a point counts as inside the space, as a fraction of a
// parameter's range and as the greatest error of a constraint. Compositions
// come back from files and rounded doses, and a sum of four decimals is 1 only
// to the last bit.
const slack = 1e-6

// Task is a test problem.
type Task struct {
	// Name as a campaign file writes it, for example "electrolyte".
	Name string
	// Description in a sentence, with the source.
	Description string
	// Parameters in order, with units and bounds, or values, or categories.
	Parameters []definition.Parameter
	// Constraints that every composition satisfies; nil for most tasks.
	Constraints []definition.Constraint
	// Objective with unit and goal.
	Objective definition.Objective
	// Best is the global optimum over the space, in the sense of the goal.
	// Where there are several, it is one of them.
	Best Extreme
	// Worst is the opposite extreme over the space: the greatest value of a
	// minimized objective, the least of a maximized one.
	Worst Extreme

	value func(x []float64) float64
}

// Extreme is a place and the task's value there.
type Extreme struct {
	// At has the parameters in the task's order, in their units; of a category
	// its index among the task's.
	At []float64
	// Value is in the objective's unit.
	Value float64
}

// Value returns the noiseless objective at p, in the objective's unit. The error wraps [ErrPoint]
// and describes the fault of p.
func (t Task) Value(p definition.Point) (float64, error) {
	x, err := coordinates(t.Parameters, t.Constraints, p)
	if err != nil {
		return math.NaN(), fmt.Errorf("task %s: %w", t.Name, err)
	}
	return t.value(x), nil
}

// Rank returns ρ, the objective at p scaled linearly so that the best value in
// the space is −3 and the worst is 3 (Xu et al. 2024, Example 2.2). The error
// is that of [Task.Value].
func (t Task) Rank(p definition.Point) (float64, error) {
	v, err := t.Value(p)
	if err != nil {
		return math.NaN(), err
	}
	rank := -3 + 6*(v-t.Best.Value)/(t.Worst.Value-t.Best.Value)
	return min(max(rank, -3), 3), nil
}

// Regret returns how much worse value is than the best in the space, in the
// objective's unit, for either goal. It is at least 0 for noiseless values, up
// to the rounding of the stored optimum.
func (t Task) Regret(value float64) float64 {
	return t.Objective.Regret(value, t.Best.Value)
}

// Point names the coordinates x, given in the task's order and units, of a
// category its index. It panics if their number is not that of the parameters.
func (t Task) Point(x []float64) definition.Point {
	return point(t.Name, t.Parameters, x)
}

// point names coordinates; name is that of the problem they belong to.
func point(name string, parameters []definition.Parameter, x []float64) definition.Point {
	if len(x) != len(parameters) {
		panic(fmt.Sprintf("tasks: %d coordinates for the %d parameters of %s", len(x),
			len(parameters), name))
	}
	p := make(definition.Point, len(x))
	for i, par := range parameters {
		p[par.Name] = definition.Number(x[i])
		if par.Categories != nil {
			p[par.Name] = definition.Category(par.Categories[int(x[i])].Name)
		}
	}
	return p
}

// coordinates reads p in the order of the parameters and checks that it is in the
// space. A value that is one of a list up to rounding becomes that one exactly, so
// that replicates have equal values.
func coordinates(
	parameters []definition.Parameter, constraints []definition.Constraint, p definition.Point,
) ([]float64, error) {
	x := make([]float64, len(parameters))
	for i, par := range parameters {
		v, ok := p[par.Name]
		if !ok {
			return nil, fmt.Errorf("%w: parameter %q is missing", ErrPoint, par.Name)
		}
		f, ok := v.Float()
		if par.Categories != nil {
			k := slices.IndexFunc(par.Categories,
				func(c definition.CategoryDef) bool { return !ok && c.Name == v.Name() })
			if k < 0 {
				return nil, fmt.Errorf("%w: %s = %v is not one of its categories", ErrPoint, par.Name, v)
			}
			x[i] = float64(k)
			continue
		}
		if !ok || math.IsNaN(f) {
			return nil, fmt.Errorf("%w: %s = %v is not a number", ErrPoint, par.Name, v)
		}
		if par.Values != nil {
			near := func(value float64) bool {
				return math.Abs(f-value) <= slack*(par.Values[len(par.Values)-1]-par.Values[0])
			}
			k := slices.IndexFunc(par.Values, near)
			if k < 0 {
				return nil, fmt.Errorf("%w: %s = %v is not one of its values", ErrPoint, par.Name, v)
			}
			x[i] = par.Values[k]
			continue
		}
		tol := slack * (*par.Max - *par.Min)
		if f < *par.Min-tol || f > *par.Max+tol {
			return nil, fmt.Errorf("%w: %s = %v is outside %g to %g %s",
				ErrPoint, par.Name, v, *par.Min, *par.Max, par.Unit)
		}
		x[i] = f
	}
	if len(p) != len(x) {
		for _, name := range sortedNames(p) {
			if !slices.ContainsFunc(parameters,
				func(par definition.Parameter) bool { return par.Name == name }) {
				return nil, fmt.Errorf("%w: it has no parameter %q", ErrPoint, name)
			}
		}
	}
	for _, c := range constraints {
		// Every constraint of a task is an equality.
		var sum float64
		for i, par := range parameters {
			sum += c.Terms[par.Name] * x[i]
		}
		if math.Abs(sum-*c.Equals) > slack {
			return nil, fmt.Errorf("%w: %s is %g and must be %g", ErrPoint, c.Name, sum, *c.Equals)
		}
	}
	return x, nil
}

// Names returns the names of all tasks, sorted.
func Names() []string {
	names := make([]string, 0, len(all))
	for _, task := range all {
		names = append(names, task().Name)
	}
	slices.Sort(names)
	return names
}

// Lookup returns the task of that name. The caller may change it.
func Lookup(name string) (Task, bool) {
	for _, task := range all {
		if t := task(); t.Name == name {
			return t, true
		}
	}
	return Task{}, false
}

// all is the table of tasks. Each entry builds a task anew, so that no caller
// can change another's.
var all = []func() Task{
	electrolyte, electrolyte5, electrolyteHours, electrolyteSources, mixture4, reaction,
	ackley4, ackley6, branin, braninFidelity, hartmann3, hartmann4, hartmann6, hartmann6Fidelity, holder2,
	michalewicz5, rastrigin2, rkhsMatern32, rkhsMatern52, rkhsRBF, rosenbrock3, styblinski3,
}

// sortedNames gives messages a fixed order.
func sortedNames(p definition.Point) []string {
	names := make([]string, 0, len(p))
	for name := range p {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// parameter is a number between bounds.
func parameter(name, unit string, lower, upper float64, description string) definition.Parameter {
	return definition.Parameter{Name: name, Unit: unit, Description: description, Min: &lower,
		Max: &upper}
}
