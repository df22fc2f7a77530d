package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// queued is a question in the list of those that wait.
type queued struct {
	Campaign, ID, Expert, Asks string
	Asked, Expires             time.Time
	Mine, Given                bool // it is to the visitor by name; the visitor has just answered it
}

func (q queued) Path() string { return questionPath(q.Campaign, q.ID) }

func questionPath(campaign, id string) string {
	return "/questions/" + url.PathEscape(campaign) + "/" + url.PathEscape(id)
}

// queueOf returns the questions that wait for an answer that the visitor may give: those to
// them by name first, then the ones that end soonest, then the oldest.
func (c *Console) queueOf(v Visitor) (list []queued) {
	given := make(map[string]bool)
	for _, p := range c.answers.of(v.Name) {
		given[p.Campaign+"\x00"+p.Question] = p.State == waiting
	}
	for _, each := range c.lab.Campaigns() {
		if v.may(AnswerIt, each.Name()) != nil {
			continue
		}
		each.Read(func(core *engine.Core) {
			s := core.State()
			for i := range s.Questions {
				q := &s.Questions[i]
				if q.Status != campaign.Asked || v.answersAs(q.Expert, each.Name()) != nil {
					continue
				}
				list = append(list, queued{
					Campaign: each.Name(), ID: q.ID, Expert: q.Expert, Asks: headingOf(s.Definition, q),
					Asked: q.AskedAt, Expires: q.Expires, Mine: q.Expert == v.Name,
					Given: given[each.Name()+"\x00"+q.ID],
				})
			}
		})
	}
	ends := func(q queued) int64 {
		if q.Expires.IsZero() {
			return math.MaxInt64
		}
		return q.Expires.UnixMilli()
	}
	slices.SortStableFunc(list, func(a, b queued) int {
		if a.Mine != b.Mine {
			if a.Mine {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(ends(a), ends(b)), a.Asked.Compare(b.Asked))
	})
	return list
}

// openCount counts the questions that wait for this visitor.
func (c *Console) openCount(v Visitor) (n int) {
	for _, q := range c.queueOf(v) {
		if !q.Given {
			n++
		}
	}
	return n
}

// headingOf says in words what is asked.
func headingOf(def *definition.Campaign, q *campaign.Question) string {
	switch q.Form {
	case events.FormLabel:
		return "Worth an experiment?"
	case events.FormComparison:
		if len(q.Options) > 2 {
			return fmt.Sprintf("Which of these %d is best?", len(q.Options))
		}
		return "Which is better?"
	case events.FormPinpoint:
		return "What should be measured next?"
	case events.FormEstimate:
		if q.Scale.Marks > 0 {
			return fmt.Sprintf("How good is each, from 1 (worst) to %d (best)?", q.Scale.Marks)
		}
		return fmt.Sprintf("What %s do you expect?", format.Heading(q.Scale.Quantity, q.Scale.Unit))
	}
	what, _ := view.Asks(def, q)
	return sentence(strings.TrimSpace(strings.TrimPrefix(what, ":")))
}

// queuePage is the list of questions.
type queuePage struct {
	*shell
	Waiting []queued
	Last    []answered
}

func (c *Console) queue(w http.ResponseWriter, r *http.Request) {
	p := queuePage{shell: c.shellOf(r, "Questions")}
	p.Watch = "*"
	for _, q := range c.queueOf(p.Visitor) {
		if !q.Given {
			p.Waiting = append(p.Waiting, q)
		}
	}
	if r.URL.Query().Has("next") && len(p.Waiting) > 0 {
		to := p.Waiting[0].Path()
		if said := r.URL.Query().Get("said"); saids[said] != "" {
			to += "?said=" + said
		}
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	p.Last = c.lastAnswers(r.Context(), p.Visitor)
	c.write(w, http.StatusOK, "queue", p)
}

// questionPage is the review page.
type questionPage struct {
	*shell
	ID, Heading, Expert, Aim string
	Form                     events.Form
	Status                   campaign.QuestionStatus
	Asked, Expires           time.Time
	// Cards are what the question is about, Suggestion is what the campaign would take.
	Cards      []card
	Suggestion *card
	Names      []string // of the options
	// Best is the best so far.
	Best    *known
	Low     string // the ends of the scale of what was measured
	High    string
	Columns []string // of a sitting
	Fields  []pointField
	Marks   int
	Unit    string
	Why     []string
	Shares  []shareTable
	Trust   []string
	Step    string // the decision that asks
	// Answer is the present answer, Comment what was said with it; Given is the visitor's
	// that is being sent.
	Answer, Comment, By string
	Given               *pendingView
	Others              []string // who else has answered it just now
	Closed              string   // why it takes no answer
	Opened              int64
	At                  events.Sequence
	Source, Nearest     string
	Fit                 string // whether a pinpointed composition can be measured
	FitOK               bool
	Left                int // how many questions wait beside this one
}

func (p *questionPage) Path() string { return questionPath(p.Campaign, p.ID) }

// known is an experiment that is shown beside a candidate.
type known struct{ ID, Value, Line string }

// card is a composition.
type card struct {
	Index      int
	Name       string // the letter, where there are several
	Key        int
	Rows       []cardRow
	Near       string
	NearID     string
	Prediction string
	Scale      template.HTML
	Belief     string
	Line       string
	Plain      []string // the values, in the campaign's order
	Typed      string   // the number or place given
}

// cardRow is a parameter of a composition.
type cardRow struct {
	Name, Unit, Value, Description string
	Bar                            template.HTML
	Differs                        bool
	Incumbent                      string
}

// pointField is how a parameter of a composition of one's own is entered.
type pointField struct {
	Name, Unit, Description, Typed string
	Min, Max, Step                 string
	Choices                        []string
	Suggested                      string
}

// shareTable says what each parameter does to a quantity at the options.
type shareTable struct {
	Caption string
	Names   []string
	Rows    []shareRow
}

type shareRow struct {
	Name  string
	Cells []shareCell
}

type shareCell struct {
	Text string
	Bar  template.HTML
}

func (c *Console) question(w http.ResponseWriter, r *http.Request) {
	campaign := c.find(w, r, See)
	if campaign == nil {
		return
	}
	c.showQuestion(w, r, campaign, http.StatusOK, nil)
}

// showQuestion shows the review page, with what was typed where it was refused.
func (c *Console) showQuestion(w http.ResponseWriter, r *http.Request, of *lab.Campaign, status int, refusal error) {
	id := r.PathValue("question")
	s := c.shellOf(r, id)
	s.Campaign, s.Watch = of.Name(), of.Name()
	p := &questionPage{shell: s, ID: id, Opened: time.Now().UnixMilli()}
	if refusal != nil {
		s.Failure, s.Failed, s.form = failureOf(refusal, of.Name()), "answer", r.PostForm
		if opened, err := strconv.ParseInt(r.PostForm.Get(fieldOpened), 10, 64); err == nil {
			p.Opened = opened // it has been before them since
		}
	} else {
		for _, mine := range c.answers.of(s.Visitor.Name) {
			if mine.Campaign != of.Name() || mine.Question != id {
				continue
			}
			view := viewOf(mine)
			if mine.State == waiting {
				p.Given = &view
			} else { // what was typed stays
				s.Failed, s.form = "answer", formOf(mine.Reply)
			}
		}
	}
	found := false
	of.Read(func(core *engine.Core) {
		if q := core.State().Question(id); q != nil {
			found = true
			p.fill(core, q)
		}
	})
	if !found {
		c.fail(w, r, problem.New(problem.NotFound, "%s has no question %q", of.Name(), id).
			With(problem.Remedy{Text: "see what is asked", Action: problem.Answer}))
		return
	}
	standing := of.Standing()
	p.Trust = view.TrustIn(standing.Helps, standing.Trust)
	if err := s.Visitor.answersAs(p.Expert, of.Name()); err != nil && p.Closed == "" {
		p.Closed = sentence(err.Error())
	}
	for _, other := range c.answers.to(of.Name(), id) {
		if other.Name != s.Visitor.Name {
			p.Others = append(p.Others, other.Name)
		}
	}
	for _, q := range c.queueOf(s.Visitor) {
		if !q.Given && (q.Campaign != of.Name() || q.ID != id) {
			p.Left++
		}
	}
	p.Title = p.Heading
	c.write(w, status, "question", p)
}

// formOf is a reply as the form that it came from.
func formOf(r humans.Reply) url.Values {
	form := url.Values{fieldComment: {r.Comment}}
	for _, e := range r.Answer.Estimates {
		form.Set(prefixNumber+strconv.Itoa(e.Option), strconv.FormatFloat(e.Value, 'g', -1, 64))
	}
	for place, option := range r.Answer.Order {
		form.Set(prefixPlace+strconv.Itoa(option), strconv.Itoa(place+1))
	}
	for name, v := range r.Answer.Point {
		form.Set(prefixPoint+name, v.String())
	}
	return form
}

// fill takes what is shown from the campaign, whose events wait meanwhile.
func (p *questionPage) fill(core *engine.Core, q *campaign.Question) {
	s := core.State()
	def := s.Definition
	p.Heading, p.Expert, p.Form, p.Status = headingOf(def, q), q.Expert, q.Form, q.Status
	p.Asked, p.Expires, p.At, p.Source, p.Step = q.AskedAt, q.Expires, s.Sequence, q.Source, q.Decision
	p.Aim = aimOf(def)
	if q.Status == campaign.Answered {
		p.Answer, p.Comment = stop(view.Answer(def, q)), q.Comment
	} else if err := core.Answerable(q); err != nil {
		p.Closed = sentence(err.Error())
	}
	if q.Explanation != "" {
		p.Why = append(p.Why, q.Explanation)
	}
	beside := newBeside(core)
	if beside.best != nil {
		p.Best = &known{beside.best.ID, format.Quantity(beside.best.Measurement.Objective.Value, def.Objective.Unit),
			format.CompositionsOf(def).LineWithUnits(beside.best.Measurement.Actual)}
	}
	options := q.Options
	if q.Suggestion != nil {
		options = append(slices.Clone(options), *q.Suggestion)
	}
	shown := beside.span(options)
	if beside.best != nil { // before anything is measured there is no scale
		p.Low, p.High = typeset(format.Short(shown.low)), typeset(format.Short(shown.high))
	}
	var points []definition.Point
	for _, o := range options {
		points = append(points, o.Parameters)
	}
	order := beside.order(points)
	write := format.CompositionsOf(def).Apart(points...)
	// Who is to say what they expect is not told what the model does: their word would be an
	// echo of it.
	blind := q.Form == events.FormEstimate
	var nearest []string
	for i, o := range options {
		card := beside.card(write, o, order, points, shown, blind)
		card.Index, card.Key = i, i+1
		if len(q.Options) > 1 {
			card.Name = humans.OptionName(i)
		}
		switch q.Form {
		case events.FormEstimate:
			card.Typed = p.Typed("answer", prefixNumber+strconv.Itoa(i))
			for _, e := range q.Answer.Estimates {
				if e.Option == i && p.form == nil {
					card.Typed = strconv.FormatFloat(e.Value, 'g', -1, 64)
				}
			}
		case events.FormComparison:
			card.Typed = p.Typed("answer", prefixPlace+strconv.Itoa(i))
			if at := slices.Index(q.Answer.Order, i); at >= 0 && p.form == nil {
				card.Typed = strconv.Itoa(at + 1)
			}
		}
		if card.NearID != "" && !blind {
			nearest = append(nearest, card.NearID)
		}
		if q.Suggestion != nil && i == len(options)-1 {
			p.Suggestion = &card
		} else {
			p.Cards = append(p.Cards, card)
			p.Names = append(p.Names, card.Name)
		}
	}
	p.Nearest = strings.Join(nearest, " ")
	if q.Form == events.FormEstimate {
		p.Marks, p.Unit = q.Scale.Marks, q.Scale.Unit
		for _, par := range def.Parameters {
			p.Columns = append(p.Columns, format.Heading(par.Name, par.Unit))
		}
		if q.Scale.Marks > 0 {
			p.Unit = ""
		}
	}
	if q.Form == events.FormPinpoint {
		p.Fields = p.pointFields(core, q)
	}
	p.Shares = sharesOf(def, q)
}

// pointFields are the fields of a composition of one's own: what was typed, else what was
// answered, else what the campaign would take.
func (p *questionPage) pointFields(core *engine.Core, q *campaign.Question) (fields []pointField) {
	def := core.State().Definition
	from := q.Answer.Point
	if from == nil && q.Suggestion != nil {
		from = q.Suggestion.Parameters
	}
	write := format.CompositionsToMake(def)
	for i, par := range def.Parameters {
		f := pointField{Name: par.Name, Unit: par.Unit, Description: par.Description, Typed: p.Typed("answer", prefixPoint+par.Name)}
		if q.Suggestion != nil {
			f.Suggested, _ = write.Value(i, q.Suggestion.Parameters)
		}
		if f.Typed == "" && from != nil {
			f.Typed, _ = write.Value(i, from)
		}
		number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
		switch {
		case par.Categories != nil:
			for _, c := range par.Categories {
				f.Choices = append(f.Choices, c.Name)
			}
		case par.Values != nil:
			for _, v := range par.Values {
				f.Choices = append(f.Choices, definition.Number(v).String())
			}
		case par.Min != nil && par.Max != nil:
			f.Min, f.Max, f.Step = number(*par.Min), number(*par.Max), "any"
			if step := def.Instrument.Steps[par.Name]; step > 0 {
				f.Step = number(step)
			}
		}
		fields = append(fields, f)
	}
	return fields
}

// aimOf says what the campaign seeks.
func aimOf(def *definition.Campaign) string {
	what := "highest"
	if def.Objective.Goal == definition.Minimize {
		what = "lowest"
	}
	return "the " + what + " " + format.Heading(def.Objective.Name, def.Objective.Unit)
}

// beside is what is known around a question.
type beside struct {
	def    *definition.Campaign
	space  *space.Space
	best   *campaign.Experiment
	near   []neighbor
	values []float64
	at     []float64 // where the best lies in each parameter's range
}

// neighbor is a measured experiment in the unit cube.
type neighbor struct {
	x  *campaign.Experiment
	at []float64
}

func newBeside(core *engine.Core) *beside {
	s := core.State()
	b := &beside{def: s.Definition, space: core.Space(), values: measuredValues(s)}
	if best := core.Standing().Best; best != nil {
		if x := s.Experiment(best.Experiment); x != nil && x.Measurement != nil {
			copied := *x
			b.best = &copied
			b.at = positions(b.def, x.Measurement.Actual)
		}
	}
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Measurement == nil || x.Excluded {
			continue
		}
		if at, err := b.space.Encode(x.Measurement.Actual); err == nil {
			copied := *x
			b.near = append(b.near, neighbor{&copied, at})
		}
	}
	return b
}

// span is the scale of what was measured and is expected.
func (b *beside) span(options []events.Option) span {
	all := slices.Clone(b.values)
	for _, o := range options {
		if o.Prediction != nil {
			all = append(all, o.Prediction.Mean-2*o.Prediction.SD, o.Prediction.Mean+2*o.Prediction.SD)
		}
	}
	return spanOf(0.02, all...)
}

// order puts the parameters first in which the compositions differ most: from each other
// where there are several, else from the best.
func (b *beside) order(points []definition.Point) []int {
	differ := make([]float64, len(b.def.Parameters))
	all := make([][]float64, 0, len(points)+1)
	for _, p := range points {
		all = append(all, positions(b.def, p))
	}
	if len(points) == 1 && b.at != nil {
		all = append(all, b.at)
	}
	order := make([]int, len(differ))
	for k := range differ {
		order[k] = k
		low, high := math.Inf(1), math.Inf(-1)
		for _, at := range all {
			low, high = min(low, at[k]), max(high, at[k])
		}
		if high > low {
			differ[k] = high - low
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(differ[j], differ[i]) })
	return order
}

// card shows a composition beside what is known. points are all that are shown together.
func (b *beside) card(write format.Compositions, o events.Option, order []int, points []definition.Point, shown span, blind bool) card {
	c := card{Line: write.LineWithUnits(o.Parameters)}
	at := positions(b.def, o.Parameters)
	for k := range b.def.Parameters {
		text, _ := write.Value(k, o.Parameters)
		c.Plain = append(c.Plain, text)
	}
	for _, k := range order {
		par := b.def.Parameters[k]
		text, _ := write.Value(k, o.Parameters)
		row := cardRow{Name: par.Name, Unit: par.Unit, Value: text, Description: par.Description}
		title := par.Name + " " + text
		incumbent := math.NaN()
		if b.at != nil {
			incumbent = b.at[k]
			row.Incumbent, _ = write.Value(k, b.best.Measurement.Actual)
			title += "; the best so far has " + row.Incumbent
		}
		row.Bar = bar(title, at[k], incumbent)
		for _, other := range points {
			row.Differs = row.Differs || other[par.Name] != o.Parameters[par.Name]
		}
		c.Rows = append(c.Rows, row)
	}
	if blind {
		return c
	}
	c.near(b, o.Parameters)
	if o.Prediction != nil {
		c.Prediction = format.PlusMinus(o.Prediction.Mean, o.Prediction.SD, o.Prediction.Unit)
	}
	if o.Prediction != nil || len(b.values) > 0 {
		var best *float64
		if b.best != nil {
			best = &b.best.Measurement.Objective.Value
		}
		c.Scale = scale(b.values, best, shown, o.Prediction)
	}
	if o.Belief != nil {
		c.Belief = beliefText(*o.Belief)
	}
	return c
}

// near says which measured composition is the nearest, by the distance in the unit cube, and
// how this one differs.
func (c *card) near(b *beside, point definition.Point) {
	at, err := b.space.Encode(point)
	if err != nil || len(b.near) == 0 {
		return
	}
	distance := func(n neighbor) (sum float64) {
		for i, v := range n.at {
			sum += (v - at[i]) * (v - at[i])
		}
		return sum
	}
	n := slices.MinFunc(b.near, func(m, o neighbor) int { return cmp.Compare(distance(m), distance(o)) })
	c.NearID = n.x.ID
	gave := n.x.ID + ", which gave " + format.Quantity(n.x.Measurement.Objective.Value, b.def.Objective.Unit)
	if differences := b.differences(n.x.Measurement.Actual, point); differences != "" {
		c.Near = "Like " + gave + ", but with " + differences
	} else {
		c.Near = "Almost the same as " + gave
	}
}

// noticeable is from which share of a parameter's range on a difference is named.
const noticeable = 0.05

// differences says in which one or two parameters a composition differs most from another.
func (b *beside) differences(from, to definition.Point) string {
	type difference struct {
		text string
		size float64
	}
	var all []difference
	for k := range b.def.Parameters {
		par := &b.def.Parameters[k]
		if par.Categories != nil {
			if from[par.Name] != to[par.Name] {
				all = append(all, difference{fmt.Sprintf("%s %s instead of %s", par.Name, to[par.Name], from[par.Name]), 2})
			}
			continue
		}
		change := positionOf(par, to[par.Name]) - positionOf(par, from[par.Name])
		switch {
		case change > noticeable:
			all = append(all, difference{"more " + par.Name, change})
		case change < -noticeable:
			all = append(all, difference{"less " + par.Name, -change})
		}
	}
	slices.SortStableFunc(all, func(a, b difference) int { return cmp.Compare(b.size, a.size) })
	var texts []string
	for _, d := range all[:min(len(all), 2)] {
		texts = append(texts, d.text)
	}
	return strings.Join(texts, " and ")
}

// beliefText puts the interval of the expert's latent rejection score g into words, whose
// bounds are logits (Xu et al. 2024, Eq. 5).
func beliefText(g events.Interval) string {
	chance := func(x float64) string { return format.Percent(1 / (1 + math.Exp(-x))) }
	low, high := chance(g.Lower), chance(g.Upper)
	between := low + " to " + high
	if low == high {
		between = "about " + low
	}
	switch {
	case g.Upper < 0:
		return "From the answers so far you would accept it: a rejection is " + between + " likely."
	case g.Lower > 0:
		return "From the answers so far you would reject it: a rejection is " + between + " likely."
	}
	return "The answers so far leave it open: a rejection is " + between + " likely."
}

// sharesOf says what each parameter does to what the model says of the options. Recorded
// values are of a standardized and maximized objective: what is compared is their sizes.
func sharesOf(def *definition.Campaign, q *campaign.Question) (tables []shareTable) {
	if q.Attributions == nil {
		return nil
	}
	letters := view.Letters(q)
	captions := map[string]string{
		events.QuantityMean: "What makes it good or bad, in what the model expects",
		events.QuantitySD:   "What makes the model unsure of it",
		events.QuantityUCB:  "What makes it worth trying: the optimistic bound",
	}
	for _, quantity := range []string{events.QuantityMean, events.QuantitySD, events.QuantityUCB} {
		t := shareTable{Caption: captions[quantity]}
		rows := make(map[string][]float64)
		most := 0.0
		for _, s := range q.Attributions.Shapley {
			if s.Quantity != quantity {
				continue
			}
			name := letters[s.Candidate]
			if name == "" {
				name = s.Candidate
			}
			t.Names = append(t.Names, name)
			for i, par := range s.Parameters {
				rows[par] = append(rows[par], s.Values[i])
				most = max(most, math.Abs(s.Values[i]))
			}
		}
		if t.Names == nil {
			continue
		}
		for _, par := range def.Parameters {
			values, ok := rows[par.Name]
			if !ok || len(values) != len(t.Names) {
				continue
			}
			row := shareRow{Name: par.Name}
			for i, v := range values {
				text := format.Short(v)
				if v > 0 {
					text = "+" + text
				}
				row.Cells = append(row.Cells, shareCell{typeset(text), shareBar(par.Name+" in "+t.Names[i]+": "+text, v, most)})
			}
			t.Rows = append(t.Rows, row)
		}
		tables = append(tables, t)
	}
	return tables
}

// answer takes an answer: it is on the disk when the page says so.
func (c *Console) answer(w http.ResponseWriter, r *http.Request) {
	of := c.find(w, r, AnswerIt)
	if of == nil {
		return
	}
	if err := r.ParseForm(); err != nil {
		c.fail(w, r, problem.New(problem.Invalid, "the form cannot be read: %w", err))
		return
	}
	v := visitorOf(r.Context())
	p, err := c.given(of, r.PathValue("question"), v, r.PostForm)
	if err == nil {
		err = c.answers.give(p)
	}
	if err != nil {
		c.showQuestion(w, r, of, statusOf(err), err)
		return
	}
	redirect(w, r, "/questions?next", "answered")
}

// given checks an answer as the campaign will. Nothing is recorded.
func (c *Console) given(of *lab.Campaign, id string, v Visitor, form url.Values) (p pending, err error) {
	of.Read(func(core *engine.Core) {
		s := core.State()
		q := s.Question(id)
		if q == nil {
			err = problem.New(problem.NotFound, "%s has no question %q", of.Name(), id)
			return
		}
		if err = v.answersAs(q.Expert, of.Name()); err != nil {
			return
		}
		var reply humans.Reply
		if reply, err = replyOf(s.Definition, q, form, time.Now()); err != nil {
			return
		}
		if source := form.Get(fieldSource); source != q.Source {
			err = problem.New(problem.Conflict, "meanwhile somebody has answered: %s", view.Answer(s.Definition, q)).About(id).
				With(problem.Remedy{Text: "look at it, and send yours if you disagree"})
			return
		}
		request := engine.Request{Actor: v.Actor(), Account: v.Account, Answer: &engine.Answer{Question: id, Reply: reply}}
		if _, err = core.Handle(request); err != nil {
			return
		}
		after := *q
		after.Status, after.Answer = campaign.Answered, reply.Answer
		p = pending{
			Campaign: of.Name(), Instance: s.Instance, Question: id, Source: q.Source, Name: v.Name, Account: v.Account,
			Reply: reply, Words: answerWords(s.Definition, &after, reply),
		}
	})
	return p, err
}

// answerWords says what was answered, shortly.
func answerWords(def *definition.Campaign, q *campaign.Question, r humans.Reply) string {
	switch {
	case r.Answer.Unsure():
		return "can't tell"
	case r.Exclude:
		return "won't"
	case r.Answer.Label != "":
		return string(r.Answer.Label)
	case r.Answer.Order != nil:
		names := make([]string, len(r.Answer.Order))
		for i, option := range r.Answer.Order {
			names[i] = humans.OptionName(option)
		}
		return strings.Join(names, " before ")
	case r.Answer.Point != nil:
		return format.CompositionsOf(def).Line(r.Answer.Point)
	}
	return format.Count(len(r.Answer.Estimates), "number") + " of " + strconv.Itoa(len(q.Options))
}

func (c *Console) undo(w http.ResponseWriter, r *http.Request) {
	of := c.find(w, r, AnswerIt)
	if of == nil {
		return
	}
	id := r.PathValue("question")
	if err := c.answers.take(of.Name(), id, visitorOf(r.Context()).Name); err != nil {
		c.fail(w, r, err)
		return
	}
	redirect(w, r, questionPath(of.Name(), id), "undone")
}

func (c *Console) dismiss(w http.ResponseWriter, r *http.Request) {
	of := c.find(w, r, AnswerIt)
	if of == nil {
		return
	}
	if err := c.answers.forget(of.Name(), r.PathValue("question"), visitorOf(r.Context()).Name); err != nil {
		c.fail(w, r, err)
		return
	}
	redirect(w, r, "/questions", "dismissed")
}

// feasible says whether a composition can be measured, for the sliders.
func (c *Console) feasible(w http.ResponseWriter, r *http.Request) {
	of := c.find(w, r, See)
	if of == nil {
		return
	}
	answer := struct {
		OK   bool   `json:"ok"`
		Text string `json:"text"`
	}{}
	of.Read(func(core *engine.Core) {
		def := core.State().Definition
		point, err := pointOf(def, r.URL.Query(), prefixPoint)
		if err == nil {
			err = core.Space().Contains(point)
		}
		if err != nil {
			answer.Text = sentence(strings.TrimPrefix(err.Error(), space.ErrOutside.Error()+": "))
			return
		}
		answer.OK = true
		b := newBeside(core)
		var near card
		near.near(b, point)
		answer.Text = strings.TrimSpace("It can be measured. " + near.Near)
	})
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the visitor may have gone
}

// pendingView is an answer that is not recorded yet, as pages show it.
type pendingView struct {
	Campaign, Question, Words, Why string
	Seconds                        int // until it is sent
	State                          string
}

func (p pendingView) Path() string { return questionPath(p.Campaign, p.Question) }

func viewOf(p pending) pendingView {
	return pendingView{p.Campaign, p.Question, p.Words, p.Why, max(0, int(math.Ceil(time.Until(p.Due).Seconds()))), p.State}
}

// pendingOf are the visitor's answers that are being sent, or that were refused.
func (c *Console) pendingOf(v Visitor) (list []pendingView) {
	for _, p := range c.answers.of(v.Name) {
		if p.State != undone {
			list = append(list, viewOf(p))
		}
	}
	return list
}

// answered is an answer that was given, and what became of it.
type answered struct {
	Campaign, ID, Text, Outcome string
	At                          time.Time
}

func (a answered) Path() string { return questionPath(a.Campaign, a.ID) }

// mostAnswers is how many of the last answers are listed.
const mostAnswers = 8

// lastAnswers returns the answers of the visitor that were given last, with what came out.
// Where none is theirs by name, as the only user of an open server may have any, those of all
// experts are.
func (c *Console) lastAnswers(ctx context.Context, v Visitor) (list []answered) {
	type one struct {
		of *lab.Campaign
		q  campaign.Question
	}
	var mine, all []one
	for _, each := range c.lab.Campaigns() {
		if v.may(See, each.Name()) != nil {
			continue
		}
		each.Read(func(core *engine.Core) {
			s := core.State()
			people := make(map[string]bool)
			for _, e := range s.Definition.Experts {
				people[e.Name] = e.Person
			}
			n := 0
			for i := len(s.Questions) - 1; i >= 0 && n < mostAnswers; i-- {
				q := s.Questions[i]
				if q.Status != campaign.Answered || q.Volunteered || !people[q.Expert] {
					continue
				}
				n++
				all = append(all, one{each, q})
				if q.Expert == v.Name {
					mine = append(mine, one{each, q})
				}
			}
		})
	}
	if mine == nil {
		mine = all
	}
	slices.SortFunc(mine, func(a, b one) int { return b.q.AnsweredAt.Compare(a.q.AnsweredAt) })
	for _, a := range mine[:min(len(mine), mostAnswers)] {
		t, err := c.stories.of(ctx, a.of)
		if err != nil {
			continue // the campaign's page says why
		}
		a.of.Read(func(core *engine.Core) {
			s := core.State()
			list = append(list, answered{a.of.Name(), a.q.ID, stop(view.Answer(s.Definition, &a.q)),
				outcomeOf(s, &a.q, t.Reviews[a.q.ID]), a.q.AnsweredAt})
		})
	}
	return list
}

// outcomeOf says what came out of what an answer was about, and whether it was right, as far
// as that is known.
func outcomeOf(s *campaign.State, q *campaign.Question, review *events.ChoiceReview) string {
	def := s.Definition
	if review != nil {
		text := "Measured in " + review.Experiment
		if x := s.Experiment(review.Experiment); x != nil && x.Measurement != nil {
			text += ": " + format.Quantity(x.Measurement.Objective.Value, def.Objective.Unit)
		}
		return text + ". The choice was right with a probability of " + format.Percent(review.Probability) + "."
	}
	if q.Form == events.FormEstimate {
		return estimatesOutcome(s, q)
	}
	point := q.Composition()
	if point == nil {
		return ""
	}
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Measurement == nil || x.Excluded || !samePoint(x.Parameters, point) {
			continue
		}
		v := x.Measurement.Objective.Value
		values := measuredValues(s)
		better := 0
		for _, other := range values {
			if def.Objective.Goal == definition.Maximize && other > v || def.Objective.Goal == definition.Minimize && other < v {
				better++
			}
		}
		return fmt.Sprintf("Measured in %s: %s, number %d of %d from the best.", x.ID,
			format.Quantity(v, def.Objective.Unit), better+1, len(values))
	}
	return ""
}

func samePoint(a, b definition.Point) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		if b[name] != v {
			return false
		}
	}
	return true
}

// estimatesOutcome compares the numbers of a sitting with what was measured.
func estimatesOutcome(s *campaign.State, q *campaign.Question) string {
	var texts []string
	for _, e := range q.Answer.Estimates {
		for i := range s.Experiments {
			x := &s.Experiments[i]
			if x.Measurement == nil || x.Excluded || !samePoint(x.Parameters, q.Options[e.Option].Parameters) {
				continue
			}
			texts = append(texts, fmt.Sprintf("row %d: you said %s, %s measured %s", e.Option+1, format.Short(e.Value), x.ID,
				format.Quantity(x.Measurement.Objective.Value, s.Definition.Objective.Unit)))
			break
		}
	}
	if texts == nil {
		return ""
	}
	return sentence(strings.Join(texts, "; "))
}
