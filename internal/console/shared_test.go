//go:build unix

package console_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/pgtest"
	"github.com/campaignd/campaignd/projections/campaign"
)

// one of several servers of a lab in a database, on a machine of its own.
func oneOf(t *testing.T, database, name string, undo time.Duration) *site {
	t.Helper()
	return openIn(t, t.TempDir(), database+"&application_name="+name, undo)
}

// campaign is a campaign of a name, once this server knows it.
func (s *site) campaign(name string) *lab.Campaign {
	s.t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		c, err := s.lab.Campaign(name)
		if err == nil {
			return c
		}
		if time.Since(began) > 30*time.Second {
			s.t.Fatal(err)
		}
	}
}

// accepts gives an answer to a question.
func (s *site) accepts(question string) {
	s.t.Helper()
	path := "/questions/bench/" + question
	_, page := s.get(path)
	form := s.hidden(page, path)
	form.Set("answer", "accept")
	s.sent(path, form)
}

// status waits until a question has one.
func (s *site) is(c *lab.Campaign, question string, status campaign.QuestionStatus) {
	s.t.Helper()
	s.until(c, question+" is "+string(status), func(st *campaign.State) bool {
		q := st.Question(question)
		return q != nil && q.Status == status
	})
}

// kept are the answers that are not recorded yet.
func (s *site) kept() (all []string) {
	s.t.Helper()
	log, err := s.lab.Log()
	if err != nil {
		s.t.Fatal(err)
	}
	for kv, err := range log.Values(s.t.Context(), "console/answer/") {
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, string(kv.Value))
	}
	return all
}

// Law: an answer that one server was given is seen, changed and taken back at another, whichever is
// asked first; what is taken back is not recorded, and what is recorded was not taken back. One
// whose server has ended is recorded by another, once.
func TestSharedAnswers(t *testing.T) {
	private(t)
	database := pgtest.URL(t)
	one := oneOf(t, database, "one", time.Hour)
	c := one.begin(byHand("bench", "{experiments: 2, labels: 6}", "{trust: cobol}"))
	one.until(c, "has asked all", func(st *campaign.State) bool { return len(st.Questions) == 6 })
	other := oneOf(t, database, "other", time.Millisecond)
	closeOther := sync.OnceFunc(other.close)
	defer closeOther()
	there := other.campaign("bench")
	other.is(there, "q6", campaign.Asked)

	one.accepts("q1")
	if _, list := other.get("/questions"); !strings.Contains(list, "/questions/bench/q1/undo") {
		t.Error("the other server does not know the answer")
	}
	other.sent("/questions/bench/q1/undo", nil)
	if _, list := one.get("/questions"); strings.Contains(list, "/questions/bench/q1/undo") {
		t.Error("at the first server it is not taken back")
	}
	status, _, text := one.post("/questions/bench/q1/send", nil)
	if n := len(one.events(c, events.KindQuestionAnswered)); n > 0 {
		t.Errorf("taken back, sent all the same (%d %s), and %d answers", status, text, n)
	}

	// Given again at the other server, which records it at once; while the first one takes it back.
	for _, question := range []string{"q2", "q3", "q4"} {
		path := "/questions/bench/" + question
		_, page := other.get(path)
		form := other.hidden(page, path)
		form.Set("answer", "accept")
		var taken int
		var at sync.WaitGroup
		at.Go(func() {
			for range 200 {
				r, err := http.NewRequest(http.MethodPost, one.server.URL+path+"/undo", nil)
				if err != nil {
					t.Error(err)
					return
				}
				answer, err := one.client.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				_ = answer.Body.Close()
				if taken = answer.StatusCode; taken == http.StatusSeeOther {
					return
				}
			}
		})
		other.sent(path, form)
		at.Wait()
		time.Sleep(300 * time.Millisecond)
		answered := 0
		for _, e := range one.events(c, events.KindQuestionAnswered) {
			if payload, err := events.Decode(e); err == nil && payload.(*events.QuestionAnswered).Question == question {
				answered++
			}
		}
		t.Logf("%s: taken back with %d, recorded %d times", question, taken, answered)
		if (taken == http.StatusSeeOther) != (answered == 0) || answered > 1 {
			t.Errorf("%s: taken back with %d, and recorded %d times", question, taken, answered)
		}
	}

	// A server that was given an answer ends before it was due.
	dying := oneOf(t, database, "dying", 2*time.Second)
	dying.campaign("bench")
	dying.accepts("q5")
	dying.close()
	other.is(there, "q5", campaign.Answered)
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		left := 0
		for _, text := range other.kept() {
			if strings.Contains(text, `"q5"`) {
				left++
			}
		}
		if left == 0 {
			break
		}
		if time.Since(began) > 20*time.Second {
			t.Fatal("it is recorded, and kept to be sent again")
		}
	}
	if n := len(other.events(there, events.KindQuestionSuperseded)); n > 0 {
		t.Errorf("%d answers were replaced", n)
	}
	closeOther()
	one.close()
}
