package drive

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// team runs calls to adapters, in goroutines of their own, until nothing is awaited any more.
// They report the results to the loop.
type team struct {
	// awaiting is the context of goroutines that outlive a step: it is done when the run ends.
	awaiting context.Context
	inbox    chan message
	// urgent are requests to call something off: no computation keeps them waiting.
	urgent chan message
	wg     sync.WaitGroup
}

// inboxSize lets goroutines finish while the loop writes.
const inboxSize = 64

// consult runs a call of an adapter.
func (t *team) consult(call func()) {
	t.wg.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				t.send(t.awaiting, panicked{fmt.Sprintf("%v\n\n%s", p, debug.Stack())})
			}
		}()
		call()
	})
}

// send hands a message to the loop, unless the loop is gone. It may block while
// the loop writes to the log; the loop never waits for a goroutine of the team,
// so that the two cannot wait for each other.
func (t *team) send(ctx context.Context, m message) {
	select {
	case t.inbox <- m:
	case <-ctx.Done():
	}
}
