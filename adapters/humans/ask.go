package humans

import (
	"context"
	"fmt"
	"sync"

	"github.com/campaignd/campaignd/adapters/console"
)

// Asker puts a question to a person and waits for their reply. A problem that is not empty is the
// fault of their reply before. It fails where there will be no reply: the context is done, or no
// one can be reached.
type Asker func(ctx context.Context, q Question, problem string) (Reply, error)

// NewReviewer returns the reviewer of one expert, who is asked by ask. The
// reviewer keeps what does not depend on the way people are asked: a question
// is put once, however many wait for its answer and however often they come
// back; one to another person is an error; and a reply that does not fit is
// explained and asked for again. It remembers replies as long as the process
// lives.
func NewReviewer(expert string, ask Asker) Reviewer {
	return &asker{expert: expert, ask: ask, questions: make(map[string]*console.Once[Reply])}
}

// asker is a reviewer by a function.
type asker struct {
	expert string
	ask    Asker

	mu        sync.Mutex
	questions map[string]*console.Once[Reply]
}

func (a *asker) Describe() Description { return Description{Expert: a.expert} }

func (a *asker) Ask(ctx context.Context, q Question) (Reply, error) {
	if q.Expert != a.expert {
		return Reply{}, fmt.Errorf("question %s is to %q, and %q is asked here", q.ID, q.Expert, a.expert)
	}
	if err := q.Form.Check(len(q.Options), q.Scale); err != nil {
		return Reply{}, fmt.Errorf("question %s: %w", q.ID, err)
	}
	return a.question(q.ID).Get(ctx, func(ctx context.Context) (Reply, error) {
		for problem := ""; ; {
			reply, err := a.ask(ctx, q, problem)
			if err != nil {
				return Reply{}, fmt.Errorf("question %s to %s: %w", q.ID, a.expert, err)
			}
			if err = q.check(reply); err == nil {
				return reply, nil
			}
			problem = err.Error()
		}
	})
}

// question returns the reply to a question, as far as it has come.
func (a *asker) question(id string) *console.Once[Reply] {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.questions[id] == nil {
		a.questions[id] = console.NewOnce[Reply]()
	}
	return a.questions[id]
}

// check reports whether a reply answers the question, and says why not.
func (q Question) check(r Reply) error {
	if err := r.Check(q.Form, len(q.Options), q.Scale); err != nil {
		return err
	}
	if r.Answer.Point != nil && q.Allowed != nil {
		return q.Allowed(r.Answer.Point)
	}
	return nil
}
