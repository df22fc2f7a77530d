package instrumenttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// attempts is how often a check is repeated that meets an honest failure. An experiment fails now
// and then; five in a row at different compositions are not an accident. It also bounds the cost in
// material.
const attempts = 5

// noMeasurement says that a command ended legitimately without a measurement,
// so that nothing can be judged by it.
type noMeasurement struct {
	why   error
	later bool // it was deferred, or refused for now
}

// It reads as the reason, and errors.As finds it behind whatever a check adds.
func (e *noMeasurement) Error() string { return e.why.Error() }
func (e *noMeasurement) Unwrap() error { return e.why }

// run runs one check and leaves the instrument idle. It settles the check's commands and looks at
// the record of acts after it, so that a fault is attributed to the check in which it happened.
func (s *Session) run(ctx context.Context, check Check) Result {
	result := Result{Check: check.Name, Law: check.Law, Verdict: Pass}
	if check.Acts != "" {
		if s.acts.counted() {
			result.Law = strings.TrimSuffix(check.Law, ".") + ", " + check.Acts + "."
		} else {
			result.Unseen = true
		}
	}
	begin := time.Now()
	s.started, s.remarks = nil, nil
	var err error
	switch {
	case check.Name != describes && !s.description.Simulated && !s.env.AllowRuns:
		err = unjudged("it may perform %d experiments on a real instrument, which was not allowed",
			max(1, check.Runs))
	case s.hopeless != "":
		err = unjudged("%s: nothing more is asked of it", s.hopeless)
	default:
		err = s.persist(ctx, check, &result)
		if fault := s.acts.account(s.issued); fault != nil {
			err = faulty(err, fault)
		}
		switch {
		case err == nil:
		case check.Name == describes:
			s.hopeless = "the instrument does not fit the campaign, or moves by itself"
		case check.Name == "measure":
			s.hopeless = "the instrument did not measure at a safe point"
		}
	}
	if err == nil {
		s.strayed()
	}
	result.Seconds = time.Since(begin).Seconds()
	result.Reason = strings.Join(s.remarks, "\n")
	switch {
	case errors.Is(err, ErrSkipped):
		result.Verdict = Skip
		result.Unjudged = errors.Is(err, errUnjudged)
		result.Reason = strings.TrimPrefix(err.Error(), ErrSkipped.Error()+": ")
	case err != nil:
		result.Verdict, result.Reason = Fail, err.Error()
	}
	return result
}

// faulty adds a fault that was noticed after a check to the check's result. It replaces an honest
// failure or a skip, which do not excuse it.
func faulty(err, fault error) error {
	if err == nil || errors.Is(err, ErrSkipped) || errors.As(err, new(*noMeasurement)) {
		return fault
	}
	return fmt.Errorf("%w\n%w", err, fault)
}

// exited returns an error where a program has ended by itself since it was last
// asked. A program that ends by itself is a fault of whatever check it happens
// in, also where the adapter starts it again in silence. The count is over all
// that were opened, since a program may end after the instrument was replaced.
func (s *Session) exited() error {
	exits, last := 0, ""
	for _, inst := range s.watched {
		w := inst.Watch()
		exits += w.Exits
		last = cmp.Or(w.LastExit, last)
	}
	before := s.exits
	s.exits = exits
	if exits == before {
		return nil
	}
	return fmt.Errorf("its program ended by itself, %s: %s", times(exits-before), last)
}

// strayed remarks, once, on lines of a program that were no messages. They harm
// nothing now; a line that happens to be JSON would be taken for a message.
func (s *Session) strayed() {
	lines, first := 0, ""
	for _, inst := range s.watched {
		w := inst.Watch()
		lines += w.StrayLines
		first = cmp.Or(first, w.FirstStray)
	}
	if s.strays == 0 && lines > 0 {
		s.remark("its program writes lines on standard output that are no messages, such as %s: "+
			"they belong on standard error", first)
	}
	s.strays = lines
}

// times counts for a sentence.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// persist runs a check, and runs it again at other points while commands end honestly without a
// measurement. If that goes on, either the instrument cannot be judged, or the check itself makes
// the experiments fail; undisturbed commands in between tell which.
//
// A command that was deferred is repeated as campaignd does, after a pause that grows; that does
// not count as an attempt, and ends with the patience of the suite.
//
// The check "measure" has no controls, since it is one. Up to twice as many attempts are made
// before a check that fails alone, with every control measured, is called a fault.
func (s *Session) persist(ctx context.Context, check Check, result *Result) error {
	var honest *noMeasurement
	var waited time.Duration
	pause := s.env.RetryAfter
	tries := 0
	for attempt := 1; ; attempt++ {
		s.started, s.remarks = nil, nil
		tries++
		err := s.guarded(ctx, check)
		if fault := s.exited(); fault != nil {
			s.settle(ctx)
			result.Dispatched += len(s.started)
			return faulty(err, fault)
		}
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
			s.remark("it took %d attempts: %v", tries, honest)
			return nil
		case !errors.As(err, &honest) || ctx.Err() != nil:
			return err
		case honest.later && waited < s.env.Patience:
			if err := s.pause(ctx, pause); err != nil {
				return err
			}
			waited += pause
			pause = min(2*pause, longestPause)
			attempt--
			result.Unjudged = false
		case result.Unjudged || check.Name == "measure" && attempt >= attempts || honest.later:
			return unjudged("no attempt of %d had a measurement to judge by; the last: %v", tries, err)
		case attempt == 2*attempts:
			return fmt.Errorf("none of %d attempts had a measurement, and every undisturbed command did; the last: %v",
				tries, err)
		}
	}
}

// longestPause is how long campaignd waits at most before it repeats a command
// that was deferred.
const longestPause = 10 * time.Minute
