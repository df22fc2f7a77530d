package simulate

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/campaignd/campaignd/adapters/humans"
	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/adapters/instruments/table"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/tasks"
	"github.com/campaignd/campaignd/internal/yamltree"
	"github.com/campaignd/campaignd/projections/space"
)

// Kinds of tasks.
const (
	Function = "function"
	Table    = "table"
	Store    = "store"
)

// Task is something to optimize whose true values are known, or taken as known.
//
// instrument and reviewers make new ones for each campaign, which run at the
// same time.
type Task struct {
	Name string
	// Kind is Function, Table or Store.
	Kind string
	// About says in a sentence where the results come from, and what regret is
	// measured against.
	About string
	// Doubt says why these results cannot be relied on; empty where they can.
	Doubt string
	Truth Truth

	source     *studyfile.Task
	given      *yamltree.Node     // sections of a campaign file
	candidates []definition.Point // nil: those of the definition
	digest     string             // of what the answers come from
	instrument func(definition.Campaign) (instruments.Instrument, error)
	reviewers  func(definition.Campaign) (map[string]humans.Reviewer, error)
}

// Truth knows the noiseless value of every composition.
type Truth struct {
	// Value is the noiseless objective at a composition, in the objective's
	// unit. It is safe for concurrent use.
	Value func(definition.Point) (float64, error)
	// Sought is that objective.
	Sought definition.Objective
	// Best and Worst are the extremes over the space, according to its goal.
	Best, Worst float64
	// BestAt is where Best is attained, or one of the places; nil where that is
	// unknown.
	BestAt definition.Point
}

// Regret returns how much worse a value is than the best, in the objective's
// unit: at least 0 for noiseless values, up to the rounding of Best.
func (t Truth) Regret(value float64) float64 {
	return t.Sought.Regret(value, t.Best)
}

// Rank returns ρ: the value at p scaled linearly so that the best is −3 and the
// worst 3 (Xu et al. 2024, Example 2.2).
func (t Truth) Rank(p definition.Point) (float64, error) {
	v, err := t.Value(p)
	if err != nil {
		return math.NaN(), err
	}
	return t.rankOf(v), nil
}

// rankOf is the rank ρ of simulated experts: −3 for the best value of the space,
// 3 for the worst.
func (t Truth) rankOf(value float64) float64 {
	if t.Best == t.Worst {
		return 0
	}
	return min(max(-3+6*(value-t.Best)/(t.Worst-t.Best), -3), 3)
}

// knowing returns the experts of a definition, who know the truth; those who
// name a test problem know that instead. A person cannot take part in a study.
func (t Truth) knowing(def definition.Campaign) (map[string]humans.Reviewer, error) {
	sp, err := space.New(def)
	if err != nil {
		return nil, err
	}
	sample := func(n int, seed uint64) []definition.Point {
		points, _ := sp.Sample(n, seed) // none: the expert reports it
		return points
	}
	knows := humansim.Knowledge{
		Value: t.Value, Sought: t.Sought, Best: t.Best, Worst: t.Worst, BestAt: t.BestAt,
	}
	reviewers := make(map[string]humans.Reviewer, len(def.Experts))
	for _, e := range def.Experts {
		if e.Channel.Name != humansim.Name {
			return nil, fmt.Errorf("%s is a person, and a study asks nobody: give the expert simulated: {}", e.Name)
		}
		settings, err := humansim.SettingsOf(e)
		if err != nil {
			return nil, err
		}
		var reviewer *humansim.Reviewer
		switch {
		case settings.Task != "":
			reviewer, err = humansim.New(e, def, sample)
		default:
			reviewer, err = humansim.Knowing(e, def, knows, sample)
		}
		if err != nil {
			return nil, err
		}
		reviewers[e.Name] = reviewer
	}
	return reviewers, nil
}

