package simulate

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/adapters/instruments/table"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/projections/space"
)

// Kinds of tasks.
const (
	Function = "function"
	Table    = "table"
	Store    = "store"
)

// Task is an optimization problem whose true values are known, or taken as known.
//
// instrument and reviewers make new ones for each campaign, since campaigns run simultaneously.
type Task struct {
	Name string
	// Kind is Function, Table or Store.
	Kind string
	// About is a sentence on the origin of the results, and the reference of regret.
	About string
	// Doubt is the reason not to rely on these results; empty if they are reliable.
	Doubt string
	Truth Truth
	// Instrument opens the instrument of a campaign on the task, with the noise of the campaign's
	// seed.
	Instrument func(definition.Campaign) (instruments.Instrument, error)

	source     *studyfile.Task
	given      *yamltree.Node     // sections of a campaign file
	candidates []definition.Point // nil: those of the definition
	digest     string             // of the source of the answers
	reviewers  func(definition.Campaign) (map[string]humans.Reviewer, error)
}

// newTask sets up one of the four kinds of task that a study can name. The
// study's file has been checked by then: exactly one of them is named.
func newTask(
	ctx context.Context, file *studyfile.File, source *studyfile.Task, env Environment,
) (*Task, error) {
	t := &Task{Name: source.Name, source: source}
	switch {
	case source.Function != "":
		if problem, ok := problemOf(source); ok {
			return t, t.tradeoff(file, source, problem)
		}
		return t, t.function(file, source)
	case source.Table != "":
		return t, t.table(ctx, file, source)
	case source.CampaignFile != "":
		return t, t.campaignFile(ctx, file, source)
	}
	return t, t.store(ctx, file, source, env)
}

// give sets a section of the campaign file that the task provides. It replaces an existing one.
func (t *Task) give(name string, section any) error {
	n, err := yamltree.FromValue(section)
	if err != nil {
		return fmt.Errorf("the section %s: %w", name, err)
	}
	t.given = t.given.With(name, n)
	return nil
}

