package console

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
)

// mostStories is how many campaigns' logs are kept in words: those that were
// looked at last.
const mostStories = 24

// stories keep the logs of campaigns in words: a page reads only what is new.
type stories struct {
	mu    sync.Mutex
	known map[*lab.Campaign]*chronicle
	used  []*lab.Campaign // the last one used last
}

func newStories() *stories { return &stories{known: make(map[*lab.Campaign]*chronicle)} }

// chronicle is a campaign's log in words.
type chronicle struct {
	mu       sync.Mutex
	sequence events.Sequence
	story    *view.Story
	entries  []line
	// made are the decisions by their identifiers.
	made map[string]madeDecision
	// reviews are the last looks back at questions' choices.
	reviews map[string]*events.ChoiceReview
	// answered says who gave the answer to a question last.
	answered map[string]string
	// before is, for each experiment, the last event before it was requested.
	before []events.Sequence
	times  []time.Time // of the events, by sequence
	// sentTo is the name and the identity of the device that an experiment was
	// sent to last, signs what was last heard of each.
	sentTo map[string][2]string
	signs  map[[2]string]signs
}

// line is an event in words.
type line struct {
	Sequence events.Sequence
	Position events.Position
	Time     time.Time
	Kind     events.Kind
	Subject  string
	Text     string
	Routine  bool
}

// madeDecision is what a table shows of a decision.
type madeDecision struct {
	Reason     string
	Rule       string
	Action     events.Action
	Position   events.Position
	Sequence   events.Sequence
	Prediction *events.Prediction // of the chosen candidate
}

// told is a copy of a chronicle for one page.
type told struct {
	Entries  []line
	Made     map[string]madeDecision
	Reviews  map[string]*events.ChoiceReview
	Answered map[string]string
	Before   []events.Sequence
	Times    []time.Time
	Signs    map[[2]string]signs
	SentTo   map[string][2]string
}

// of returns a campaign's log in words, up to now.
func (s *stories) of(ctx context.Context, c *lab.Campaign) (told, error) {
	s.mu.Lock()
	ch := s.known[c]
	if ch == nil {
		ch = &chronicle{
			story: view.NewStory(nil), made: make(map[string]madeDecision),
			reviews: make(map[string]*events.ChoiceReview), answered: make(map[string]string),
			signs: make(map[[2]string]signs), sentTo: make(map[string][2]string),
		}
		s.known[c] = ch
	}
	s.used = append(slices.DeleteFunc(s.used, func(o *lab.Campaign) bool { return o == c }), c)
	if len(s.used) > mostStories {
		delete(s.known, s.used[0])
		s.used = s.used[1:]
	}
	s.mu.Unlock()

	ch.mu.Lock()
	defer ch.mu.Unlock()
	log, err := c.Log()
	if err != nil {
		return told{}, err
	}
	if c.Sequence() > ch.sequence {
		for e, err := range events.ReadCampaign(ctx, log, c.Name(), ch.sequence) {
			if err != nil {
				return told{}, err
			}
			if err := ch.read(e); err != nil {
				return told{}, err
			}
		}
	}
	return told{
		Entries: slices.Clip(ch.entries), Made: cloneMap(ch.made), Reviews: cloneMap(ch.reviews),
		Answered: cloneMap(ch.answered), Before: slices.Clip(ch.before), Times: slices.Clip(ch.times),
		Signs: cloneMap(ch.signs), SentTo: cloneMap(ch.sentTo),
	}, nil
}

func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	clone := make(map[K]V, len(m))
	for k, v := range m {
		clone[k] = v
	}
	return clone
}

// read takes an event.
func (ch *chronicle) read(e events.Event) error {
	payload, err := events.Decode(e)
	if err != nil {
		return err
	}
	entry := ch.story.Entry(e, payload)
	ch.entries = append(ch.entries, line{
		Sequence: e.Sequence, Position: e.Position, Time: e.Time, Kind: e.Kind, Subject: entry.Subject,
		Text: entryText(entry), Routine: entry.Routine,
	})
	switch p := payload.(type) {
	case *events.DecisionMade:
		made := madeDecision{Reason: p.Reason, Rule: p.Rule, Action: p.Action, Position: e.Position,
			Sequence: e.Sequence}
		for i := range p.Candidates {
			if p.Candidates[i].Name == p.Chosen {
				made.Prediction = p.Candidates[i].Prediction
			}
		}
		ch.made[p.Decision] = made
		if p.Review != nil {
			ch.reviews[p.Review.Question] = p.Review
		}
	case *events.QuestionAnswered:
		ch.answered[p.Question] = events.ActorName(e.Actor)
	case *events.QuestionSuperseded:
		ch.answered[p.Question] = events.ActorName(e.Actor)
	case *events.ExperimentRequested:
		ch.before = append(ch.before, ch.sequence)
	}
	ch.signOf(e, payload)
	ch.times = append(ch.times, e.Time)
	ch.sequence = e.Sequence
	return nil
}

// entryText is an entry in a line, without the commands of a terminal.
func entryText(entry view.Entry) string {
	entry.Remedy = nil
	return entry.Line(nil)
}

// last returns the last events that are more than routine, the newest first.
func (t told) last(n int) (lines []line) {
	for i := len(t.Entries) - 1; i >= 0 && len(lines) < n; i-- {
		if !t.Entries[i].Routine {
			lines = append(lines, t.Entries[i])
		}
	}
	return lines
}
