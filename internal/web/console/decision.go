package console

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/report"
)

// decisionPage is the whole record of a decision, in words, with the what-if runs that were asked
// from it on. Today's view of the models is not shown next to the view they had then.
type decisionPage struct {
	*shell
	ID, What, Reason string
	Facts, Several   []view.Row
	Names            []string
	Rows             []view.CandidateRow
	Gloss            string // the meanings of the candidates' names
	Tests            []testRow
	Models           []view.Row
	Shares           []report.ShareTable
	AddUp            bool
	Attributed       [][]string // Shapley values of each quantity at the chosen candidate
	Plane            template.HTML
	PlaneText        string
	Asked            string
	AskedID          string
	Answered         string
	AnsweredID       string
	Review           string
	LookedBack       string
	Story            []view.Line
	Time             time.Time
	By               []explained // the parts of the policy that made it
	Place            place
	Previous, Next   string
	Otherwise        otherwise
}

// testRow is a question that the decision put to its models, and the answer: the reason why it
// asked an expert, followed one, or ended.
type testRow struct {
	Name, Compared, Answer string
}

// showDecision shows a decision, and why a request on its page was refused. The
// address may name an experiment or a question too: then it shows the decision
// behind that.
//
// The decision is read from the log, by the place that the record knows, and
// not from the state, which keeps no decisions in full. With it comes its
// proof: its place in the log, and the hash by which that place can be checked.
func showDecision(v *visit) error {
	id := v.r.PathValue("decision")
	core, err := v.of.Load(v.r.Context())
	if err != nil {
		return err
	}
	state := core.State()
	behind, why := view.DecisionBehind(state, id)
	if behind == "" || !state.HasDecision(behind) {
		if why == "" {
			why = v.of.Name() + " has no " + id
		}
		return problem.New(problem.NotFound, "there is no decision behind %s: %s", id, why)
	}
	log, err := v.of.Log()
	if err != nil {
		return err
	}
	d, err := v.of.Record().Decision(v.r.Context(), log, behind)
	if err != nil {
		return err
	}
	p := &decisionPage{shell: v.shell(behind + " of " + v.of.Name()), ID: behind}
	p.Otherwise = v.otherwiseOf(p.shell, v.of, behind, d.Definition)
	p.fill(d)
	if p.Place, err = placeOf(v.r.Context(), log, d.Position); err != nil {
		return err
	}
	p.Place.File = proofFile(v.of.Name(), behind)
	if p.May(Audit) {
		p.Place.Proof = p.Path + "/proofs/" + behind
	}
	n := events.DecisionNumber(behind)
	if n > 1 {
		p.Previous = p.Path + "/decisions/" + events.DecisionID(n-1)
	}
	if n < state.Decisions {
		p.Next = p.Path + "/decisions/" + events.DecisionID(n+1)
	}
	return v.write(drawDecision(p))
}

// fill writes the recorded decision into the page: its candidates, tests, models, shares, and
// consequences. Everything is written with the definition that was in force when it was made: names
// and units may have been amended since.
func (p *decisionPage) fill(d *view.Decision) {
	made, def := d.Decision, d.Definition
	p.What = view.Sentence(view.ActionText(made))
	p.Reason = view.Compared(made.Reason)
	p.Time = d.Time
	for _, row := range d.Facts() {
		switch row.Name {
		case "front", "interest", "gain", "worth": // its knowledge about several quantities
			p.Several = append(p.Several, row)
		default:
			p.Facts = append(p.Facts, row)
		}
	}
	if d.Asked != nil {
		p.AskedID = d.Asked.ID
		p.Asked = view.Stop(view.Answer(def, d.Asked))
	}
	if d.Answered != nil {
		p.AnsweredID, p.Answered = d.Answered.ID, view.Stop(view.Answer(def, d.Answered))
	}
	p.Gloss = view.CandidateGloss(made)
	p.Names = candidateNames(d)
	p.Rows = view.CandidateTable(def, made)
	for _, t := range made.Tests {
		question, answer := view.TestWords(t)
		p.Tests = append(p.Tests, testRow{t.Name, question, answer})
	}
	p.By = explainedPolicy(made.Policy)
	p.Models = d.Models()
	p.Attributed = d.AttributedTable()
	shares := view.Shares(def, made)
	p.AddUp = view.AddUp(shares)
	sought := def.Sought()
	p.Shares = report.SharesIn(sought, d.Letters(), shares, figure.Page{Palette: figure.Classes})
	if made.Attributions != nil && made.Attributions.Plane != nil {
		p.Plane, p.PlaneText = plane(made.Attributions.Plane, sought)
	}
	if made.Review != nil {
		p.Review = reviewText(made.Review)
	}
	if d.Review != nil {
		p.LookedBack = reviewText(d.Review)
	}
	p.Story = d.Story
}

