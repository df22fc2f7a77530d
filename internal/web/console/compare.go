package console

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/whatif"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/projections/campaign"
)

// mostCompared is how many courses one chart has room for.
const mostCompared = 8

// comparePage shows courses of campaigns, and imagined ones, over each other.
type comparePage struct {
	*shell
	// Choices are the campaigns that could be compared, by their objectives.
	Choices  []compareChoice
	Imagined []string // what-if runs, kept in the form
	Sought   string
	Unit     string
	Front    bool   // fronts are compared, not a best value
	Beyond   string // the reference that they are measured beyond
	Reach    string // the value of the table's column
	Asked    string // the requested value
	Curve    template.HTML
	Rows     []compareRow
	Pairs    []comparePair
	Notes    []string
	Data     string // the address of the data of the chart
	Costs    bool
	Bounded  bool // a course has constraints on outcomes
}

// compareChoice is a campaign that the visitor can choose.
type compareChoice struct {
	Name, Sought string
	Chosen       bool
}

type compareRow struct {
	Series                           int // from 1 on
	Name, Link                       string
	Experiments, Asked               int
	Measured, ByModel, Reached, Cost string
}

// comparePair is a difference of two courses that share their first experiments.
type comparePair struct {
	Text  string
	After []int
	Cells []string
}

// compared is one of the courses.
type compared struct {
	name, link string
	sought     definition.Objective
	seeks      string               // the objective in words; empty without a best so far
	def        *definition.Campaign // of a trade-off
	traded     [][]float64          // of each experiment, see [view.Traded]
	course     *view.Course
	progress   view.Progress
	byModel    string
	imagined   bool
	beyond     []definition.Quantity // the reference that fronts are measured beyond
}

// seekWords names a campaign's objective, in its units: courses are compared in it. Empty for a
// campaign without a best so far.
func seekWords(def *definition.Campaign) string {
	if def == nil || !def.Measures() || def.Preferred() != nil {
		return ""
	}
	var all []string
	for _, o := range def.Objectives() {
		all = append(all, o.Goal+" "+format.HeadingOf(o))
	}
	return strings.Join(all, ", ")
}

// fullName is the name by which a campaign is found: with its store where several have one
// of that name.
func (c *Console) fullName(of *lab.Campaign) string {
	if found, err := c.lab.Campaign(of.Name()); err == nil && found == of {
		return of.Name()
	}
	return of.Name() + "@" + store.Name(of.Store())
}

// seen returns a campaign that the visitor may see. What they may not see is not found.
func (v *visit) seen(name string) (*lab.Campaign, error) {
	of, err := v.lab.Campaign(name)
	if err == nil && v.visitor().may(See, of.Name()) != nil {
		v.visitor().refused(See, of.Name())
		err = problem.New(problem.NoCampaign, "there is no campaign %q here", name)
	}
	return of, err
}

