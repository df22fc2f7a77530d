package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: whatever bytes arrive as a request, they are recorded whole or rejected
// whole, as a fault of the request, the campaign can still be folded, and whoever asks honestly next is
// answered.
func FuzzRequests(f *testing.F) {
	def, err := studytest.Define("electrolyte", 1, 4, studytest.WithNoise(0.27), studytest.WithExpert(1))
	if err != nil {
		f.Fatal(err)
	}
	finished := memlog.New()
	must.Get(studytest.Simulate(f.Context(), finished, def))(f)
	var history []events.Event
	for e := range finished.Read(f.Context(), 0) {
		history = append(history, e)
	}
	half := history[:len(history)/2]
	for !half[len(half)-1].Time.Before(history[len(half)].Time) {
		half = history[:len(half)+1] // a batch is whole
	}

	point := definition.Point{"lipf6": definition.Number(1), "ec": definition.Number(0.4),
		"dmc": definition.Number(0.5)}
	value := 12.0
	amended := def
	amended.Budget.Experiments = 9
	for _, r := range []engine.Request{
		{Pause: &events.CampaignPaused{Reason: "lunch"}}, {Resume: new(events.CampaignResumed)}, {Stop: new(events.CampaignStopped)},
		{Amend: &events.CampaignAmended{Definition: amended}}, {Note: &engine.Note{Text: "x", About: "e1"}},
		{Tell: &engine.Tell{Parameters: point, Value: new(12.0), Further: []definition.Quantity{{Name: "pH", Value: 7}}}},
		{Tell: &engine.Tell{Experiment: "e2", Failed: "it leaked"}}, {Answer: &engine.Answer{Question: "q1", Reply: humans.Reply{Answer: events.Answer{Label: events.LabelReject}, Exclude: true}}},
		{Correct: &engine.Correct{Experiment: "e1", Value: &value, Reason: "why"}}, {Resolve: &engine.Resolve{Experiment: "e1", Resolution: "failed"}},
		{Exclude: &engine.Exclude{Point: point, Reason: "why"}}, {Allow: &engine.Allow{Exclusion: "n1"}},
		{Anchors: &engine.Anchors{Expert: "ada", Points: []definition.Point{point}}}, {Import: []engine.Tell{{Parameters: point, Value: new(12.0)}}},
	} {
		r.Actor = "person:ada"
		text := must.Get(json.Marshal(submission{Campaign: def.Name, Request: r}))(f)
		f.Add(text)
	}
	f.Add([]byte(`{"campaign":"electrolyte","request":{"actor":"person:a\u001bb","note":{"text":"x"}}}`))
	f.Add([]byte(`{"campaign":"electrolyte","request":{"actor":"","note":{"text":"\ud800"}}}`))
	f.Add([]byte(`{"campaign":"electrolyte","request":{"actor":"person:ada","tell":{"parameters":{"lipf6":1e308,"ec":"x"},"value":-1e308}}}`))
	f.Add([]byte(`{"campaign":"electrolyte","request":{"actor":"person:ada","amend":{"definition":{"name":"electrolyte","seed":1}}}}`))

	for _, n := range []int{300_000, 3_000_000} {
		long := strings.Repeat("k", n)
		f.Add([]byte(`{"campaign":"electrolyte","request":{"actor":"person:ada","` + long + `":1,"note":{"text":"` + long + `"}}}`))
		f.Add([]byte(`{"campaign":"electrolyte","request":{"actor":"person:ada","tell":{"parameters":{"` + long + `":1},"value":1}}}`))
	}

	f.Fuzz(func(t *testing.T, body []byte) {
		log := memlog.New()
		must.Get(log.Append(t.Context(), def.Name, 0, half...))(t)
		h := Handler(Service{Log: log,
			Submit: func(ctx context.Context, name string, r engine.Request) ([]events.Event, error) {
				core, err := engine.Load(ctx, builtin.Registry(), log, name)
				if err != nil {
					return nil, err
				}
				return engine.Submit(ctx, log, core, r, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
			}})
		post := func(body []byte) (ok bool, recorded int) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/requests",
				bytes.NewReader(body)))
			var a accepted
			var l line
			if w.Code == http.StatusOK {
				if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
					t.Fatalf("the answer is %q", w.Body)
				}
				return true, len(a.Events)
			}
			if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || l.Error == nil || l.Error.Message == "" {
				t.Fatalf("the answer is %q", w.Body)
			}
			if w.Code < 400 || w.Code > 499 ||
				!errors.Is(l.Error, problem.ErrInvalidRequest) && l.Error.Code != problem.NoCampaign {
				t.Fatalf("what is wrong with the request is answered with %d and %q", w.Code, w.Body)
			}
			return false, 0
		}
		before := log.Last()
		var ok bool
		var recorded int
		draws.Answers(t, func() { ok, recorded = post(body) })
		if got := int(log.Last() - before); got != recorded {
			t.Fatalf("%d events were recorded, %d acknowledged (accepted: %v)", got, recorded, ok)
		}
		core, err := engine.Load(t.Context(), builtin.Registry(), log, def.Name)
		if err != nil {
			t.Fatalf("the campaign cannot be folded any more: %v", err)
		}
		if _, err := core.Next(engine.World{Now: at, Resources: engine.Only(engine.Resource{Capacity: 1})}); err != nil {
			t.Fatalf("the campaign cannot go on: %v", err)
		}
		if ok, _ := post([]byte(`{"campaign":"electrolyte","request":{"actor":"person:eve","note":{"text":"still here"}}}`)); !ok {
			t.Fatal("an honest request is rejected")
		}
	})
}
