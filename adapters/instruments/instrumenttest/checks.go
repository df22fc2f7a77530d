package instrumenttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
	"github.com/campaignd/campaignd/events/definition"
)

// describe compares the description with the campaign, and with itself at other
// times. A campaign plans by the description: limits or a capacity that change
// while it runs would make plans that cannot be carried out.
func describe(ctx context.Context, s *Session) error {
	d := s.description
	faults := []error{instruments.Compatible(d, s.env.Definition)}
	for n, p := range s.env.Points {
		if err := wire.CheckLimits(d, p); err != nil {
			faults = append(faults, fmt.Errorf("safe point %d is outside its limits: %w", n+1, err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	again := func(when string) error {
		second, err := call(s, ctx, "Describe", s.inst.Describe)
		if err != nil {
			return fmt.Errorf("its Describe %s: %w", when, err)
		}
		if !reflect.DeepEqual(d, second) {
			return fmt.Errorf("the description changed %s from %+v to %+v", when, d, second)
		}
		return nil
	}
	if err := atOnce(4, func(int) error { return again("when it was asked again") }); err != nil {
		return err
	}
	if err := s.restart(ctx); err != nil {
		return err
	}
	return again("with a restart")
}

// neverStarted is the state of a command that was recorded and not sent when
// campaignd died. After a restart the engine asks about it: what an instrument
// answers must not begin it.
func neverStarted(ctx context.Context, s *Session) error {
	cmd := s.command(0)
	err := startsNothing(ctx, s, cmd)
	if err != nil {
		s.started = append(s.started, cmd) // it may be acting: wait for it, and count it
	}
	return err
}

// startsNothing puts every request but Start for a command that was never
// started. Only Start may move anything (law 3 of docs/architecture.md: intent
// before act).
func startsNothing(ctx context.Context, s *Session, cmd instruments.Command) error {
	short, cancel := context.WithTimeout(ctx, s.env.Prompt/4)
	defer cancel()
	o, err := s.await(short, cmd)
	var ignored *ignoredContextError
	if errors.As(err, &ignored) {
		return err
	}
	if err == nil && o.Status != instruments.Unknown && !s.env.AnswersUnseen {
		return fmt.Errorf("its Await of a command that was never started gave %q", o.Status)
	}
	if err := s.cancel(ctx, cmd); err != nil {
		return fmt.Errorf("its Cancel of a command that was never started: %w", err)
	}
	fate, ok, err := s.fate(ctx, cmd)
	if err == nil && fate == instruments.FateFinished { // as called off: it never begins
		if o, err := s.await(ctx, cmd); err == nil && o.Status == instruments.Cancelled {
			return s.acts.acted(cmd, 0)
		}
	}
	if err != nil {
		return fmt.Errorf("its Recover of a command that was never started: %w", err)
	} else if ok && fate != instruments.FateNotStarted && fate != instruments.FateUnknown &&
		!s.env.AnswersUnseen {
		return fmt.Errorf("its Recover says that a command that was never started is %s", fate)
	}
	return s.acts.acted(cmd, 0)
}

// measure makes the measurement that other checks share. Where it fails nothing
// more is asked of the instrument. A suite that goes on then would only repeat
// the same failure, with real material.
func measure(ctx context.Context, s *Session) error {
	_, _, err := s.done(ctx)
	return err
}

// unattended starts a command and asks for nothing until the record of acts
// tells that it is carried out. A command must not depend on campaignd staying:
// it may die right after the confirmation, and the act is recorded as under
// way.
func unattended(ctx context.Context, s *Session) error {
	if !s.acts.counted() {
		return skip("only a record of its acts tells when it acts")
	}
	cmd := s.command(0)
	if err := s.start(ctx, cmd); err != nil {
		return fmt.Errorf("its Start: %w", err)
	}
	carriedOut, err := s.carriesOut(ctx, cmd)
	if err != nil {
		return err
	}
	if _, err := s.expectMeasured(ctx, cmd); err != nil || carriedOut {
		return err
	}
	return fmt.Errorf("command %s was started and not acted on until its outcome was waited for",
		cmd.ID)
}

// carriesOut waits until the instrument acts on a command that was started, or
// says that it has ended; for much longer than a measurement lasts. Without a
// record of acts, the recovery's word that it has finished is taken.
func (s *Session) carriesOut(ctx context.Context, cmd instruments.Command) (bool, error) {
	limit := time.Now().Add(min(s.env.Patience, 3*s.lasts+5*s.env.Prompt))
	for time.Now().Before(limit) {
		r, err := s.acts.record()
		if err != nil || r.acts[cmd.ID] > 0 {
			return err == nil, err
		}
		if fate, ok, err := s.fate(ctx, cmd); ok && err == nil && fate == instruments.FateFinished {
			return true, nil
		}
		if err := s.pause(ctx, s.env.Prompt/100); err != nil {
			return false, err
		}
	}
	return false, nil
}

// awaitAgain: the outcome may be asked for any number of times, as after
// restarts. Two answers that differ would be two results of one experiment.
func awaitAgain(ctx context.Context, s *Session) error {
	cmd, first, err := s.done(ctx)
	if err != nil {
		return err
	}
	again := func(int) error {
		second, err := s.await(ctx, cmd)
		if err != nil {
			return fmt.Errorf("its Await after completion: %w", err)
		}
		return same(cmd, first, second)
	}
	if err := again(0); err != nil {
		return err
	}
	if err := atOnce(8, again); err != nil {
		return err
	}
	return s.acts.acted(cmd, 1)
}

// startAfterCompletion is a start whose confirmation came so late that it is
// sent again after the end. A network and a crash can both delay it so.
func startAfterCompletion(ctx context.Context, s *Session) error {
	cmd, first, err := s.done(ctx)
	if err != nil {
		return err
	}
	return s.startFinished(ctx, cmd, first)
}

// startFinished starts a command that has ended again, and checks that its
// outcome stays and nothing moves.
func (s *Session) startFinished(
	ctx context.Context, cmd instruments.Command, first instruments.Outcome,
) error {
	if err := s.startAgain(ctx, cmd); err != nil {
		return fmt.Errorf("its Start after completion: %w", err)
	}
	second, err := s.await(ctx, cmd)
	if err != nil {
		return fmt.Errorf("its Await after a second Start: %w", err)
	}
	if err := s.sameResult(cmd, first, second); err != nil {
		return err
	}
	return s.acts.acted(cmd, 1)
}

// duplicateStart starts one command twice in a row and another one from several
// goroutines: the identifier, not the call, makes the experiment. The second
// start may come while the first is under way, from another goroutine, or over
// another connection: each is a way in which a network repeats a message.
func duplicateStart(ctx context.Context, s *Session) error {
	one := s.command(0)
	if err := s.start(ctx, one); err != nil {
		return fmt.Errorf("its Start: %w", err)
	}
	if err := s.startAgain(ctx, one); err != nil {
		return fmt.Errorf("its Start, while the command is under way: %w", err)
	}
	if _, err := s.expectMeasured(ctx, one); err != nil {
		return err
	}
	two := s.command(1)
	if err := atOnce(8, func(int) error { return s.start(ctx, two) }); err != nil {
		if s.issued[two.ID].accepted { // and refused: it cannot be both
			return fmt.Errorf("its Start from several goroutines: %v", err)
		}
		return fmt.Errorf("its Start from several goroutines: %w", err)
	}
	if err := atOnce(3, func(int) error { return s.redeliver(ctx, s.inst, two) }); err != nil {
		return err
	}
	outcomes := make([]instruments.Outcome, 4)
	if err := atOnce(4, func(n int) (err error) {
		outcomes[n], err = s.await(ctx, two)
		return err
	}); err != nil {
		return fmt.Errorf("its Await from several goroutines: %w", err)
	}
	for _, o := range outcomes {
		if err := same(two, outcomes[0], o); err != nil {
			return err
		}
	}
	_, err := s.expectMeasured(ctx, two)
	return err
}

// contextEnds ends contexts before and during Start and Await. A context bounds
// the wait, never the experiment.
func contextEnds(ctx context.Context, s *Session) error {
	over, cancel := context.WithCancel(ctx)
	cancel()
	var ignored *ignoredContextError
	if err := s.start(over, s.command(0)); err == nil {
		return errors.New("its Start with a context that was over gave no error")
	} else if errors.As(err, &ignored) {
		return err
	}
	// It may have acted even so: only a person or recovery could tell.
	s.settleBriefly(ctx)

	cmd := s.command(0)
	if err := s.start(ctx, cmd); err != nil {
		return fmt.Errorf("its Start: %w", err)
	}
	if _, err := s.await(over, cmd); err == nil {
		return errors.New("its Await with a context that was over gave an outcome and no error")
	} else if errors.As(err, &ignored) {
		return err
	}
	// While it is under way, if it takes long enough for that.
	short, cancel := context.WithTimeout(ctx, s.env.Prompt/100)
	defer cancel()
	if _, err := s.await(short, cmd); err != nil {
		if errors.As(err, &ignored) {
			return err
		}
		if short.Err() == nil {
			return fmt.Errorf("its Await: %w", err)
		}
	}
	if _, err := s.expectMeasured(ctx, cmd); err != nil {
		return fmt.Errorf("after an Await was abandoned: %w", err)
	}
	return nil
}

// settleBriefly gives commands whose Start failed the time to end, if they were
// started, and forgets those that were not. Of those that were started, the
// checks that follow must not find the instrument at work.
func (s *Session) settleBriefly(ctx context.Context) {
	var acting []instruments.Command
	for _, cmd := range s.started {
		fate, ok, err := s.fate(ctx, cmd)
		if ok && err == nil && fate == instruments.FateNotStarted {
			continue
		}
		short, cancel := context.WithTimeout(ctx, s.env.Prompt)
		_, _ = s.await(short, cmd)
		cancel()
		acting = append(acting, cmd)
	}
	s.started = acting
}

// lostConfirmation abandons a Start at once and after a millisecond. Whether it
// arrived is open then, which is why either answer of Recover is good and only a
// second act is not.
func lostConfirmation(ctx context.Context, s *Session) error {
	for _, after := range []time.Duration{0, time.Millisecond} {
		cmd := s.command(0)
		lost, cancel := context.WithTimeout(ctx, after)
		err := s.start(lost, cmd)
		cancel()
		var ignored *ignoredContextError
		switch {
		case errors.As(err, &ignored):
			return err
		case errors.Is(err, instruments.ErrRefused) && !errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("its Start at a safe point: %w", err)
		}
		if fate, ok, err := s.fate(ctx, cmd); err != nil {
			return fmt.Errorf("its Recover: %w", err)
		} else if ok && fate == instruments.FateUnknown {
			s.remark("after a lost confirmation the instrument does not know the command %s: "+
				"a person would have to look",
				cmd.ID)
			continue
		}
		if err := s.startAgain(ctx, cmd); err != nil {
			return fmt.Errorf("the same Start again: %w", err)
		}
		if _, err := s.expectMeasured(ctx, cmd); err != nil {
			return err
		}
	}
	return nil
}

// outOfLimits asks for a point beyond each limit in turn, the rest of it safe.
// A refusal must be ErrRefused: after any other error campaignd would have to
// take the fate for unknown. The points are just outside: an instrument that
// does act on one goes beyond its limit by a thousandth of it, or of a unit
// where that is more.
func outOfLimits(ctx context.Context, s *Session) error {
	if !s.description.Simulated && !s.env.AllowOutOfLimits {
		return skip("a real instrument would be asked for a composition outside its limits, which was not allowed")
	}
	asked := false
	for _, spec := range s.description.Parameters {
		for _, limit := range []*float64{spec.Min, spec.Max} {
			if limit == nil {
				continue
			}
			// Just outside: enough not to be rounding, and no more.
			beyond := math.Max(math.Abs(*limit)*1e-3, 1e-3)
			if limit == spec.Min {
				beyond = -beyond
			}
			cmd := s.command(0)
			point := definition.Point{}
			for name, v := range cmd.Parameters {
				point[name] = v
			}
			point[spec.Name] = definition.Number(*limit + beyond)
			cmd.Parameters = point
			asked = true
			err := s.start(ctx, cmd)
			switch {
			case err == nil:
				return fmt.Errorf("%s = %g %s is outside its limits and was accepted",
					spec.Name, *limit+beyond, spec.Unit)
			case !errors.Is(err, instruments.ErrRefused):
				return fmt.Errorf("%s = %g %s is outside its limits "+
					"and was not refused in so many words (ErrRefused), "+
					"so that nobody can tell whether it was acted on: %w",
					spec.Name, *limit+beyond, spec.Unit, err)
			}
			if err := s.acts.acted(cmd, 0); err != nil {
				return err
			}
			s.started = nil // refused: there is nothing to wait for
		}
	}
	if !asked {
		return skip("the instrument describes no limits")
	}
	return nil
}

// sideBySide looks for outcomes that are mixed up between commands under way at
// once. That the instrument's own composition is the nearer one shows whose
// outcome it is; that the values are those of the compositions measured alone
// shows that the sample is right, too.
func sideBySide(ctx context.Context, s *Session) error {
	if s.description.Capacity < 2 {
		return skip("the instrument works on one command at a time")
	}
	cmds, outcomes, err := s.pair(ctx)
	if err != nil || maps.Equal(cmds[0].Parameters, cmds[1].Parameters) {
		return err
	}
	// The composition made is nearer to the requested one than to the other command's.
	for n, o := range outcomes {
		own := distance(o.Measurement.Actual, cmds[n].Parameters)
		other := distance(o.Measurement.Actual, cmds[1-n].Parameters)
		if own > other {
			return fmt.Errorf("the outcome of command %s is that of command %s", cmds[n].ID, cmds[1-n].ID)
		}
	}
	return s.asAlone(ctx, outcomes)
}

// pair measures two commands side by side, at the compositions that were
// measured alone if there are such, and waits for the later one first. An
// instrument that hands out whichever outcome is next would pass if they were
// waited for in their order.
func (s *Session) pair(ctx context.Context) ([]instruments.Command, []instruments.Outcome, error) {
	cmds := []instruments.Command{s.command(0), s.command(1)}
	if s.alone != nil {
		cmds = []instruments.Command{s.commandAt(s.alone.points[0]), s.commandAt(s.alone.points[1])}
	}
	for _, cmd := range cmds {
		if err := s.start(ctx, cmd); err != nil {
			return cmds, nil, fmt.Errorf("its Start: %w", err)
		}
	}
	outcomes := make([]instruments.Outcome, len(cmds))
	for _, n := range []int{1, 0} {
		o, err := s.expectMeasured(ctx, cmds[n])
		if err != nil {
			return cmds, nil, err
		}
		outcomes[n] = o
	}
	return cmds, outcomes, s.overlapped(cmds)
}

// overlapped remarks on commands that were worked on one after the other, where
// the record of acts says when each began and ended. It is a remark and no
// fault: the capacity it describes is then only a queue's.
func (s *Session) overlapped(cmds []instruments.Command) error {
	if !s.acts.counted() {
		return nil
	}
	r, err := s.acts.record()
	if err != nil {
		return err
	}
	marked := 0
	under := 0
	most := 0
	for _, act := range r.lines {
		if act.Command != cmds[0].ID && act.Command != cmds[1].ID {
			continue
		}
		switch act.Mark {
		case Begins:
			marked++
			under++
		case Ends:
			under--
		}
		most = max(most, under)
	}
	if marked == len(cmds) && most == 1 {
		s.remark("it took commands side by side and worked on one after the other")
	}
	return nil
}

// distance is the sum of absolute differences, with 1 for different categories.
// It is in the units of the parameters, which is enough to compare two
// distances from the same point.
func distance(a, b definition.Point) float64 {
	var sum float64
	for name, v := range a {
		x, number := v.Float()
		y, _ := b[name].Float()
		switch {
		case number:
			sum += math.Abs(x - y)
		case v.Name() != b[name].Name():
			sum++
		}
	}
	return sum
}

// atOnce calls f from n goroutines and returns the first error by number. By
// number, so that a run that is repeated reports the same one.
func atOnce(n int, f func(n int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