// function is a test problem. Its noise is the instrument's; whether the model knows it is another
// setting, for noise that has to be inferred.
//
// The noise is set twice: for the instrument, which adds it, and for the objective, from which the
// model knows it. About says which of the two holds, since a method that knows the noise has an
// easier task.
func (t *Task) function(file *studyfile.File, source *studyfile.Task) (err error) {
	task, _ := tasks.Lookup(source.Function)
	objective := task.Objective
	instrument := simulated.Settings{Task: task.Name, FailureRate: source.FailureRate,
		OutlierRate: source.OutlierRate}
	noise := "without noise"
	if source.Noise != nil {
		instrument.Noise = *source.Noise
		noise = fmt.Sprintf("measured with noise of standard deviation %s",
			inUnit(*source.Noise, objective))
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
	t.About = fmt.Sprintf("%s, %s.", sentence(task.Description), noise)
	// The study may have another objective among the function's quantities. Its faults show when
	// the campaigns are composed.
	def, faults := file.Definition(source, &file.Arms[0], t.given)
	if faults != nil || !def.Several() || t.Truth.isOf(def) {
		t.About += " Its optimum is known."
		return nil
	}
	t.Truth, err = truthOf(def, ofFunction(def, task), 0)
	t.About += " " + t.Truth.words("the best value that a search has found")
	return err
}

// problemOf is the test problem with several objectives that a task names; ok is
// false where it names a function of one.
func problemOf(source *studyfile.Task) (problem tasks.Tradeoff, ok bool) {
	if _, one := tasks.Lookup(source.Function); one {
		return problem, false
	}
	return tasks.LookupTradeoff(source.Function)
}

// tradeoff is a test problem with several objectives, whose slacks are bounded.
func (t *Task) tradeoff(file *studyfile.File, source *studyfile.Task, problem tasks.Tradeoff) (err error) {
	if t.given, err = studyfile.FunctionSections(problem.Name); err != nil {
		return err
	}
	if source.Grid > 0 {
		if err := t.give("parameters", onGrid(problem.Parameters, source.Grid)); err != nil {
			return err
		}
	}
	if len(source.Noises) > 0 && !source.NoiseUnknown {
		if err := t.give("quantities", studyfile.QuantitiesOf(problem, source.Noises)); err != nil {
			return err
		}
	}
	def, faults := file.Definition(source, &file.Arms[0], t.given)
	if faults != nil {
		return file.NewError(faults)
	}
	noises, words, err := noisesOf(def, source, nil)
	if err != nil {
		return err
	}
	switch {
	case words == "":
		words = "without noise"
	case source.NoiseUnknown:
		words += ", which the models infer"
	default:
		words += ", which the models know"
	}
	greatest := 0.0
	if asIs(def, problem) {
		greatest = problem.Hypervolume
	}
	if t.Truth, err = truthOf(def, ofTradeoff(def, problem), greatest); err != nil {
		return err
	}
	t.Kind = Function
	t.digest = fmt.Sprintf("function %s %v", problem.Name, noises) // maps are printed by their keys
	t.About = fmt.Sprintf("%s, %s. %s", sentence(problem.Description), words, t.Truth.words("the optimum"))
	t.standIn(nil, noises)
	return nil
}

// asIs reports whether a campaign seeks the front of a test problem as defined, whose greatest
// hypervolume is then known.
func asIs(def definition.Campaign, problem tasks.Tradeoff) bool {
	aims := def.Tradeoff()
	if !reflect.DeepEqual(def.Parameters, problem.Parameters) || len(def.Constraints) > 0 ||
		len(aims) != len(problem.Objectives) || len(def.ConstraintsOnOutcomes) != len(problem.Slacks) {
		return false
	}
	for k, o := range problem.Objectives {
		a, q := aims[k], def.Quantity(o.Name)
		if a.Name != o.Name || a.Goal != o.Goal || a.Worst == nil || *a.Worst != o.Worst || q.Scale != "" {
			return false
		}
	}
	for k, c := range def.ConstraintsOnOutcomes {
		if c.Require != studyfile.KeepsSlack(problem.Slacks[k]) {
			return false
		}
	}
	return true
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
	t.Instrument = func(def definition.Campaign) (instruments.Instrument, error) {
		return simulated.Driver.Open(context.Background(), def, instruments.Environment{})
	}
}

// onList moves the optimum of a function to the best of the measurable compositions, if every arm
// has the same list of them: a grid has no regret of its own. Otherwise it stays that of the whole
// problem. Without that every arm on a coarse grid would keep an unavoidable regret.
//
// The truth of several quantities was searched among them from the first.
func (t *Task) onList(definitions []definition.Campaign) error {
	if t.Truth.quantities != nil {
		return nil
	}
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
		len(points), inUnit(best, t.Truth.Sought))
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
	in.Draws = nil // a study does not refill stocks
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
		t.About = fmt.Sprintf("The campaign of %s: %s.", filepath.Base(path), task.Description)
		if t.Truth.isOf(def) {
			t.About += " Regret is against the optimum of the whole test problem."
			return nil
		}
		if def, err = t.composed(file, source); err != nil {
			return err
		}
		t.Truth, err = truthOf(def, ofFunction(def, task), 0)
		t.About += " " + t.Truth.words("the best value that a search has found")
		return err
	case table.Name:
		if err := t.give("instrument", in); err != nil {
			return err
		}
		settings, err := table.SettingsOf(def)
		if err != nil {
			return err
		}
		if def.SeveralMatter() {
			if def, err = t.composed(file, source); err != nil {
				return err
			}
		}
		return t.rows(ctx, def, settings, filepath.Dir(path))
	}
	return fmt.Errorf("%s: what measures in it is neither simulated nor a table, "+
		"and nothing real is started by a study; to ask what if, run the campaign and name its store",
		path)
}

// composed returns the campaign of the first arm, which defines the criteria for all arms.
func (t *Task) composed(file *studyfile.File, source *studyfile.Task) (definition.Campaign, error) {
	def, faults := file.Definition(source, &file.Arms[0], t.given)
	if faults != nil {
		return def, file.NewError(faults)
	}
	def.Candidates = t.candidates
	return def, nil
}

// judged adds to the digest the criteria beyond the task's own value: results judged by other
// criteria do not count.
func (t *Task) judged() error {
	if t.Truth.quantities == nil {
		return nil
	}
	by, err := keyOf(struct {
		Sought      definition.Objective
		Best, Worst float64
		Front       *Front
		Required    []definition.OutcomeConstraint
	}{t.Truth.Sought, t.Truth.Best, t.Truth.Worst, t.Truth.Front, t.Truth.required})
	t.digest += " judged by " + by
	return err
}

// isOf reports whether the truth is that of a campaign: its objective is this value as measured,
// and nothing is bounded.
func (t Truth) isOf(def definition.Campaign) bool {
	sought := def.Sought()
	return sought.Name == t.Sought.Name && sought.Goal == t.Sought.Goal &&
		def.Single() && !sought.Computed() && len(def.ConstraintsOnOutcomes) == 0
}

// campaignSections are the sections of a campaign that a task takes over: the parameters, the
// objective, the model, the design and the budget.
//
// Policy and experts are the arm's; of the budget only the number of experiments is taken over.
func campaignSections(def definition.Campaign) (*yamltree.Node, error) {
	given, err := yamltree.FromValue(def)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"name", "description", "seed", "policy", "experts", "instrument",
		"candidates", "stocks"} {
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

// inUnit writes a value, or a noise, of the objective.
func inUnit(x float64, sought definition.Objective) string {
	return format.WithUnit(strconv.FormatFloat(x, 'g', 6, 64), sought.Unit)
}
