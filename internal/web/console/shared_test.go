//go:build unix

package console_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: of two servers of one database each knows at once which news a person has put away at the other;
// an answer that a server of an earlier version kept there is recorded once, by whichever of them, not
// before that server would have recorded it, and never where it was taken back.
func TestSharedAnswers(t *testing.T) {
	private(t)
	database := pgtest.URL(t)
	one := openIn(t, t.TempDir(), database+"&application_name=one", time.Hour, t.Logf)
	c := one.begin(byHand("bench", "{experiments: 2, labels: 6}", "{trust: cobol}"))
	one.until(c, "has asked all", func(st *campaign.State) bool { return len(st.Questions) == 6 })
	log := must.Get(one.lab.Log())(t)
	keep := func(question, more string) {
		text := `{"campaign": "bench", "instance": "` + instanceOf(c) + `", "question": "` + question + `", "name": "ada",
			"request": "` + question + `", "digest": "d", "reply": {"answer": {"label": "accept"}}, "words": "accept"` + more + `}`
		if err := log.SetValues(t.Context(), events.KeyValue{Key: "console/answer/" + question, Value: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	const due = `, "due": "2020-01-01T00:00:00Z"`
	keep("q1", due)
	keep("q2", due+`, "sending": "a server that has ended"`)
	keep("q3", due+`, "state": "undone"`)
	keep("q4", `, "due": "2999-01-01T00:00:00Z"`)
	two := openIn(t, t.TempDir(), database+"&application_name=two", time.Hour, t.Logf)
	three := openIn(t, t.TempDir(), database+"&application_name=three", time.Hour, t.Logf)
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		var left []string
		for kv := range must.Each(t, log.Values(t.Context(), "console/answer/")) {
			left = append(left, kv.Key)
		}
		if slices.Equal(left, []string{"console/answer/q4"}) {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("kept are still %v", left)
		}
	}
	one.until(c, "has both", func(st *campaign.State) bool {
		return st.Question("q1").Status == campaign.Answered && st.Question("q2").Status == campaign.Answered
	})
	if n := len(one.events(c, events.KindQuestionAnswered)); n != 2 {
		t.Errorf("%d answers are recorded", n)
	}

	path := "/questions/bench/q5"
	bob := two.as("bob")
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) { // until the other server knows the question
		if status, _ := bob.get(path); status == http.StatusOK {
			break
		}
		if time.Since(began) > 30*time.Second {
			t.Fatal("the other server does not know the question")
		}
	}
	_, mine := one.get(path)
	_, theirs := bob.get(path)
	first, second := one.hidden(mine, path), bob.hidden(theirs, path)
	first.Set("answer", "accept")
	second.Set("answer", "reject")
	one.sent(path, first)
	if to := bob.sent(path, second); to != path+"?said=beside" {
		t.Errorf("they are sent to %s", to)
	}
	one.until(c, "has both", func(st *campaign.State) bool { return len(st.Question("q5").Aside) == 1 })
	_, page := one.get("/campaigns")
	one.sent(path+"/dismiss", one.hidden(page, path+"/dismiss"))
	for _, s := range []*site{one, two, three} {
		if _, calm := s.get("/campaigns"); strings.Contains(calm, `name="news"`) {
			t.Error("it was put away, and is told again")
		}
	}
	three.close()
	two.close()
	one.close()
}
