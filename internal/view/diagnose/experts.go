package diagnose

import (
	"cmp"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Expert compares an expert's answers with the measurements.
type Expert struct {
	Name string `json:"name"`
	// Accepted, Rejected and Unsure count the answers.
	Accepted int `json:"accepted"`
	Rejected int `json:"rejected"`
	Unsure   int `json:"unsure"`
	// Labels is the agreement of the labels with the measurements; nil without a model, or without
	// an accepted and a rejected composition.
	Labels *Agreement `json:"labels"`
	// Choices is the agreement with the measurements of comparisons, and of the expert's own
	// compositions against the suggested ones; nil without a model or a choice.
	Choices *Agreement `json:"choices,omitempty"`
	// Estimates is the agreement with the measurements of the order of the given numbers or marks;
	// nil without a model, or without two different ones in a sitting.
	Estimates *Agreement `json:"estimates,omitempty"`
	// Quantities are the same for each quantity with given numbers, if experts are asked for single
	// ones.
	Quantities []QuantityAgreement `json:"quantities,omitempty"`
	// Measured compares the labels with measurements of the same composition.
	Measured Measured `json:"measured"`
	// Reading says it in words.
	Reading string `json:"reading"`
}

// QuantityAgreement is the agreement of the order of an expert's numbers for a quantity with its
// measurements.
type QuantityAgreement struct {
	Quantity string `json:"quantity"`
	*Agreement
}

// Measured counts labeled compositions that were measured. It covers only the
// few compositions that were run, mostly because the model favored them:
// [Agreement] is the fairer measure.
type Measured struct {
	// Accepted were accepted and measured, AcceptedGood of them came out better
	// than half of all measurements; likewise Rejected and RejectedBad.
	Accepted     int `json:"accepted"`
	AcceptedGood int `json:"accepted_good"`
	Rejected     int `json:"rejected"`
	RejectedBad  int `json:"rejected_bad"`
}

// Readings of an expert.
const (
	ReadingNoModel  = "cannot be judged before there is a model"
	ReadingOneKind  = "cannot be judged before there is an accepted and a rejected composition, or a choice"
	ReadingNoJudge  = "cannot be judged by a model that cannot be used"
	ReadingUnclear  = "cannot be told from guessing yet"
	ReadingAgrees   = "better than guessing"
	ReadingDisagree = "worse than guessing"
)

// Experts compares the labels of each expert of the definition with the measurements. It is a
// function of the view alone.
func Experts(v policies.View) []Expert {
	var out []Expert
	for _, e := range v.Campaign.Definition.Experts {
		out = append(out, expertOf(v, e.Name))
	}
	return out
}

// expertOf goes through all valid answers, each by its form, and then asks the model.
func expertOf(v policies.View, name string) Expert {
	x := Expert{Name: name}
	var said answers
	better := betterHalf(v)
	for i := range v.Campaign.Questions {
		q := &v.Campaign.Questions[i]
		switch {
		case q.Expert != name || q.Status != campaign.Answered:
		case q.Form == events.FormEstimate:
			for _, c := range q.Scale.Table() {
				said.of(q, c).sitting(v, q, c)
			}
		case q.Form != events.FormLabel:
			said.choice(v, q)
		case q.Unsure():
			x.Unsure++
		default:
			good, measured := false, false
			if key, err := v.Space.Key(q.Composition()); err == nil {
				good, measured = better[key]
			}
			said.label(v, q)
			x.count(q.Answer.Label == events.LabelAccept, measured, good)
		}
	}
	if v.Objective() == nil {
		x.Reading = ReadingNoModel
		return x
	}
	if len(said.accepted) > 0 && len(said.rejected) > 0 {
		x.Labels = agreementOfLabels(v.Objective(), said.accepted, said.rejected)
	}
	if len(said.better) > 0 {
		x.Choices = agreementOfChoices(v.Objective(), said.better, said.worse, said.choices)
	}
	for _, n := range said.numbers {
		model := v.Models.Of(cmp.Or(n.quantity, v.Campaign.Definition.Sought().Name))
		if model == nil || len(n.pairs) == 0 {
			continue
		}
		agreement := agreementOfEstimates(model, n.points, n.pairs, n.worth)
		if n.quantity == "" {
			x.Estimates = agreement
		} else {
			x.Quantities = append(x.Quantities, QuantityAgreement{n.quantity, agreement})
		}
	}
	x.Reading = x.read()
	return x
}

// read describes the agreement of the answers with the measurements. Labels, choices and estimates
// all count; if any is worse than guessing, that is the reading.
func (x *Expert) read() string {
	reading := ReadingOneKind
	all := []*Agreement{x.Labels, x.Choices, x.Estimates}
	for _, q := range x.Quantities {
		all = append(all, q.Agreement)
	}
	for _, a := range all {
		if a == nil {
			continue
		}
		switch r := a.reading(); {
		case r == ReadingDisagree:
			return r
		case reading != ReadingAgrees:
			reading = r
		}
	}
	return reading
}

// count counts a label.
func (x *Expert) count(accept, measured, good bool) {
	switch {
	case accept:
		x.Accepted++
	default:
		x.Rejected++
	}
	switch {
	case !measured:
	case accept:
		x.Measured.Accepted++
		if good {
			x.Measured.AcceptedGood++
		}
	default:
		x.Measured.Rejected++
		if !good {
			x.Measured.RejectedBad++
		}
	}
}

// answers holds an expert's answers, in the unit cube. A composition outside the parameters'
// amended values is left out.
type answers struct {
	accepted, rejected [][]float64
	// better[i] was put before worse[i], in so many choices.
	better, worse [][]float64
	choices       int
	// numbers are the given numbers of each quantity, in the order of their first question.
	numbers []*numbers
}

// numbers are the estimates of a quantity, or of the objective, with an empty name.
type numbers struct {
	quantity string
	// points are the estimated compositions, pairs those of two in one sitting, first the one with
	// the lesser value for the model (for the objective, the better one), and worth the equivalent
	// number of independent pairs.
	points [][]float64
	pairs  [][2]int
	worth  float64
}

// of returns the numbers that a column of a sitting belongs to.
func (a *answers) of(q *campaign.Question, c events.Column) *numbers {
	quantity := ""
	if q.Scale != nil && len(q.Scale.Columns) > 0 {
		quantity = c.Quantity
	}
	for _, n := range a.numbers {
		if n.quantity == quantity {
			return n
		}
	}
	a.numbers = append(a.numbers, &numbers{quantity: quantity})
	return a.numbers[len(a.numbers)-1]
}

// sitting adds the pairs of the numbers in a column of one sitting, without equal ones. The pairs
// of n meaningless numbers have a share with the variance (2n + 5)/(18n(n − 1)) (Kendall 1938,
// Biometrika 30:81), that of 4.5n(n − 1)/(2n + 5) independent pairs.
func (n *numbers) sitting(v policies.View, q *campaign.Question, c events.Column) {
	first, pairs := len(n.points), len(n.pairs)
	negated := c.Better == events.BetterHigher
	if sought := v.Campaign.Definition.Sought(); n.quantity != "" {
		negated = n.quantity == sought.Name && sought.Goal == definition.Maximize
	}
	var values []float64
	for _, e := range q.Answer.Estimates {
		if e.Quantity != n.quantity {
			continue
		}
		x, err := v.Space.Encode(q.Options[e.Option].Parameters)
		if err != nil {
			continue
		}
		value := e.Value
		if negated {
			value = -value
		}
		for i, other := range values {
			switch at := len(n.points); {
			case value < other:
				n.pairs = append(n.pairs, [2]int{at, first + i})
			case value > other:
				n.pairs = append(n.pairs, [2]int{first + i, at})
			}
		}
		n.points, values = append(n.points, x), append(values, value)
	}
	if len(n.pairs) > pairs {
		given := float64(len(values))
		n.worth += max(1, 4.5*given*(given-1)/(2*given+5))
	}
}

// label adds the composition of a label.
func (a *answers) label(v policies.View, q *campaign.Question) {
	x, err := v.Space.Encode(q.Composition())
	switch {
	case err != nil:
	case q.Answer.Label == events.LabelAccept:
		a.accepted = append(a.accepted, x)
	default:
		a.rejected = append(a.rejected, x)
	}
}

// choice adds the pairs of an order, with the omitted options behind the ordered ones, and a
// pinpointed composition against the suggested one. Omitted options are not compared with each
// other.
func (a *answers) choice(v policies.View, q *campaign.Question) {
	var points []definition.Point // from best to worst
	placed := len(q.Answer.Order) // of them in an order
	switch {
	case q.Form == events.FormPinpoint && q.Suggestion != nil && !q.Unsure():
		points, placed = []definition.Point{q.Answer.Point, q.Suggestion.Parameters}, 1
	case q.Form == events.FormComparison:
		for _, i := range q.Answer.Order {
			points = append(points, q.Options[i].Parameters)
		}
		for i := range q.Options {
			if placed > 0 && !slices.Contains(q.Answer.Order, i) {
				points = append(points, q.Options[i].Parameters)
			}
		}
	}
	at := make([][]float64, len(points))
	for i, p := range points {
		var err error
		if at[i], err = v.Space.Encode(p); err != nil {
			return
		}
	}
	pairs := len(a.better)
	for i := range min(placed, len(at)) {
		for _, worse := range at[i+1:] {
			if !slices.Equal(at[i], worse) { // the expert's own may be the suggested one
				a.better, a.worse = append(a.better, at[i]), append(a.worse, worse)
			}
		}
	}
	if len(a.better) > pairs {
		a.choices++
	}
}

// betterHalf tells, for each requested and measured composition, whether its mean is better than
// the median of all measurements.
func betterHalf(v policies.View) map[string]bool {
	sum, count := make(map[string]float64), make(map[string]float64) // only looked up
	var values []float64
	var keys []string
	for x, value := range v.Campaign.Results() {
		key, err := v.Space.Key(x.Parameters)
		if err != nil {
			continue
		}
		sum[key], count[key] = sum[key]+value.Value, count[key]+1
		values, keys = append(values, value.Value), append(keys, key)
	}
	slices.Sort(values)
	sought := v.Campaign.Definition.Sought()
	better := make(map[string]bool, len(keys))
	for _, key := range keys {
		mean, median := sum[key]/count[key], (values[(len(values)-1)/2]+values[len(values)/2])/2
		better[key] = sought.Better(mean, median)
	}
	return better
}