// newTask sets up one of the four kinds of task that a study can name. The
// study's file has been checked by then: exactly one of them is named.
func newTask(
	ctx context.Context, file *studyfile.File, source *studyfile.Task, env Environment,
) (*Task, error) {
	t := &Task{Name: source.Name, source: source}
	switch {
	case source.Function != "":
		return t, t.function(source)
	case source.Table != "":
		return t, t.table(ctx, file, source)
	case source.CampaignFile != "":
		return t, t.campaignFile(ctx, file, source)
	}
	return t, t.store(ctx, file, source, env)
}

// give sets a section of the campaign file that the task provides. It takes the
// place of one that is there.
func (t *Task) give(name string, section any) error {
	n, err := yamltree.FromValue(section)
	if err != nil {
		return fmt.Errorf("the section %s: %w", name, err)
	}
	t.given = t.given.With(name, n)
	return nil
}

// function is a test problem. Its noise is the instrument's; whether the model
// knows it is another setting, for noise that has to be inferred.
//
// The noise is set twice: for the instrument, which adds it, and for the
// objective, which tells the model. About says which of the two holds, since a
// method that knows the noise has an easier task.
func (t *Task) function(source *studyfile.Task) (err error) {
	task, _ := tasks.Lookup(source.Function)
	objective := task.Objective
	instrument := simulated.Settings{Task: task.Name, FailureRate: source.FailureRate,
		OutlierRate: source.OutlierRate}
	noise := "without noise"
	if source.Noise != nil {
		instrument.Noise = *source.Noise
		noise = fmt.Sprintf("measured with noise of standard deviation %s",
			quantity(*source.Noise, objective))
		if source.NoiseUnknown {
			noise += ", which the model infers"
		} else {
			objective.Noise = source.Noise
			noise += ", which the model knows"
		}
	}
	for _, rate := range []struct {
		what  string
		value float64
	}{{"fail", source.FailureRate}, {"are wrong by far", source.OutlierRate}} {
		if rate.value > 0 {
			noise += fmt.Sprintf("; %g %% of the experiments %s", 100*rate.value, rate.what)
		}
	}
	if t.given, err = studyfile.FunctionSections(task.Name); err != nil {
		return err
	}
	if source.Grid > 0 {
		if err := t.give("parameters", onGrid(task.Parameters, source.Grid)); err != nil {
			return err
		}
	}
	if err := t.give("objective", objective); err != nil {
		return err
	}
	if err := t.give("instrument", definition.Instrument{Driver: simulated.Choose(instrument)}); err != nil {
		return err
	}
	t.knownFunction(task)
	t.About = fmt.Sprintf("%s, %s. Its optimum is known.", sentence(task.Description), noise)
	return nil
}

// onGrid gives each parameter n values at equal distances over its range. Both
// ends are among them.
func onGrid(parameters []definition.Parameter, n int) []definition.Parameter {
	list := slices.Clone(parameters)
	for i := range list {
		p := &list[i]
		for k := range n {
			p.Values = append(p.Values, *p.Min+float64(k)*(*p.Max-*p.Min)/float64(n-1))
		}
		p.Min, p.Max = nil, nil
	}
	return list
}

// knownFunction makes a test problem the task's truth.
func (t *Task) knownFunction(task tasks.Task) {
	t.Kind = Function
	t.Truth = Truth{
		Value:  task.Value,
		Best:   task.Best.Value,
		Worst:  task.Worst.Value,
		Sought: task.Objective,
		BestAt: task.Point(task.Best.At),
	}
	t.digest = "function " + task.Name
	t.reviewers = study.Reviewers
	t.instrument = func(def definition.Campaign) (instruments.Instrument, error) {
		return simulated.Driver.Open(context.Background(), def, instruments.Environment{})
	}
}

