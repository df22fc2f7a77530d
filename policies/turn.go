package policies

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
)

// A turn is all that leads to one experiment of the policy: decisions that ask,
// and the one that runs it. Experiments that people run on their own, that are
// repeated or that did not take place make no turns.

// lastRun is the number of the latest decision before a given one that ran an experiment,
// 0 where there is none.
func (m *maker) lastRun(before int) (last int) {
	for i := range m.v.Campaign.Experiments {
		if n := projections.Number(m.v.Campaign.Experiments[i].Decision); n < before {
			last = max(last, n)
		}
	}
	return last
}

// turn returns the questions asked since the last decision that ran an
// experiment.
func (m *maker) turn() []campaign.Question { return m.turnBefore(m.v.Campaign.Decisions + 1) }

// turnBefore returns the questions of the turn that a decision ends.
func (m *maker) turnBefore(decision int) []campaign.Question {
	s, last := m.v.Campaign, m.lastRun(decision)
	number := func(i int) int { return projections.Number(s.Questions[i].Decision) }
	end := len(s.Questions)
	for end > 0 && number(end-1) >= decision {
		end--
	}
	begin := end
	for begin > 0 && number(begin-1) > last {
		begin--
	}
	return s.Questions[begin:end]
}

// chosen counts the turns that are over: decisions that ran an experiment.
func (m *maker) chosen() int {
	ran := make(map[string]bool)
	for i := range m.v.Campaign.Experiments {
		if x := &m.v.Campaign.Experiments[i]; x.Origin == events.OriginPolicy && x.Decision != "" {
			ran[x.Decision] = true
		}
	}
	return len(ran)
}

// expert returns the index of the expert of this step: experts take turns. It
// panics where there are none.
func (m *maker) expert() int { return m.chosen() % len(m.def.Experts) }

// number counts the experiments so far. One that did not take place does not
// count: what is decided after it must not depend on whether it was tried once or twice.
func (m *maker) number() (n int) {
	for i := range m.v.Campaign.Experiments {
		if !m.v.Campaign.Experiments[i].Status.CalledOff() {
			n++
		}
	}
	return n
}

// ranAfter returns the experiment of the first decision after a given one that
// ran any, nil where there is none yet.
func (m *maker) ranAfter(decision int) (ran *campaign.Experiment) {
	for i := range m.v.Campaign.Experiments {
		x := &m.v.Campaign.Experiments[i]
		if n := projections.Number(x.Decision); n > decision && (ran == nil || n < projections.Number(ran.Decision)) {
			ran = x
		}
	}
	return ran
}
