package console

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/report"
	"github.com/campaignd/campaignd/projections/campaign"
)

func questionPath(campaign, id string) string {
	return "/questions/" + url.PathEscape(campaign) + "/" + url.PathEscape(id)
}

// headingOf asks a question in words. It is the title of its page and its line in lists, and names
// no composition.
func headingOf(def *definition.Campaign, q *campaign.Question) string {
	switch q.Form {
	case events.FormLabel:
		return "Worth an experiment?"
	case events.FormComparison:
		if len(q.Options) > 2 {
			return fmt.Sprintf("Which of these %d is best?", len(q.Options))
		}
		return "Which is better?"
	case events.FormOutcomes:
		return "Which outcome would you rather have?"
	case events.FormPinpoint:
		return "What should be measured next?"
	case events.FormEstimate:
		if q.Scale.Marks > 0 {
			return fmt.Sprintf("How good is each, from 1 (worst) to %d (best)?", q.Scale.Marks)
		}
		return fmt.Sprintf("What %s do you expect?", view.Estimated(q.Scale))
	}
	what, _ := view.Asks(def, q)
	return view.Sentence(strings.TrimSpace(strings.TrimPrefix(what, ":")))
}

// questionPage is the page on which an expert answers a question. Its content may change an answer,
// so that it shows no more than the question allows and records with the answer what it showed: At,
// Best and Nearest go along in the form.
type questionPage struct {
	*shell
	campaign.Question
	Heading, Aim string
	// Cards are the compositions that the question is about, Suggestion is the campaign's own
	// choice.
	Cards      []*card
	Suggestion *card
	Names      []string // of the options
	// Outcomes are compared in place of compositions.
	Outcomes []outcomeCard
	// Best is the best measured so far; nil for none.
	Best *known
	// Measured and Expects name the contents of the cards' scales.
	Measured, Expects bool
	Columns           []string     // of a question for many estimates
	Fields            []pointField // of a composition to be named
	Marks             int          // the highest mark; 0 for a quantity
	Unit              string
	Asked             []string // the quantities that numbers are about, if there are several
	Why               []string
	Shares            []report.ShareTable
	Trust             []string
	// Answer is the answer that counts.
	Answer, AnsweredBy string
	Contested          []contestedView // answers that do not count
	Closed             string          // why it takes no answer
	Opened             int64           // when the page was made, ms since 1970
	At                 events.Sequence // the event that the page was made from
	Nearest            string          // the neighbors shown
	Left               int             // other questions that wait for the visitor
	Undo               int             // for how many seconds an answer is held
}

func (p *questionPage) Path() string { return questionPath(p.Campaign, p.ID) }

// Signature says what sending an answer means and what the log then holds: who, when, and as what,
// as 21 CFR 11.50 asks of an electronic signature.
func (p *questionPage) Signature() string {
	means := map[events.Form]string{
		events.FormLabel:      "whether this is worth an experiment",
		events.FormComparison: "which is better",
		events.FormPinpoint:   "what is to be measured",
		events.FormEstimate:   "what would be measured",
		events.FormOutcomes:   "which outcome you would rather have",
	}[p.Form]
	word := "your word"
	if p.Visitor.Name != p.Expert {
		word = fmt.Sprintf("your word for %s", p.Expert)
	}
	return fmt.Sprintf("Sending it signs it: it is recorded under your name, %s, with the time, as %s on %s.",
		p.Visitor.Name, word, means)
}

// showQuestion shows the page of a question. After a refusal the form holds its input. It is shown
// to all who see the campaign; visitors who may not answer see why in place of the buttons. Trust
// and the queue are worked out outside of the lock that [questionPage.fill] needs.
func showQuestion(v *visit) error {
	id := v.r.PathValue("question")
	s := v.shell(id)
	s.Watch = s.Campaign
	p := &questionPage{shell: s, Opened: clock.Now().UnixMilli(), Undo: int(math.Ceil(v.options.Undo.Seconds()))}
	if v.refusal != nil {
		if opened, err := strconv.ParseInt(v.r.PostForm.Get(fieldOpened), 10, 64); err == nil {
			p.Opened = opened // the time taken counts from the first page
		}
	}
	found := false
	v.of.Read(func(core *engine.Core) {
		if q := core.State().Question(id); q != nil {
			found = true
			p.fill(core, q)
		}
	})
	if !found {
		return problem.New(problem.NotFound, "%s has no question %q", v.of.Name(), id).
			With(problem.Remedy{Text: "see the question", Action: problem.Answer})
	}
	stands := v.of.Standing()
	p.Trust = stands.TrustLines()
	err := s.Visitor.answersAs(p.Expert, v.of.Name())
	switch e := stands.Definition.Expert(p.Expert); {
	case p.Closed != "":
	case e != nil && !e.Asked():
		p.Closed = p.Expert + " is simulated: no person is asked."
	case err != nil:
		p.Closed = view.Sentence(err.Error())
	}
	for _, q := range v.queueOf(s.Visitor) {
		if q.Campaign != v.of.Name() || q.ID != id {
			p.Left++
		}
	}
	p.Title = p.Heading
	return v.write(drawQuestion(p))
}

