package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/lab"
)

// Pauses of the streams.
const (
	gather = 150 * time.Millisecond // changes within that are told together
	alive  = 15 * time.Second       // how often a stream that has nothing to say says that it is there
	// apart is between two streams that are told. Each page that is told asks
	// for itself again: so there are 200 pages a second at most, however many
	// are open, and they do not all come at once. The last of 200 open pages
	// learns of a change a second later.
	apart = 5 * time.Millisecond
)

// hub tells open pages which campaigns have changed. It looks only while
// somebody listens.
type hub struct {
	lab *lab.Lab
	ctx context.Context
	wg  sync.WaitGroup

	mu        sync.Mutex
	listeners map[*listener]bool
	// due are the listeners that are to be told, in their turn; more has a word
	// in it whenever there may be one.
	due  []*listener
	more chan struct{}      // of those who tell now
	stop context.CancelFunc // nil while nobody listens
}

// listener is an open page.
type listener struct {
	told  chan []string
	names []string // that have changed since it was told last
	due   bool
}

func newHub(ctx context.Context, l *lab.Lab) *hub {
	return &hub{lab: l, ctx: ctx, listeners: make(map[*listener]bool)}
}

func (h *hub) wait() { h.wg.Wait() }

// listen returns a channel of the names of campaigns that have changed.
func (h *hub) listen() (changed <-chan []string, end func()) {
	l := &listener{told: make(chan []string, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners[l] = true
	if h.stop == nil {
		ctx, stop := context.WithCancel(h.ctx)
		more := make(chan struct{}, 1)
		h.stop, h.more = stop, more
		h.wg.Go(func() { h.watch(ctx) })
		h.wg.Go(func() { h.pass(ctx, more) })
	}
	return l.told, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners, l)
		if len(h.listeners) == 0 && h.stop != nil {
			h.stop()
			h.stop = nil
		}
	}
}

// mark is what a page of a campaign depends on beside its log.
type mark struct {
	sequence events.Sequence
	doing    string
}

func markOf(c *lab.Campaign) mark {
	m := mark{sequence: c.Sequence()}
	s := c.Standing()
	m.doing = fmt.Sprint(s.Here, s.PID, s.WaitingFor, s.Computing.What, s.Trouble, s.NoModel)
	return m
}

// watch tells the listeners.
func (h *hub) watch(ctx context.Context) {
	seen := make(map[*lab.Campaign]mark)
	for _, c := range h.lab.Campaigns() {
		seen[c] = markOf(c)
	}
	for {
		changed := h.lab.Changed()
		var names []string
		for _, c := range h.lab.Campaigns() {
			m := markOf(c)
			if before, ok := seen[c]; !ok || before != m {
				names = append(names, c.Name())
				seen[c] = m
			}
		}
		if names != nil {
			h.tell(names)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(gather):
		case <-ctx.Done():
			return
		}
	}
}

// tell puts names before the listeners.
func (h *hub) tell(names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		for _, name := range names {
			if !slices.Contains(l.names, name) {
				l.names = append(l.names, name)
			}
		}
		if !l.due {
			l.due = true
			h.due = append(h.due, l)
		}
	}
	select {
	case h.more <- struct{}{}:
	default:
	}
}

// pass tells one listener after the other.
func (h *hub) pass(ctx context.Context, more <-chan struct{}) {
	for {
		if !h.tellNext() {
			select {
			case <-more:
				continue
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-time.After(apart):
		case <-ctx.Done():
			return
		}
	}
}

// tellNext tells the listener whose turn it is; false where there is none.
func (h *hub) tellNext() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.due) > 0 {
		l := h.due[0]
		h.due[0] = nil
		h.due = h.due[1:]
		l.due = false
		if !h.listeners[l] {
			continue // it has gone
		}
		names := l.names
		l.names = nil
		select {
		case before := <-l.told: // not read yet
			names = append(before, names...)
		default:
		}
		l.told <- names
		return true
	}
	return false
}

// live is the stream of a page: which campaigns have changed, and how many
// questions wait for the visitor.
func (c *Console) live(w http.ResponseWriter, r *http.Request) {
	visitor := visitorOf(r.Context())
	changed, end := c.hub.listen()
	defer end()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	open := c.openCount(visitor)
	if _, err := fmt.Fprintf(w, "retry: 2000\nevent: open-count\ndata: %d\n\n", open); err != nil ||
		out.Flush() != nil {
		return
	}
	beat := time.NewTicker(alive)
	defer beat.Stop()
	for {
		select {
		case names := <-changed:
			visitor, err := visitor.now()
			if err != nil {
				return
			}
			slices.Sort(names)
			for _, name := range slices.Compact(names) {
				if visitor.may(See, name) != nil {
					continue
				}
				if _, err := fmt.Fprintf(w, "event: changed\ndata: %s\n\n", name); err != nil {
					return
				}
			}
			if now := c.openCount(visitor); now != open {
				open = now
				if _, err := fmt.Fprintf(w, "event: open-count\ndata: %d\n\n", open); err != nil {
					return
				}
			}
		case <-beat.C:
			if _, err := visitor.now(); err != nil {
				return
			}
			if _, err := fmt.Fprint(w, ": still here\n\n"); err != nil {
				return
			}
		case <-c.options.Closing:
			return
		case <-c.ctx.Done():
			return
		case <-r.Context().Done():
			return
		}
		if out.Flush() != nil {
			return
		}
	}
}
