package chaos

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/projections/campaign"
)

// clerk makes requests of every kind, with each optional field now there and now
// not, about what the campaign has in the state that the clerk sees. Many of them can be
// fulfilled. What a clerk must be able to ask for is found by reflection: see coverage_test.go.
type clerk struct {
	*rand.Rand
	core *engine.Core
	s    *campaign.State
	n    int    // of texts so far
	last string // question answered before
	seed uint64
}

func newClerk(core *engine.Core, r *rand.Rand, seed uint64) *clerk {
	return &clerk{Rand: r, core: core, s: core.State(), seed: seed}
}

// requestKinds makes a request of each kind, by the name of the field of [engine.Request]
// that holds it.
var requestKinds = map[string]func(*clerk, *engine.Request){
	"Pause": func(c *clerk, r *engine.Request) {
		r.Pause = &events.CampaignPaused{Reason: c.text()}
		switch c.IntN(4) {
		case 0:
			r.Pause.Device = "M2, serial 0042"
		case 1:
			r.Pause.Occurrences = 3
		}
	},
	"Resume":  func(c *clerk, r *engine.Request) { r.Resume = &events.CampaignResumed{Reason: c.text()} },
	"Stop":    func(c *clerk, r *engine.Request) { r.Stop = &events.CampaignStopped{Reason: c.text()} },
	"Amend":   func(c *clerk, r *engine.Request) { r.Amend = c.amendment() },
	"Note":    func(c *clerk, r *engine.Request) { r.Note = &engine.Note{Text: c.words(), About: c.anything()} },
	"Tell":    func(c *clerk, r *engine.Request) { r.Tell = c.result(c.half()) },
	"Answer":  func(c *clerk, r *engine.Request) { r.Answer = c.answer() },
	"Correct": func(c *clerk, r *engine.Request) { r.Correct = c.correction() },
	"Resolve": func(c *clerk, r *engine.Request) { r.Resolve = c.resolution() },
	"Exclude": func(c *clerk, r *engine.Request) { r.Exclude = c.exclusion() },
	"Allow":   func(c *clerk, r *engine.Request) { r.Allow = &engine.Allow{Exclusion: c.excluded(), Reason: c.text()} },
	"Anchors": func(c *clerk, r *engine.Request) { r.Anchors = c.anchors() },
	"Attach":  func(c *clerk, r *engine.Request) { r.Attach = c.file() },
	"Resolves": func(c *clerk, r *engine.Request) {
		twice := c.IntN(8) == 0 // which is refused
		for range 1 + c.IntN(3) {
			row := c.resolution()
			same := func(other engine.Resolve) bool { return other.Experiment == row.Experiment }
			if twice || !slices.ContainsFunc(r.Resolves, same) {
				r.Resolves = append(r.Resolves, *row)
			}
		}
	},
	"Cancel": func(c *clerk, r *engine.Request) {
		r.Cancel = &engine.Cancel{
			Experiment: c.experiment(campaign.Dispatched, campaign.Started, campaign.Unresolved), Reason: c.text(),
		}
		switch c.IntN(4) {
		case 0:
			r.Cancel.EndProgram = true
		case 1:
			r.Cancel.Voided = events.VoidedByPower
		}
	},
	"Abort": func(c *clerk, r *engine.Request) {
		r.Abort = &engine.Abort{Stop: c.IntN(20) == 0, Reason: c.text()}
	},
	"Count": func(c *clerk, r *engine.Request) {
		r.Count = &engine.Count{Stock: []string{"tips", "water", "water", "oil"}[c.IntN(4)], Lot: c.text(), Reason: c.text()}
		switch amount := r.Count.Stock == "water" != (c.IntN(8) == 0); {
		case amount:
			r.Count.Amount = []string{"0 mL", "15 mL", "20 mL", "3 L"}[c.IntN(4)]
		case c.IntN(8) == 0:
			r.Count.Labels = "none"
		default:
			r.Count.Labels = rack(int(c.s.Sequence)*10 + c.IntN(10))
		}
	},
	"Withdraw": func(c *clerk, r *engine.Request) { r.Withdraw = c.withdrawal() },
	"Results": func(c *clerk, r *engine.Request) {
		for range 1 + c.IntN(4) {
			r.Results = append(r.Results, *c.result(c.IntN(4) > 0))
		}
	},
	"Import": func(c *clerk, r *engine.Request) {
		for range 1 + c.IntN(4) {
			r.Import = append(r.Import, *c.result(false))
		}
		r.ImportOnce = c.half()
	},
}

