package instrumenttest

import (
	"context"
	"fmt"
	"reflect"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
)

// plate is how many experiments the act of the check is for.
const plate = 3

// together has an act performed for several experiments. Each of them has to end by itself: one that failed
// takes nothing from the others.
func together(ctx context.Context, s *Session) error {
	if b, ok := s.inst.(instruments.Batcher); !ok || !b.Batches() {
		return skip("it does not say that it performs acts for several experiments (`batches`)")
	}
	cmd := s.command(0)
	cmd.Act, cmd.Stage, cmd.Batch = cmd.Experiment, "check", "b1"
	for _, q := range s.env.Definition.Declared() {
		cmd.Gives = append(cmd.Gives, q.Name)
	}
	for n := range plate {
		cmd.Experiments = append(cmd.Experiments, instruments.Sample{Experiment: fmt.Sprintf("%s-%d", cmd.Act, n+1),
			Position: n + 1, Parameters: s.env.Points[(n+s.shift)%len(s.env.Points)]})
	}
	cmd.Experiment, cmd.Parameters, cmd.Replicate = "", nil, 0
	if err := s.start(ctx, cmd); err != nil {
		return fmt.Errorf("its Start of act %s, for %d experiments: %w", cmd.ID, plate, err)
	}
	o, err := s.await(ctx, cmd)
	if err != nil {
		return fmt.Errorf("its Await of act %s: %w", cmd.ID, err)
	}
	if err := s.acts.over(cmd, o.Status); err != nil {
		return err
	}
	if o.Status != instruments.Done {
		return &noMeasurement{why: fmt.Errorf("act %s ended as %q: %s", cmd.ID, o.Status, o.Cause), later: o.Status == instruments.Deferred}
	}
	if len(o.Remarks) > 0 {
		return fmt.Errorf("act %s: %s", cmd.ID, o.Remarks[0])
	}
	again, err := s.await(ctx, cmd)
	if err != nil || !reflect.DeepEqual(o, again) {
		return fmt.Errorf("asked again for the outcome of act %s it answers %+v, %w; it was %+v", cmd.ID, again, err, o)
	}
	usable := 0
	for _, x := range cmd.Experiments {
		g := events.Of(o.Gave, x.Experiment)
		switch {
		case g.Status == events.ActDone && g.Measurement == nil:
			return fmt.Errorf("act %s gave nothing for %s, and does not say that it failed: it was to measure %v", cmd.ID, x.Experiment, cmd.Gives)
		case g.Status == events.ActDone:
			usable++
			if g.Measurement.Actual == nil {
				g.Measurement.Actual = x.Parameters
			}
		case g.Cause == "":
			return fmt.Errorf("act %s ended as %q for %s without a cause", cmd.ID, g.Status, x.Experiment)
		}
	}
	if err := instruments.CheckOutcome(s.env.Definition, o); err != nil {
		return fmt.Errorf("act %s: %w", cmd.ID, err)
	}
	if usable == 0 {
		return &noMeasurement{why: fmt.Errorf("act %s gave nothing for any of its experiments", cmd.ID)}
	}
	if usable < plate {
		s.remark("it gave something for %d of %d experiments", usable, plate)
	}
	return s.acts.acted(cmd, 1)
}
