package instrumenttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Session is one run of the suite: the instrument, and the commands it was given. Checks share a
// command that was measured, so that a slow instrument is not asked for more experiments than
// needed. mu guards the fields that checks with several goroutines change: the commands and their
// fates. The rest is changed by the one goroutine that runs the checks, between them.
type Session struct {
	env         Env
	description instruments.Description

	mu        sync.Mutex
	inst      instruments.Instrument
	lastID    int
	started   []instruments.Command // in this check
	remarks   []string              // of this check
	completed *completed
	handled   *handled
	issued    map[string]*fate // by identifier
	used      map[string]int   // labels that commands were given, by stock
	latest    definition.Point // of the command that was started last
	shift     int              // of the points, where a check is made again
	deferrals int              // of commands that were not called off
	starts    int              // commands that were given to Start, each once
	calledOff int              // commands that were, and then deferred
	lasts     time.Duration    // a measurement
	hopeless  string           // why nothing more is asked of it

	acts        acts
	redelivered int    // starts that reached a program again
	alone       *alone // what was measured one command at a time
	made        []made // everything that was

	watched []instruments.Watched // every instrument that was opened
	exits   int                   // of their programs that were reported
	strays  int                   // lines of theirs that were reported
}

// fate tells what became of a command: it was given to Start, which was confirmed or refused, and it
// was waited for with all patience. drawn are its parts of the stocks.
type fate struct {
	handed, accepted, refused, exhausted bool
	drawn                                []events.Drawn
}

// made is a measurement of one command at a time, and the composition of the command that was
// started before it, nil for the first.
type made struct {
	command instruments.Command
	before  definition.Point
	outcome instruments.Outcome
}

// completed is the command that checks share.
type completed struct {
	command instruments.Command
	outcome instruments.Outcome
	start   int // its number
}

// newSession opens the instrument and has it describe itself: whether it is
// simulated must be known before anything moves.
func newSession(ctx context.Context, env Env) (*Session, error) {
	if err := env.complete(); err != nil {
		return nil, err
	}
	s := &Session{env: env, issued: make(map[string]*fate)}
	s.acts = acts{read: env.Acts, reported: make(map[string]bool)}
	if s.acts.counted() {
		before, err := s.acts.record()
		if err != nil {
			return nil, err
		}
		s.acts.earlier = len(before.lines)
	}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	d, err := call(s, ctx, "Describe", s.inst.Describe)
	if err != nil {
		s.close()
		return nil, fmt.Errorf("the instrument does not describe itself: %w", err)
	}
	s.description = d
	if d.Simulated && !s.acts.counted() {
		s.env.AnswersUnseen = true
	}
	return s, nil
}

// open opens the instrument once more. Earlier ones stay in watched: what their
// programs did is still reported.
func (s *Session) open(ctx context.Context) error {
	inst, err := s.env.Open(ctx)
	if err != nil {
		return fmt.Errorf("the instrument cannot be opened: %w", err)
	}
	s.inst = inst
	if w, ok := inst.(instruments.Watched); ok {
		s.watched = append(s.watched, w)
	}
	return nil
}

// close ends campaignd's side, and not the experiment.
func (s *Session) close() error { return closeInstrument(s.inst) }

// closeInstrument closes an instrument that can be closed.
func closeInstrument(inst instruments.Instrument) error {
	if closer, ok := inst.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// end closes the instrument. A command that the suite has given up waiting for
// is still under way: the program of a simulation is ended, and that of a real
// device is left to finish. It returns the processes that are left. It must not
// leave a simulation's program behind for the next suite, and must not stop a
// real act half way.
func (s *Session) end() (left []int) {
	killer, ok := s.inst.(instruments.Killer)
	fates := slices.Collect(maps.Values(s.issued))
	if ok && s.description.Simulated && slices.ContainsFunc(fates, func(f *fate) bool { return f.exhausted }) {
		ctx, cancel := context.WithTimeout(context.Background(), s.env.Prompt)
		_ = killer.Kill(ctx, false)
		cancel()
	}
	_ = s.close()
	for _, inst := range s.watched {
		if pid := inst.Watch().Left; pid != 0 {
			left = append(left, pid)
		}
	}
	return left
}

// restart ends campaignd's side of the instrument and opens it as a new process
// would.
func (s *Session) restart(ctx context.Context) error {
	if err := s.close(); err != nil {
		return fmt.Errorf("its Close: %w", err)
	}
	return s.open(ctx)
}

// guarded runs a check, and takes a panic for its error. The suite goes on, so
// that one bug hides no other.
func (s *Session) guarded(ctx context.Context, check Check) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the instrument panicked: %v", r)
		}
	}()
	return check.Run(ctx, s)
}

