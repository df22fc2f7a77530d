package view

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/num/shapley"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/coexbo"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Write lays a decision out for people. What is missing from the record, as in
// decisions of older versions, leaves its part out.
func (d *Decision) Write(w io.Writer, how How) error {
	made := d.Decision
	p := &page{w: w}
	p.line("Decision %s: %s", made.Decision, ActionText(made))
	p.line("%s", made.Reason)
	p.raw("")
	p.rows(decisionNames, d.facts(how))
	d.writeCandidates(p)
	d.writeAttributions(p)
	d.writeAttributed(p)
	if len(made.Tests) > 0 {
		p.heading("Tests")
		p.table(testRows(made.Tests))
	}
	if models := d.Models(); models != nil {
		p.heading("Models")
		p.rows(decisionNames, models)
	}
	if made.Review != nil {
		p.heading("Looking back")
		p.line("  %s", reviewText(made.Review))
	}
	d.writeStory(p, how)
	return p.err
}

// decisionNames is the width of the names of a decision's rows.
const decisionNames = 10

// facts are the data needed to repeat the decision, its action, and the answer it took up. Where
// the decision took up an answer, the earlier decision that asked is named: the weighed candidates
// stand there.
func (d *Decision) facts(how How) []Row {
	rows := d.Facts()
	if q := d.Answered; q != nil {
		earlier := how(problem.Remedy{Action: problem.Explain, Subject: q.Decision})
		answer := Answer(d.Definition, q)
		rows = append(rows, rowf("answer", "%s; what was weighed then: %s", answer, earlier))
	}
	return rows
}

// Facts are the data needed to repeat the decision, and its action. The state, the policy, the seed
// and the build together give the same decision again.
func (d *Decision) Facts() []Row {
	made := d.Decision
	rows := []Row{
		rowf("made", "%s, at position %d, from the campaign's events 1 to %d",
			d.Time.Local().Format(time.DateTime), d.Position, made.At),
		{"policy", Policy(made.Policy)},
		{"rule", made.Rule},
		rowf("seed", "%d", made.Seed),
		{"build", Build(made.Build)},
	}
	if made.Lambda != nil {
		rows = append(rows, Row{"belief", weightText(*made.Lambda, d.Trust)})
	}
	rows = append(rows, d.several()...)
	for i, line := range TrustIn(HelpsOf(made), nil) {
		rows = append(rows, Row{"answers",
			fmt.Sprintf("%s (%s)", line, format.Count(made.Answers[i].Answers, "answer"))})
	}
	return rows
}

// Policy names the policy of a decision.
func Policy(p events.PolicyRef) string {
	if p.Duel != "" {
		return fmt.Sprintf("duel %s, version %d", p.Duel, p.Version)
	}
	return fmt.Sprintf("next %s, trust %s, handover %s, version %d", p.Next, p.Trust, p.Handover, p.Version)
}

// ActionText names the action of a decision.
func ActionText(d *events.DecisionMade) string {
	switch d.Action {
	case events.ActionRun:
		return fmt.Sprintf("run an experiment at the %s candidate", d.Chosen)
	case events.ActionAsk:
		return wordsOf(d.Form).decided(d)
	case events.ActionStop:
		return "complete the campaign"
	}
	return string(d.Action)
}

// Answer writes an expert's answer: "ada prefers B (…) to A (…) in q7".
func Answer(def *definition.Campaign, q *campaign.Question) string {
	if q.Status != campaign.Answered {
		return fmt.Sprintf("%s to %s was %s", q.ID, q.Expert, q.Status)
	}
	return q.Expert + " " + wordsOf(q.Form).does(NewStory(def), q.ID, about{q.Points(), q.Outcomes()}, q.Answer)
}

// weightText writes the weight of a belief after a decision, and how it moved. The weight alone
// means little without the one before.
func weightText(lambda float64, moved *events.TrustAdjusted) string {
	if moved == nil {
		return "the expert's counts " + format.Short(lambda) + " in a choice (weight λ)"
	}
	return fmt.Sprintf("%s's counts %s in a choice from then on (weight λ; %s before; the lower belief bound was %s)",
		moved.Expert, format.Short(lambda), format.Short(moved.From), format.Short(moved.Violation))
}

