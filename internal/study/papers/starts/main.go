// Command starts lets another program run the campaigns of a study: from the
// same initial compositions, with the same noise. It prints a line of JSON with
// the tasks of the study, then one for each campaign, with what was measured of
// its initial design, and after an empty line measures what it is asked for on
// standard input, a line for a line:
//
//	go -C internal/study/papers run ./starts $PWD/examples/studies/worth-asking.yaml full 50001-50060
//
//	> {"start": "…", "point": {"x1": 0.25, …}, "experiment": 4}
//	< {"measured": 1.5, "true": 1.4, "regret": 0.4}
//
// The line of a campaign says in start what [simulate.Result.Key] of a peer's
// results ends with.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/study/simulate"
	"github.com/campaignd/campaignd/internal/study/studyfile"
)

// line is a campaign that another program may go on with.
type line struct {
	Start   string `json:"start"`
	Task    string `json:"task"`
	Seed    uint64 `json:"seed"`
	Initial []said `json:"initial"`
}

// said is a composition and what the task answers there.
type said struct {
	Point definition.Point `json:"point,omitempty"`
	// Measured is the result, noise included; nil where the experiment failed.
	Measured *float64 `json:"measured"`
	// True is the noiseless value, Regret how much worse it is than the
	// optimum. A peer must not see them; they are for the comparison afterwards.
	True   float64 `json:"true"`
	Regret float64 `json:"regret"`
}

// main prints the first error and ends; there is no other exit status.
func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "starts:", err)
		os.Exit(1)
	}
}

// run prints the tasks and the starts, and answers requests until its input
// ends. Each answer is flushed, since the other program waits for it.
func run(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return errors.New("say STUDY SIZE FIRST-LAST, with - for no size and for the study's own seeds")
	}
	// The dash leaves an option at what the study file says.
	options := studyfile.Options{}
	if args[1] != "-" {
		options.Size = args[1]
	}
	if args[2] != "-" {
		seeds, ok := studyfile.ParseRange(args[2])
		if !ok {
			return fmt.Errorf("%s are no seeds; write 50001-50060", args[2])
		}
		options.Seeds = seeds
	}
	file, err := studyfile.Read(args[0], options)
	if err != nil {
		return err
	}
	study, err := simulate.New(ctx, file, simulate.Environment{})
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	say := json.NewEncoder(out)
	if err := say.Encode(about(study)); err != nil {
		return err
	}
	// All starts are kept: the other program may go on with its campaigns in any
	// order, and with several in turn.
	starts := map[string]*simulate.Start{}
	for _, start := range study.Starts() {
		first, err := initial(ctx, study, start)
		if err != nil {
			return err
		}
		starts[start.Key] = start
		l := line{Start: start.Key, Task: start.Task.Name, Seed: start.Definition.Seed, Initial: first}
		if err := say.Encode(l); err != nil {
			return err
		}
	}
	fmt.Fprintln(out)
	if err := out.Flush(); err != nil {
		return err
	}
	// The scanner's limit of 64 KiB a line is far above a composition's length.
	asked := bufio.NewScanner(os.Stdin)
	for asked.Scan() {
		var ask struct {
			Start      string           `json:"start"`
			Point      definition.Point `json:"point"`
			Experiment int              `json:"experiment"`
		}
		if err := json.Unmarshal(asked.Bytes(), &ask); err != nil {
			return err
		}
		start := starts[ask.Start]
		if start == nil {
			return fmt.Errorf("there is no start %q", ask.Start)
		}
		answer, err := measure(ctx, start, ask.Point, ask.Experiment)
		if err != nil {
			return err
		}
		if err := errors.Join(say.Encode(answer), out.Flush()); err != nil {
			return err
		}
	}
	return asked.Err()
}

// initial runs the initial design of a start, and returns what was measured. The
// campaign is cut off by its budget, right where the policy would begin to choose.
func initial(ctx context.Context, study *simulate.Study, s *simulate.Start) ([]said, error) {
	def := s.Definition
	def.Budget.Experiments, _ = simulate.Extent(def)
	r, _, err := study.RunCampaign(ctx, s.Task, def, events.Build{})
	if err != nil {
		return nil, err
	}
	var all []said
	state := r.Core().State()
	for i := range state.Experiments {
		x := &state.Experiments[i]
		answer, err := known(s, x.Parameters)
		if err != nil {
			return nil, err
		}
		if measured, ok := state.Value(x); ok {
			answer.Measured = &measured.Value
		}
		all = append(all, answer)
	}
	return all, nil
}

// measure returns what the n-th experiment of a start's campaign, counting from 1,
// measures at p. The number decides the noise, so a peer has to count its
// experiments behind the initial ones.
func measure(ctx context.Context, s *simulate.Start, p definition.Point, n int) (said, error) {
	answer, err := known(s, p)
	if err != nil {
		return answer, err
	}
	instrument, err := s.Task.Instrument(s.Definition)
	if err != nil {
		return answer, err
	}
	id := events.ExperimentID(n)
	cmd := instruments.Command{
		ID: fmt.Sprintf("%s/peer/%s", s.Definition.Name, id), Campaign: s.Definition.Name,
		Experiment: id, Parameters: p, Replicate: 1,
	}
	if err := instrument.Start(ctx, cmd); err != nil {
		return answer, err
	}
	outcome, err := instrument.Await(ctx, cmd)
	if err != nil {
		return answer, err
	}
	if m := outcome.Measurement; m != nil {
		if value, ok := computed.Value(&s.Definition, m); ok {
			answer.Measured = &value.Value
		}
	}
	return answer, nil
}

// known are the true values of a composition.
func known(s *simulate.Start, p definition.Point) (answer said, err error) {
	answer.Point = p
	answer.True, answer.Regret, err = s.Task.Truth.At(p)
	return answer, err
}

// task says what a task is. It has what a foreign optimizer needs to set itself
// up; Best and Worst are the true values of the objective, to scale a regret by,
// and no optimizer may look at them.
type task struct {
	Name        string                  `json:"name"`
	Parameters  []definition.Parameter  `json:"parameters"`
	Constraints []definition.Constraint `json:"constraints,omitempty"`
	Candidates  []definition.Point      `json:"candidates,omitempty"`
	Objective   definition.Objective    `json:"objective"`
	Experiments int                     `json:"experiments"`
	Best        float64                 `json:"best"`
	Worst       float64                 `json:"worst"`
}

// about lists each task once, by the definition of its first campaign.
func about(study *simulate.Study) map[string]any {
	var list []task
	seen := map[string]bool{}
	for _, s := range study.Starts() {
		if seen[s.Task.Name] {
			continue
		}
		seen[s.Task.Name] = true
		def := s.Definition
		list = append(list, task{
			Name:        s.Task.Name,
			Parameters:  def.Parameters,
			Constraints: def.Constraints,
			Candidates:  def.Candidates,
			Objective:   def.Objective,
			Experiments: def.Budget.Experiments,
			Best:        s.Task.Truth.Best,
			Worst:       s.Task.Truth.Worst,
		})
	}
	return map[string]any{"study": study.File.Name, "tasks": list}
}
