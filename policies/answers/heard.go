package answers

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/channel"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
)

// mostRows is about how many compositions of each channel count, the latest
// ones: the time of a decision grows with their third power. The latest, since
// experts learn during a campaign, too.
const mostRows = 120

// Groups of labels, which have an intercept each: examples given before the
// first experiment may have been chosen to be balanced, and then say nothing of
// how often the expert rejects.
const (
	groupExamples = iota
	groupQuestions
)

// heard is everything that the experts have said about one value, in the form package channel
// expects: the objective, or one of several quantities.
type heard struct {
	// quantity names that value; empty for the objective as a whole, which choices and marks
	// are about too.
	quantity string
	// points are the compositions that answers are about, in the unit cube,
	// each once. questions[i] names the answers about point i: "ada's q4", "row
	// 3 of ada's q1".
	points    [][]float64
	questions [][]string
	channels  []spoken
}

// spoken holds one expert's answers through one kind of channel.
type spoken struct {
	expert  string
	kind    string // one of the kinds below
	answers channel.Answers
	count   int // of answers, each number of an estimate one
	rows    int // of compositions, however often
}

// Kinds of channels. Numbers in the objective's unit and marks are different:
// how an expert uses one scale says nothing of the other.
const (
	kindChoices   = "choices"
	kindEstimates = "estimates"
	kindMarks     = "marks"
)

// hear collects the answers of a campaign about each value: the objective, if it is a single
// value, and then each quantity with answers, in the order of the definition. Where no expert
// is asked for single quantities, every answer is about the objective, whatever was estimated:
// recorded decisions rest on it.
func hear(v policies.View, def *definition.Campaign) (all []heard) {
	if !byQuantities(def) {
		return []heard{topic{def: def}.hear(v)}
	}
	log := func(q *definition.QuantityDef) bool { return q != nil && q.Scale == definition.ScaleLog }
	if o := def.Objective; def.Single() {
		all = append(all, topic{def: def, apart: true, log: log(def.Quantity(o.Name))}.hear(v))
	}
	for _, q := range def.Declared() {
		if q.Record || def.Single() && q.Name == def.Sought().Name {
			continue
		}
		if h := (topic{def: def, apart: true, quantity: q.Name, log: log(&q)}).hear(v); len(h.channels) > 0 {
			all = append(all, h)
		}
	}
	return all
}

// byQuantities reports whether an expert is asked for single quantities.
func byQuantities(def *definition.Campaign) bool {
	return slices.ContainsFunc(def.Experts, func(e definition.Expert) bool { return len(e.Quantities) > 0 })
}

// topic selects the answers about a value.
type topic struct {
	def *definition.Campaign
	// apart is set if numbers count for their own quantity; otherwise all count for the
	// objective.
	apart bool
	// quantity is as in heard; log is set if its model is of the logarithm.
	quantity string
	log      bool
}

// name is that of the value in scales.
func (t topic) name() string { return cmp.Or(t.quantity, t.def.Sought().Name) }

// column is the one of an estimate's scale that is about the value; nil for none.
func (t topic) column(q *campaign.Question) *events.Column {
	if q.Scale == nil {
		return nil
	}
	columns := q.Scale.Table()
	i := slices.IndexFunc(columns, func(c events.Column) bool { return !t.apart || c.Quantity == t.name() })
	if i < 0 {
		return nil
	}
	return &columns[i]
}

// holds reports whether an answer may be about the value.
func (t topic) holds(q *campaign.Question) bool {
	if !t.apart {
		return true
	}
	if q.Form != events.FormEstimate || q.Scale != nil && q.Scale.Marks > 0 {
		return t.quantity == ""
	}
	return t.column(q) != nil
}

// number is an estimate on the scale of its value's model, where smaller is better for an
// objective; false for an estimate of another value.
func (t topic) number(q *campaign.Question, e events.Estimate) (x float64, ok bool) {
	x = e.Value
	if !t.apart {
		if q.Scale != nil && q.Scale.Better == events.BetterHigher {
			x = -x
		}
		return x, true
	}
	column := t.column(q)
	if column == nil || e.Quantity != "" && e.Quantity != column.Quantity {
		return 0, false
	}
	if t.log && q.Scale.Marks == 0 {
		if x <= 0 {
			return 0, false
		}
		x = math.Log(x)
	}
	if sought := t.def.Sought(); q.Scale.Marks > 0 || t.name() == sought.Name && sought.Goal == definition.Maximize {
		x = -x
	}
	return x, true
}

// hear collects the answers about a value: for each expert and kind the latest
// ones, up to mostRows. Answers about compositions that an amendment has put
// outside the space are left out. It goes back from the newest question, so
// that the bound keeps the newest; an answer is taken whole, and may go beyond
// it.
func (t topic) hear(v policies.View) heard {
	h := heard{quantity: t.quantity}
	index := make(map[string]int)
	for _, e := range t.def.Experts {
		channels := []spoken{{kind: kindChoices}, {kind: kindEstimates}, {kind: kindMarks}}
		for i := len(v.Campaign.Questions) - 1; i >= 0; i-- {
			q := &v.Campaign.Questions[i]
			if q.Expert != e.Name || q.Status != campaign.Answered || q.Answer.Unsure() || !t.holds(q) {
				continue
			}
			if c := &channels[kindOf(q)]; c.rows < mostRows {
				h.take(v, t, index, q, c)
			}
		}
		for _, c := range channels {
			if c.count > 0 {
				c.expert = e.Name
				h.channels = append(h.channels, c)
			}
		}
	}
	return h
}