// settle waits until the commands of a check have ended. The next check begins
// with an instrument at rest. Commands that have used up the patience are not
// waited for a second time.
func (s *Session) settle(ctx context.Context) {
	for _, cmd := range s.started {
		if !s.issued[cmd.ID].exhausted {
			_, _ = s.await(ctx, cmd)
		}
	}
}

// remark adds a remark to the result of a check that passes.
func (s *Session) remark(format string, args ...any) {
	s.remarks = append(s.remarks, fmt.Sprintf(format, args...))
}

// command returns a command with a new ID at the n-th safe point, counted from
// where the last attempt left off.
func (s *Session) command(n int) instruments.Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newCommand(s.env.Points[(n+s.shift)%len(s.env.Points)])
}

// commandAt returns a command with a new ID at a point.
func (s *Session) commandAt(point definition.Point) instruments.Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newCommand(point)
}

// newCommand makes a command. The caller holds mu.
func (s *Session) newCommand(point definition.Point) instruments.Command {
	s.lastID++
	e := fmt.Sprintf("e%d", s.lastID)
	id := s.env.Prefix + "/" + e
	drawn := s.draw(point)
	s.issued[id] = &fate{drawn: drawn}
	cmd := instruments.Command{ID: id, Campaign: s.env.Prefix, Experiment: e, Parameters: point,
		Replicate: 1, Drawn: drawn}
	if stages := s.env.Definition.Procedure; len(stages) > 0 {
		cmd.Act, cmd.Batch, cmd.Stage = fmt.Sprintf("a%d", s.lastID), "b1", stages[0].Name
		cmd.Gives = stages[0].Gives
	}
	return cmd
}

// call calls a method with at most the patience of the suite, and does not wait
// for one that does not return after its context is done. An instrument that
// ignores its context must not hold the suite up: its goroutine is left behind,
// and the check fails.
func call[T any](
	s *Session, ctx context.Context, method string, f func(context.Context) (T, error),
) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, s.env.Patience)
	defer cancel()
	type answer struct {
		value T
		err   error
		panic any
	}
	answered := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			a.panic = recover()
			answered <- a
		}()
		a.value, a.err = f(ctx)
	}()
	var zero T
	late := func(a answer) (T, error) {
		if a.panic != nil {
			return zero, fmt.Errorf("%s panicked: %v", method, a.panic)
		}
		return a.value, a.err
	}
	select {
	case a := <-answered:
		return late(a)
	case <-ctx.Done():
	}
	limit := time.NewTimer(s.env.Prompt)
	defer limit.Stop()
	select {
	case a := <-answered:
		return late(a)
	case <-limit.C:
		return zero, &ignoredContextError{Method: method, Prompt: s.env.Prompt}
	}
}

// ignoredContextError reports a method that did not return.
type ignoredContextError struct {
	Method string
	Prompt time.Duration
}

// The method still runs then, in a goroutine that is left behind.
func (e *ignoredContextError) Error() string {
	return fmt.Sprintf("%s did not return within %v of the end of its context", e.Method, e.Prompt)
}

// start hands a command to Start, and keeps what account and settle need to
// know. A refusal of a new command is an honest failure, not one of a command
// that was accepted.
func (s *Session) start(ctx context.Context, cmd instruments.Command) error {
	s.mu.Lock()
	if !slices.ContainsFunc(s.started, func(c instruments.Command) bool { return c.ID == cmd.ID }) &&
		(s.completed == nil || s.completed.command.ID != cmd.ID) {
		s.started = append(s.started, cmd)
		s.starts++
	}
	s.issued[cmd.ID].handed = true
	s.latest = cmd.Parameters
	s.mu.Unlock()
	inst := s.inst
	_, err := call(s, ctx, "Start",
		func(ctx context.Context) (struct{}, error) { return struct{}{}, inst.Start(ctx, cmd) })
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.issued[cmd.ID].accepted = true
	case errors.Is(err, instruments.ErrRefused) && !s.issued[cmd.ID].accepted:
		// It may refuse a new command, but not one that it has accepted.
		s.issued[cmd.ID].refused = true
		return &noMeasurement{why: err, later: !errors.Is(err, instruments.ErrPermanent)}
	}
	return err
}

