package lab_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/web"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/campaign"
)

// mistaken is a method with a mistake in it.
type mistaken struct{ def definition.Campaign }

func (mistaken) Needs() policies.Needs { return policies.Needs{} }

func (mistaken) Decide(context.Context, policies.View, uint64) (policies.Decision, error) {
	var best []float64
	return policies.Decision{}, errors.New("the best is " + string(rune(best[0])))
}

type noSettings struct{}

func (*noSettings) Complete(*definition.Campaign) {}

func (*noSettings) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

func (*noSettings) Words(*definition.Campaign) string { return "as it likes" }

func (*noSettings) PartWords(policies.Part) string { return "nobody is asked" }

// broken is an instrument with a mistake in it, mute an expert's channel with one.
type (
	broken struct{ instruments.Instrument }
	mute   struct{ humans.Reviewer }
)

func (broken) Await(context.Context, instruments.Command) (instruments.Outcome, error) {
	var m *events.Measurement
	return instruments.Outcome{Status: instruments.Measured, Measurement: &events.Measurement{Objective: m.Objective}}, nil
}

func (mute) Ask(_ context.Context, q humans.Question) (humans.Reply, error) {
	var answer any = q
	return answer.(humans.Reply), nil
}

// Law: a mistake in a method, an instrument or a channel to an expert ends the run of its own
// campaign and is told with its place; the campaign takes requests, others go on, and so does
// the lab.
func TestAMistakeStaysWithItsCampaign(t *testing.T) {
	private(t)
	registry := builtin.Registry()
	registry.Methods = append(registry.Methods, policies.Family{
		Name:  "mistaken",
		Rules: []policies.Rule{{Part: policies.Next, Name: "mistaken", Settings: func() definition.Settings { return new(noSettings) }}},
		Methods: []policies.Method{{
			Name: "mistaken", Summary: "fails", Asks: "nothing", Policy: policies.Alone(definition.NewChoice("mistaken", nil)),
		}},
		New: func(def definition.Campaign, _ next.Rule) (policies.Policy, error) { return mistaken{def}, nil },
	})
	driver, channel := simulated.Driver, web.Channel
	driver.Name, channel.Name = "broken", "mute"
	driver.Open = func(ctx context.Context, def definition.Campaign, env instruments.Environment) (instruments.Instrument, error) {
		d, err := simulated.Driver.Open(ctx, def, env)
		return broken{d}, err
	}
	channel.Open = func(
		ctx context.Context, expert definition.Expert, def definition.Campaign, env humans.Environment,
	) (humans.Reviewer, error) {
		r, err := web.Channel.Open(ctx, expert, def, env)
		return mute{r}, err
	}
	registry.Instruments, registry.Experts = append(registry.Instruments, driver), append(registry.Experts, channel)
	logged := make(chan string, 1000)
	l, err := lab.Open(t.Context(), lab.Options{Folder: t.TempDir(), Registry: registry, Log: func(format string, args ...any) {
		logged <- fmt.Sprintf(format, args...)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const source = `
name: good
parameters: [{name: x1, min: -5, max: 10}, {name: x2, min: 0, max: 15}]
objective: {name: value, goal: minimize}
initial: {experiments: 2}
budget: {experiments: 30}
instrument: {simulated: {task: branin}}
policy: sobol
`
	var mistakes []*lab.Campaign
	for name, changes := range map[string][]string{
		"method":     {"sobol", "mistaken"},
		"instrument": {"simulated: {", "broken: {"},
		"channel":    {"sobol", "{trust: cobol}\nexperts: [{name: ada, mute: {}}]", "initial: {experiments: 2}", "initial: {experiments: 2, labels: 0}"},
	} {
		mistakes = append(mistakes, define(t, l, strings.NewReplacer(append(changes, "name: good", "name: "+name)...).Replace(source)))
	}
	good := define(t, l, source)
	for _, c := range append(mistakes, good) {
		must.Do(t, c.Start(t.Context(), engine.Request{Actor: "person:bo"}))
	}
	for waiting := map[string]bool{"method": true, "instrument": true, "channel": true}; len(waiting) > 0; {
		select {
		case line := <-logged:
			for name := range waiting {
				if strings.Contains(line, "internal error in the run of "+name) && strings.Contains(line, "mistake_test.go") {
					delete(waiting, name)
				}
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("nothing is said of the mistakes in %v", waiting)
		}
	}
	for _, c := range mistakes {
		note := engine.Request{Actor: "person:ada", Note: &engine.Note{Text: "what is it?"}}
		_, err := c.Submit(t.Context(), note)
		for errors.Is(err, drive.ErrOver) { // the run ends at this moment: whoever asks is to ask again
			_, err = c.Submit(t.Context(), note)
		}
		if err != nil {
			t.Errorf("the %s takes no note: %v", c.Name(), err)
		}
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		core := must.Get(good.Load(t.Context()))(t)
		if core.State().Status == campaign.Completed {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the other campaign is %s", core.State().Status)
		}
	}
}