// kindOf is the index of the channel that an answer came through, in the order
// of the channels in hear. A label, an order and a named composition all are
// choices.
func kindOf(q *campaign.Question) int {
	switch {
	case q.Form != events.FormEstimate:
		return 0
	case q.Scale == nil || q.Scale.Marks == 0:
		return 1
	}
	return 2
}

// take adds an answer to its channel. An answer with a composition that cannot be placed is
// left out as a whole, except an estimate, whose rows are independent: an order without one of
// its compositions would be a statement that the expert did not make.
func (h *heard) take(v policies.View, t topic, index map[string]int, q *campaign.Question, c *spoken) {
	if q.Form == events.FormEstimate {
		for _, e := range q.Answer.Estimates {
			value, mine := t.number(q, e)
			if !mine {
				continue
			}
			row := fmt.Sprintf("row %d of %s's %s", e.Option+1, q.Expert, q.ID)
			at, ok := h.place(v, index, q.Options[e.Option].Parameters, row)
			if !ok {
				continue
			}
			c.answers.Estimates = append(c.answers.Estimates, channel.Estimate{Point: at, Value: value})
			c.count, c.rows = c.count+1, c.rows+1
		}
		return
	}
	points := said(v, q)
	at := make([]int, 0, len(points))
	for _, p := range points {
		k, ok := h.place(v, index, p, q.Expert+"'s "+q.ID)
		if !ok {
			return
		}
		at = append(at, k)
	}
	switch at = distinct(at); {
	case q.Form == events.FormLabel && len(at) == 1:
		c.answers.Labels = append(c.answers.Labels, channel.Label{
			Point: at[0], Reject: q.Answer.Label == events.LabelReject, Group: group(q),
		})
	case len(at) > 1:
		c.answers.Orders = append(c.answers.Orders, at)
	default:
		return
	}
	c.count, c.rows = c.count+1, c.rows+len(at)
}

// group is the intercept of a label. A question of a decision has its
// identifier; an example has none.
func group(q *campaign.Question) int {
	if q.Decision == "" {
		return groupExamples
	}
	return groupQuestions
}

// said returns the compositions that an answer orders, the best first: a
// label's one, those that were ranked, or the one that was named followed by
// the best measurement of that time, than which it is meant to be better.
func said(v policies.View, q *campaign.Question) []definition.Point {
	switch q.Form {
	case events.FormLabel:
		return []definition.Point{q.Composition()}
	case events.FormComparison:
		var points []definition.Point
		for _, i := range q.Answer.Order {
			points = append(points, q.Options[i].Parameters)
		}
		return points
	case events.FormPinpoint:
		if best := bestBefore(v.Campaign, q); best != nil {
			return []definition.Point{q.Answer.Point, best}
		}
	}
	return nil
}

// bestBefore returns the composition with the best measurement among the experiments that had
// been requested when a question was asked; or nil. "Requested" and not "measured" by then,
// since the log knows which were requested when it was asked; a result that came while the
// expert thought counts.
func bestBefore(s *campaign.State, q *campaign.Question) definition.Point {
	sought := s.Definition.Sought()
	var best definition.Point
	var most float64
	for x, value := range s.Compared() {
		if events.ExperimentNumber(x.ID) > q.Experiments {
			break
		}
		// Of equals the later where it is maximized, the earlier where it is
		// minimized: recorded decisions rest on it.
		equal := value.Value == most && sought.Goal == definition.Maximize
		if best == nil || equal || sought.Better(value.Value, most) {
			best, most = x.Parameters, value.Value
		}
	}
	return best
}

// place returns the index of a composition among the points and adds it where
// it is new; answer names the answer for explanations. false for a composition
// outside the space. One index for a composition, by its key: the same thing
// said twice is two answers about one point.
func (h *heard) place(v policies.View, index map[string]int, p definition.Point, answer string) (int, bool) {
	if v.Space.Contains(p) != nil {
		return 0, false
	}
	key, err := v.Space.Key(p)
	if err != nil {
		return 0, false
	}
	if i, known := index[key]; known {
		h.questions[i] = append(h.questions[i], answer)
		return i, true
	}
	x, err := v.Space.Encode(p)
	if err != nil {
		return 0, false
	}
	index[key] = len(h.points)
	h.points, h.questions = append(h.points, x), append(h.questions, []string{answer})
	return len(h.points) - 1, true
}

// distinct leaves out repetitions and keeps the order. An order that names one
// twice holds it best at its first place.
func distinct(at []int) (once []int) {
	seen := make(map[int]bool)
	for _, i := range at {
		if !seen[i] {
			seen[i] = true
			once = append(once, i)
		}
	}
	return once
}
