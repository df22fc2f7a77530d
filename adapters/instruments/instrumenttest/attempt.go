package instrumenttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// attempts is how often a check is repeated that meets an honest failure.
const attempts = 5

// noMeasurement says that a command ended legitimately without a measurement,
// so that nothing can be judged by it.
type noMeasurement struct{ why error }

func (e *noMeasurement) Error() string { return e.why.Error() }
func (e *noMeasurement) Unwrap() error { return e.why }

// run runs one check and leaves the instrument idle.
func (s *Session) run(ctx context.Context, check Check) Result {
	result := Result{Check: check.Name, Law: check.Law, Verdict: Pass}
	begin := time.Now()
	s.started, s.remarks = nil, nil
	var err error
	switch {
	case check.Name != "describe" && !s.description.Simulated && !s.env.AllowRuns:
		err = skip("it may perform %d experiments on a real instrument, which was not allowed", max(1, check.Runs))
	case s.hopeless:
		err = skip("the instrument did not measure at a safe point: nothing more is asked of it")
	default:
		err = s.persist(ctx, check, &result)
		s.hopeless = check.Name == "measure" && err != nil
	}
	result.Seconds = time.Since(begin).Seconds()
	result.Reason = strings.Join(s.remarks, "\n")
	switch {
	case errors.Is(err, ErrSkipped):
		result.Verdict = Skip
		result.Reason = strings.TrimPrefix(err.Error(), ErrSkipped.Error()+": ")
	case err != nil:
		result.Verdict, result.Reason = Fail, err.Error()
	}
	return result
}

// persist runs a check, and runs it again at other points while commands end
// honestly without a measurement. If that goes on, either the instrument cannot
// be judged, or the check itself makes the experiments fail; undisturbed
// commands in between tell which.
func (s *Session) persist(ctx context.Context, check Check, result *Result) (err error) {
	var honest *noMeasurement
	for attempt := 1; ; attempt++ {
		s.started, s.remarks = nil, nil
		err = s.guarded(ctx, check)
		if errors.As(err, &honest) && attempt >= attempts && check.Name != "measure" {
			for range max(1, check.Runs) {
				if _, _, control := s.measured(ctx, 0); errors.As(control, new(*noMeasurement)) {
					result.Unjudged = true
				} else if control != nil {
					err = control
				}
			}
		}
		s.settle(ctx)
		result.Dispatched += len(s.started)
		s.shift++
		switch {
		case err == nil && honest != nil:
			s.remark("it took %d attempts: %v", attempt, honest)
			return nil
		case !errors.As(err, &honest) || ctx.Err() != nil:
			return err
		case result.Unjudged || check.Name == "measure" && attempt == attempts:
			result.Unjudged = true
			return skip("it could not be judged: no attempt of %d had a measurement to judge by; the last: %v",
				attempt, err)
		case attempt == 2*attempts:
			return fmt.Errorf("none of %d attempts had a measurement, and every undisturbed command did; the last: %v",
				attempt, err)
		}
	}
}
