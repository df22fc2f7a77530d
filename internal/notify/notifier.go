package notify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/input"
	"github.com/campaignd/campaignd/internal/labfile"
	"github.com/campaignd/campaignd/internal/wholefile"
)

// Options of a Notifier.
type Options struct {
	// Lab says who gets which messages; nil sends none.
	Lab *labfile.File
	// Dir is the folder in which it remembers what was sent:
	// FOLDER/.campaignd/notify. It is made, private to its user. One process at
	// a time may use it.
	Dir string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Send sends messages. Default: [Shoutrrr].
	Send Sender
	// Log, if set, takes a line about what failed. It holds no secrets.
	Log func(line string)
	// Every is how often it looks what is due. Default: 2 s.
	Every time.Duration
	// Within is how long a service may take. Default: 15 s.
	Within time.Duration
}

// Notifier tells people what waits for them. Its methods may be called from
// several goroutines.
//
// The lock is never held while a message is sent or a file is written:
// [Notifier.Observe] is called from the loops of campaigns.
type Notifier struct {
	options Options
	path    string

	mu      sync.Mutex
	planner *Planner
	changed bool // since it was last saved
	unsaved bool // the last attempt to save failed
}

const (
	// stateFile is the file in which a Notifier remembers.
	stateFile = "state.json"
	// maxState is the greatest size of it.
	maxState = 256 << 20
)

// New returns a notifier that remembers what the last one in its folder did.
// Nothing is sent before [Notifier.Run].
func New(o Options) (*Notifier, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Send == nil {
		o.Send = new(Shoutrrr)
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Every <= 0 {
		o.Every = 2 * time.Second
	}
	if o.Within <= 0 {
		o.Within = 15 * time.Second
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("what people were told cannot be remembered: %w", err)
	}
	n := &Notifier{options: o, path: filepath.Join(o.Dir, stateFile)}
	data, err := input.Read(n.path, maxState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		n.planner = NewPlanner(o.Lab, o.Now())
		n.changed = true
	case err != nil:
		return nil, fmt.Errorf("what people were told cannot be read: %w", err)
	default:
		if n.planner, err = RestorePlanner(o.Lab, data); err != nil {
			return nil, fmt.Errorf(
				"%s is damaged: %w; remove it, and people are told again of what waits for them now",
				n.path,
				err,
			)
		}
	}
	if o.Lab != nil {
		for _, problem := range o.Lab.CheckSecrets() {
			o.Log(problem.Error())
		}
	}
	return n, nil
}

// Seen returns the sequence of the last event of a campaign that it remembers:
// events from the next one on are to be given to [Notifier.Observe]. instance
// is that of the campaign's definition, so that a new campaign of an old name
// is not taken for the old one; empty asks for whichever there is.
func (n *Notifier) Seen(campaign, instance string) events.Sequence {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.planner.Seen(campaign, instance)
}

// Observe takes an event of a campaign in; those of one campaign come in their
// order. def is the campaign's definition at that event. It does not wait for
// anything slow.
func (n *Notifier) Observe(
	campaign string, def *definition.Campaign, e events.Event, payload events.Payload,
) {
	e.Campaign = campaign
	n.mu.Lock()
	defer n.mu.Unlock()
	n.planner.Apply(def, e, payload)
	n.changed = true
}

// Status is how each person of the lab is reached now.
func (n *Notifier) Status() []Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.planner.Status(n.options.Now())
}

// Run sends what is due until the context is done, and then saves what it
// remembers. It returns nil, or what kept it from saving that.
func (n *Notifier) Run(ctx context.Context) error {
	ticker := time.NewTicker(n.options.Every)
	defer ticker.Stop()
	for {
		n.Step(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return n.save()
		}
	}
}

// Step looks once what is due and sends it. Run does nothing else again and
// again; Step is not called while it runs. The state is written before the messages
// leave, so that a process that dies between the two sends the same messages
// with the same identifiers.
func (n *Notifier) Step(ctx context.Context) {
	n.mu.Lock()
	due := n.planner.Due(n.options.Now())
	n.changed = n.changed || len(due) > 0
	n.mu.Unlock()
	// That they are about to be sent is on the disk before they are.
	n.trySave()
	var sending sync.WaitGroup
	for _, m := range due {
		sending.Go(func() { n.send(ctx, m) })
	}
	sending.Wait()
	n.trySave()
}

// send sends a message and records what came of it. Where the context ends it
// records nothing, as if the process had died.
func (n *Notifier) send(ctx context.Context, m Message) {
	to := n.options.Lab.People[m.Person].Notify[m.Target]
	limited, cancel := context.WithTimeout(ctx, n.options.Within)
	defer cancel()
	err := n.options.Send.Send(limited, to, m)
	if err != nil && ctx.Err() != nil {
		return // it is ended: the next process sends the same again
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed = true
	now := n.options.Now()
	if err == nil {
		n.planner.Sent(m.ID, now)
		return
	}
	why := to.Scrub(err.Error())
	n.planner.Failed(m.ID, now, why)
	n.options.Log(fmt.Sprintf("%s cannot be reached at %s: %s", m.Person, to, why))
}

// trySave saves what has changed. A failure is said once, until it succeeds
// again; messages are sent all the same, and perhaps again after a restart.
func (n *Notifier) trySave() {
	err := n.save()
	if err != nil && !n.unsaved {
		n.options.Log(fmt.Sprintf("what people were told cannot be saved, so that they may be told again: %v", err))
	}
	n.unsaved = err != nil
}

// save writes what has changed. What changes while it writes counts as changed
// for the next time.
func (n *Notifier) save() error {
	n.mu.Lock()
	if !n.changed {
		n.mu.Unlock()
		return nil
	}
	data := n.planner.State()
	n.changed = false
	n.mu.Unlock()
	err := wholefile.Replace(n.path, data, 0o600)
	if err != nil {
		n.mu.Lock()
		n.changed = true
		n.mu.Unlock()
	}
	return err
}
