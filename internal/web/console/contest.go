package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/projections/campaign"
)

// If several people may answer a question, one answer counts and all are kept. Each person learns
// the fate of theirs.

// newsLasts is how long a person is reminded that another one has answered the
// same question, unless they put it away.
const newsLasts = 7 * 24 * time.Hour

// fieldNews names the piece of news that a form puts away.
const fieldNews = "news"

// news reports to a person the fate of their answer to a question that another person has answered
// too: which of the two counts, and whether they differ. An expert whose answer was replaced
// without a word would not trust the lab with another.
type news struct {
	Campaign, Question string
	// ID is that of the answer that it is about.
	ID string
	// Who did it, and their answer; Mine is the visitor's own act.
	Who, Theirs, Mine string
	// Counts is set where the visitor's answer counts, Agree where both say the
	// same, Replaced where theirs took the place of the visitor's.
	Counts, Agree, Replaced bool
	At                      time.Time
}

func (n news) Path() string { return questionPath(n.Campaign, n.Question) }

// newsOf returns the news for a person about their answers to a question: each answer of another
// person that was contested while theirs counts, or the one that counts in place of theirs. What
// they knew when they answered does not count as news: answers that theirs has replaced, which the
// page showed them. now is a parameter for tests.
//
// The identifier of a piece has the campaign's instance in it: a piece that was put away for one
// campaign must not silence the news of another one with the same name.
func newsOf(s *campaign.State, q *campaign.Question, name string, now time.Time) (list []news) {
	if len(q.Aside) == 0 {
		return nil
	}
	words := func(a events.Answer) string { return answerWords(s.Definition, q, humans.Reply{Answer: a}) }
	counts := events.ActorName(q.AnsweredBy)
	for i, aside := range slices.Backward(q.Aside) {
		if counts == name && aside.Replaced {
			break // they knew the answers before
		}
		theirs := events.ActorName(aside.Actor) == name
		if theirs == (counts == name) {
			continue
		}
		n := news{Campaign: s.Name, Question: q.ID, ID: s.Instance + "/" + aside.ID, At: aside.At,
			Agree: aside.Answer.Equal(q.Answer), Counts: counts == name, Replaced: aside.Replaced}
		if n.Counts {
			n.Who = events.ActorName(aside.Actor)
			n.Theirs = words(aside.Answer)
			n.Mine = words(q.Answer)
		} else {
			n.Who = counts
			n.Theirs = words(q.Answer)
			n.Mine = words(aside.Answer)
			// Theirs was contested by another's, which was replaced since.
			n.Replaced = n.Replaced || slices.ContainsFunc(q.Aside[i+1:],
				func(a campaign.Aside) bool { return a.Replaced })
		}
		if now.Sub(n.At) < newsLasts {
			list = append(list, n)
		}
		if !n.Counts {
			break // their last one says it
		}
	}
	return list
}

// putAway notes that a person has put away a piece of news, in a value of the
// lab's log, since it is the person's and must outlast a restart. It is noted
// for as long as the news would be shown.
func (c *Console) putAway(ctx context.Context, name, news string) error {
	log, err := c.lab.Log()
	for err == nil {
		var away map[string]time.Time
		var before, after []byte
		if away, before, err = c.away(ctx, name); err != nil {
			break
		}
		maps.DeleteFunc(away, func(_ string, at time.Time) bool { return clock.Now().Sub(at) > 2*newsLasts })
		away[news] = clock.Now().UTC()
		if after, err = json.Marshal(away); err != nil {
			break
		}
		var swapped bool
		if swapped, err = log.SwapValue(ctx, awayKey(name), before, after); swapped {
			break
		}
	}
	return err
}

// away returns the news that a person has put away, and when, and the text that the lab keeps of
// it.
func (c *Console) away(ctx context.Context, name string) (away map[string]time.Time, text []byte, err error) {
	away = make(map[string]time.Time)
	log, err := c.lab.Log()
	if err == nil {
		text, err = log.Value(ctx, awayKey(name))
	}
	if err == nil && text != nil {
		err = json.Unmarshal(text, &away)
	}
	return away, text, err
}

// awayKey is a hash, since names of people may hold any character.
func awayKey(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "console/away/" + hex.EncodeToString(sum[:12])
}

// isNews reports whether a visitor still sees a piece of news, by its
// identifier: a form cannot put away anything else.
func isNews(of *lab.Campaign, id string, v Visitor, about string) (is bool) {
	of.Read(func(core *engine.Core) {
		s := core.State()
		if q := s.Question(id); q != nil {
			is = slices.ContainsFunc(newsOf(s, q, v.Name, clock.Now()),
				func(n news) bool { return n.ID == about })
		}
	})
	return is
}

// newsFor returns a visitor's news, the newest first, except those they have put away. It is made
// for the frame of every page: campaigns without a contested answer, which are nearly all, are left
// out without being read.
func (c *Console) newsFor(ctx context.Context, v Visitor) (list []news) {
	now := clock.Now()
	for _, each := range c.lab.Campaigns() {
		if !each.Record().Stands().Contested || v.may(See, each.Name()) != nil {
			continue
		}
		each.Read(func(core *engine.Core) {
			s := core.State()
			for i := range s.Questions {
				list = append(list, newsOf(s, &s.Questions[i], v.Name, now)...)
			}
		})
	}
	if list != nil {
		away, _, _ := c.away(ctx, v.Name) // where it cannot be read, all is shown
		list = slices.DeleteFunc(list, func(n news) bool { return !away[n.ID].IsZero() })
	}
	slices.SortStableFunc(list, func(a, b news) int { return b.At.Compare(a.At) })
	return list
}

// contestedView is an answer that does not count, as the page of its question
// shows it.
type contestedView struct {
	Who, Text string
	At        time.Time
	Replaced  bool
}

// contestedOf are the answers to a question that do not count, the newest first. All visitors who
// may see the question see them, with names: an answer is signed.
func contestedOf(s *campaign.State, q *campaign.Question) (list []contestedView) {
	for _, a := range slices.Backward(q.Aside) {
		words := answerWords(s.Definition, q, humans.Reply{Answer: a.Answer})
		list = append(list, contestedView{events.ActorName(a.Actor), words, a.At, a.Replaced})
	}
	return list
}

// mineContested is the form of the visitor's last answer to a question, where
// it does not count: they can send it again, now knowing the other one, and
// then it counts.
func mineContested(q *campaign.Question, name string) (url.Values, bool) {
	if events.ActorName(q.AnsweredBy) == name {
		return nil, false
	}
	for _, aside := range slices.Backward(q.Aside) {
		if events.ActorName(aside.Actor) == name {
			return formOf(humans.Reply{Answer: aside.Answer}), true
		}
	}
	return nil, false
}
