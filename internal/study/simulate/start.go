package simulate

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/computed"
)

// Start is where the campaigns of all arms on a task begin with a seed: other
// programs may go on from there, as peers of the study's arms. What a peer
// measures from there has the noise that the study's own campaigns would have
// had.
type Start struct {
	// Key identifies what the initial design, what is measured of it, and all
	// later noise depend on.
	Key  string
	Task *Task
	// Definition is that of the task's baseline.
	Definition definition.Campaign

	study *Study
}

// Said is a composition and what the task answers there.
type Said struct {
	Point definition.Point `json:"point,omitempty"`
	// Measured is the result, noise included; nil where the experiment failed.
	Measured *float64 `json:"measured"`
	// True is the noiseless value, Regret how much worse it is than the
	// optimum.
	True   float64 `json:"true"`
	Regret float64 `json:"regret"`
}

// Starts returns the starts of the study, by seed and then by task, of tasks on
// which the baseline measures one value: a trade-off has none to say.
func (s *Study) Starts() (starts []*Start) {
	for _, u := range s.Units {
		t := s.Tasks[u.Task]
		if u.Arm == t.source.Baseline && u.Definition.Measures() && t.Truth.Front == nil {
			starts = append(starts, &Start{Key: startKey(u.Definition, t.digest), Task: t,
				Definition: u.Definition, study: s})
		}
	}
	return starts
}

// startKey is that of a campaign's start. Policy and experts are no part of it:
// they act after the start.
func startKey(def definition.Campaign, digest string) string {
	key, err := keyOf(struct {
		Digest, Name string
		Seed         uint64
		Parameters   []definition.Parameter
		Constraints  []definition.Constraint
		Candidates   []definition.Point
		Objective    definition.Objective
		Instrument   definition.Instrument
		Budget       definition.Budget
		Experiments  *int
		Design       string
		Points       []definition.Point
		Replicates   int
	}{
		digest, def.Name, def.Seed, def.Parameters, def.Constraints, def.Candidates, def.Objective,
		def.Instrument,
		def.Budget, def.Initial.Experiments, def.Initial.Design, def.Initial.Points, def.Replicates,
	})
	if err != nil {
		panic("simulate: " + err.Error()) // a definition that was read can be written
	}
	return key
}

// Initial runs the initial design, and returns what was measured. The campaign
// is cut off by its budget, right where the policy would begin to choose.
func (s *Start) Initial(ctx context.Context) ([]Said, error) {
	def := s.Definition
	def.Budget.Experiments, _ = Extent(def)
	r, _, err := s.study.run(ctx, s.Task, def, events.Build{})
	if err != nil {
		return nil, err
	}
	var all []Said
	state := r.Core().State()
	for i := range state.Experiments {
		x := &state.Experiments[i]
		said := Said{Point: x.Parameters}
		if measured, ok := state.Value(x); ok {
			said.Measured = &measured.Value
		}
		if err := s.know(&said); err != nil {
			return nil, err
		}
		all = append(all, said)
	}
	return all, nil
}

// Measure returns what the n-th experiment of the campaign, counting from 1,
// measures at p. The number decides the noise, so a peer has to count its
// experiments behind the initial ones.
func (s *Start) Measure(ctx context.Context, p definition.Point, n int) (Said, error) {
	said := Said{Point: p}
	instrument, err := s.Task.instrument(s.Definition)
	if err != nil {
		return said, err
	}
	id := events.ExperimentID(n)
	cmd := instruments.Command{
		ID: fmt.Sprintf("%s/peer/%s", s.Definition.Name, id), Campaign: s.Definition.Name,
		Experiment: id, Parameters: p, Replicate: 1,
	}
	if err := instrument.Start(ctx, cmd); err != nil {
		return said, err
	}
	outcome, err := instrument.Await(ctx, cmd)
	if err != nil {
		return said, err
	}
	if m := outcome.Measurement; m != nil {
		if value, ok := computed.Value(&s.Definition, m); ok {
			said.Measured = &value.Value
		}
	}
	err = s.know(&said)
	return said, err
}

// know adds the truth. A peer must not see it; what it was is for the
// comparison afterwards.
func (s *Start) know(said *Said) (err error) {
	said.True, said.Regret, err = s.Task.Truth.at(said.Point)
	return err
}
