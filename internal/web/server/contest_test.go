package server_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: of two scripts that answer a question at once, each having seen it unanswered, one is
// told that its answer counts, the other that it does not, and by what it is replaced; both
// answers are in the log, and either can be had to count by who sees what stands.
func TestTwoAnswersAtOnce(t *testing.T) {
	g := guard(t)
	g.begunBy("scientist")
	type answered struct {
		Recorded []struct {
			Type, Actor string
			Data        struct{ Took float64 }
		}
		Counts     bool
		AnsweredBy string `json:"answered_by"`
		Source     string
	}
	var question string
	for told := 0; question == ""; told++ {
		var s suggestion
		g.sends("scientist", http.MethodPost, "/api/v1/campaigns/bench/suggest", "", &s)
		switch {
		case len(s.Questions) > 0:
			question = s.Questions[0].ID
		case s.Experiment != nil:
			g.sends("scientist", http.MethodPost, "/api/v1/campaigns/bench/tell", `{"experiment": "`+s.Experiment.ID+`", "value": 1}`, nil)
		}
	}
	path := "/api/v1/questions/bench/" + question
	body := map[string]string{
		"scientist": `{"order": ["A", "B"], "saw": "", "took": 3.5}`,
		"admin":     `{"order": ["B", "A"], "saw": "", "took": 3.5}`,
	}
	got := make(map[string]*answered)
	var all sync.WaitGroup
	var mu sync.Mutex
	for who, says := range body {
		all.Go(func() {
			a := new(answered)
			g.sends(who, http.MethodPost, path, says, a)
			mu.Lock()
			defer mu.Unlock()
			got[who] = a
		})
	}
	all.Wait()
	first, second := "scientist", "admin"
	if !got[first].Counts {
		first, second = second, first
	}
	one, other := got[first], got[second]
	if !one.Counts || one.AnsweredBy != first || other.Counts || other.AnsweredBy != first || other.Source != one.Source {
		t.Fatalf("%s: %+v; %s: %+v", first, one, second, other)
	}
	if len(other.Recorded) != 1 || other.Recorded[0].Type != "campaignd.question.contested" || other.Recorded[0].Data.Took != 3.5 {
		t.Errorf("beside it: %+v", other.Recorded)
	}
	var said map[string]any
	must.Do(t, json.Unmarshal([]byte(body[second]), &said))
	said["saw"] = other.Source
	again, _ := json.Marshal(said)
	changed := new(answered)
	g.sends(second, http.MethodPost, path, string(again), changed)
	if !changed.Counts || changed.AnsweredBy != second || changed.Recorded[0].Type != "campaignd.question.superseded" ||
		changed.Recorded[0].Data.Took != 3.5 {
		t.Errorf("changed: %+v", changed)
	}
}

// begunBy begins the campaign bench in the name of an account, to be run by nobody.
func (g *guarded) begunBy(who string) {
	g.t.Helper()
	status, _, text := g.do(http.MethodPost, "/api/v1/campaigns?run=false", "application/yaml", bench,
		"Authorization", "Bearer "+g.token(who))
	if status != http.StatusCreated {
		g.t.Fatalf("begin: %d %s", status, text)
	}
}

// sends is JSON sent in the name of an account, and reads what is answered.
func (g *guarded) sends(who, method, path, body string, into any) {
	g.t.Helper()
	contentType := ""
	if body != "" {
		contentType = "application/json"
	}
	status, _, text := g.do(method, path, contentType, body, "Authorization", "Bearer "+g.token(who))
	if status != http.StatusOK {
		g.t.Errorf("%s %s as %s: %d %s", method, path, who, status, text)
		return
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			g.t.Errorf("%s: %v in %s", path, err, text)
		}
	}
}
