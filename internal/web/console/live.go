package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/web/server/send"
)

// Pauses of the streams.
const (
	gather = 150 * time.Millisecond // changes within that time are sent together
	alive  = 15 * time.Second       // between two signs of life on a silent stream
	// apart is between two listeners that are notified. Each page that is notified asks for itself
	// again: so there are 200 requests a second at most, however many pages are open, and they do
	// not come all at once. The last of 200 open pages learns of a change a second later; pages of
	// the campaign that has changed come first, so that they do not wait for thousands of others.
	apart = 5 * time.Millisecond
	// listsApart is apart after a page that is of no one campaign: it is made of all
	// of them, and with a thousand takes tens of milliseconds of a processor.
	listsApart = 50 * time.Millisecond
	// often is how often a page is notified of campaigns that it is not the page of. Where
	// many campaigns change, lists would be made anew all the time.
	often = time.Second
)

// hub notifies open pages of the campaigns that have changed. Two goroutines work for it while
// anyone listens, and none otherwise: watch finds out which have changed, pass notifies the
// listeners one by one.
//
// It reports a change and not its content: a page is made anew from the campaign, with the rights
// of its visitor, so that there is one way by which anything is shown.
type hub struct {
	lab *lab.Lab
	ctx context.Context
	wg  sync.WaitGroup

	mu        sync.Mutex
	listeners map[*listener]bool
	// due are the listeners to be notified, in order, after those of first; more
	// holds a token whenever there may be one.
	first []*listener
	due   []*listener
	turn  int
	more  chan struct{}      // of the present pass
	stop  context.CancelFunc // nil while no one listens
}

// listener is an open page. Its channel has room for one list of names: a page
// that is slow gets the names of several changes at once. All fields but the
// channel are guarded by the hub's mu.
type listener struct {
	campaign string // whose page it is; empty for others
	changed  chan []string
	names    []string  // that have changed since it was notified last: then it is due
	isFirst  bool      // it is in the hub's list of those that are notified first
	isDue    bool      // in that of the others
	notified time.Time // when it was last, as one of the others
}

// newHub returns a hub that works until ctx is done.
func newHub(ctx context.Context, l *lab.Lab) *hub {
	return &hub{lab: l, ctx: ctx, listeners: make(map[*listener]bool)}
}

// wait returns when the goroutines of the hub have ended, which they do with
// its context.
func (h *hub) wait() { h.wg.Wait() }

// listen returns a channel with the names of campaigns that have changed, and
// the function that ends it, which must be called. The first listener starts
// the goroutines, the last one ends them: a lab that is not looked at compares
// nothing. Names of campaigns that the listener may not see are among those it
// gets: it must ask. Campaign is the one whose page it is, empty for others.
func (h *hub) listen(campaign string) (changed <-chan []string, end func()) {
	l := &listener{campaign: campaign, changed: make(chan []string, 1)}
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
	return l.changed, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners, l)
		if len(h.listeners) == 0 && h.stop != nil {
			h.stop()
			h.stop = nil
		}
	}
}

// mark is the state that a page of a campaign depends on: its log, and the activity of the process
// that runs it. Two equal marks give the same page.
type mark struct {
	sequence events.Sequence
	doing    string
}

// markOf returns the mark of a campaign now. It must hold all that a page shows and that can change
// without an event: a change outside of it reaches no open page.
func markOf(c *lab.Campaign) mark {
	m := mark{sequence: c.Sequence()}
	s := c.Standing()
	m.doing = fmt.Sprint(s.Here, s.Elsewhere, s.Run.Host, s.Run.PID, s.WaitingFor, s.Computing.What, s.Run.Clock, s.Trouble, s.NoModel)
	return m
}

