package console

import "context"

// Once asks a person one thing, however many callers wait for the answer and
// however often they come back. The zero value is not usable: call [NewOnce]. It
// differs from sync.Once in that a caller can stop waiting, and that asking may
// fail and be repeated.
type Once[T any] struct {
	turn   chan struct{} // held by the caller who is asking
	over   chan struct{} // closed when there is an answer
	answer T             // set before over is closed
}

// NewOnce returns a Once that has not been asked.
func NewOnce[T any]() *Once[T] {
	return &Once[T]{turn: make(chan struct{}, 1), over: make(chan struct{})}
}

// Get returns the answer. Until it exists, one caller at a time runs ask with its own context; if
// ask fails, that caller gets the error and the next one takes its turn. The first answer stands
// for ever. over is looked at first, so that an answer never competes with a free turn in the
// select, and once more with the turn held, since the caller before may have got it.
func (o *Once[T]) Get(ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	select {
	case <-o.over:
		return o.answer, nil
	default:
	}
	select {
	case <-o.over:
		return o.answer, nil
	case <-ctx.Done():
		return none, ctx.Err()
	case o.turn <- struct{}{}:
	}
	defer func() { <-o.turn }()
	select {
	case <-o.over: // the caller before
		return o.answer, nil
	default:
	}
	answer, err := ask(ctx)
	if err != nil {
		return none, err
	}
	o.answer = answer
	close(o.over)
	return answer, nil
}

// Answered reports whether there is an answer.
func (o *Once[T]) Answered() bool {
	select {
	case <-o.over:
		return true
	default:
		return false
	}
}
