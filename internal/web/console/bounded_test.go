package console_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/report"
	"github.com/campaignd/campaignd/projections/campaign"
)

// boundedFile is a campaign by hand under two bounds.
const boundedFile = `
name: %s
seed: 1
parameters: [{name: salt, min: 0, max: 1}, {name: acid, min: 0, max: 1}]
quantities: [{name: conductivity, unit: mS/cm}, {name: viscosity, unit: mPa·s}, {name: cost, unit: EUR}]
objective: {%s: conductivity}
constraints_on_outcomes: [viscosity <= 5, cost <= 9]
budget: {experiments: 40}
initial: {experiments: 0}
instrument: manual
policy: random
`

// given is what an event says of an experiment, and nothing else.
type given struct {
	failed, out bool
	values      map[string]float64
}

// bestByHand goes through the events and then, for each number of experiments, through all of
// them: the best conductivity of those with a viscosity of at most 5 and a cost of at most 9,
// without one of those of which a bounded quantity is missing and the other is within its bound.
func (s *site) bestByHand(c *lab.Campaign, maximize bool) (ids []string, experiments []given) {
	s.t.Helper()
	log := must.Get(c.Log())(s.t)
	for e := range must.Each(s.t, events.ReadCampaign(s.t.Context(), log, c.Name(), 0)) {
		payload := must.Get(events.Decode(e))(s.t)
		switch p := payload.(type) {
		case *events.ExperimentRequested:
			experiments = append(experiments, given{failed: true})
		case *events.ExperimentMeasured:
			x := &experiments[events.ExperimentNumber(p.Experiment)-1]
			x.failed, x.values = false, map[string]float64{}
			for _, q := range p.Quantities {
				x.values[q.Name] = q.Value
			}
		case *events.MeasurementCorrected:
			experiments[events.ExperimentNumber(p.Experiment)-1].out = p.Excluded
		}
	}
	for n := 1; n <= len(experiments); n++ {
		best := ""
		for _, sure := range []bool{true, false} {
			value := math.Inf(1)
			for i, x := range experiments[:n] {
				y, measured := x.values["conductivity"]
				if maximize {
					y = -y
				}
				viscosity, one := x.values["viscosity"]
				cost, other := x.values["cost"]
				within := viscosity <= 5 && cost <= 9 // one that is missing is 0
				if !x.failed && !x.out && measured && within && (one && other) == sure && y < value {
					best, value = fmt.Sprintf("e%d", i+1), y
				}
			}
			if best != "" {
				break
			}
		}
		ids = append(ids, best)
	}
	return ids, experiments
}

// Law: after each experiment, every place that shows the best measured so far shows the one that is
// found by hand in the events; where nothing keeps the constraints on outcomes there is none, which
// is said; and what breaks one is drawn as such and toned as nothing. The curve of the best by the
// model has what the headline called the best by the model at the time.
func TestEveryPlaceHasTheSameBestWithinBounds(t *testing.T) {
	s := serve(t, 0)
	for seed, goal := range []string{"maximize", "minimize", "maximize"} {
		name := fmt.Sprintf("bounded-%d", seed)
		c := s.begin(fmt.Sprintf(boundedFile, name, goal))
		// It runs, and asks for one experiment of its own, which stays open.
		s.until(c, "asks for an experiment", func(s *campaign.State) bool { return len(s.Experiments) == 1 })
		r := rand.New(rand.NewPCG(7, uint64(seed)))
		said := map[int]*engine.ModelBest{} // of the best by the model, after so many experiments
		draw := func() float64 { return math.Round(1000*r.Float64()) / 100 }
		for k := range 9 {
			x := engine.Tell{Parameters: definition.Point{"salt": definition.Number(r.Float64()), "acid": definition.Number(r.Float64())}}
			of := func(name string, value float64, missing bool) {
				if missing {
					x.Missing = append(x.Missing, events.Missing{Name: name, Reason: "no time"})
				} else {
					x.Quantities = append(x.Quantities, definition.Quantity{Name: name, Value: value, Unit: map[string]string{"conductivity": "mS/cm", "viscosity": "mPa·s", "cost": "EUR"}[name]})
				}
			}
			viscosity := draw()
			if k < 2 {
				viscosity += 5.01 // the first two break it
			}
			of("conductivity", draw(), false)
			of("viscosity", viscosity, k == 2 || k > 2 && r.IntN(5) == 0)
			of("cost", draw(), k > 2 && r.IntN(5) == 0)
			s.submit(c, engine.Request{Tell: &x})
			s.placesAgree(c, goal == "maximize", said)
		}
		best, _ := s.bestByHand(c, goal == "maximize")
		s.submit(c, engine.Request{Correct: &engine.Correct{Experiment: best[len(best)-1], Exclude: true, Reason: "bubble"}})
		s.placesAgree(c, goal == "maximize", said)
	}
}

