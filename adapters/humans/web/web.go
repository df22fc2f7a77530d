// Package web is the channel to experts who answer in a browser, when they come
// by.
//
// A question is open in the log, and that is where a server finds it: the page
// shows what the log holds, and what a person answers is recorded as a request,
// before they are told that it was. The reviewer of this package only waits for
// that: the engine ends its wait once an answer is recorded. Nothing is held in
// memory that a restart could lose.
//
// A program without a server answers through a [Desk].
package web

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events/definition"
)

// Name of the channel in a campaign file.
const Name = "web"

// Channel is the program's row for this channel.
var Channel = NewDesk().Channel()

// Settings of an expert who answers in the browser: none.
type Settings struct{}

// Choose returns the choice of this channel with its settings.
func Choose(s Settings) definition.Choice { return definition.NewChoice(Name, s) }

// Complete implements definition.Settings.
func (*Settings) Complete(*definition.Campaign) {}

// Check implements definition.Settings.
func (*Settings) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

// Words implements definition.Settings.
func (*Settings) Words(*definition.Campaign) string { return "asked in the browser" }

// Confined implements definition.Confined: a person is asked, and nothing else
// is reached.
func (*Settings) Confined() bool { return true }

// ErrNotAsked is returned by [Desk.Answer] for a question that is not open.
var ErrNotAsked = errors.New("the question is not open")

// Desk is where questions lie that wait for an answer. It is safe for
// concurrent use.
type Desk struct {
	mu   sync.Mutex
	open map[string]*sheet // by the questions' IDs
}

// sheet is a question on the desk.
type sheet struct {
	question humans.Question
	problem  string // what was wrong with the reply before
	reply    chan humans.Reply
}

// NewDesk returns an empty desk.
func NewDesk() *Desk { return &Desk{open: make(map[string]*sheet)} }

// Channel returns a channel whose questions lie on the desk.
func (d *Desk) Channel() humans.Channel {
	return humans.Channel{
		Name:     Name,
		Settings: func() definition.Settings { return new(Settings) },
		Open: func(
			_ context.Context, expert definition.Expert, _ definition.Campaign, _ humans.Environment,
		) (humans.Reviewer, error) {
			if _, err := definition.SettingsOf[Settings](expert.Channel); err != nil {
				return nil, err
			}
			return d.Reviewer(expert.Name), nil
		},
		Person:    true,
		Unhurried: true,
	}
}

// Reviewer returns the reviewer of an expert whose questions lie on the desk.
func (d *Desk) Reviewer(expert string) humans.Reviewer { return humans.NewReviewer(expert, d.ask) }

// ask implements humans.Asker: it lays the question on the desk until it is
// answered, or not needed any more.
func (d *Desk) ask(ctx context.Context, q humans.Question, problem string) (humans.Reply, error) {
	s := &sheet{question: q, problem: problem, reply: make(chan humans.Reply, 1)}
	d.mu.Lock()
	d.open[q.ID] = s
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.open[q.ID] == s {
			delete(d.open, q.ID)
		}
	}()
	select {
	case reply := <-s.reply:
		return reply, nil
	case <-ctx.Done():
		return humans.Reply{}, ctx.Err()
	}
}

// Open returns a question that waits on the desk, and what was wrong with the
// last answer to it; ok is false where it does not wait.
func (d *Desk) Open(id string) (q humans.Question, problem string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.open[id]
	if s == nil {
		return q, "", false
	}
	return s.question, s.problem, true
}

// Answer answers a question that waits on the desk. The error wraps
// [ErrNotAsked] where it does not: it was answered, or withdrawn.
func (d *Desk) Answer(id string, r humans.Reply) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.open[id]
	if s == nil {
		return fmt.Errorf("%w: %s", ErrNotAsked, id)
	}
	delete(d.open, id) // the first answer counts; another one finds nothing here
	s.reply <- r
	return nil
}