// courses reads the courses that an address asks for: ?c= names a campaign, ?w= a what-if run as
// CAMPAIGN/RUN. The first one decides the objective to compare.
func (v *visit) courses() (all []compared, err error) {
	query := v.r.URL.Query()
	names, runs := query["c"], query["w"]
	if len(names)+len(runs) > mostCompared {
		return nil, problem.New(problem.Invalid, "a chart has room for %d courses", mostCompared)
	}
	var found []*lab.Campaign
	for _, name := range names {
		of, err := v.seen(name)
		if err != nil {
			return nil, err
		}
		found = append(found, of)
	}
	wait, cancel := context.WithTimeout(v.r.Context(), worthWaiting)
	defer cancel()
	v.lab.Find(wait, found)
	for _, of := range found {
		if slices.ContainsFunc(all, func(x compared) bool { return x.name == v.fullName(of) }) {
			continue
		}
		one, err := v.courseOf(of)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	for _, name := range runs {
		one, err := v.imaginedCourse(name)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	for i := range all {
		switch {
		case all[i].seeks == "":
			return nil, problem.New(problem.Invalid,
				"there is no best so far to compare in %s: it seeks what an expert prefers", all[i].name)
		case all[i].seeks != all[0].seeks:
			return nil, problem.New(problem.Invalid, "%s seeks to %s, and %s to %s",
				all[0].name, all[0].seeks, all[i].name, all[i].seeks)
		}
		all[i].progress = view.ProgressOf(all[i].course, all[i].sought)
	}
	if len(all) > 0 && all[0].def != nil {
		coverings(all)
	}
	return all, nil
}

// coverings makes the progress of trade-offs that of their fronts. What added to a front
// has its value there.
func coverings(all []compared) {
	var traded [][][]float64
	for _, x := range all {
		traded = append(traded, x.traded)
	}
	covered, beyond := view.Coverings(all[0].def, traded)
	for i := range all {
		p := &all[i].progress
		p.Best, all[i].beyond = covered[i], beyond
		p.Values, p.Breaking = make([]campaign.Judged, len(p.Best)), 0
		for n, v := range p.Best {
			p.Values[n].Value = nan
			if v > 0 && (n == 0 || p.Best[n-1] != v) {
				p.Values[n] = campaign.Judged{Value: v, Keeps: campaign.KeepsAll}
			}
		}
		p.From = campaign.BestSoFar(p.Values, view.Covered)
	}
}

// courseOf is that of a campaign.
func (v *visit) courseOf(of *lab.Campaign) (one compared, err error) {
	log, err := of.Timeline(v.r.Context())
	if err != nil {
		return one, err
	}
	one = compared{name: v.fullName(of)}
	one.link = "/campaigns/" + url.PathEscape(one.name)
	standing := of.Standing()
	of.Read(func(core *engine.Core) {
		s := core.State()
		if one.seeks = seekWords(s.Definition); one.seeks == "" {
			return
		}
		one.sought = s.Definition.Sought()
		one.course = view.CourseOf(s, core.Space(), log)
		if s.Definition.Single() {
			return
		}
		one.sought, one.def = view.Covered, s.Definition
		for i := range s.Experiments {
			one.traded = append(one.traded, view.Traded(s, &s.Experiments[i]))
		}
	})
	if id, _ := standing.Leading(); one.def != nil {
		one.byModel = id
	}
	if best := standing.BestByModel; best != nil {
		one.byModel = view.ByModel(best) + ", in " + best.Experiment
	}
	return one, nil
}

// imaginedCourse is the course of a what-if run, given as CAMPAIGN/RUN.
func (v *visit) imaginedCourse(name string) (one compared, err error) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return one, problem.New(problem.Invalid, "%q is not a what-if run: write CAMPAIGN/RUN", name)
	}
	of, err := v.seen(name[:i])
	if err != nil {
		return one, err
	}
	run, err := v.whatIf.Now(of.Name(), of.Place(), name[i+1:])
	if err != nil {
		return one, err
	}
	if run.Answer == nil {
		return one, problem.New(problem.NotNow, "what %s would have been is not worked out", of.Name())
	}
	one = compared{
		name: of.Name() + ", imagined: " + run.Words(), link: address(of) + "/whatif/" + run.ID, imagined: true,
		course: courseOfAnswer(run.Answer),
	}
	def := run.Answer.Definition
	if one.seeks, one.sought = seekWords(def), def.Sought(); def.Tradeoff() == nil {
		return one, nil
	}
	one.sought, one.def = view.Covered, def
	for _, x := range slices.Concat(run.Answer.Before, run.Answer.Imagined) {
		one.traded = append(one.traded, tradedIn(def, x))
	}
	return one, nil
}

// courseOfAnswer is an imagined course, from the first experiment on. It has no costs and
// no times.
func courseOfAnswer(a *whatif.Answer) *view.Course {
	c := &view.Course{Campaign: a.Campaign}
	for _, x := range slices.Concat(a.Before, a.Imagined) {
		c.Experiments = append(c.Experiments, view.CourseExperiment{
			ID: x.ID, Status: x.Status, Parameters: x.Parameters, Values: []*float64{x.Value},
			Counts: !math.IsNaN(x.Judged(a.Definition).Value), Keeps: x.Keeps,
		})
	}
	return c
}

// tradedIn are the values of a trade-off that an imagined experiment gave; nil where it
// counts for nothing.
func tradedIn(def *definition.Campaign, x whatif.Experiment) []float64 {
	kept := x.Keeps == "" || x.Keeps == campaign.KeepsAll
	if x.Status != campaign.Measured || x.Excluded || !kept || !def.AtTarget(x.Parameters) {
		return nil
	}
	return view.TradedOf(def, func(name string) (definition.Quantity, bool) {
		i := slices.IndexFunc(x.Quantities, func(q definition.Quantity) bool { return q.Name == name })
		if i < 0 {
			return definition.Quantity{}, false
		}
		return x.Quantities[i], true
	})
}