func (s *site) submit(c *lab.Campaign, r engine.Request) {
	s.t.Helper()
	r.Actor = "person:ada"
	must.Get(c.Submit(s.t.Context(), r))(s.t)
}

// page is a page that must be there, with its entities read.
func (s *site) page(path string) string {
	s.t.Helper()
	status, text := s.get(path)
	if status != 200 {
		s.t.Fatalf("%s: %d %s", path, status, text)
	}
	return html.UnescapeString(text)
}

func (s *site) placesAgree(c *lab.Campaign, maximize bool, said map[int]*engine.ModelBest) {
	t := s.t
	t.Helper()
	best, all := s.bestByHand(c, maximize)
	n := len(best)
	number := func(id string) float64 {
		if id == "" {
			return math.NaN()
		}
		return all[events.ExperimentNumber(id)-1].values["conductivity"]
	}
	last := number(best[n-1])
	is := func(place string, i int, got *float64) {
		t.Helper()
		if want := number(best[i]); got == nil != math.IsNaN(want) || got != nil && *got != want {
			shown := "nothing"
			if got != nil {
				shown = fmt.Sprint(*got)
			}
			t.Errorf("%s, %s: after e%d the best is %s, and by hand %s with %v", c.Name(), place, i+1, shown, best[i], want)
		}
	}
	says := func(place, page, text string) {
		t.Helper()
		if !strings.Contains(page, text) {
			t.Errorf("%s, %s: after e%d, where %q is best, it does not say %q", c.Name(), place, n, best[n-1], text)
		}
	}

	// The headline, and the course as the API has it.
	log := must.Get(c.Timeline(t.Context()))(t)
	var course *view.Course
	var headline *engine.Best
	var byModel *engine.ModelBest
	breaks := map[string]bool{}
	c.Read(func(core *engine.Core) {
		course, headline = view.CourseOf(core.State(), core.Space(), log), core.Counts().BestMeasured
		summary, err := core.Summarize(t.Context())
		if err != nil {
			t.Error(err)
		}
		byModel = summary.BestByModel
	})
	if headline.Keeps == campaign.KeepsNot != math.IsNaN(last) || best[n-1] != "" && headline.Experiment != best[n-1] {
		t.Errorf("the headline has %s (%s), by hand it is %q", headline.Experiment, headline.Keeps, best[n-1])
	}
	for i, x := range course.Experiments {
		is("course", i, x.Best[0])
		if x.Keeps == campaign.KeepsNot {
			breaks[x.ID] = true
		}
	}

	// The comparison: its data, its table.
	var series []struct {
		Points []struct {
			ID    string
			Leads bool
			Best  *float64
		}
	}
	must.Do(t, json.Unmarshal([]byte(s.page("/compare/data?c="+c.Name())), &series))
	for i, p := range series[0].Points {
		is("comparison", i, p.Best)
		if p.Leads != (best[i] == p.ID) {
			t.Errorf("the comparison marks %s: %t", p.ID, p.Leads)
		}
	}
	unit, text := definition.Objective{Name: "conductivity", Unit: "mS/cm"}, "nothing keeps the constraints"
	if !math.IsNaN(last) {
		text = format.ValueOf(unit, last)
	}
	says("table of the comparison", s.page("/compare?c="+c.Name()), `<td class="n">`+text+"</td>")

	// The campaign's page: the line ends at the height of the best one, and begins at the first.
	first := 0
	for first < n && best[first] == "" {
		first++
	}
	curve := s.page("/campaigns/" + c.Name())
	s.lineRuns(curve, best, first)
	if first == n {
		says("curve", curve, "there is not yet: nothing that was measured keeps them")
	} else {
		says("curve", curve, fmt.Sprintf("which begins with e%d", first+1))
	}

	// The list's sparkline says both ends; it is there of two values.
	values := 0
	for _, x := range all {
		if _, ok := x.values["conductivity"]; ok && !x.out {
			values++
		}
	}
	if values >= 2 {
		list := s.page("/")
		if first == n {
			says("list", list, fmt.Sprintf("%d measurements, none of which keeps the constraints on outcomes", values))
		} else {
			says("list", list, fmt.Sprintf("%d measurements, from %s to %s at best", values, format.Short(number(best[first])), format.Short(last)))
		}
	}

	// Compositions.
	drawn := s.page("/campaigns/" + c.Name() + "?tab=compositions")
	for id := range breaks {
		leading := byModel != nil && byModel.Experiment == id || byModel == nil && headline.Experiment == id
		if mark := regexp.MustCompile(`<g class="dot (\S+) tone(\d)" data-x="` + id + `">`).FindStringSubmatch(drawn); mark == nil {
			t.Errorf("%s is not drawn", id)
		} else if !leading && (mark[1] != "breaks" || mark[2] != "0") {
			t.Errorf("%s breaks a constraint, and is drawn as %s in the tone %s", id, mark[1], mark[2])
		}
	}

	// The report, and the curve of the best by the model.
	events := must.Get(c.Log())(t)
	in := report.Input{Registry: builtin.Registry(), Log: events, Campaign: c.Name(), Store: c.Store()}
	var out bytes.Buffer
	must.Do(t, report.Write(t.Context(), &out, in))
	written := regexp.MustCompile(`(?s)best measured\s*</(?:text|tspan)>.*?>([-−0-9.]+)<`).FindStringSubmatch(out.String())
	switch {
	case first == n:
		says("report", out.String(), "there is none, since nothing that was measured keeps the constraints on outcomes")
		if written != nil {
			t.Errorf("the report has %s for the best", written[1])
		}
	case written == nil:
		t.Errorf("the report writes no best measured value")
	default:
		var got float64
		if _, err := fmt.Sscan(strings.ReplaceAll(written[1], "−", "-"), &got); err != nil || math.Abs(got-last) > 0.051 {
			t.Errorf("the report has %s for the best, and by hand it is %v (%s)", written[1], last, best[n-1])
		}
	}
	believed := must.Get(report.BestBelieved(t.Context(), in))(t)
	if byModel == nil != (len(believed) == 0) {
		t.Errorf("the headline has %+v by the model, the curve %+v", byModel, believed)
	} else if byModel != nil {
		said[believed[len(believed)-1].Experiments] = byModel
	}
	for _, b := range believed {
		if was := said[b.Experiments]; was == nil || b.Experiment != was.Experiment || b.Doubtful != was.Doubtful || math.Abs(b.Mean-was.Mean) > 1e-9 {
			t.Errorf("the curve by the model has %+v, the headline had %+v", b, was)
		}
	}
}

