package answers

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/channel"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
)

// mostRows is how many compositions of each expert's channel are heard, the latest: what a decision
// costs grows with their third power.
const mostRows = 120

// Intercepts of labels: examples before the first experiment may have been chosen to be balanced.
const (
	groupExamples = iota
	groupQuestions
)

// heard is everything that experts have said.
type heard struct {
	// points of the unit cube that answers are about, each once; questions[i] are those about point i.
	points    [][]float64
	questions [][]string
	channels  []spoken
}

// spoken is what one expert said in one kind of channel.
type spoken struct {
	expert  string
	answers channel.Answers
	count   int // of answers
}

// hear collects the answers of a campaign. Those about compositions that have no place in the space any
// more, after an amendment, are left out.
func hear(v policies.View, experts []definition.Expert) heard {
	h := heard{}
	index := make(map[string]int)
	for _, e := range experts {
		choices := spoken{expert: e.Name}
		rows := 0
		for i := len(v.Campaign.Questions) - 1; i >= 0 && rows < mostRows; i-- { // the latest first
			q := &v.Campaign.Questions[i]
			if q.Expert != e.Name || q.Status != campaign.Answered || q.Answer.Unsure() {
				continue
			}
			points := said(v, q)
			at := make([]int, 0, len(points))
			for _, p := range points {
				k, ok := h.place(v, index, p, q.ID)
				if !ok {
					at = nil
					break
				}
				at = append(at, k)
			}
			switch {
			case len(at) == 0:
				continue
			case q.IsLabel():
				choices.answers.Labels = append(choices.answers.Labels, channel.Label{
					Point: at[0], Reject: q.Answer.Label == events.LabelReject, Group: group(q),
				})
			default:
				if at = distinct(at); len(at) < 2 {
					continue
				}
				choices.answers.Orders = append(choices.answers.Orders, at)
			}
			choices.count++
			rows += len(at)
		}
		if choices.count > 0 {
			h.channels = append(h.channels, choices)
		}
	}
	return h
}

// group is the intercept of a label.
func group(q *campaign.Question) int {
	if q.Decision == "" {
		return groupExamples
	}
	return groupQuestions
}

// said returns the compositions that an answer speaks of, from the best to the worst: the one that was
// labeled, those that were placed, or one that was named and what it was better than, the best measurement
// of that time.
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

// bestBefore returns the composition of the best measurement of the experiments that had been requested
// when a question was asked, nil where there is none.
func bestBefore(s *campaign.State, q *campaign.Question) definition.Point {
	var best *campaign.Experiment
	for i := range min(q.Experiments, len(s.Experiments)) {
		x := &s.Experiments[i]
		if x.Measurement == nil || x.Excluded {
			continue
		}
		value := x.Measurement.Objective.Value
		if best == nil || (value < best.Measurement.Objective.Value) == (s.Definition.Objective.Goal == definition.Minimize) {
			best = x
		}
	}
	if best == nil {
		return nil
	}
	return best.Parameters
}

// place returns the index of a composition among the points.
func (h *heard) place(v policies.View, index map[string]int, p definition.Point, question string) (int, bool) {
	if v.Space.Contains(p) != nil {
		return 0, false
	}
	key, err := v.Space.Key(p)
	if err != nil {
		return 0, false
	}
	if i, known := index[key]; known {
		h.questions[i] = append(h.questions[i], question)
		return i, true
	}
	x, err := v.Space.Encode(p)
	if err != nil {
		return 0, false
	}
	index[key] = len(h.points)
	h.points, h.questions = append(h.points, x), append(h.questions, []string{question})
	return len(h.points) - 1, true
}

// distinct leaves out what comes again.
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