// usual is how often each kind of request is made, the others of requestKinds once.
var usual = map[string]int{
	"Tell": 4, "Answer": 6, "Correct": 6, "Import": 4, "Amend": 3, "Note": 2, "Resolve": 2, "Exclude": 2, "Anchors": 2,
}

// requests are n requests, all from the same state.
func (c *clerk) requests(n int) (list []engine.Request) {
	for range n {
		list = append(list, c.request())
	}
	return list
}

// request is one request of any kind.
func (c *clerk) request() engine.Request {
	var names []string
	for name := range requestKinds {
		if name == "Stop" && c.IntN(20) > 0 {
			continue // little can be asked of a campaign that was stopped
		}
		names = append(names, slices.Repeat([]string{name}, max(1, usual[name]))...)
	}
	slices.Sort(names)
	name := names[c.IntN(len(names))]
	switch {
	case c.pinpoint() && c.half(), c.last != "" && c.half(): // they think better of it
		name = "Answer"
	case c.s.Status == campaign.Paused && c.half():
		name = "Resume"
	case c.s.Count(campaign.Unresolved) > 0 && c.IntN(4) > 0: // which is seldom, and soon over
		name = []string{"Resolve", "Resolves"}[c.IntN(2)]
	}
	request := engine.Request{Actor: c.actor()}
	if c.half() {
		request.Account = "root (uid 0)"
	}
	requestKinds[name](c, &request)
	if c.IntN(3) == 0 {
		request = request.Identified(c.words())
	}
	return request
}

func (c *clerk) half() bool { return c.IntN(2) == 0 }

func (c *clerk) actor() string {
	return []string{"person:op", "person:ada", "person:bob", "person:Zoë Ñandú"}[c.IntN(4)]
}

// words is a text like no other.
func (c *clerk) words() string {
	c.n++
	return fmt.Sprintf("remark %d.%d of seed %d", c.s.Sequence, c.n, c.seed)
}

// text is optional.
func (c *clerk) text() string {
	if c.half() {
		return ""
	}
	return c.words()
}

func (c *clerk) number() *float64 {
	if c.half() {
		return nil
	}
	x := c.Float64()
	return &x
}

// value is a plausible result.
func (c *clerk) value() float64 { return 20 + 70*c.Float64() }

// anything names an experiment, a question, a decision, or nothing.
func (c *clerk) anything() string {
	switch c.IntN(4) {
	case 0:
		return c.experiment()
	case 1:
		return c.question()
	case 2:
		if c.s.Decisions > 0 {
			return events.DecisionID(1 + c.IntN(c.s.Decisions))
		}
	}
	return ""
}

// experiment names an experiment, where there is one of one of the statuses.
func (c *clerk) experiment(statuses ...campaign.ExperimentStatus) string {
	var ids []string
	for i := range c.s.Experiments {
		if x := &c.s.Experiments[i]; len(statuses) == 0 || slices.Contains(statuses, x.Status) {
			ids = append(ids, x.ID)
		}
	}
	if ids == nil {
		return events.ExperimentID(1)
	}
	return ids[c.IntN(len(ids))]
}

// pinpoint reports whether an expert is asked what is to be measured next, which is seldom.
func (c *clerk) pinpoint() bool {
	open := func(q campaign.Question) bool { return q.Form == events.FormPinpoint && q.Status == campaign.Asked }
	return slices.ContainsFunc(c.s.Questions, open)
}

// question names a question, an open one more often than others.
func (c *clerk) question() string {
	if c.half() {
		for i := range c.s.Questions {
			if q := &c.s.Questions[i]; q.Status == campaign.Asked {
				return q.ID
			}
		}
	}
	return events.QuestionID(1 + c.IntN(max(1, len(c.s.Questions))))
}