// writeCandidates writes the candidates side by side, the chosen one marked.
func (d *Decision) writeCandidates(p *page) {
	if len(d.Decision.Candidates) == 0 {
		return
	}
	p.heading("Candidates")
	var rows [][]string
	for _, r := range CandidateTable(d.Definition, d.Decision) {
		rows = append(rows, append([]string{"  " + r.Name}, r.Cells...))
	}
	p.table(append([][]string{d.candidateNames()}, rows...))
	if d.Asked != nil && d.Asked.Winner() != nil {
		p.line("  * %s", Answer(d.Definition, d.Asked))
	}
	if gloss := CandidateGloss(d.Decision); gloss != "" {
		p.line("  %s", gloss)
	}
}

// candidateNames heads the columns of the candidates. The mark is at the choice and, where an
// expert decides, at the one they preferred.
func (d *Decision) candidateNames() []string {
	letters := d.Letters()
	winner := ""
	if d.Asked != nil && d.Asked.Winner() != nil {
		winner = d.Asked.Winner().Candidate
	}
	names := []string{"  "}
	for _, c := range d.Decision.Candidates {
		name := strings.TrimSpace(letters[c.Name] + " " + c.Name)
		if c.Name == d.Decision.Chosen || c.Name == winner && winner != "" {
			name += " *"
		}
		names = append(names, name)
	}
	return names
}

// CandidateRow is a quantity of a decision's candidates, a cell for each. Pages
// and terminals show the same rows.
type CandidateRow struct {
	Name  string
	Cells []string
}

// CandidateTable lists the recorded data of a decision's candidates: the values of the parameters,
// then the statements of the models. A quantity that no candidate has gets no row. Compositions
// that lie close together get enough decimals to differ.
func CandidateTable(def *definition.Campaign, d *events.DecisionMade) (rows []CandidateRow) {
	points := make([]definition.Point, len(d.Candidates))
	for i, c := range d.Candidates {
		points[i] = c.Parameters
	}
	write := format.CompositionsOf(def).Apart(points...)
	for i, par := range def.Parameters {
		r := CandidateRow{Name: format.Heading(par.Name, par.Unit)}
		for _, point := range points {
			text, _ := write.Value(i, point)
			r.Cells = append(r.Cells, text)
		}
		rows = append(rows, r)
	}
	for _, quantity := range candidateQuantities(def, d) {
		r := CandidateRow{Name: quantity.name}
		for i := range d.Candidates {
			r.Cells = append(r.Cells, quantity.of(&d.Candidates[i]))
		}
		rows = append(rows, r)
	}
	empty := func(r CandidateRow) bool { return strings.Join(r.Cells, "") == "" }
	return slices.DeleteFunc(rows, empty)
}

// candidateQuantity is something that the models say about a candidate; empty
// where they do not.
type candidateQuantity struct {
	name string
	of   func(*events.Candidate) string
}

// candidateQuantities lists them in the order of the table. Values are in the objective's unit,
// except scores and the belief, which have scales of their own. A quantity that a new policy
// records needs a row here to be seen.
func candidateQuantities(def *definition.Campaign, d *events.DecisionMade) []candidateQuantity {
	sought := def.Sought()
	unit := sought.Unit
	bound := func(of func(*events.Candidate) *float64) func(*events.Candidate) string {
		return func(c *events.Candidate) string {
			if !def.Single() {
				return "" // it is of one of several objectives, and nothing follows from it
			}
			return optional(of(c))
		}
	}
	all := []candidateQuantity{{"predicted " + format.HeadingOf(sought), func(c *events.Candidate) string {
		return expected(c.Prediction)
	}}}
	return append(append(all, severalQuantities(def, d)...), []candidateQuantity{
		{format.Heading("optimistic bound", unit), bound(func(c *events.Candidate) *float64 { return c.Optimistic })},
		{format.Heading("pessimistic bound", unit), bound(func(c *events.Candidate) *float64 { return c.Pessimistic })},
		{format.Heading("with the experts' answers", unit), func(c *events.Candidate) string {
			if !sought.Computed() && len(c.InformedOutcomes) > 0 {
				return "" // the rows of the quantities say it
			}
			return expected(c.Informed)
		}},
		{acquisitionName(d), func(c *events.Candidate) string {
			if def.Several() {
				return "" // the prediction and the probabilities say it, in units that people know
			}
			return optional(c.Acquisition)
		}},
		{"belief: rejection score (logits)", func(c *events.Candidate) string {
			if c.Belief == nil {
				return ""
			}
			return format.Short(c.Belief.Lower) + " … " + format.Short(c.Belief.Upper)
		}},
		{scoreName(d), func(c *events.Candidate) string {
			if c.Score == nil {
				return ""
			}
			return format.PlusMinus(c.Score.Mean, c.Score.SD, "")
		}},
	}...)
}

