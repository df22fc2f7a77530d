package console

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// answered is an answer of an expert, and its outcome: experts who never hear how their advice
// turned out cannot learn from it, and stop giving it.
type answered struct {
	Campaign, ID, Text, Outcome string
	At                          time.Time
}

func (a answered) Path() string { return questionPath(a.Campaign, a.ID) }

// mostAnswers is how many of the last answers are listed, and how many of each
// campaign are looked at.
const mostAnswers = 8

// lastAnswers returns the newest answers of the visitor, with their outcomes. If no answer has the
// visitor's name (the only user of an open server may have any name), it returns those of all
// experts. Answers of simulated experts are not people's and are left out.
//
// The campaigns are read one by one to choose, and the outcomes are worked out for the few that
// were chosen: they need the campaign event by event.
func (c *Console) lastAnswers(ctx context.Context, v Visitor) (list []answered) {
	type one struct {
		of *lab.Campaign
		q  campaign.Question
	}
	var mine, all []one
	for _, each := range c.lab.Campaigns() {
		if v.may(See, each.Name()) != nil || each.Record().Stands().Answered.IsZero() {
			continue
		}
		each.Read(func(core *engine.Core) {
			s := core.State()
			n := 0
			for i := len(s.Questions) - 1; i >= 0 && n < mostAnswers; i-- {
				q := s.Questions[i]
				if !view.AnsweredByPerson(s.Definition, &q) {
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
		t, err := a.of.Timeline(ctx)
		if err != nil {
			continue // the campaign's page says why
		}
		a.of.Read(func(core *engine.Core) {
			s := core.State()
			list = append(list, answered{a.of.Name(), a.q.ID, view.Stop(view.Answer(s.Definition, &a.q)),
				outcomeOf(s, &a.q, t.Review(a.q.ID)), a.q.AnsweredAt})
		})
	}
	return list
}

// outcomeOf reports the measurement of the composition that an answer was about, and whether the
// answer was right, as far as that is known. A review that the campaign has recorded comes first:
// it weighs the noise, which a rank among the values does not.
func outcomeOf(s *campaign.State, q *campaign.Question, review *events.ChoiceReview) string {
	if review != nil {
		text := "Measured in " + review.Experiment
		if value, ok := s.Value(s.Experiment(review.Experiment)); ok {
			text += ": " + format.Result(value)
		}
		return text + ". The choice was right with a probability of " +
			format.Percent(review.Probability) + "."
	}
	if q.Form == events.FormEstimate {
		return estimatesOutcome(s, q)
	}
	point := q.Composition()
	if point == nil {
		return ""
	}
	for x, value := range s.Results() {
		if !samePoint(x.Parameters, point) {
			continue
		}
		sought, values := s.Definition.Sought(), measuredValues(s)
		better := 0
		for _, other := range values {
			if sought.Better(other, value.Value) {
				better++
			}
		}
		return fmt.Sprintf("Measured in %s: %s, number %d of %d from the best.", x.ID,
			format.Result(value), better+1, len(values))
	}
	return ""
}

// samePoint reports whether two compositions are equal to the last bit: an
// experiment that follows from an answer takes its composition as it is.
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

// estimatesOutcome compares the estimates of a question with the first measurement of each
// composition. It judges nothing: the reader sees the two numbers.
func estimatesOutcome(s *campaign.State, q *campaign.Question) string {
	var texts []string
	for _, e := range q.Answer.Estimates {
		point := q.Options[e.Option].Parameters
		if e.Quantity != "" {
			if text := measuredOf(s, point, e); text != "" {
				texts = append(texts, text)
			}
			continue
		}
		for x, value := range s.Results() {
			if !samePoint(x.Parameters, point) {
				continue
			}
			texts = append(texts, fmt.Sprintf("row %d: you said %s, %s measured %s", e.Option+1,
				format.Short(e.Value), x.ID,
				format.Result(value)))
			break
		}
	}
	if texts == nil {
		return ""
	}
	return view.Sentence(strings.Join(texts, "; "))
}

// measuredOf compares an estimate of a quantity with the first measurement of it at its
// composition; "" before the first one.
func measuredOf(s *campaign.State, point definition.Point, e events.Estimate) string {
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if value, ok := s.Quantity(x, e.Quantity); ok && samePoint(x.Parameters, point) {
			return fmt.Sprintf("row %d: you said %s of %s, %s measured %s", e.Option+1, format.Short(e.Value), e.Quantity,
				x.ID, format.Result(value))
		}
	}
	return ""
}
