package drive_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view/report"
	"github.com/campaignd/campaignd/policies/coexbo"
	"github.com/campaignd/campaignd/policies/duel"
)

// shortened calls lacking with a JSON value that lacks one field or one element, for
// each of them.
func shortened(path string, value any, lacking func(path string, value any)) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			m := maps.Clone(v)
			delete(m, key)
			lacking(path+"/"+key, m)
			shortened(path+"/"+key, v[key], func(path string, inner any) {
				m := maps.Clone(v)
				m[key] = inner
				lacking(path, m)
			})
		}
	case []any:
		for i := range v {
			at := fmt.Sprintf("%s/%d", path, i)
			lacking(at, slices.Delete(slices.Clone(v), i, i+1))
			shortened(at, v[i], func(path string, inner any) {
				list := slices.Clone(v)
				list[i] = inner
				lacking(path, list)
			})
		}
	}
}

// Law: a definition that lacks anything ends an audit, a fold, a summary and a report
// with a word, never with a crash.
func TestIncompleteDefinitions(t *testing.T) {
	compared := func(rule definition.Choice) definition.Campaign {
		def, err := studytest.Define("branin", 3, 0, studytest.WithExpert(2), func(def *definition.Campaign) {
			def.Policy.Duel = rule
			studytest.SimulatedExpert(def, 0, func(s *humansim.Settings) { s.Task = "branin" })
			def.Instrument, def.Budget = definition.Instrument{}, definition.Budget{Comparisons: 10}
		})
		if err != nil {
			t.Fatal(err)
		}
		return def
	}
	chosen, err := studytest.Define("branin", 3, 4, studytest.WithExpert(2), func(def *definition.Campaign) {
		def.Policy.Trust = coexbo.CoExBO{}.Choice()
		def.Initial.Comparisons = ptr(5)
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, def := range map[string]definition.Campaign{
		"cobol": electrolyte(t, 3, 4, func(def *definition.Campaign) {
			def.Initial.Labels = ptr(4)
			def.Stop.Window = 2
		}),
		"coexbo": chosen,
		"mr-lpf": compared(duel.MRLPF{Candidates: duel.Candidates{Points: ptr(8)}}.Choice()),
		"raeubo": compared(duel.RAEUBO{}.Choice()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, _ := simulate(t, def)
			all := history(t, log)
			var data map[string]any
			must.Do(t, json.Unmarshal(all[0].Data, &data))
			n := 0
			shortened("", data["definition"], func(path string, defined any) {
				if n++; testing.Short() && n%6 != 0 {
					return
				}
				forged := slices.Clone(all)
				changed := maps.Clone(data)
				changed["definition"] = defined
				forged[0].Data, _ = json.Marshal(changed)
				if problem := survives(t, refill(t, forged), def.Name); problem != "" {
					t.Errorf("%s: %s", path, problem)
				}
			})
		})
	}
}

// survives returns where the log of a campaign makes a reader of it panic, or "".
func survives(t *testing.T, log *memlog.Log, name string) (problem string) {
	step := "audit"
	defer func() {
		if fault := recover(); fault != nil {
			problem = fmt.Sprintf("%s panics: %v\n%s", step, fault, debug.Stack())
		}
	}()
	if _, err := decisions.Audit(t.Context(), builtin.Registry(), log, name, events.Build{}, nil); err != nil {
		return ""
	}
	step = "fold"
	core, err := engine.Load(t.Context(), builtin.Registry(), log, name)
	if err != nil {
		return ""
	}
	step = "summary"
	_, _ = core.Summarize(t.Context())
	step = "report"
	_ = report.Write(t.Context(), io.Discard, report.Input{Registry: builtin.Registry(), Log: log, Campaign: name})
	return ""
}

// Law: a fit has all that its model is made of, with scales above 0 in each dimension, and
// is of the model that it names. Whoever folds another is told which event it is.
func TestFitsWithoutForm(t *testing.T) {
	log, _ := simulate(t, electrolyte(t, 3, 4))
	labeled := history(t, log)
	chosen, err := studytest.Define("branin", 3, 4, studytest.WithExpert(2), func(def *definition.Campaign) {
		def.Policy.Trust = coexbo.CoExBO{}.Choice()
		def.Initial.Comparisons = ptr(5)
	})
	if err != nil {
		t.Fatal(err)
	}
	log, _ = simulate(t, chosen)
	compared := history(t, log)
	const three = "its hyperparameters are not those of a model of 3 dimensions"
	const two = "its hyperparameters are not those of a model of 2 dimensions"
	const objective, belief, preference = `"objective":{`, `"belief":{`, `"preference":{`
	for _, c := range []struct {
		all   []events.Event
		of    string
		path  string
		value any
		says  string
	}{
		{labeled, objective, "objective/lengthscales", []float64{1, 1}, three},
		{labeled, objective, "objective/lengthscales", []float64{1, 1, 1, 1}, three},
		{labeled, objective, "objective/lengthscales", []float64{1, 0, 1}, three},
		{labeled, objective, "objective/lengthscales", []float64{1, 1, -1}, three},
		{labeled, objective, "objective/output_scale", 0, three},
		{labeled, objective, "objective/output_scale", -1, three},
		{labeled, objective, "objective", nil, `it is not a fit of the model "objective"`},
		{labeled, objective, "belief", map[string]any{}, `it is not a fit of the model "objective"`},
		{labeled, objective, "preference", map[string]any{}, `it is not a fit of the model "objective"`},
		{labeled, objective, "model", "belief", `it is not a fit of the model "belief"`},
		{labeled, belief, "belief", nil, `it is not a fit of the model "belief"`},
		{labeled, belief, "objective", map[string]any{}, `it is not a fit of the model "belief"`},
		{labeled, belief, "preference", map[string]any{}, `it is not a fit of the model "belief"`},
		{compared, preference, "preference/lengthscales", []float64{1, 0}, two},
		{compared, preference, "preference/output_scale", 0, two},
		{compared, preference, "preference/score/lengthscales", []float64{1}, two},
		{compared, preference, "preference/score/output_scale", 0, two},
		{compared, preference, "preference/spread/lengthscales", []float64{1}, two},
		{compared, preference, "preference/spread/output_scale", 0, two},
		{compared, preference, "preference/score", nil, "it lacks its second stage"},
		{compared, preference, "preference/spread", nil, "it lacks its second stage"},
		{compared, preference, "preference/form", "utility", `its form is "utility", which the campaign's policy does not read`},
		{compared, preference, "preference", nil, `it is not a fit of the model "preference"`},
		{compared, preference, "objective", map[string]any{}, `it is not a fit of the model "preference"`},
		{compared, preference, "belief", map[string]any{}, `it is not a fit of the model "preference"`},
	} {
		i := find(t, c.all, events.KindModelFitted, c.of, 0)
		forged := refill(t, replace(c.all, i, edit(t, c.all[i], c.path, c.value))[:i+1])
		want := fmt.Sprintf("event %d, model.fitted: %s", i+1, c.says)
		if _, err := engine.Load(t.Context(), builtin.Registry(), forged, c.all[0].Campaign); err == nil || err.Error() != want {
			t.Errorf("%s = %v: %v, want %q", c.path, c.value, err, want)
		}
	}
}

// Law: a campaign of a program that did not have a default yet is amended, and goes on without it;
// what the campaign has an amendment cannot leave out.
func TestAmendingWithoutALaterDefault(t *testing.T) {
	def := campaignfile.Complete(builtin.Registry(), electrolyte(t, 3, 4, func(def *definition.Campaign) {
		def.Experts[0] = definition.Expert{Name: "ada", Channel: terminal.Choose(terminal.Settings{})}
	}))
	def.Initial.Wait = nil // as before there was one
	log := memlog.New()
	if err := engine.Define(t.Context(), log, events.CampaignDefined{Definition: def}, "person:ada", time.Now(), ""); err != nil {
		t.Fatal(err)
	}
	core := mustLoad(t, log)
	amend := func(change func(*definition.Campaign)) error {
		amended := def
		amended.Budget.Experiments++
		change(&amended)
		request := engine.Request{Actor: "person:ada", Amend: &events.CampaignAmended{Definition: amended}}
		_, err := engine.Submit(t.Context(), log, core, request, time.Now())
		return err
	}
	if err := amend(func(def *definition.Campaign) { def.Model.Feasibility = nil }); !errors.Is(err, problem.ErrInvalidRequest) {
		t.Errorf("without a model of what is feasible, which the campaign has: %v", err)
	}
	if err := amend(func(*definition.Campaign) {}); err != nil {
		t.Errorf("without a wait, as the campaign: %v", err)
	}
}