// watch finds out which campaigns have changed, until ctx is done. It compares
// marks, since a change is announced for the lab and not for one campaign. A
// campaign that is new has changed. The pause after each announcement is one
// for all: however often a campaign changes, its pages are notified some six
// times a second at most.
func (h *hub) watch(ctx context.Context) {
	seen := make(map[*lab.Campaign]mark)
	for _, c := range h.lab.Campaigns() {
		seen[c] = markOf(c)
	}
	for {
		// The channel is taken before the campaigns are looked at: a change meanwhile closes it,
		// and is found in the next round.
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

// tell adds names to every listener, and has pass notify them. It never waits:
// more has room for one token, and one is enough, since pass goes on until no
// listener is due.
func (h *hub) tell(names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		for _, name := range names {
			if !slices.Contains(l.names, name) {
				l.names = append(l.names, name)
			}
		}
		switch {
		case !l.isFirst && slices.Contains(names, l.campaign):
			l.isFirst = true // where it is in the other list, too, it is passed over there
			h.first = append(h.first, l)
		case !l.isFirst && !l.isDue:
			l.isDue = true
			h.due = append(h.due, l)
		}
	}
	select {
	case h.more <- struct{}{}:
	default:
	}
}

// pass notifies one listener after the other, with a pause between them.
func (h *hub) pass(ctx context.Context, more <-chan struct{}) {
	for ctx.Err() == nil {
		notified, wait := h.tellNext(time.Now())
		sooner := more
		if notified {
			sooner = nil
		}
		select {
		case <-time.After(wait):
		case <-sooner:
		case <-ctx.Done():
		}
	}
}

// tellNext notifies the first listener that is due: three times in four one that shows a changed
// campaign, if there is one. It returns false if no listener is due, and how long it is until the
// next one. A listener in the list once is notified once, with all names that came meanwhile; one
// that has not read its last list gets both in one, so that the hub never waits for a page.
func (h *hub) tellNext(now time.Time) (notified bool, wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.first)+len(h.due) > 0 {
		from := &h.first
		if len(h.due) > 0 {
			// How long it is until the first of them may be notified; the others wait no longer.
			early := often - now.Sub(h.due[0].notified)
			switch h.turn++; {
			case len(h.first) == 0 && early > 0:
				return false, early
			case len(h.first) == 0 || h.turn%4 == 0 && early <= 0:
				from = &h.due
			}
		}
		l := (*from)[0]
		(*from)[0] = nil
		*from = (*from)[1:]
		if from == &h.first {
			l.isFirst = false
		} else {
			l.isDue = false
		}
		if len(l.names) == 0 || !h.listeners[l] {
			continue // it was notified as one of the other list, or has gone
		}
		if from == &h.due {
			l.notified = now
		}
		names := l.names
		l.names = nil
		select {
		case before := <-l.changed: // not read yet
			names = append(before, names...)
		default:
		}
		// There is room: only this function sends, and it has just emptied it.
		l.changed <- names
		if l.campaign == "" {
			return true, listsApart
		}
		return true, apart
	}
	return false, alive
}

// live is the stream of a page, as server-sent events: which campaigns have
// changed, and how many questions wait for the visitor. It asks at each event
// whether the visitor is still logged in and may see the campaign. Once they
// are not, it ends; the browser asks for it again after two seconds, and gets
// no stream.
func (c *Console) live(w http.ResponseWriter, r *http.Request) {
	visitor := visitorOf(r.Context())
	changed, end := c.hub.listen(r.URL.Query().Get("campaign"))
	defer end()
	send.EventStream(w)
	out := http.NewResponseController(w)
	open := len(c.queueOf(visitor))
	if _, err := fmt.Fprintf(w, "retry: 2000\nevent: open-count\ndata: %d\n\n", open); err != nil ||
		out.Flush() != nil {
		return
	}
	if behind := c.behind(r, visitor); behind != "" {
		if _, err := fmt.Fprintf(w, "event: changed\ndata: %s\n\n", behind); err != nil || out.Flush() != nil {
			return
		}
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
			if now := len(c.queueOf(visitor)); now != open {
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

// behind is the campaign of a page that was made before the campaign's last event and listens only
// now; "" if the page is up to date. Without it the events in between would be shown with the next
// change, and a campaign that waits for people has no next change.
func (c *Console) behind(r *http.Request, visitor Visitor) string {
	of, err := c.lab.Campaign(r.URL.Query().Get("campaign"))
	if err != nil || visitor.may(See, of.Name()) != nil {
		return ""
	}
	if at, err := strconv.ParseUint(r.URL.Query().Get("at"), 10, 64); err != nil || events.Sequence(at) >= of.Sequence() {
		return ""
	}
	return of.Name()
}