// fill copies the page's data from the core, whose campaign cannot record an event meanwhile. A
// question that has an answer can be answered anew: the last answer of a person who has seen the
// one before counts.
func (p *questionPage) fill(core *engine.Core, q *campaign.Question) {
	s := core.State()
	def := s.Definition
	p.Question = *q
	p.At = s.Sequence
	p.Heading = headingOf(def, q)
	p.Aim = aimOf(def)
	p.Contested = contestedOf(s, q)
	if q.Status == campaign.Answered {
		p.AnsweredBy = events.ActorName(q.AnsweredBy)
		if mine, ok := mineContested(q, p.Visitor.Name); ok && p.form == nil {
			p.Failed, p.form = "answer", mine // theirs, to be sent instead
		}
		p.Answer = view.Stop(view.Answer(def, q))
	} else if err := engine.Answerable(core.State(), q); err != nil {
		p.Closed = view.Sentence(err.Error())
	}
	if q.Explanation != "" {
		p.Why = append(p.Why, q.Explanation)
	}
	if q.Form == events.FormOutcomes {
		p.compareOutcomes(format.CompositionsOf(def))
		return
	}
	p.show(newReference(core))
	switch q.Form {
	case events.FormEstimate:
		p.Marks = q.Scale.Marks
		p.Columns = format.CompositionsOf(def).Headings()
		columns := q.Scale.Table()
		switch {
		case len(q.Scale.Columns) > 0:
			for _, c := range columns {
				p.Asked = append(p.Asked, format.Heading(c.Quantity, c.Unit))
			}
		case p.Marks == 0:
			p.Unit = q.Scale.Unit
		}
	case events.FormPinpoint:
		p.Fields = p.pointFields(core, q)
	}
	p.Shares = sharesOf(q)
}

// show shows the options, and the campaign's own choice, against the measurements. All cards share
// one scale, one order of rows, and as many digits as it takes to distinguish them. The suggestion
// is the last of the options here, and a card of its own on the page.
func (p *questionPage) show(ref *reference) {
	write := format.CompositionsOf(ref.def)
	if ref.best != nil {
		p.Best = &known{ref.best.ID, format.Result(ref.gave), write.LineWithUnits(ref.best.Measurement.Actual)}
	}
	options := p.Options
	if p.Question.Suggestion != nil {
		options = append(slices.Clone(options), *p.Question.Suggestion)
	}
	shown := ref.span(options)
	p.Measured = len(ref.values) > 0
	var points []definition.Point
	for _, o := range options {
		points = append(points, o.Parameters)
		p.Expects = p.Expects || o.Prediction != nil
	}
	order := ref.order(points)
	write = write.Apart(points...)
	// An expert who estimates must not see the model's prediction: the estimate would echo it, and
	// be counted as independent of it.
	blind := p.Form == events.FormEstimate
	var nearest []string
	for i, o := range options {
		card := ref.card(write, o, order, points, shown, blind)
		card.Index, card.Key = i, i+1
		card.Typed, card.Numbers = p.typedOf(i), p.numbersOf(i)
		if len(p.Options) > 1 {
			card.Name = humans.OptionName(i)
		}
		if card.NearID != "" && !blind {
			nearest = append(nearest, card.NearID)
		}
		if i == len(p.Options) {
			p.Suggestion = &card
		} else {
			p.Cards = append(p.Cards, &card)
			p.Names = append(p.Names, card.Name)
		}
	}
	p.Nearest = strings.Join(nearest, " ")
}

// typedOf is the content of an option's field: the typed text, else the value in the answer that
// counts. A form that was refused wins, also with an empty field.
func (p *questionPage) typedOf(option int) string {
	if p.Form != events.FormComparison {
		return ""
	}
	if at := slices.Index(p.Question.Answer.Order, option); at >= 0 && p.form == nil {
		return strconv.Itoa(at + 1)
	}
	return p.Typed("answer", prefixPlace+strconv.Itoa(option))
}

// numbersOf are the fields for estimates of an option, with their contents.
func (p *questionPage) numbersOf(option int) (fields []number) {
	if p.Form != events.FormEstimate || option == len(p.Options) {
		return nil
	}
	for k := range p.Scale.Table() {
		e := p.Scale.In(option, k)
		f := number{Field: numberField(e), Of: e.Quantity}
		at := slices.IndexFunc(p.Question.Answer.Estimates, func(of events.Estimate) bool {
			return of.Option == option && of.Quantity == e.Quantity
		})
		if at >= 0 && p.form == nil {
			f.Typed = strconv.FormatFloat(p.Question.Answer.Estimates[at].Value, 'g', -1, 64)
		} else {
			f.Typed = p.Typed("answer", f.Field)
		}
		fields = append(fields, f)
	}
	return fields
}

// aimOf names the campaign's objective: "the highest conductivity (mS/cm)".
func aimOf(def *definition.Campaign) string {
	sought := def.Sought()
	return "the " + sought.Pick("highest", "lowest") + " " + format.HeadingOf(sought)
}
