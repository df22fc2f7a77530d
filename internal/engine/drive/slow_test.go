package drive_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// hears fails where the loop does not answer a request while something else takes long.
func hears(t *testing.T, r *drive.Runner, during string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	note := engine.Request{Actor: "person:eve", Note: &engine.Note{Text: "still there?"}}
	if _, err := r.Submit(ctx, note); err != nil {
		t.Fatalf("%s, a note is answered with %v", during, err)
	}
}

// Law: an instrument that takes its time to say what it is delays nobody but who waits for that.
func TestSlowDescriptionDelaysNobody(t *testing.T) {
	defer drive.LookAtLeases(5 * time.Millisecond)()
	d := newDevice("serial 1")
	ready := make(chan struct{})
	d.await = func(cmd instruments.Command) (instruments.Outcome, error) {
		if cmd.Experiment == "e2" {
			<-ready
		}
		return measured(12), nil
	}
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	var slow atomic.Bool
	l, waiting, ended := leaseFor(t, changing{d, func() instruments.Description {
		if slow.Load() {
			asked <- struct{}{}
			<-answer
		}
		return instruments.Description{Name: "robot", Identity: "serial 1", Capacity: 1}
	}})
	l.leases[0].lose("its file is gone")
	until(t, waiting, "its file is gone")
	slow.Store(true)
	resumed := make(chan error)
	go func() {
		_, err := l.Submit(t.Context(), engine.Request{Actor: "person:ada", Resume: &events.CampaignResumed{}})
		resumed <- err
	}()
	<-asked
	hears(t, l.Runner, "while the instrument describes itself")
	close(answer)
	must.Do(t, <-resumed)
	close(ready)
	must.Do(t, ended())
	l.auditClean(t)
}

// pensive takes its time to name examples.
type pensive struct {
	silent
	asked, answer chan struct{}
}

func (pensive) Describe() humans.Description { return humans.Description{Simulated: true} }

func (p pensive) Examples(_ context.Context, n int, _ bool) ([]humans.Example, error) {
	close(p.asked)
	<-p.answer
	examples := make([]humans.Example, n)
	for i := range examples {
		examples[i] = humans.Example{Point: at(0.5+0.1*float64(i), 0.4, 0.5), Label: events.LabelAccept}
	}
	return examples, nil
}

// Law: an expert who takes their time to name examples delays no request. What they name is
// recorded when the campaign asks for it: not while it is paused.
func TestSlowExamplesDelayNobody(t *testing.T) {
	def := electrolyte(t, 1, 4, func(def *definition.Campaign) { def.Initial.Labels = ptr(2) })
	log := memlog.New()
	r, _ := start(t, log, def, nil)
	ada := pensive{silent{}, make(chan struct{}), make(chan struct{})}
	r.Reviewers = map[string]humans.Reviewer{"ada": ada}
	ended := run(t, r)
	<-ada.asked
	hears(t, r, "while an expert names examples")
	submit := func(request engine.Request) {
		t.Helper()
		request.Actor = "person:eve"
		must.Get(r.Submit(t.Context(), request))(t)
	}
	submit(engine.Request{Pause: &events.CampaignPaused{}})
	close(ada.answer)
	hears(t, r, "at a pause")
	for _, e := range history(t, log) {
		if e.Kind == events.KindQuestionAnswered {
			t.Error("an example is recorded while the campaign is paused")
		}
	}
	submit(engine.Request{Resume: &events.CampaignResumed{}})
	submit(engine.Request{Stop: &events.CampaignStopped{}})
	must.Do(t, ended())
	if problem := unsound(t, log, r.Core()); problem != "" {
		t.Error(problem)
	}
}
