// Package studyfile reads STUDY.yaml, which says what `campaignd simulate`
// runs: policies on tasks, with and without synthetic experts, over common
// seeds.
//
//	name: ackley
//	seeds: {first: 1, count: 30}    # or: seeds: 30
//	experiments: 53                 # of each campaign, the initial ones included
//	comparisons: 300                # of each campaign in which nothing is measured
//	tasks:                          # a function, or one of task, table, file, store
//	  - ackley4
//	  - {task: electrolyte, noise: 0.27, experiments: 25, policies: {vanilla: {next: {lcb: {beta: 2}}}}}
//	  - {task: hartmann3, anchors: [{x1: 0.5, x2: 0.4, x3: 0.6}]}  # of experts who are anchored
//	  - {task: rkhs1-rbf, grid: 100}
//	  - {task: branin-currin, noises: {branin: 15, currin: 0.6}}  # a front of several quantities
//	  - {table: rows.csv, name: mine, parameters: [...], objective: {...}}
//	  - {table: rows.csv, surrogate: gp, ...}  # a function of the whole space; or {neighbors: 33}
//	  - {file: backtest.yaml}       # the objective and instrument of a campaign file
//	  - {store: real.campaign}      # what if this campaign had been run otherwise?
//	policies:                       # each exactly a campaign file's policy section
//	  vanilla: {next: lcb}
//	  cobol: {next: lcb, trust: cobol}
//	experts:                        # each exactly a campaign file's experts section
//	  expert: [{simulated: {accuracy: 2}}]
//	  adversary: [{simulated: {accuracy: -2}}]
//	arms: [...]                     # optional: {policy: cobol, expert: adversary}
//	baseline: vanilla               # optional: the first arm; a task may have another
//	base: {initial: {labels: 20}}   # optional: further sections of a campaign file; that of a task, and of
//	                                # an arm, adds to them, key by key
//	sizes:                          # optional: chosen with --size
//	  quick: {seeds: 5, experiments: 20, tasks: [ackley4], arms: [vanilla, cobol/expert]}
//
// Files: reader.go and file.go turn the tree of package yamltree into a [File],
// arms.go finds the arms and applies a size, compose.go makes campaigns.
//
// Reading is strict: every fault is reported at once, with its place and a
// remedy. Sections of a campaign file are checked by package campaignfile, so
// that a new policy needs no change here.
package studyfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/input"
	"github.com/campaignd/campaignd/internal/study/tasks"
)

// File is a study that was read without a fault.
//
// Nodes of the tree are kept with the fields that were read from them, so that a fault that shows
// only in a composed campaign can be reported at its place in the study.
type File struct {
	// Registry holds the drivers, channels and methods that its campaigns may name.
	Registry registry.Registry
	// Path and Source are the file's path and its contents.
	Path, Source string
	// Size is the one of the file's sizes that was chosen, empty for none.
	Size        string
	Name        string
	Description string
	Seeds       Seeds
	// Experiments is the budget of every campaign; 0 where each task has its
	// own.
	Experiments int
	// Comparisons is the budget of campaigns in which nothing is measured; 0
	// means Experiments.
	Comparisons int
	Tasks       []Task
	Policies    []Policy
	// Panels are the experts; the first is that of no expert.
	Panels []Panel
	// Arms are the compared arms, in the order they are shown.
	Arms []Arm
	// Baseline is the index of the arm that the others are compared with.
	Baseline int

	base *yamltree.Node
}

// Seeds are First, First+1, …: Count of them.
type Seeds struct {
	First uint64 `json:"first"`
	Count int    `json:"count"`
}

// ParseRange reads seeds that are written as the first and the last, as in
// 1001-1060.
func ParseRange(text string) (Seeds, bool) {
	from, to, _ := strings.Cut(text, "-")
	first, err := strconv.ParseUint(from, 10, 32)
	last, err2 := strconv.ParseUint(to, 10, 32)
	if err != nil || err2 != nil || first < 1 || last < first {
		return Seeds{}, false
	}
	return Seeds{First: first, Count: int(last - first + 1)}, true
}