// lineRuns reads the curve of a campaign's page: at each experiment it is as high as the mark of the
// best one by then.
func (s *site) lineRuns(page string, best []string, first int) {
	t := s.t
	t.Helper()
	marks := map[string][2]float64{}
	for _, m := range regexp.MustCompile(`<g class="dot [^"]*" data-x="(e\d+)"><title>[^<]*</title>\s*<circle[^>]*cx="([0-9.]+)" cy="([0-9.]+)"`).FindAllStringSubmatch(page, -1) {
		var x, y float64
		_, _ = fmt.Sscan(m[2], &x)
		_, _ = fmt.Sscan(m[3], &y)
		if _, ok := marks[m[1]]; !ok { // the curve is drawn first
			marks[m[1]] = [2]float64{x, y}
		}
	}
	path := regexp.MustCompile(`<path class="best" d="([^"]*)"`).FindStringSubmatch(page)
	if first == len(best) {
		if path != nil && path[1] != "" {
			t.Errorf("the curve has a line where nothing keeps the constraints: %s", path[1])
		}
		return
	}
	if path == nil {
		t.Fatalf("the curve has no line: %s", page)
	}
	var corners [][2]float64
	for _, m := range regexp.MustCompile(`[ML]?\s*(-?[0-9.]+)[ ,](-?[0-9.]+)`).FindAllStringSubmatch(path[1], -1) {
		var x, y float64
		_, _ = fmt.Sscan(m[1], &x)
		_, _ = fmt.Sscan(m[2], &y)
		corners = append(corners, [2]float64{x, y})
	}
	if begins := marks[best[first]]; math.Abs(corners[0][0]-begins[0]) > 0.2 || math.Abs(corners[0][1]-begins[1]) > 0.2 {
		t.Errorf("the line begins at %v, and %s is at %v", corners[0], best[first], begins)
	}
	for i := first; i < len(best); i++ {
		at, ok := marks[fmt.Sprintf("e%d", i+1)]
		if !ok {
			continue // it is open, or has no mark of that kind
		}
		y := math.NaN()
		for _, corner := range corners {
			if corner[0] <= at[0]+0.2 {
				y = corner[1]
			}
		}
		if want := marks[best[i]][1]; math.Abs(y-want) > 0.2 {
			t.Errorf("at e%d the line is at %v, and %s at %v", i+1, y, best[i], want)
		}
	}
}
