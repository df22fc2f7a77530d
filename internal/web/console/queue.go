package console

import (
	"cmp"
	"math"
	"slices"

	"github.com/campaignd/campaignd/projections/campaign"
)

// queued is a question in the list of those that wait.
type queued struct {
	campaign.Question
	Campaign, Asks string
	Mine           bool // addressed to the visitor by name
}

func (q queued) Path() string { return questionPath(q.Campaign, q.ID) }

// queueOf returns the questions to people that wait for an answer which the visitor may give: those
// addressed to them first, then those that expire soonest, then the oldest. It is made for the
// frame of every page, from the data that the lab has at hand.
func (c *Console) queueOf(v Visitor) (list []queued) {
	for _, each := range c.lab.Campaigns() {
		s := each.Record().Stands()
		if len(s.Questions) == 0 || v.may(AnswerIt, each.Name()) != nil {
			continue
		}
		for _, q := range s.ForPeople() {
			if v.answersAs(q.Expert, each.Name()) != nil {
				continue
			}
			list = append(list, queued{
				Question: q, Campaign: each.Name(), Asks: headingOf(s.Definition, &q),
				Mine: q.Expert == v.Name,
			})
		}
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
		return cmp.Or(cmp.Compare(ends(a), ends(b)), a.AskedAt.Compare(b.AskedAt))
	})
	return list
}

// queuePage is the list of questions.
type queuePage struct {
	*shell
	Waiting []queued
	// ByHand are the experiments that campaigns want measured by hand, where the visitor may enter
	// results: one entry for each campaign.
	ByHand []handed
	Last   []answered
}

// handed is a campaign's request for measurements by hand.
type handed struct {
	Campaign, Path string
	Needs          []need
}

// byHand lists the requests for measurements that wait for a visitor.
func (c *Console) byHand(v Visitor) (list []handed) {
	for _, each := range c.lab.Campaigns() {
		if v.may(Run, each.Name()) != nil {
			continue
		}
		s := each.Record().Stands()
		if s.Definition == nil || s.Status.Ended() {
			continue
		}
		if needs := toMeasureBy(&s, address(each)); needs != nil {
			list = append(list, handed{each.Name(), address(each), needs})
		}
	}
	return list
}

// showQueue serves the list of questions. ?next goes on to the first of them, as
// after an answer: a person with several questions answers one after the other
// without a list between.
func showQueue(v *visit) error {
	p := queuePage{shell: v.shell("Questions")}
	p.Watch = "*"
	p.Waiting = v.queueOf(p.Visitor)
	if v.r.URL.Query().Has("next") && len(p.Waiting) > 0 {
		to := p.Waiting[0].Path()
		// The message of the answer goes along to the next question's page.
		if said := v.r.URL.Query().Get("said"); saids[said] != "" {
			to += "?said=" + said
		}
		return v.redirect(to, "")
	}
	p.ByHand = v.byHand(p.Visitor)
	p.Last = v.lastAnswers(v.r.Context(), p.Visitor)
	return v.write(drawQueue(p))
}