func (c *clerk) excluded() string { return events.ExclusionID(1 + c.IntN(max(1, len(c.s.Exclusions)))) }

// point is a composition of the space, or one that was asked for before.
func (c *clerk) point() definition.Point {
	if n := len(c.s.Experiments); n > 0 && c.IntN(3) == 0 {
		return c.s.Experiments[c.IntN(n)].Parameters
	}
	points, err := c.core.Space().Sample(1, c.Uint64())
	if err != nil || len(points) == 0 {
		return definition.Point{"x": definition.Number(1), "y": definition.Number(0)}
	}
	return points[0]
}

// made is a composition that was made in place of another, or nil. A stray one lies
// outside the bounds.
func (c *clerk) made(stray bool) definition.Point {
	if c.half() {
		return nil
	}
	p := make(definition.Point)
	for name, v := range c.point() {
		if x, ok := v.Float(); ok && stray {
			v = definition.Number(x + 0.3)
		}
		p[name] = v
	}
	return p
}

func (c *clerk) further() (list []definition.Quantity) {
	for _, q := range []definition.Quantity{{Name: "viscosity", Unit: "mPa·s"}, {Name: "color"}} {
		declared := c.s.Definition.Several() && c.s.Definition.Quantity(q.Name) != nil
		if !declared && c.half() {
			q.Value, q.SD = c.Float64(), c.number()
			list = append(list, q)
		}
	}
	return list
}

// result is a result of a suggested experiment, or of one of a person's own.
func (c *clerk) result(suggested bool) *engine.Tell {
	t := &engine.Tell{Anyway: c.half()}
	if suggested {
		t.Experiment = c.experiment(campaign.Requested)
	} else {
		t.Parameters = c.point()
		switch c.IntN(40) { // refused in an import
		case 0:
			t.Experiment = c.experiment()
		case 1:
			t.Parameters = nil
		}
	}
	for range c.IntN(3) {
		t.Notes = append(t.Notes, c.words())
	}
	if suggested && c.IntN(4) == 0 { // of one that has ended
		t.Experiment = c.experiment(campaign.Measured)
		if t.Quantities, t.Missing = c.quantities(); t.Quantities == nil && t.Missing == nil {
			t.Value = new(c.value())
		}
		return t
	}
	if t.Later = c.IntN(12) == 0; t.Later {
		return t
	}
	switch c.IntN(8) {
	case 0:
		t.Failed = c.words()
		t.Quantities, t.Missing = c.quantities() // what it gave all the same
		return t
	case 1:
		t.Infeasible = c.words()
		return t
	case 2:
		t.Again = c.words()
		return t
	}
	t.Value, t.SD, t.Actual, t.Further = new(c.value()), c.number(), c.made(t.Anyway), c.further()
	if t.Quantities, t.Missing = c.quantities(); t.Quantities != nil && c.IntN(3) == 0 {
		t.Value, t.SD = nil, nil // what is sought is missing
	}
	if c.half() {
		t.Unit = c.s.Definition.Objective.Unit
	}
	return t
}

// answer is an answer to a question, first or changed, by somebody who saw the latest
// answer, another one or none.
func (c *clerk) answer() *engine.Answer {
	a := &engine.Answer{Question: c.question()}
	if c.last != "" && c.half() {
		a.Question = c.last
	}
	c.last = a.Question
	q := c.s.Question(a.Question)
	if q == nil {
		return a
	}
	if c.half() && (q.Form != events.FormPinpoint || c.half()) { // which is soon taken up
		saw := []string{"", q.Source, "1"}[c.IntN(3)]
		a.Saw = &saw
	}
	a.Reply = reply(humans.Question{Form: q.Form, Options: q.Options, Scale: q.Scale, Suggestion: q.Suggestion}, c.Rand)
	if q.Form == events.FormPinpoint && c.IntN(4) > 0 {
		a.Answer.Point = c.point()
	}
	if a.Comment = c.text(); c.half() {
		a.Took = 60 * c.Float64()
	}
	if c.half() {
		a.Shown = &events.Shown{At: events.Sequence(1 + c.IntN(int(c.s.Sequence)))}
		if len(c.s.Experiments) > 0 && c.half() {
			a.Shown.Best = c.experiment()
		}
		if len(c.s.Experiments) > 0 && c.half() {
			a.Shown.Nearest = []string{c.experiment(), c.experiment()}
		}
	}
	if c.seed%10 == 0 { // what else these worlds cover, others do
		a.Program = &events.Program{Name: "someone", At: c.s.Sequence, Format: 1, View: "none"}
		if c.s.Sequence%2 == 0 {
			a.Program.Version, a.Program.Files, a.Program.Deterministic = "1", "none", true
		}
	}
	return a
}

