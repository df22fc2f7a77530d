package report

import (
	"context"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// pageData is what report.html shows.
type pageData struct {
	Style       template.CSS
	Name        string
	Description string
	Status      string
	Running     bool
	World       string // SIMULATED, REAL, …
	WorldClass  string
	Facts       [][2]string

	Answer   *answer
	Pending  string // instead of an answer
	Numbers  []number
	Warnings []warning

	Convergence  *figure
	Experts      []figure
	NoExperts    string
	Heat         []figure
	HeatCaption  string
	Slices       []figure
	SliceCaption string
	LeaveOneOut  *figure

	SlicesInPairs bool
	Sensitivity   []sensitivity
	Hyper         [][2]string
	NoModel       string

	Parameters     []events.Parameter
	Objective      events.Objective
	Unit           string // of the objective, in parentheses
	Measurements   []measurementGroup
	HasMeasured    bool
	Decisions      []decisionGroup
	DecisionCount  int
	Notes          []campaign.Note
	Amendments     []amendmentRow
	Audit          []command
	Digest         string
	Events         int
	Position       events.Position
	LastTime       string
	DefinitionText string
}

// answer is the best composition.
type answer struct {
	Rows       []answerRow
	Mean, SD   string
	Unit       string
	Objective  string
	Extreme    string
	Experiment string
	Measured   string
}

type answerRow struct{ Name, Value, Unit, Description string }

// number is one figure of the summary.
type number struct{ Value, Name, Detail string }

type command struct{ Line, Purpose string }

type amendmentRow struct {
	Time, Actor, Reason string
	Changes             []events.Change
}

// page gathers what the template shows.
func (h *history) page(ctx context.Context, store string) (*pageData, error) {
	s := h.state
	digest, err := h.core.Digest()
	if err != nil {
		return nil, err
	}
	d := &pageData{
		Style: template.CSS(style), Name: s.Name, Description: h.def.Description,
		Parameters: h.def.Parameters, Objective: h.def.Objective,
		Measurements: h.measurements(), HasMeasured: len(s.Experiments) > 0,
		Decisions: h.decisionTable(), DecisionCount: len(h.decisions), Notes: s.Notes,
		Warnings: h.warnings(store), Digest: digest, Events: h.count, Position: h.last.Position, LastTime: timeText(h.last.Time),
		DefinitionText: s.Source,
	}
	if h.def.Objective.Unit != "" {
		d.Unit = "(" + h.def.Objective.Unit + ")"
	}
	d.Status, d.Running = h.statusText(), !s.Status.Ended()
	d.World, d.WorldClass = h.world()
	d.Facts = h.facts()
	d.Answer, d.Pending = h.answer()
	d.Numbers = h.numbers()
	d.Audit = h.auditCommands(store)
	for _, a := range h.amendments {
		d.Amendments = append(d.Amendments, amendmentRow{timeText(a.time), a.actor, a.Reason, a.Changes})
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return d, h.figures(ctx, d)
}

// figures draws everything.
func (h *history) figures(ctx context.Context, d *pageData) (err error) {
	if f, ok := h.figureConvergence(); ok {
		d.Convergence = &f
	}
	for _, draw := range []func() (figure, bool){h.figureLabels, h.figureTrust, h.figureWidths} {
		if f, ok := draw(); ok {
			d.Experts = append(d.Experts, f)
		}
	}
	if len(h.def.Experts) == 0 && len(d.Experts) == 0 {
		d.NoExperts = "No expert takes part in this campaign."
	}
	if h.model == nil {
		d.NoModel = "There is no model of the objective yet: it needs two measurements."
		return nil
	}
	if d.Heat, d.HeatCaption, err = h.figureHeat(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if d.Slices, d.SliceCaption, err = h.figureSlices(); err != nil {
		return err
	}
	d.SlicesInPairs = inPairs(len(d.Slices))
	if f, ok := h.figureLeaveOneOut(); ok {
		d.LeaveOneOut = &f
	}
	d.Sensitivity, d.Hyper = h.sensitivities(), h.hyperparameters()
	return nil
}

// statusText says in a sentence where the campaign stands, and why it ended.
func (h *history) statusText() string {
	s := h.state
	switch s.Status {
	case campaign.Completed:
		reasons := map[string]string{
			events.CompletedBudget: "the budget of experiments is spent", events.CompletedTime: "the budget of time is spent",
			events.CompletedTarget: "the target is reached", events.CompletedConverged: "no further improvement was seen",
			events.CompletedExhausted: "every candidate has been measured or excluded",
		}
		reason := reasons[s.Reason]
		if reason == "" {
			reason = s.Reason
		}
		text := "Completed: " + reason + "."
		if h.completed != "" {
			text += " " + h.completed
		}
		return text
	case campaign.Stopped:
		return strings.TrimSuffix("Stopped by a person: "+s.Reason, ": ")
	case campaign.Paused:
		return strings.TrimSuffix("Paused: "+s.Reason, ": ")
	}
	text := "Running"
	var open []string
	if n := s.Count(campaign.Requested, campaign.Dispatched, campaign.Started); n > 0 {
		open = append(open, plural(n, "experiment")+" under way")
	}
	waiting := 0
	for i := range s.Questions {
		if s.Questions[i].Status == campaign.Asked {
			waiting++
		}
	}
	if waiting > 0 {
		open = append(open, plural(waiting, "question")+" open")
	}
	if open != nil {
		text += ": " + strings.Join(open, ", ")
	}
	return text
}

// world says whether the measurements are of a simulated or of the real world.
func (h *history) world() (text, class string) {
	switch {
	case h.simulated > 0 && h.real > 0:
		return "SIMULATED AND REAL MIXED", "mixed"
	case h.simulated > 0, h.real == 0 && h.def.Instrument.Simulated != nil, h.real == 0 && h.dispatched && h.dispatchSimulated:
		return "SIMULATED", "simulated"
	case h.real > 0, h.dispatched, h.def.Instrument.Manual != nil:
		return "REAL", "real"
	}
	return "NOTHING MEASURED YET", "unknown"
}

// facts are the lines under the title.
func (h *history) facts() [][2]string {
	s, def := h.state, h.def
	goal := "minimise "
	if def.Objective.Goal == events.Maximize {
		goal = "maximise "
	}
	facts := [][2]string{
		{"goal", goal + withUnit(def.Objective.Name, def.Objective.Unit)},
		{"instrument", h.instrument()},
	}
	var experts []string
	for _, e := range def.Experts {
		name := e.Name
		if e.Simulated != nil || h.simulatedExpert[e.Name] {
			name += " (simulated)"
		}
		experts = append(experts, name)
	}
	if experts != nil {
		facts = append(facts, [2]string{"experts", strings.Join(experts, ", ")})
	}
	end, span := "last event", h.last.Time
	if !s.EndedAt.IsZero() {
		end, span = "ended", s.EndedAt
	}
	facts = append(facts, [2]string{"policy", h.policy()},
		[2]string{"began", timeText(s.DefinedAt) + " UTC"},
		[2]string{end, fmt.Sprintf("%s UTC (%s)", timeText(span), durationText(span.Sub(s.DefinedAt)))},
		[2]string{"seed", fmt.Sprint(def.Seed)})
	if len(h.builds) > 0 {
		facts = append(facts, [2]string{"build", buildText(h.builds[len(h.builds)-1])})
	}
	return facts
}

// instrument names what measured, by the word of the events, and else what the
// definition says.
func (h *history) instrument() string {
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for i := range h.state.Experiments {
		x := &h.state.Experiments[i]
		if m := x.Measurement; m != nil && m.Identity != "" && m.Identity != x.Instrument {
			full := x.Instrument + " (" + m.Identity + ")"
			add(full)
			seen[x.Instrument] = true
		}
	}
	for i := range h.state.Experiments { // those that never said what device they are
		add(h.state.Experiments[i].Instrument)
	}
	const most = 4
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	if names != nil {
		return strings.Join(names, ", ")
	}
	switch i := h.def.Instrument; {
	case i.Simulated != nil:
		return "simulated/" + i.Simulated.Task
	case i.Table != nil:
		return "table " + i.Table.File
	case i.Manual != nil:
		return "a person measures"
	case i.Process != nil:
		return "program " + strings.Join(i.Process.Command, " ")
	}
	return "none"
}

// policy names the three choices.
func (h *history) policy() string {
	p := h.def.Policy
	next := "lcb"
	switch {
	case p.Next.LogEI != nil:
		next = "logei"
	case p.Next.Thompson != nil:
		next = "thompson"
	case p.Next.Sobol != nil:
		next = "sobol"
	case p.Next.Random != nil:
		next = "random"
	case p.Next.LCB != nil && p.Next.LCB.Beta != nil && p.Next.LCB.BetaRule != events.BetaLemma:
		next = "lcb, β = " + setting(*p.Next.LCB.Beta)
	}
	if p.Trust.COBOL != nil {
		next += "; trust cobol"
	}
	if w := p.Handover.Width; w != nil && w.Threshold != nil {
		next += "; asks where the belief is wider than " + setting(*w.Threshold)
	}
	return next
}

// answer is the best composition, or what is missing for one.
func (h *history) answer() (*answer, string) {
	best := h.summary.Best
	if best == nil {
		return nil, "Nothing has been measured yet."
	}
	a := &answer{Unit: best.Unit, Objective: h.def.Objective.Name, Experiment: best.Experiment, Extreme: "lowest"}
	if h.def.Objective.Goal == events.Maximize {
		a.Extreme = "highest"
	}
	for i, p := range h.def.Parameters {
		a.Rows = append(a.Rows, answerRow{p.Name, h.format.value(i, best.Parameters), p.Unit, p.Description})
	}
	a.Mean = typeset(fixed(best.Value, h.places))
	if h.model != nil {
		if p, err := h.model.Predict(best.Parameters); err == nil {
			mean, sd := meanSD(p.Mean, p.SD)
			a.Mean, a.SD = typeset(mean), sd
		}
	}
	if x := h.state.Experiment(best.Experiment); x != nil && x.Measurement != nil {
		a.Measured = typeset(fixed(x.Measurement.Objective.Value, h.places))
	}
	return a, ""
}

// numbers are the counts of the summary.
func (h *history) numbers() []number {
	s := h.state
	var of []string
	if n := s.Count(campaign.Failed); n > 0 {
		of = append(of, fmt.Sprintf("%d failed", n))
	}
	if n := s.Count(campaign.Unresolved); n > 0 {
		of = append(of, fmt.Sprintf("%d unresolved", n))
	}
	imported, excluded := 0, 0
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Origin == events.OriginImport {
			imported++
		}
		if x.Excluded {
			excluded++
		}
	}
	if excluded > 0 {
		of = append(of, fmt.Sprintf("%d excluded", excluded))
	}
	if imported > 0 {
		of = append(of, fmt.Sprintf("besides %d imported", imported))
	}
	numbers := []number{{fmt.Sprint(s.Spent()), "experiments", strings.Join(append([]string{fmt.Sprintf("budget %d", h.def.Budget.Experiments)}, of...), ", ")}}
	if len(h.def.Experts) > 0 || s.Labels() > 0 {
		asked, initial := h.labels()
		first := 0
		for _, n := range initial {
			first += n
		}
		numbers = append(numbers, number{fmt.Sprint(s.Labels()), "labels", fmt.Sprintf("%d at first, then %d asked", first, len(asked))})
	}
	if gain, ok := h.gain(); ok {
		numbers = append(numbers, gain)
	}
	end := h.last.Time
	if !s.EndedAt.IsZero() {
		end = s.EndedAt
	}
	return append(numbers, number{durationText(end.Sub(s.DefinedAt)), "from start to end", plural(len(h.decisions), "decision")})
}

// gain compares the best result with the best of the initial design.
func (h *history) gain() (number, bool) {
	course := h.converge()
	n := leading(course.results)
	if n == 0 || n >= len(course.best) {
		return number{}, false
	}
	before, after := course.best[n-1], course.best[len(course.best)-1]
	if !(before != after) || before != before {
		return number{}, false
	}
	text := fixed(after-before, h.places)
	if after > before {
		text = "+" + text
	}
	return number{typeset(text), strings.TrimSpace(h.def.Objective.Unit + " over the initial design"), fmt.Sprintf("best measured %s → %s %s", typeset(fixed(before, h.places)), typeset(fixed(after, h.places)), h.def.Objective.Unit)}, true
}

// auditCommands are the ways to check the report.
func (h *history) auditCommands(store string) []command {
	store = quote(store)
	commands := []command{
		{"campaignd audit " + store, "checks that no event was changed, and makes every fit and decision again"},
		{"campaignd replay " + store + " --json", "prints the state of the campaign and the digest below"},
	}
	if n := len(h.decisions); n > 0 {
		commands = append(commands, command{"campaignd explain " + store + " " + h.decisions[n-1].Decision, "explains one decision"})
	}
	return append(commands, command{"campaignd predict " + store + " --at points.csv", "asks the model at compositions of your own"})
}

// quote writes a path as one word of a shell.
func quote(path string) string {
	if strings.ContainsAny(path, " '\"\\$`*?()[]{}<>|&;!#~\t\n") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// Date writes a note's time.
func (d *pageData) Date(t time.Time) string { return timeText(t) }