// candidateNames names the candidates of a decision, with their letters and fates. Chosen is the
// one that the decision itself took; preferred, the one that an expert picked when they were asked.
func candidateNames(d *view.Decision) (names []string) {
	winner := ""
	if d.Asked != nil && d.Asked.Winner() != nil {
		winner = d.Asked.Winner().Candidate
	}
	letters := d.Letters()
	for _, x := range d.Decision.Candidates {
		name := strings.TrimSpace(letters[x.Name] + " " + x.Name)
		switch {
		case x.Name == d.Decision.Chosen:
			name += " (chosen)"
		case x.Name == winner && winner != "":
			name += " (preferred)"
		}
		names = append(names, name)
	}
	return names
}

// reviewText says how a choice looked once its composition was measured.
func reviewText(r *events.ChoiceReview) string {
	return "Measured in " + r.Experiment + ", the choice of " + r.Expert + " in " + r.Question +
		" was right with a probability of " + format.Percent(r.Probability) + "."
}

// plane draws the objective over two parameters, darker where it is better, in ten steps of the
// stylesheet, and returns the caption. It is drawn from the numbers that were recorded with the
// decision, a row for each y. The caption explains the dark end, since it is not the same for every
// objective.
func plane(at *events.Plane, sought definition.Objective) (template.HTML, string) {
	rows := len(at.Ys)
	if rows == 0 || len(at.Xs) == 0 {
		return "", ""
	}
	var all []float64
	for _, row := range at.Mean {
		all = append(all, row...)
	}
	s := figure.SpanOf(0, all...)
	title := format.HeadingOf(sought) + " over " + at.X + " and " + at.Y
	f := squareOf("chart plane", title, figure.Span{Low: 0, High: 1})
	cw, ch := (f.right-f.left)/float64(len(at.Xs)), (f.bottom-f.top)/float64(rows)
	for i, row := range at.Mean {
		for j, v := range row {
			share := s.To(v, 0, 1)
			if sought.Better(0, 1) {
				share = 1 - share
			}
			heat := figure.Role(fmt.Sprintf("heat heat%d", min(max(int(share*10), 0), 9)))
			// A little larger than its share, so that no gap shows between
			// cells.
			f.Rect(heat, f.left+float64(j)*cw, f.bottom-float64(i+1)*ch, cw+0.3, ch+0.3)
		}
	}
	f.headings(at.X, at.Y, squareHeight-3)
	f.Text(tick, "start", f.left, f.bottom+15, rounded(at.Xs[0]))
	f.Text(tick, "end", f.right, f.bottom+15, rounded(at.Xs[len(at.Xs)-1]))
	f.Text(tick, "end", f.left-5, f.bottom, rounded(at.Ys[0]))
	f.Text(tick, "end", f.left-5, f.top+8, rounded(at.Ys[rows-1]))
	return f.SVG(), "What the model expects, from " + format.Short(s.Low) + " to " + format.Short(s.High) +
		", stronger where it is better; the other parameters as in the " + at.Candidate + " candidate."
}