// onList moves the optimum of a function to the best of the compositions that
// can be measured, where every arm has the same list of them: a grid has no
// regret of its own. Otherwise it stays that of the whole problem. Without that
// every arm on a coarse grid would keep a regret that none could avoid.
func (t *Task) onList(definitions []definition.Campaign) error {
	for _, def := range definitions[1:] {
		if !reflect.DeepEqual(def.Parameters, definitions[0].Parameters) ||
			!reflect.DeepEqual(def.Candidates, definitions[0].Candidates) {
			return nil
		}
	}
	sp, err := space.New(definitions[0])
	if err != nil {
		return err
	}
	points, finite := sp.Finite()
	if !finite {
		return nil
	}
	best, worst := t.Truth.Worst, t.Truth.Best
	for _, p := range points {
		v, err := t.Truth.Value(p)
		if err != nil {
			return err
		}
		if t.Truth.Regret(v) < t.Truth.Regret(best) {
			best, t.Truth.BestAt = v, p
		}
		if t.Truth.Regret(v) > t.Truth.Regret(worst) {
			worst = v
		}
	}
	t.Truth.Best, t.Truth.Worst = best, worst
	t.About += fmt.Sprintf(" Only %d compositions can be measured, and regret is against the best of them, %s.",
		len(points), quantity(best, t.Truth.Sought))
	return nil
}

// campaignFile takes over the objective, the space and the instrument of a
// campaign file.
func (t *Task) campaignFile(ctx context.Context, file *studyfile.File, source *studyfile.Task) error {
	path := file.Resolve(source.CampaignFile)
	campaign, err := campaignfile.Read(file.Registry, path)
	if err != nil {
		return err
	}
	def := campaign.Definition
	if t.given, err = campaignSections(def); err != nil {
		return err
	}
	t.candidates = def.Candidates
	in := def.Instrument
	switch in.Driver.Name {
	case simulated.Name:
		settings, err := simulated.SettingsOf(def)
		if err != nil {
			return err
		}
		task, _ := tasks.Lookup(settings.Task)
		settings.Latency = 0 // no one watches
		in.Driver = simulated.Choose(settings)
		if err := t.give("instrument", in); err != nil {
			return err
		}
		t.knownFunction(task)
		t.About = fmt.Sprintf("The campaign of %s: %s. Regret is against the optimum of the whole test problem.",
			filepath.Base(path), task.Description)
		return nil
	case table.Name:
		if err := t.give("instrument", in); err != nil {
			return err
		}
		settings, err := table.SettingsOf(def)
		if err != nil {
			return err
		}
		return t.rows(ctx, def, settings, filepath.Dir(path))
	}
	return fmt.Errorf("%s: what measures in it is neither simulated nor a table, "+
		"and nothing real is started by a study; to ask what if, run the campaign and name its store",
		path)
}

// campaignSections are the sections of a campaign that a task takes over: what
// may be varied, what is sought, the model, the design and the budget.
//
// Policy and experts are the arm's; of the budget only the number of experiments
// is taken over.
//
// It fails for a trade-off, of which regret would be that of one objective alone.
func campaignSections(def definition.Campaign) (*yamltree.Node, error) {
	if def.Tradeoff() != nil {
		return nil, fmt.Errorf("%s trades several objectives off, and a study judges by the regret of one value: "+
			"the progress of a trade-off is its hypervolume, which its status has after each experiment", def.Name)
	}
	given, err := yamltree.FromValue(def)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"name", "description", "seed", "policy", "experts", "instrument",
		"candidates"} {
		given = given.Without(name)
	}
	if initial := given.Field("initial"); initial != nil {
		for _, name := range []string{"labels", "comparisons", "balanced", "estimates", "marks"} { // they follow from the arm
			initial = initial.Without(name)
		}
		given = given.With("initial", initial)
	}
	if def.Budget.Experiments > 0 {
		var budget *yamltree.Node
		given = given.With("budget", budget.With("experiments", yamltree.Int(def.Budget.Experiments)))
	} else {
		given = given.Without("budget")
	}
	return given, nil
}

// sentence begins a text with a capital.
func sentence(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[size:]
}

// quantity writes a value, or a noise, of what is sought.
func quantity(x float64, sought definition.Objective) string {
	return format.WithUnit(strconv.FormatFloat(x, 'g', 6, 64), sought.Unit)
}