// expected writes a prediction that may be missing.
func expected(p *events.Prediction) string {
	switch {
	case p == nil:
		return ""
	case p.SD == 0:
		return format.Short(p.Mean)
	}
	return format.PlusMinus(p.Mean, p.SD, "")
}

// acquisitionName says which candidates the acquisition compares. Where answers
// are measurements it is, of each candidate, that of the model that proposed
// it, and one is not to be compared with the other.
func acquisitionName(d *events.DecisionMade) string {
	if slices.ContainsFunc(d.Candidates, func(c events.Candidate) bool { return c.Informed != nil }) {
		return "acquisition (smaller is better), of the model that proposed it"
	}
	return "acquisition (smaller is better)"
}

// HelpsOf returns the recorded worth of each expert's answers at a decision; nil where answers do
// not count as measurements.
func HelpsOf(d *events.DecisionMade) (helps []policies.Help) {
	for _, w := range d.Answers {
		helps = append(helps, policies.Help{Expert: w.Expert, Kind: w.Kind, Quantity: w.Quantity, Labels: w.Answers,
			Helps: w.Helps, Misleads: w.Misleads, Worth: w.Worth})
	}
	return helps
}

func scoreName(d *events.DecisionMade) string {
	if d.Preference != nil && d.Preference.Form == events.PreferenceChoice {
		return "chance to be preferred to a random one"
	}
	return "utility (differences count, not its level)"
}

// optional writes a number that may be missing.
func optional(x *float64) string {
	if x == nil {
		return ""
	}
	return format.Short(*x)
}

// writeAttributions writes the basis of the models' view of the candidates: Shapley values as bars,
// and the plane of the two strongest parameters. Decisions of older versions explained something
// else, so two sentences exist on the sum of the values.
func (d *Decision) writeAttributions(p *page) {
	shares := Shares(d.Definition, d.Decision)
	switch {
	case shares != nil:
		p.heading("What each parameter does (Shapley values)")
		if AddUp(shares) {
			p.raw("  They add up to what the model says, from what it says on average of the compositions" +
				" that were measured.")
		} else {
			p.raw("  They explain what the measured compositions tell. Where nothing was measured nearby," +
				" the model itself")
			p.raw("  falls back to what it expects of any composition, and is less sure.")
		}
		p.raw("")
		for _, line := range d.shareLines(shares) {
			p.line("  %s", line)
		}
	case d.wouldExplain():
		p.raw("")
		p.line("There are no Shapley values: they are worked out for at most %d parameters.",
			shapley.MaxPlayers)
	}
	if at := d.Decision.Attributions; at != nil && at.Plane != nil {
		p.heading("The two strongest parameters")
		for _, line := range d.planeLines(at.Plane) {
			p.line("  %s", line)
		}
	}
}

// wouldExplain reports whether the policy explains a choice like this one, so
// that missing Shapley values need a reason. Without it a reader would look for
// values that the policy was never asked for.
func (d *Decision) wouldExplain() bool {
	choose, _ := coexbo.ChooseOf(d.Definition.Policy)
	return d.Decision.Form == events.FormComparison && choose.Explain != nil && *choose.Explain
}

// testRows writes tests: "optimistic bound  is 1.2 at most 1.3?  yes".
func testRows(tests []events.Test) [][]string {
	rows := make([][]string, len(tests))
	for i, t := range tests {
		question, answer := TestWords(t)
		rows[i] = []string{"  " + t.Name, question, answer}
	}
	return rows
}

// TestWords writes a test of a decision as a question with its answer: "is 0 at
// least 0.002?", "no".
func TestWords(t events.Test) (question, answer string) {
	words := map[string]string{"<": "less than", "<=": "at most", ">": "more than", ">=": "at least"}
	relation, ok := words[t.Relation]
	if !ok {
		relation = t.Relation
	}
	if answer = "no"; t.Holds {
		answer = "yes"
	}
	return fmt.Sprintf("is %s %s %s?", format.Rounded(t.Left, 4), relation,
		format.Rounded(t.Right, 4)), answer
}

// CandidateGloss explains the names of a decision's candidates; "" where they speak for themselves.
func CandidateGloss(d *events.DecisionMade) string {
	has := func(name string) bool {
		return slices.ContainsFunc(d.Candidates, func(c events.Candidate) bool { return c.Name == name })
	}
	if !has(policies.Aided) {
		return ""
	}
	gloss := "aided: with what the experts say"
	if has(policies.Unaided) {
		gloss += "; unaided: what the model alone would measure"
	}
	return gloss + "."
}