// resolutions are all that can be said of how an experiment ended.
var resolutions = []events.Resolution{
	events.ResolvedMeasured, events.ResolvedFailed, events.ResolvedInfeasible, events.ResolvedNotPerformed,
}

func (c *clerk) correction() *engine.Correct {
	r := &engine.Correct{
		Experiment: c.experiment(
			campaign.Measured, campaign.Failed, campaign.Infeasible, campaign.Deferred, campaign.Cancelled,
		),
		Reason: c.words(), Anyway: c.half(),
	}
	if c.IntN(3) == 0 {
		r.Experiment = c.experiment()
	}
	r.Exclude = c.IntN(4) == 0
	if c.IntN(3) > 0 {
		r.Outcome = resolutions[c.IntN(len(resolutions))]
	}
	if r.Outcome == events.ResolvedFailed && c.s.Definition.Several() && c.half() {
		r.Quantities, _ = c.quantities()
	}
	if r.Outcome != "" && r.Outcome != events.ResolvedMeasured {
		return r
	}
	if !r.Exclude && c.half() {
		value := c.value()
		r.Value = &value
	}
	r.SD, r.Actual, r.Further = c.number(), c.made(r.Anyway), c.further()
	if c.s.Definition.Several() && !r.Exclude {
		r.Quantities, _ = c.quantities()
	}
	if x := c.s.Experiment(r.Experiment); x != nil && x.Measurement != nil && c.half() {
		for _, q := range x.Measurement.Quantities {
			if c.half() {
				r.LeaveOut = append(r.LeaveOut, q.Name)
			}
		}
	}
	return r
}

// quantities are values of declared quantities besides what is sought, and why there is none of
// others.
func (c *clerk) quantities() (values []definition.Quantity, missing []events.Missing) {
	for _, q := range c.s.Definition.Quantities {
		if q.Name == c.s.Definition.Sought().Name || q.From != "" {
			continue
		}
		switch c.IntN(3) {
		case 0:
			value := definition.Quantity{Name: q.Name, Value: 1 + 5*c.Float64(), SD: c.number()}
			if c.half() {
				value.Unit = q.Unit
			}
			values = append(values, value)
		case 1:
			missing = append(missing, events.Missing{Name: q.Name, Reason: c.words()})
		}
	}
	return values, missing
}

func (c *clerk) resolution() *engine.Resolve {
	r := &engine.Resolve{
		Experiment: c.experiment(campaign.Unresolved), Resolution: resolutions[c.IntN(len(resolutions))],
		Reason: c.text(), Anyway: c.half(),
	}
	if c.IntN(4) == 0 {
		r.Voided = events.VoidedByPower
	}
	if c.half() { // of which there is most to say
		r.Resolution = events.ResolvedMeasured
	}
	if r.Resolution == events.ResolvedMeasured {
		value := c.value()
		r.Value, r.SD, r.Actual, r.Further = &value, c.number(), c.made(r.Anyway), c.further()
		if r.Quantities, r.Missing = c.quantities(); r.Quantities != nil && c.half() {
			r.Value, r.SD = nil, nil
		}
		return r
	}
	r.Repeat = c.half()
	return r
}

func (c *clerk) exclusion() *engine.Exclude {
	e := &engine.Exclude{Reason: c.words()}
	switch c.IntN(3) {
	case 0:
		e.Point = c.point()
	case 1:
		e.Region = c.region()
	case 2:
		e.About = c.experiment()
		return e
	}
	if c.half() && len(c.s.Experiments) > 0 {
		e.About = c.experiment()
	}
	return e
}