// startAgain starts a command that the instrument has accepted: as campaignd
// does, and so that a program behind the instrument really receives it again.
func (s *Session) startAgain(ctx context.Context, cmd instruments.Command) error {
	if err := s.start(ctx, cmd); err != nil {
		return err
	}
	return s.redeliver(ctx, s.inst, cmd)
}

// redeliver has the start of a command reach the program behind inst, if there
// is one, although it has had it already. An adapter may remember what it has
// sent and answer by itself; the law is about the program.
func (s *Session) redeliver(
	ctx context.Context, inst instruments.Instrument, cmd instruments.Command,
) error {
	program, ok := inst.(instruments.Redeliverer)
	if !ok {
		return nil
	}
	_, err := call(s, ctx, "Redeliver",
		func(ctx context.Context) (struct{}, error) { return struct{}{}, program.Redeliver(ctx, cmd) })
	if err != nil {
		return fmt.Errorf("the start of command %s was delivered again: %w", cmd.ID, err)
	}
	s.mu.Lock()
	s.redelivered++
	s.mu.Unlock()
	return nil
}

// await waits with the patience of the suite. A command that uses it up is not
// waited for again.
func (s *Session) await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	inst := s.inst
	o, err := call(s, ctx, "Await",
		func(ctx context.Context) (instruments.Outcome, error) { return inst.Await(ctx, cmd) })
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		s.mu.Lock()
		s.issued[cmd.ID].exhausted = true
		s.mu.Unlock()
		err = fmt.Errorf("there was no outcome within %v: %w", s.env.Patience, err)
	}
	return asMeasured(cmd, o), err
}

// asMeasured is the outcome of an act for one experiment in the form of that of an experiment: what it does
// not say of the composition is as it was asked for.
func asMeasured(cmd instruments.Command, o instruments.Outcome) instruments.Outcome {
	if cmd.Act == "" || cmd.Experiments != nil {
		return o
	}
	if given := events.Of(o.Gave, cmd.Experiment); o.Status == instruments.Done && given.Measurement != nil {
		o.Status, o.Measurement, o.Gave = instruments.Measured, given.Measurement, nil
	}
	if o.Measurement != nil {
		m := *o.Measurement
		m.Actual = maps.Clone(cmd.Parameters)
		maps.Copy(m.Actual, o.Measurement.Actual)
		o.Measurement = &m
	}
	return o
}

// cancel calls a command off.
func (s *Session) cancel(ctx context.Context, cmd instruments.Command) error {
	inst := s.inst
	_, err := call(s, ctx, "Cancel",
		func(ctx context.Context) (struct{}, error) { return struct{}{}, inst.Cancel(ctx, cmd) })
	return err
}

// fate asks a Recoverer; ok is false for other instruments.
func (s *Session) fate(
	ctx context.Context, cmd instruments.Command,
) (fate instruments.Fate, ok bool, err error) {
	r, ok := s.inst.(instruments.Recoverer)
	if !ok {
		return "", false, nil
	}
	fate, err = call(s, ctx, "Recover",
		func(ctx context.Context) (instruments.Fate, error) { return r.Recover(ctx, cmd) })
	switch fate {
	case instruments.FateNotStarted, instruments.FateRunning, instruments.FateFinished, instruments.FateUnknown:
	default:
		if err == nil {
			err = fmt.Errorf("its Recover gave the fate %q, which does not exist", fate)
		}
	}
	return fate, true, err
}

// measured starts a new command at the n-th safe point and waits for its
// measurement.
func (s *Session) measured(ctx context.Context, n int) (instruments.Command, instruments.Outcome, error) {
	return s.measuredAt(ctx, s.command(n))
}

