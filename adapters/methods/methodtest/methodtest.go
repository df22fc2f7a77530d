// Package methodtest is the suite that a program passes before it is a campaign's method: [Examine]
// puts it through the events of campaigns and crashes, and reports of each law whether it is kept.
package methodtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/campaignd/campaignd/adapters/methods"
	"github.com/campaignd/campaignd/adapters/methods/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// View is a campaign as the program is shown it, and what may be proposed there.
type View struct {
	// About describes the special feature of the view.
	About string
	JSON  []byte
	// Measurable says why a composition cannot be taken; nil where it can.
	Measurable func(definition.Point) error
}

// Env is the program under test, with its views.
type Env struct {
	// Open returns the program as a new run of campaignd would see it.
	Open func() (*process.Method, error)
	// Views are campaigns of one definition, one at least.
	Views []View
}

// Result is the result of a check.
type Result struct {
	Name string `json:"check"`
	Law  string `json:"law"`
	// Problem describes the fault; Skipped gives the reason why the law could not be checked.
	Problem string `json:"problem,omitempty"`
	Skipped string `json:"skipped,omitempty"`
}

// errSkipped is wrapped by the error of a check that does not apply.
var errSkipped = errors.New("it does not apply")

// checks are the laws, in the order in which a person wants to see them broken.
var checks = []struct {
	name, law string
	run       func(ctx context.Context, s *session) error
}{
	{"handshake", "it says what it is, and takes its settings", handshake},
	{"proposes", "it proposes what can be measured, whatever was measured, failed or is under way",
		proposes},
	{"again", "it goes on after a proposal was refused", again},
	{"deterministic", "where it says that it is deterministic, the same view and seed give the same answer", deterministic},
	{"killed", "after it was killed, a new process of it answers", killed},
	{"input-end", "it ends with its input", inputEnd},
}

// session is the program in a check.
type session struct {
	env    Env
	method *process.Method
	asked  int
}

// Examine runs the suite. The error is that of the context.
func Examine(ctx context.Context, env Env) ([]Result, error) {
	var results []Result
	for _, c := range checks {
		r := Result{Name: c.name, Law: c.law}
		err := one(ctx, env, c.run)
		switch {
		case ctx.Err() != nil:
			return results, context.Cause(ctx)
		case errors.Is(err, errSkipped):
			r.Skipped = err.Error()
		case err != nil:
			r.Problem = err.Error()
		}
		results = append(results, r)
	}
	return results, nil
}

// one runs a check with a program of its own.
func one(ctx context.Context, env Env, run func(context.Context, *session) error) error {
	method, err := env.Open()
	if err != nil {
		return err
	}
	s := &session{env: env, method: method}
	return errors.Join(run(ctx, s), method.Close())
}

// ask asks for a proposal at a view.
func (s *session) ask(
	ctx context.Context, v View, seed uint64, refused ...string,
) (events.MethodAnswered, error) {
	s.asked++
	a, err := s.method.Propose(ctx, methods.Question{
		Decision: events.DecisionID(s.asked), Seed: seed, Attempt: 1 + len(refused), Refused: refused, View: v.JSON,
	})
	switch {
	case err != nil:
		return a, err
	case a.Cause != "":
		return a, fmt.Errorf("%s, %s", v.About, a.Cause)
	}
	if err := v.Measurable(a.Parameters); err != nil {
		return a, fmt.Errorf("%s, it proposed %v: %w", v.About, a.Parameters, err)
	}
	return a, nil
}

func handshake(ctx context.Context, s *session) error {
	d, err := s.method.Describe(ctx)
	if err == nil && d.Version == "" {
		err = fmt.Errorf("%w: it gives no version, and a log will not tell its versions apart",
			errSkipped)
	}
	return err
}

func proposes(ctx context.Context, s *session) (all error) {
	for i, v := range s.env.Views {
		_, err := s.ask(ctx, v, uint64(1+i))
		all = errors.Join(all, err)
	}
	return all
}

func again(ctx context.Context, s *session) error {
	v := s.env.Views[0]
	if _, err := s.ask(ctx, v, 1); err != nil {
		return err
	}
	_, err := s.ask(ctx, v, 2, "it cannot be made today")
	return err
}

func deterministic(ctx context.Context, s *session) error {
	d, err := s.method.Describe(ctx)
	if err != nil {
		return err
	}
	if !d.Deterministic {
		return fmt.Errorf("%w: it does not say so, and an audit will not have it answer again",
			errSkipped)
	}
	for i, v := range s.env.Views {
		first, err := s.ask(ctx, v, uint64(7+i))
		if err != nil {
			return err
		}
		s.method.Kill() // an audit is another process
		second, err := s.ask(ctx, v, uint64(7+i))
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(first.Parameters, second.Parameters) || first.Reason != second.Reason ||
			!reflect.DeepEqual(first.Numbers, second.Numbers) {
			return fmt.Errorf("%s, it answered %v (%s), and then %v (%s)", v.About,
				first.Parameters, first.Reason, second.Parameters, second.Reason)
		}
	}
	return nil
}

func killed(ctx context.Context, s *session) error {
	v := s.env.Views[len(s.env.Views)-1]
	if _, err := s.ask(ctx, v, 1); err != nil {
		return err
	}
	s.method.Kill()
	_, err := s.ask(ctx, v, 2)
	return err
}

// patience is how long a program has to end with its input.
const patience = 20 * time.Second

func inputEnd(ctx context.Context, s *session) error {
	if _, err := s.method.Describe(ctx); err != nil {
		return err
	}
	// More than a campaign gives it: PyTorch has taken four seconds on a busy machine.
	if !s.method.CloseWithin(patience) {
		return fmt.Errorf("it had to be ended, %s after its input did", patience)
	}
	return nil
}