// region is a corner of the space.
func (c *clerk) region() map[string]definition.RegionSide {
	p := c.s.Definition.Parameters[c.IntN(len(c.s.Definition.Parameters))]
	var side definition.RegionSide
	switch {
	case p.Categories != nil:
		side.Is = p.Categories[c.IntN(len(p.Categories))].Name
	case p.Values != nil:
		side.Max = number(p.Values[0])
	case c.half():
		side.Max = number(*p.Min + 0.02*c.Float64()*(*p.Max-*p.Min))
	default:
		side.Min = number(*p.Max - 0.02*c.Float64()*(*p.Max-*p.Min))
	}
	return map[string]definition.RegionSide{p.Name: side}
}

// file is a file that is kept, or stays elsewhere; no bytes are there.
func (c *clerk) file() *engine.Attach {
	a := &engine.Attach{Attachment: events.Attachment{
		Name: "run.csv", Digest: events.DigestOf(sha256.Sum256([]byte(c.words()))), Size: 1 + c.Int64N(1e6),
	}}
	if len(c.s.Experiments) > 0 && c.half() {
		a.Experiment = c.experiment()
	}
	if c.half() {
		a.MediaType, a.Quantity = "text/csv", c.s.Definition.Objective.Name
	}
	if c.half() {
		a.URI, a.Comment = "https://data.example.org/run.csv", c.words()
		if c.half() {
			a.Digest, a.Size = "", 0
		}
	}
	return a
}

func (c *clerk) withdrawal() *engine.Withdraw {
	return &engine.Withdraw{File: events.FileID(1 + c.IntN(len(c.s.Files)+1)), Reason: c.words()}
}

func (c *clerk) anchors() *engine.Anchors {
	a := &engine.Anchors{Expert: "ada", Instead: c.half(), Reason: c.text()}
	if experts := c.s.Definition.Experts; len(experts) > 0 {
		a.Expert = experts[c.IntN(len(experts))].Name
	}
	for range c.IntN(3) {
		a.Points = append(a.Points, c.point())
	}
	return a
}

