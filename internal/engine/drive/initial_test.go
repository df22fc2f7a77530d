package drive_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// initialLabels is how many labels the experts of these tests give at first.
const initialLabels = 4

// screen is an expert who accepts everything. Where one question at a time is shown, each is
// answered at once; otherwise none is before all of them lie there.
type screen struct {
	oneAtATime bool

	mu          sync.Mutex
	asked       []string
	open, atOne int // how many are open, and were at most
	all         chan struct{}
}

func (s *screen) Describe() humans.Description {
	return humans.Description{Expert: "ada", OneAtATime: s.oneAtATime}
}

func (s *screen) Ask(ctx context.Context, q humans.Question) (humans.Reply, error) {
	s.mu.Lock()
	s.asked = append(s.asked, q.ID)
	s.open++
	s.atOne = max(s.atOne, s.open)
	if len(s.asked) == initialLabels {
		close(s.all)
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.open--
		s.mu.Unlock()
	}()
	if !s.oneAtATime {
		select {
		case <-s.all:
		case <-ctx.Done():
			return humans.Reply{}, context.Cause(ctx)
		}
	}
	return humans.Reply{Answer: events.Answer{Label: events.LabelAccept}}, nil
}

// Law: what an expert is asked at first lies before them all at once, or, where they are shown
// one question at a time, comes in its order, each as soon as the one before is answered. No
// decision is made before. The audit finds the same.
func TestInitialQuestionsTogether(t *testing.T) {
	for _, oneAtATime := range []bool{false, true} {
		def := must.Get(studytest.Define("branin", 1, 4, func(def *definition.Campaign) {
			def.Policy = policiesByName()["cobol"]
			def.Initial = definition.Initial{Experiments: ptr(2), Labels: ptr(initialLabels)}
			def.Experts = []definition.Expert{{
				Name: "ada", Channel: terminal.Choose(terminal.Settings{}),
				AnswerWithin: definition.Duration(time.Minute), Meanwhile: ptr(9),
			}}
		}))(t)
		log := memlog.New()
		r, _ := start(t, log, def, nil)
		ada := &screen{oneAtATime: oneAtATime, all: make(chan struct{})}
		r.Reviewers = map[string]humans.Reviewer{"ada": ada}
		must.Do(t, run(t, r)())
		first := ada.asked[:initialLabels]
		if want := []string{"branin/q1", "branin/q2", "branin/q3", "branin/q4"}; oneAtATime && !slices.Equal(first, want) {
			t.Errorf("they were shown in the order %v", first)
		}
		if want := map[bool]int{false: initialLabels, true: 1}[oneAtATime]; ada.atOne != want {
			t.Errorf("%d questions were shown at once, want %d", ada.atOne, want)
		}
		answered := 0
		for e := range must.Each(t, events.ReadCampaign(t.Context(), log, def.Name, 0)) {
			switch e.Kind {
			case events.KindQuestionAnswered:
				answered++
			case events.KindDecisionMade:
				if answered < initialLabels {
					t.Fatalf("a decision was made after %d initial answers", answered)
				}
			}
		}
		report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
		if err != nil || len(report.Mismatches) > 0 {
			t.Errorf("audit: %v, %+v", err, report.Mismatches)
		}
	}
}
