package simulate

import "github.com/campaignd/campaignd/events/definition"

// Start is the common beginning of the campaigns of all arms on a task with a seed: other programs
// may continue from it, as peers of the study's arms.
type Start struct {
	// Key identifies the inputs of the initial design, of its measurements, and of all later noise.
	Key  string
	Task *Task
	// Definition is that of the task's baseline.
	Definition definition.Campaign
}

// Starts returns the starts of the study, by seed and then by task, of tasks on which the baseline
// measures one value: a trade-off has no single one.
func (s *Study) Starts() (starts []*Start) {
	for _, u := range s.Units {
		t := s.Tasks[u.Task]
		if u.Arm == t.source.Baseline && u.Definition.Measures() && t.Truth.Front == nil {
			starts = append(starts, &Start{Key: startKey(u.Definition, t.digest), Task: t, Definition: u.Definition})
		}
	}
	return starts
}

// startKey is that of a campaign's start. Policy and experts do not enter it: they act after the
// start.
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