// amendments change a part of a definition, by the name of the field of
// [definition.Campaign] that they change.
var amendments = map[string]func(*clerk, *definition.Campaign){
	"Description": func(c *clerk, d *definition.Campaign) { d.Description = c.words() },
	"Parameters": func(c *clerk, d *definition.Campaign) {
		p := &d.Parameters[c.IntN(len(d.Parameters))]
		if p.Description = c.words(); p.Min != nil {
			*p.Max -= 0.02 * c.Float64() * (*p.Max - *p.Min)
		}
	},
	"Stocks": func(c *clerk, d *definition.Campaign) {
		if c.IntN(3) == 0 { // in the middle of what is under way
			d.Stocks, d.Instrument.Draws = nil, nil
			return
		}
		d.Stocks = map[string]definition.Stock{"tips": {Labels: rack(int(c.s.Sequence))}, "water": {Amount: "30 mL"}}
		d.Instrument.Draws = map[string]definition.Draw{"tips": "2", "water": "2.5 mL"}
	},
	"ReferenceExperiments": func(c *clerk, d *definition.Campaign) {
		standard := definition.ReferenceExperiment{Composition: c.point(), Every: 1 + c.IntN(3), Pause: c.half()}
		if c.half() {
			standard.Within = definition.Duration(time.Hour)
		}
		if name := d.DeclaredNames()[0]; c.half() {
			standard.Limits = map[string]definition.ControlLimits{name: {Target: c.Float64(), Tolerance: 0.1 + c.Float64()}}
		}
		d.ReferenceExperiments = map[string]definition.ReferenceExperiment{"standard": standard}
	},
	"Excluded": func(c *clerk, d *definition.Campaign) {
		d.Excluded = append(d.Excluded, definition.Region{Name: c.words(), Where: c.region()})
	},
	"Model": func(c *clerk, d *definition.Campaign) {
		kernels := []string{"rbf", "matern52", "matern32"}
		d.Model.Kernel = kernels[(slices.Index(kernels, d.Model.Kernel)+1)%len(kernels)]
		feasibility := c.half()
		d.Model.Feasibility = &feasibility
	},
	"Policy": func(c *clerk, d *definition.Campaign) {
		methods := builtin.Registry().Methods.Methods()
		d.Policy = methods[c.IntN(len(methods))].Policy
		d.Initial.Labels, d.Initial.Comparisons, d.Initial.Estimates = nil, nil, nil
		*d = campaignfile.Complete(builtin.Registry(), *d)
	},
	"Initial": func(c *clerk, d *definition.Campaign) { // as it follows from another policy
		methods := builtin.Registry().Methods.Methods()
		d.Policy = methods[c.IntN(len(methods))].Policy
		d.Initial.Labels, d.Initial.Comparisons, d.Initial.Estimates = nil, nil, nil
		*d = campaignfile.Complete(builtin.Registry(), *d)
	},
	"Budget": func(c *clerk, d *definition.Campaign) {
		b := &d.Budget
		if 0 < b.Experiments && b.Experiments < 16 {
			b.Experiments++
		}
		if 0 < b.Comparisons && b.Comparisons < 20 {
			b.Comparisons++
		}
		b.Time, b.Labels = 0, nil
		if c.half() {
			b.Time, b.Labels = definition.Duration(time.Duration(10+c.IntN(20))*24*time.Hour), count(c.IntN(30))
		}
	},
	"Stop": func(c *clerk, d *definition.Campaign) {
		if d.Stop = (definition.Stop{}); c.half() {
			d.Stop.Target, d.Stop.Window, d.Stop.Improvement = number(95), 5+c.IntN(5), number(0.01)
		}
	},
	"Instrument": func(c *clerk, d *definition.Campaign) {
		if d.Measures() && !d.Instrument.ByHand {
			d.Instrument.StallAfter = definition.Duration(time.Duration(5+c.IntN(60)) * time.Minute)
			d.Instrument.GiveUpAfter = definition.Duration(time.Duration(2+c.IntN(20)) * time.Hour)
		}
	},
	"Experts": func(c *clerk, d *definition.Campaign) {
		for i := range d.Experts {
			e := &d.Experts[i]
			e.AnswerWithin = definition.Duration(time.Duration(c.IntN(90)) * time.Minute)
			if c.half() {
				e.Meanwhile = count(c.IntN(4))
				e.Time, e.AnswerTakes = definition.Duration(time.Duration(1+c.IntN(60))*time.Minute), definition.Duration(time.Minute)
			}
		}
	},
	"Quantities": func(c *clerk, d *definition.Campaign) {
		further := []definition.QuantityDef{{Name: "viscosity", Unit: "mPa·s"}, {Name: "color"}, {Name: "ph"}}
		q := further[c.IntN(len(further))]
		i := slices.IndexFunc(d.Quantities, func(p definition.QuantityDef) bool { return p.Name == q.Name })
		if i < 0 {
			d.Quantities = append(d.Quantities, q)
			return
		}
		d.Quantities[i].Description, d.Quantities[i].Record = c.words(), c.half() && q.Name != d.Objective.Name
		if d.Quantities[i].From == "" {
			d.Quantities[i].Arrives, d.Quantities[i].AnswerWithin = "", 0
			if c.half() {
				d.Quantities[i].Arrives = definition.ArrivesLater
				d.Quantities[i].AnswerWithin = definition.Duration(time.Duration(c.IntN(48)) * time.Hour)
			}
		}
		for i := range d.Quantities {
			if q := &d.Quantities[i]; q.From != "" {
				q.From = prices[c.IntN(len(prices))]
			}
		}
	},
	"Name": func(c *clerk, d *definition.Campaign) { d.Name += "-2" },
	"Seed": func(c *clerk, d *definition.Campaign) { d.Seed++ },
	"Objective": func(c *clerk, d *definition.Campaign) { // where it is declared, another can be sought
		if d.Measures() && c.IntN(4) > 0 {
			s := seeker{c.Rand, d}
			if d.Objective.Computed() || d.Tradeoff() != nil {
				s.adjust()
				if c.half() {
					return
				}
			}
			s.seek()
			return
		}
		d.Objective.Goal = definition.Minimize
	},
	"ConstraintsOnOutcomes": func(c *clerk, d *definition.Campaign) {
		if !d.Measures() {
			return
		}
		switch s := (seeker{c.Rand, d}); {
		case len(d.ConstraintsOnOutcomes) > 2, len(d.ConstraintsOnOutcomes) > 0 && c.half():
			i := c.IntN(len(d.ConstraintsOnOutcomes))
			d.ConstraintsOnOutcomes = slices.Delete(d.ConstraintsOnOutcomes, i, i+1)
			if len(d.ConstraintsOnOutcomes) == 0 {
				d.ConstraintsOnOutcomes = nil
			}
			s.complete()
			if c.half() {
				return
			}
			fallthrough
		default:
			s.require()
		}
	},
	"Cost": func(c *clerk, d *definition.Campaign) {
		if d.Cost, d.Budget.Cost = (definition.Cost{}), 0; d.Measures() && c.half() {
			d.Cost = definition.Cost{Of: prices[c.IntN(len(prices))], Unit: "h"}
			if c.half() {
				d.Budget.Cost = float64(50 + c.IntN(500))
			}
		}
	},
	"Fidelity": func(c *clerk, d *definition.Campaign) {
		target := definition.Number(5)
		d.Fidelity = definition.Fidelity{Parameter: "x", Target: &target}
	},
	// A campaign with one instrument does not become one with a procedure.
	"Instruments": func(_ *clerk, d *definition.Campaign) {
		d.Instruments = map[string]definition.Instrument{"doser": d.Instrument}
	},
	"Procedure": func(_ *clerk, d *definition.Campaign) {
		d.Procedure = []definition.Stage{{Name: "dose", On: "doser", Gives: d.DeclaredNames()}}
	},
	"Batch":      func(c *clerk, d *definition.Campaign) { d.Batch = definition.Batch{Of: 1 + c.IntN(4)} },
	"Places":     func(_ *clerk, d *definition.Campaign) { d.Places = []definition.Place{{Name: "oven"}} },
	"Reference":  func(c *clerk, d *definition.Campaign) { seeker{c.Rand, d}.refer(c.point(), c.point()) },
	"Parallel":   func(c *clerk, d *definition.Campaign) { d.Parallel++ },
	"Replicates": func(c *clerk, d *definition.Campaign) { d.Replicates++ },
	"Outliers":   func(c *clerk, d *definition.Campaign) { d.Outliers.Action = definition.OutlierIgnore },
	"Candidates": func(c *clerk, d *definition.Campaign) { d.Candidates = []definition.Point{c.point(), c.point()} },
	"Constraints": func(c *clerk, d *definition.Campaign) {
		d.Constraints = append(d.Constraints, definition.Constraint{Terms: map[string]float64{"x": 1}, AtMost: number(5)})
	},
}

// amendment changes one to three parts of the definition.
func (c *clerk) amendment() *events.CampaignAmended {
	a := &events.CampaignAmended{Definition: *copied(c.s.Definition), Reason: c.text(), Source: c.text()}
	names := make([]string, 0, len(amendments))
	for name := range amendments {
		names = append(names, name)
	}
	slices.Sort(names)
	for range 1 + c.IntN(3) {
		name := names[c.IntN(len(names))]
		if c.s.Definition.Tradeoff() != nil && c.half() { // few campaigns trade off, and much of that can be amended
			name = "Objective"
		}
		amendments[name](c, &a.Definition)
	}
	if c.half() { // what it changes is not for the sender to say
		a.Changes = []events.Change{{Path: "/budget/experiments", From: "1"}, {Path: "/seed", To: "2"}}
	}
	return a
}

// copied is a definition that shares nothing with another.
func copied(d *definition.Campaign) *definition.Campaign {
	data, err := json.Marshal(d)
	if err != nil {
		panic(err) // it was read from JSON
	}
	var again definition.Campaign
	if err := json.Unmarshal(data, &again); err != nil {
		panic(err)
	}
	return &again
}