// Task is something to optimize. Exactly one of Function, Table, CampaignFile
// and Store is set.
type Task struct {
	Name string
	// Function is a test problem of internal/study/tasks, measured with the given noise (standard
	// deviation, in the objective's unit), which the campaign knows unless NoiseUnknown is set.
	// With several quantities, Noises are those of each, by name, in its unit.
	Function                 string
	Noise                    *float64
	Noises                   map[string]float64
	NoiseUnknown             bool
	FailureRate, OutlierRate float64
	// Grid, where positive, is the number of values of each parameter, at equal
	// distances over its range.
	Grid int
	// Table is a CSV file, which the table instrument reads.
	Table string
	// Surrogate, if not nil, makes a function of the whole space of the table's
	// rows; Noise is that of its answers, by default the objective's or the
	// model's own.
	Surrogate *Surrogate
	// CampaignFile is a campaign file with a simulated or table instrument,
	// whose parameters, objective, instrument and budget the task takes over.
	CampaignFile string
	// Store holds a campaign; Campaign names it where the store holds several.
	Store, Campaign string
	// Experiments and Comparisons are the task's own budget; 0: the study's.
	Experiments, Comparisons int
	// Baseline is the index of the arm that the others are compared with on
	// this task.
	Baseline int

	node     *yamltree.Node
	sections map[string]*yamltree.Node // parts of a campaign file that stand in the task
	base     *yamltree.Node
	policies map[string]*yamltree.Node // the study's policies on this task
	anchors  *yamltree.Node            // of anchored experts without any of their own
	baseline *yamltree.Node            // nil: the study's
}

// Surrogate is the mean of a Gaussian process fitted to a table's rows or,
// where Neighbors is positive, that of the Neighbors rows nearest in the unit
// cube.
type Surrogate struct {
	Neighbors int
}

// Policy is one of the policies that are compared.
type Policy struct {
	Name string
	node *yamltree.Node
}

// Panel is a list of experts who take part in a campaign; empty for none.
type Panel struct {
	Name string
	node *yamltree.Node
}

// NoExpert is the name of the panel without experts.
const NoExpert = "none"

// Arm is a policy with a panel of experts.
type Arm struct {
	// Name is the policy's, with the panel's if there is one: "cobol/adversary".
	Name   string
	Policy *Policy
	Panel  *Panel

	node *yamltree.Node
	base *yamltree.Node
}

// Options select a part of a study. They come from the command line and override the file.
type Options struct {
	// Registry holds the drivers, channels and methods that campaigns may name. Default:
	// campaignd's own.
	Registry registry.Registry
	// Size is one of the file's sizes; empty for the file as it is.
	Size string
	// Seeds replaces the file's, where its Count is positive.
	Seeds Seeds
}

// Read reads the study at path. A file that cannot be read gives the operating
// system's error, one with faults a *[yamltree.Error].
func Read(path string, options Options) (*File, error) {
	data, err := input.ReadText(path, yamltree.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("the study cannot be read: %w", err)
	}
	return Parse(path, data, options)
}

// Parse reads a study from memory; relative paths start from path's folder.
//
// Policies are composed and checked only if all values of the file could be read.
func Parse(path string, data []byte, options Options) (*File, error) {
	data = input.Text(data)
	f := &File{Registry: options.Registry, Path: path, Source: string(data), Size: options.Size}
	if len(f.Registry.Methods) == 0 {
		f.Registry = builtin.Registry()
	}
	root, faults := yamltree.Read(data, fileFormat)
	if root == nil {
		return nil, f.NewError(faults)
	}
	r := &reader{file: f, faults: faults}
	r.study(root, options)
	if len(faults) == 0 { // unreadable values would be missing in the campaigns
		r.policies()
	}
	if len(r.faults) == 0 {
		r.choose(root, options)
	}
	if len(r.faults) > 0 {
		return nil, f.NewError(r.faults)
	}
	return f, nil
}