// Models are the fits that a decision used, a row or two each. Numbers in standard units are
// written in the campaign's, where they have a unit. They are read from the decision and fitted
// nowhere: the fits used at the time are the ones that count.
func Models(def *definition.Campaign, d *events.DecisionMade) (rows []Row) {
	if f := d.Objective; f != nil {
		sought := def.Sought()
		m := modelled{unit: sought.Unit}
		if def.Several() {
			m.name = sought.Name
			if q := def.Quantity(sought.Name); q != nil {
				m.log = q.Scale == definition.ScaleLog
			}
		}
		rows = append(rows, fitRows("objective", m, sought, f)...)
		if text := fidelityText(def, f.Fidelity); text != "" {
			rows = append(rows, rowf("", "%s", text))
		}
		if f.Compressed != nil {
			rows = append(rows, rowf("",
				"results worse than %s count by their logarithm: a few are far worse than most",
				format.ValueOf(sought, f.Compressed.From)))
		}
	}
	if f := d.Belief; f != nil {
		noun := "label"
		if !belief.Reads(def.Policy.Trust, belief.FeedbackLabel) {
			noun = "pair" // of compositions, one held better than the other
		}
		rows = append(rows, rowf("belief", "%s, norm bound %s, log likelihood %s, confidence %s",
			format.Count(f.Labels, noun),
			format.Short(f.NormBound), format.Short(f.LogLikelihood), format.Short(f.Confidence)))
	}
	if f := d.Preference; f != nil {
		rows = append(rows,
			rowf("preference", "%s model, %s kernel on %s, log evidence %s",
				f.Form, f.Kernel,
				format.Count(f.Comparisons, "comparison"), format.Short(f.LogEvidence)),
			rowf("", "lengthscales %s (parts of each parameter's range), output scale %s",
				format.Numbers(f.Lengthscales), format.Short(f.OutputScale)))
	}
	return rows
}

// ofComposition are the lengthscales of a fit without those of a fidelity.
func ofComposition(f *events.ObjectiveFit) []float64 {
	if f.Fidelity == nil {
		return f.Lengthscales
	}
	return slices.DeleteFunc(slices.Clone(f.Lengthscales), func(l float64) bool { return l >= events.Unscaled })
}

// fidelityText says how cheaper experiments go together with those at the target.
func fidelityText(def *definition.Campaign, f *events.FidelityFit) string {
	switch {
	case f == nil:
		return ""
	case f.W == nil:
		return fmt.Sprintf("of the variance at the least fidelity %s is what fidelities share (c %s, δ %s)",
			format.Percent(f.C/(1+f.C)), format.Short(f.C), format.Short(f.Delta))
	}
	target := slices.IndexFunc(def.Fidelity.Sources, func(s definition.Source) bool { return s.Name == def.Fidelity.Target.Name() })
	var parts []string
	for i, s := range def.Fidelity.Sources {
		if i != target && target >= 0 && i < len(f.W) && target < len(f.W) {
			parts = append(parts, fmt.Sprintf("%s correlates with %s by %.2f", s.Name, def.Fidelity.Target, f.Correlation(i, target)))
		}
	}
	return strings.Join(parts, ", ")
}

// noiseText says which noise a fit assumed. A noise of 0 means that each
// measurement has a standard deviation of its own.
func noiseText(sought definition.Objective, m modelled, f *events.ObjectiveFit) string {
	switch {
	case sought.RelativeNoise != nil:
		return format.Share(*sought.RelativeNoise) + " of each value (given)"
	case sought.Noise != nil:
		return format.ValueOf(sought, *sought.Noise) + " (given)"
	case f.Noise == 0:
		return "as the instrument says"
	}
	return m.width(sqrt(f.Noise)*f.Scale) + " (inferred)"
}

// sqrt is the root of a variance that rounding may have made negative.
func sqrt(x float64) float64 { return math.Sqrt(max(x, 0)) }

// writeStory writes the consequences, as far as the log has them by now: it grows with the log.
func (d *Decision) writeStory(p *page, how How) {
	p.heading("What followed")
	if len(d.Story) == 0 {
		p.raw("  nothing yet")
	}
	for _, entry := range d.Story {
		p.line("  %s  %s", entry.Time.Local().Format(time.TimeOnly), entry.Line(how))
	}
	if d.Review != nil {
		p.line("  %s", reviewText(d.Review))
	}
}
