package drive_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/policies/coexbo"
)

// exampler names so many examples, whatever it is asked for, or fails.
type exampler struct {
	silent
	n   int
	err error
}

func (e exampler) Examples(context.Context, int, bool) ([]humans.Example, error) {
	return make([]humans.Example, e.n), e.err
}

func (e exampler) Comparisons(context.Context, int, int) ([]humans.Ranking, error) {
	return make([]humans.Ranking, e.n), e.err
}

// Law: an expert who does not give the initial examples that the campaign asks for ends the
// run, which says who and what; nothing is recorded of it.
func TestExamplesThatAreNotGiven(t *testing.T) {
	labels := electrolyte(t, 1, 4, func(def *definition.Campaign) { def.Initial.Labels = ptr(3) })
	comparisons, err := studytest.Define("branin", 1, 4, studytest.WithExpert(2), func(def *definition.Campaign) {
		def.Policy.Trust = coexbo.CoExBO{}.Choice()
		def.Initial.Comparisons = ptr(3)
	})
	if err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, r *drive.Runner) error { return r.Run(ctx) }
	suggest := func(ctx context.Context, r *drive.Runner) error {
		_, err := r.Suggest(ctx)
		return err
	}
	asleep := errors.New("ada is asleep")
	for name, c := range map[string]struct {
		def      definition.Campaign
		reviewer humans.Reviewer
		says     string
	}{
		"cannot label": {labels, silent{},
			"the initial labels of ada: this expert cannot name examples; set initial.labels to 0"},
		"cannot compare": {comparisons, silent{},
			"the initial comparisons of ada: this expert cannot compare examples; set initial.comparisons to 0"},
		"fails to label":   {labels, exampler{err: asleep}, "the initial labels of ada: ada is asleep"},
		"fails to compare": {comparisons, exampler{err: asleep}, "the initial comparisons of ada: ada is asleep"},
		"labels too few":   {labels, exampler{n: 2}, "the expert ada gave 2 initial labels, 3 were asked for"},
		"compares too many": {comparisons, exampler{n: 4},
			"the expert ada gave 4 initial comparisons, 3 were asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, drive := range []func(context.Context, *drive.Runner) error{run, suggest} {
				log := memlog.New()
				r, _ := start(t, log, c.def, nil)
				r.Reviewers = map[string]humans.Reviewer{"ada": c.reviewer}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // it is not asked for ever
				defer cancel()
				if err := drive(ctx, r); err == nil || err.Error() != c.says {
					t.Fatalf("it ended with %v, want %q", err, c.says)
				}
				if n := len(history(t, log)); n != 1 {
					t.Errorf("%d events are recorded beside the definition", n-1)
				}
			}
		})
	}
}

// Law: where the next step cannot be worked out, for whatever is in the log, whoever asks
// for it is told why, and is not told that there is nothing to do.
func TestNoNextStep(t *testing.T) {
	def := electrolyte(t, 1, 4, unaided, func(def *definition.Campaign) {
		def.Candidates = []definition.Point{at(0.5, 0.4, 0.5), at(1, 0.4, 0.5), at(1.5, 0.4, 0.5)}
		def.Initial.Experiments = ptr(1)
		def.Parallel = 2
	})
	log := memlog.New()
	start(t, log, def, nil)                                      // defines it
	elsewhere := definition.Point{"lipf6": definition.Number(1)} // no composition of this campaign
	now := time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC)
	appendAll(t, log, def.Name, now,
		&events.ExperimentRequested{Experiment: "e1", Parameters: elsewhere, Origin: events.OriginPolicy, Replicate: 1},
		&events.ExperimentDispatched{Experiment: "e1", Command: "c", Instrument: "robot"},
		&events.ExperimentRequested{Experiment: "e2", Parameters: at(1, 0.4, 0.5), Origin: events.OriginInitial, Replicate: 1},
		&events.ExperimentFailed{Experiment: "e2", Instrument: "person"})
	r := &drive.Runner{Registry: builtin.Registry(), Log: log, Campaign: def.Name, Now: func() time.Time { return now }}
	suggestion, err := r.Suggest(t.Context())
	if err == nil || !strings.Contains(err.Error(), `parameter "ec" is missing`) {
		t.Errorf("it suggests %+v, and says %v", suggestion, err)
	}
}