// fileFormat is that of studies.
var fileFormat = yamltree.Format{
	Name:    "a study",
	Subject: "study",
	Begin:   "begin with name:, seeds:, experiments:, tasks: and policies:; examples/studies shows how",
}

// NewError returns the error that reports the given faults of the file.
func (f *File) NewError(faults []yamltree.Fault) *yamltree.Error {
	return yamltree.NewError(f.Path, []byte(f.Source), "nothing was run", faults)
}

// Resolve returns a path of the study relative to the current folder.
func (f *File) Resolve(path string) string {
	return input.Path(filepath.Dir(f.Path), path)
}

// study reads the keys of the file and reports those that are missing, unless
// one was misspelled: then that fault says enough.
func (r *reader) study(root *yamltree.Node, options Options) {
	f := r.file
	f.Panels = []Panel{{Name: NoExpert, node: &yamltree.Node{}}}
	f.Seeds.First = 1
	fields := []field{
		{"name", r.name(&f.Name, nameForm, nameAdvice)},
		{"description", r.text(&f.Description)},
		{"seeds", r.seeds(&f.Seeds)},
		{"experiments", r.whole(1, func(k int) { f.Experiments = k })},
		{"comparisons", r.whole(1, func(k int) { f.Comparisons = k })},
		{"base", func(n *yamltree.Node) { f.base = r.section(n) }},
		{"tasks", r.list(r.task)},
		{"policies", r.named(func(name string, n *yamltree.Node) { f.Policies = append(f.Policies, Policy{name, n}) })},
		{"experts", r.named(r.panel)},
		{"arms", func(n *yamltree.Node) { r.arms = n }},
		{"baseline", func(n *yamltree.Node) { r.baseline = n }},
		{"sizes", func(n *yamltree.Node) { r.sizes = n }},
	}
	r.mapping(root, fields...)
	known := fieldNames(fields)
	missing := func(name, advice string) {
		misspelled := func(key string) bool {
			return !slices.Contains(known, key) && format.Nearest(key, known) == name
		}
		if root.Field(name) == nil && !slices.ContainsFunc(root.Keys(), misspelled) {
			r.faults = append(r.faults, yamltree.Fault{Message: yamltree.Missing(name), Remedy: advice})
		}
	}
	missing("name", "call the study something: name: ackley")
	missing("tasks", "list the tasks: tasks: [ackley4]; the functions are "+Functions())
	missing("policies", "name the policies to compare: policies: {vanilla: {next: lcb}}")
	if options.Seeds.Count > 0 {
		f.Seeds = options.Seeds
	} else if f.Seeds.Count == 0 && r.sizes == nil {
		missing("seeds", "say how many campaigns each arm runs: seeds: 20")
	}
	for i := range f.Tasks {
		for j := range f.Tasks[:i] {
			if f.Tasks[i].Name == f.Tasks[j].Name && f.Tasks[i].Name != "" {
				r.report(f.Tasks[i].node, "another task is called %q too", f.Tasks[i].Name).
					Remedy = "give each task a name of its own with name:"
			}
		}
	}
}

// seeds reads a count, or where to begin and how many.
func (r *reader) seeds(to *Seeds) func(*yamltree.Node) {
	return func(n *yamltree.Node) {
		if !n.IsMapping() {
			r.whole(1, func(k int) { to.Count = k })(n)
			return
		}
		r.mapping(n,
			field{"first", r.whole(1, func(k int) { to.First = uint64(k) })},
			field{"count", r.whole(1, func(k int) { to.Count = k })},
		)
	}
}

// set are the sections of a campaign that the study itself sets.
var set = map[string]string{
	"name": "a campaign has the name of its task", "seed": "the seeds are those of the study",
	"policy":  "write it under policies",
	"experts": "write them under experts", "instrument": "the task says what measures",
}

