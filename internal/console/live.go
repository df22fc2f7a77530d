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
)

// hub tells open pages which campaigns have changed. It looks only while somebody listens.
type hub struct {
	lab *lab.Lab
	ctx context.Context
	wg  sync.WaitGroup

	mu        sync.Mutex
	listeners map[chan []string]bool
	stop      context.CancelFunc // nil while nobody listens
}

func newHub(ctx context.Context, l *lab.Lab) *hub {
	return &hub{lab: l, ctx: ctx, listeners: make(map[chan []string]bool)}
}

func (h *hub) wait() { h.wg.Wait() }

// listen returns a channel of the names of campaigns that have changed.
func (h *hub) listen() (changed <-chan []string, end func()) {
	c := make(chan []string, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners[c] = true
	if h.stop == nil {
		ctx, stop := context.WithCancel(h.ctx)
		h.stop = stop
		h.wg.Go(func() { h.watch(ctx) })
	}
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners, c)
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
	m.doing = fmt.Sprint(s.Here, s.PID, s.WaitingFor, s.Computing.What, s.Trouble)
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

func (h *hub) tell(names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.listeners {
		all := names
		select {
		case before := <-c: // not read yet
			all = append(slices.Clone(before), names...)
		default:
		}
		c <- all
	}
}

// live is the stream of a page: which campaigns have changed.
func (c *Console) live(w http.ResponseWriter, r *http.Request) {
	visitor := visitorOf(r.Context())
	changed, end := c.hub.listen()
	defer end()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	if _, err := fmt.Fprint(w, "retry: 2000\n\n"); err != nil || out.Flush() != nil {
		return
	}
	beat := time.NewTicker(alive)
	defer beat.Stop()
	for {
		select {
		case names := <-changed:
			slices.Sort(names)
			for _, name := range slices.Compact(names) {
				if visitor.may(See, name) != nil {
					continue
				}
				if _, err := fmt.Fprintf(w, "event: changed\ndata: %s\n\n", name); err != nil {
					return
				}
			}
		case <-beat.C:
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