func showCompare(v *visit) error {
	p := comparePage{shell: v.shell("Compare campaigns")}
	all, err := v.courses()
	query := v.r.URL.Query()
	if err != nil {
		p.refuse(v, err)
		all = nil
	}
	p.Imagined, p.Asked = query["w"], query.Get("reach")
	for _, each := range v.lab.Campaigns() {
		def := each.Defined()
		seeks := seekWords(def)
		if seeks == "" || p.Visitor.may(See, each.Name()) != nil {
			continue
		}
		name := v.fullName(each)
		p.Choices = append(p.Choices, compareChoice{name, seeks, slices.Contains(query["c"], name)})
	}
	slices.SortStableFunc(p.Choices, func(a, b compareChoice) int { return strings.Compare(a.Sought, b.Sought) })
	if len(all) > 0 {
		if err := p.fill(all, query); err != nil {
			p.refuse(v, err)
		}
	}
	return v.write(drawCompare(p))
}

// refuse says why the page shows no comparison. The name of a campaign keeps its letters, also at
// the beginning of a sentence.
func (p *comparePage) refuse(v *visit, err error) {
	v.refusal = err
	query := v.r.URL.Query()
	first := ""
	for _, name := range query["c"] {
		if strings.HasPrefix(problem.FromError(err).Message, name+" ") {
			first = name
		}
	}
	p.refused(err, first, "", query)
	p.Failure.Title = "These cannot be compared"
}

func (p *comparePage) fill(all []compared, query url.Values) error {
	sought := all[0].sought
	p.Sought = all[0].seeks
	p.Unit = sought.Unit
	p.Front = all[0].def != nil
	var beyond []string
	for _, q := range all[0].beyond {
		beyond = append(beyond, q.Name+" "+format.WithUnit(figure.Typeset(format.Rounded(q.Value, 3)), q.Unit))
	}
	p.Beyond = strings.Join(beyond, ", ")
	p.Data = "/compare/data?" + url.Values{"c": query["c"], "w": query["w"]}.Encode()
	reach, err := reachOf(all, sought, query.Get("reach"))
	if err != nil {
		return err
	}
	if !math.IsNaN(reach) {
		p.Reach = format.Short(reach)
	}
	for i, x := range all {
		row := compareRow{Series: i + 1, Name: x.name, Link: x.link, Experiments: len(x.course.Experiments), Asked: x.course.Asked, ByModel: x.byModel}
		if n := len(x.progress.Best); n > 0 && !math.IsNaN(x.progress.Best[n-1]) {
			row.Measured = format.ValueOf(sought, x.progress.Best[n-1])
			row.Reached = "not yet"
			if after := x.progress.Reaches(reach, sought); after > 0 {
				row.Reached = fmt.Sprint(after)
			}
		} else if x.progress.Breaking > 0 {
			row.Measured = "nothing keeps the constraints"
		}
		p.Bounded = p.Bounded || slices.ContainsFunc(x.progress.Values, func(v campaign.Judged) bool { return v.Keeps != "" })
		if n := x.progress.Breaking; n > 0 {
			p.Notes = append(p.Notes, fmt.Sprintf("%s: what %d of its experiments measured breaks a constraint on "+
				"outcomes, and is not part of its line.", x.name, n))
		}
		if n := len(x.progress.Cost); n > 0 {
			row.Cost, p.Costs = format.WithUnit(format.Short(x.progress.Cost[n-1]), x.course.CostUnit), true
		}
		p.Rows = append(p.Rows, row)
	}
	p.Curve = comparison(all)
	for _, other := range all[1:] {
		if p.Front && !slices.Equal(view.Requirements(all[0].def), view.Requirements(other.def)) {
			p.Notes = append(p.Notes, fmt.Sprintf("%s and %s require different things of outcomes: what breaks a constraint of "+
				"its own campaign counts for nothing.", all[0].name, other.name))
		}
		p.pair(&all[0], &other)
	}
	return nil
}

// reachOf returns the value for which the table shows when it was reached: the requested one, else
// the worst of the courses' bests, which all have reached. NaN where no course has a best.
func reachOf(all []compared, sought definition.Objective, asked string) (reach float64, err error) {
	if asked = strings.TrimSpace(asked); asked != "" {
		v, err := format.ReadNumber(asked)
		if err != nil {
			return 0, problem.New(problem.Invalid, "the value to be reached: %w", err)
		}
		return v, nil
	}
	reach = math.NaN()
	for _, x := range all {
		if n := len(x.progress.Best); n > 0 && (math.IsNaN(reach) || sought.Better(reach, x.progress.Best[n-1])) {
			reach = x.progress.Best[n-1]
		}
	}
	return reach, nil
}