// section reads a part of a campaign file; campaignfile checks its content.
func (r *reader) section(n *yamltree.Node) *yamltree.Node {
	if !n.IsMapping() {
		r.report(n, "it must be a mapping (key: value) with sections of a campaign file, and this is %s", n.Describe())
		return nil
	}
	for _, key := range n.Keys() {
		if advice, taken := set[key]; taken {
			r.faults = append(r.faults, n.Field(key).KeyFault(fmt.Sprintf("%q cannot stand here", key), advice))
		}
	}
	return n
}

// panel reads a list of experts; campaignfile checks its content.
func (r *reader) panel(name string, n *yamltree.Node) {
	switch {
	case !n.IsList():
		r.report(n, "it must be a list of experts, as in a campaign file, and this is %s", n.Describe()).
			Remedy = "for example " + name + ": [{simulated: {accuracy: 2}}]"
	case name == NoExpert:
		if len(n.Items) > 0 {
			r.report(n, "%q is the panel without experts", name).
				Remedy = "give this panel another name, or write none: []"
		}
	case len(n.Items) == 0:
		r.report(n, "the list is empty").Remedy = "the panel without experts is always there and called none"
	default:
		r.file.Panels = append(r.file.Panels, Panel{name, n})
	}
}

// task reads a task: a test function by its bare name, or a mapping that names
// exactly one thing to optimize. Each kind has keys of its own.
func (r *reader) task(n *yamltree.Node) {
	t := Task{node: n, sections: map[string]*yamltree.Node{}}
	if name, ok := n.Value.(string); ok {
		t.Function, t.Name = name, name
		r.function(&t)
		return
	}
	if !n.IsMapping() {
		r.report(n, "it must be a task's name or a mapping, and this is %s", n.Describe()).
			Remedy = "the functions are " + Functions()
		return
	}
	var kinds []string
	for _, kind := range []string{"task", "table", "file", "store"} {
		if n.Field(kind) != nil {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) != 1 {
		r.report(n, "it names %d things to optimize", len(kinds)).
			Remedy = "give exactly one of task (a function), table (a CSV file), file (a campaign file), store"
		return
	}
	section := func(name string) field { return field{name, func(n *yamltree.Node) { t.sections[name] = n }} }
	noise := field{"noise", r.number(0, 1e300, func(x float64) { t.Noise = &x })}
	noises := field{"noises", r.noises(&t.Noises)}
	fields := []field{
		{"name", r.name(&t.Name, labelForm, labelAdvice)},
		{"experiments", r.whole(1, func(k int) { t.Experiments = k })},
		{"comparisons", r.whole(1, func(k int) { t.Comparisons = k })},
		{"base", func(n *yamltree.Node) { t.base = r.section(n) }},
		{"policies", r.named(func(name string, n *yamltree.Node) {
			if t.policies == nil {
				t.policies = map[string]*yamltree.Node{}
			}
			t.policies[name] = n
		})},
		{"anchors", r.anchors(&t)},
		{"baseline", func(n *yamltree.Node) { t.baseline = n }},
	}
	switch kinds[0] {
	case "task":
		fields = append(fields,
			field{"task", r.text(&t.Function)},
			noise,
			noises,
			field{"noise_unknown", r.value(&t.NoiseUnknown)},
			field{"grid", r.whole(2, func(k int) { t.Grid = k })},
			field{"failure_rate", r.number(0, 1, func(x float64) { t.FailureRate = x })},
			field{"outlier_rate", r.number(0, 1, func(x float64) { t.OutlierRate = x })})
	case "table":
		fields = append(fields, field{"table", r.text(&t.Table)}, section("columns"), section("parameters"),
			section("constraints"), section("objective"), section("quantities"), section("constraints_on_outcomes"),
			field{"surrogate", func(n *yamltree.Node) { t.Surrogate = r.surrogate(n) }}, noise, noises)
	case "file":
		fields = append(fields, field{"file", r.text(&t.CampaignFile)})
	case "store":
		fields = append(fields, field{"store", r.text(&t.Store)},
			field{"campaign", r.text(&t.Campaign)}, noise, noises)
	}
	r.mapping(n, fields...)
	for _, name := range []string{"noise", "noises"} {
		if given := n.Field(name); given != nil && t.Table != "" && t.Surrogate == nil {
			r.report(given, "the rows of a table are answered as they are").
				Remedy = "remove " + name + ", or add surrogate: gp"
		}
	}
	if t.Name == "" {
		t.Name = t.Function
		for _, path := range []string{t.Table, t.CampaignFile, t.Store} {
			if path != "" {
				base := filepath.Base(path)
				t.Name = strings.TrimSuffix(base, filepath.Ext(base))
			}
		}
		if t.Name != "" && !labelForm.MatchString(t.Name) {
			r.report(n, "%q is not a name", t.Name).Remedy = "give the task one with name:"
		}
	}
	if t.Function != "" || kinds[0] == "task" {
		r.function(&t)
		return
	}
	r.file.Tasks = append(r.file.Tasks, t)
}

func (r *reader) surrogate(n *yamltree.Node) *Surrogate {
	s, before := new(Surrogate), len(r.faults)
	if n.IsMapping() {
		r.mapping(n, field{"neighbors", r.whole(1, func(k int) { s.Neighbors = k })})
	}
	if s.Neighbors == 0 && n.Value != "gp" && len(r.faults) == before {
		r.report(n, "it is not a surrogate of a table").
			Remedy = "write gp for a Gaussian process, or {neighbors: 33} for the mean of the 33 nearest rows"
	}
	return s
}

// anchors reads the compositions at which anchored experts trust their
// judgment.
func (r *reader) anchors(t *Task) func(*yamltree.Node) {
	return func(n *yamltree.Node) {
		if !n.IsList() || len(n.Items) == 0 {
			r.report(n, "it must be a list of compositions, and this is %s", n.Describe()).
				Remedy = "for example [{x1: 0.5, x2: 0.4}]"
			return
		}
		t.anchors = n
	}
}

// noises reads the noise of each of several quantities.
func (r *reader) noises(to *map[string]float64) func(*yamltree.Node) {
	return func(n *yamltree.Node) {
		*to = map[string]float64{}
		r.named(func(name string, n *yamltree.Node) {
			r.number(0, 1e300, func(x float64) { (*to)[name] = x })(n)
		})(n)
	}
}

// Functions are the names of all test functions: those with one objective, then
// those with several.
func Functions() string {
	return strings.Join(tasks.Names(), ", ") + "; with several objectives " +
		strings.Join(slices.DeleteFunc(tasks.TradeoffNames(), isOfOne), ", ")
}

// isOfOne reports whether a test function has one objective. The electrolyte is
// among both.
func isOfOne(name string) bool {
	_, ok := tasks.Lookup(name)
	return ok
}

// function adds a task that is a test function, which has to exist. Settings of a function's one
// value do not apply to several.
func (r *reader) function(t *Task) {
	r.file.Tasks = append(r.file.Tasks, *t)
	one := isOfOne(t.Function)
	_, several := tasks.LookupTradeoff(t.Function)
	switch {
	case t.Function == "":
	case !one && !several:
		r.report(t.node, "there is no task %q", t.Function).
			Remedy = "the functions are " + Functions()
	case one && t.Noises != nil:
		r.report(t.node.Field("noises"), "%s gives one value", t.Function).
			Remedy = "write noise: and its standard deviation"
	case !one && t.Noise != nil:
		r.report(t.node.Field("noise"), "%s gives several quantities", t.Function).
			Remedy = "write noises: {NAME: its standard deviation}"
	case !one && t.FailureRate+t.OutlierRate > 0:
		r.report(t.node, "experiments of %s, which gives several quantities, neither fail nor are wrong by far", t.Function).
			Remedy = "remove failure_rate and outlier_rate"
	}
}