// measuredAt starts a new command and waits for its measurement. Later checks take its duration for
// the length of an act.
func (s *Session) measuredAt(ctx context.Context, cmd instruments.Command) (
	instruments.Command, instruments.Outcome, error,
) {
	before := s.latest
	if err := s.start(ctx, cmd); err != nil {
		return cmd, instruments.Outcome{}, fmt.Errorf("its Start of command %s: %w", cmd.ID, err)
	}
	began := time.Now()
	o, err := s.expectMeasured(ctx, cmd)
	if err == nil {
		s.lasts = time.Since(began)
		s.made = append(s.made, made{cmd, before, o})
	}
	return cmd, o, err
}

// expectMeasured waits for the measurement of a command that was started, and
// for its one action. An honest end without a measurement is a [noMeasurement],
// which has the check made again elsewhere; a dishonest one is a fault.
func (s *Session) expectMeasured(
	ctx context.Context, cmd instruments.Command,
) (instruments.Outcome, error) {
	o, err := s.await(ctx, cmd)
	if err != nil {
		return o, fmt.Errorf("its Await of command %s: %w", cmd.ID, err)
	}
	if err := instruments.CheckOutcome(s.env.Definition, o); err != nil {
		return o, fmt.Errorf("command %s: %w", cmd.ID, err)
	}
	if o.Rejected != "" {
		return o, fmt.Errorf("the answer to command %s cannot be used: %s", cmd.ID, o.Cause)
	}
	if err := s.acts.over(cmd, o.Status); err != nil {
		return o, err
	}
	switch o.Status {
	case instruments.Measured:
		if n := len(o.Measurement.Unread); n > 0 {
			u := o.Measurement.Unread[0]
			s.remark("%d parts of the result cannot be used, the first is %s: %s", n, u.Field, u.Reason)
		}
		return o, s.acts.acted(cmd, 1)
	case instruments.Cancelled:
		return o, fmt.Errorf("command %s ended as %q, and nobody had called it off", cmd.ID, o.Status)
	case instruments.Deferred:
		s.deferrals++
	}
	if o.Cause == "" {
		return o, fmt.Errorf("command %s ended as %q without a cause", cmd.ID, o.Status)
	}
	return o, &noMeasurement{
		why: fmt.Errorf("command %s at (%s) ended as %q: %s",
			cmd.ID, composition(cmd.Parameters), o.Status, o.Cause),
		later: o.Status == instruments.Deferred,
	}
}

// composition names a point as --at takes it.
func composition(p definition.Point) string {
	parts := make([]string, 0, len(p))
	for _, name := range slices.Sorted(maps.Keys(p)) {
		parts = append(parts, fmt.Sprintf("%s=%v", name, p[name]))
	}
	return strings.Join(parts, ",")
}

// done returns a command that was measured, the same one to every check. If it
// cannot be had, each of these checks says so instead of failing for a reason
// of its own.
func (s *Session) done(ctx context.Context) (instruments.Command, instruments.Outcome, error) {
	if s.completed == nil {
		cmd, o, err := s.measured(ctx, 0)
		if err != nil {
			return cmd, o, fmt.Errorf("the check needs a finished command: %w", err)
		}
		s.completed = &completed{cmd, o, s.starts}
	}
	return s.completed.command, s.completed.outcome, nil
}

// same checks that an outcome has not changed. It compares their JSON, as the log does not hold
// more.
func same(cmd instruments.Command, first, second instruments.Outcome) error {
	a, errA := json.Marshal(first)
	b, errB := json.Marshal(second)
	if errA != nil || errB != nil || string(a) != string(b) {
		return fmt.Errorf("the outcome of command %s changed from %s to %s", cmd.ID, a, b)
	}
	return nil
}

// sameResult is same, but allows a simulated instrument without memory to have
// computed the outcome again, at another time.
func (s *Session) sameResult(cmd instruments.Command, first, second instruments.Outcome) error {
	if s.description.Simulated {
		first, second = timeless(first), timeless(second)
	}
	return same(cmd, first, second)
}

// timeless is an outcome without its times.
func timeless(o instruments.Outcome) instruments.Outcome {
	if o.Measurement != nil {
		m := *o.Measurement
		m.Began, m.Ended = time.Time{}, time.Time{}
		o.Measurement = &m
	}
	return o
}