// pair adds the differences of two courses, after the experiments that they share.
func (p *comparePage) pair(a, b *compared) {
	shared := view.SharedStart(a.course, b.course)
	if shared < 2 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s and %s do not begin with the same compositions: what differs between them "+
			"comes from their starts, too.", a.name, b.name))
		return
	}
	pair := comparePair{Text: fmt.Sprintf("%s less %s, which share their first %s", b.name, a.name, format.Count(shared, "experiment"))}
	most := min(len(a.progress.Best), len(b.progress.Best))
	step := max(1, int(math.Ceil(float64(most-shared)/8)))
	for n := shared; n <= most; n += step {
		pair.After = append(pair.After, n)
	}
	if last := pair.After[len(pair.After)-1]; last != most {
		pair.After = append(pair.After, most)
	}
	for _, n := range pair.After {
		text := "–" // one of them has no best yet
		if less := b.progress.Best[n-1] - a.progress.Best[n-1]; !math.IsNaN(less) {
			text = figure.Typeset(format.Short(less))
		}
		pair.Cells = append(pair.Cells, text)
	}
	p.Pairs = append(p.Pairs, pair)
}

// comparison draws the best so far of courses over each other.
func comparison(all []compared) template.HTML {
	var values []float64
	n := 0
	for _, x := range all {
		n = max(n, len(x.progress.Best))
		for _, v := range x.progress.Values {
			if !math.IsNaN(v.Value) {
				values = append(values, v.Value)
			}
		}
	}
	if len(values) == 0 {
		return ""
	}
	f := courseOf("The best so far of each campaign", all[0].sought, n, values, 320, 14, 26)
	for i, x := range all {
		f.steps(figure.Role(fmt.Sprintf("series series%d", i+1)), x.progress.Best)
		for k, judged := range x.progress.Values {
			v := judged.Value
			if math.IsNaN(v) {
				continue
			}
			role := fmt.Sprintf("series%d", i+1)
			if x.progress.From[k] != k { // not the best so far
				role += " faint"
			}
			e := &x.course.Experiments[k]
			dot(f.Canvas, figure.Role(role), "", fmt.Sprintf("%s, %s: %s", x.name, e.ID, format.ValueOf(x.sought, v)),
				f.X(float64(k+1)), f.Y(v))
		}
	}
	return f.SVG()
}

// comparedData is a course as the chart of the page draws it.
type comparedData struct {
	Name     string         `json:"name"`
	Link     string         `json:"link"`
	Imagined bool           `json:"imagined,omitempty"`
	Sought   string         `json:"sought"`
	Unit     string         `json:"unit,omitempty"`
	Points   []comparePoint `json:"points"`
	CostUnit string         `json:"cost_unit,omitempty"`
}

// comparePoint is an experiment of a course; null where the course has none.
type comparePoint struct {
	ID string `json:"id"`
	// Leads is set where it is the best so far itself.
	Leads bool     `json:"leads,omitempty"`
	Value *float64 `json:"value"`
	Best  *float64 `json:"best"`
	Cost  *float64 `json:"cost,omitempty"`
	Hours *float64 `json:"hours,omitempty"`
}

// sendCourses serves the data of the page's chart.
func sendCourses(v *visit) error {
	all, err := v.courses()
	if err != nil {
		return err
	}
	series := []comparedData{}
	for _, x := range all {
		one := comparedData{Name: x.name, Link: x.link, Imagined: x.imagined, Sought: x.sought.Name, Unit: x.sought.Unit, CostUnit: x.course.CostUnit}
		number := func(values []float64, i int) *float64 {
			if values == nil || math.IsNaN(values[i]) {
				return nil
			}
			return &values[i]
		}
		for i, e := range x.course.Experiments {
			point := comparePoint{
				ID: e.ID, Leads: x.progress.From[i] == i, Best: number(x.progress.Best, i),
				Cost: number(x.progress.Cost, i), Hours: number(x.progress.Hours, i),
			}
			if v := x.progress.Values[i].Value; !math.IsNaN(v) {
				point.Value = &v
			}
			one.Points = append(one.Points, point)
		}
		series = append(series, one)
	}
	text, err := json.Marshal(series)
	if err != nil {
		return err
	}
	return v.send("application/json", text)
}
