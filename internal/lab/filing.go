package lab

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// Filing holds a campaign's tags and the like in the lab, which help people to find it among
// others. It is not part of the campaign, and decides nothing there: it is kept in the lab's
// log, in a stream of its own, and a copy of the campaign has none.
type Filing struct {
	// Tags are in the order of the alphabet.
	Tags     []string
	Archived bool
	// By and At say who filed it last, and when.
	By string
	At time.Time
}

// FilingChange is a person's change of it; if two people change different tags at the same
// time, both changes count.
type FilingChange struct {
	Add, Remove []string
	// Archive puts it into the archive or takes it out; nil leaves it.
	Archive *bool
}

// Limits of tags.
const (
	mostTags   = 20
	longestTag = 40 // characters
)

// tag is a tag as it is kept, and why it cannot be one.
func tag(text string) (string, error) {
	t := strings.TrimSpace(text)
	switch {
	case t == "":
		return "", problem.New(problem.Invalid, "a tag is empty")
	case utf8.RuneCountInString(t) > longestTag:
		return "", problem.New(problem.Invalid, "the tag %q is longer than %d characters", t, longestTag)
	case plaintext.Line(t) != t || strings.ContainsAny(t, ",;"):
		return "", problem.New(problem.Invalid, "the tag %q holds a comma, a semicolon or a character that cannot be shown",
			plaintext.Line(t))
	}
	return t, nil
}

// filings folds the stream of the lab's log in which campaigns are filed. Its
// methods may be called by several goroutines.
type filings struct {
	own *lablog.Log

	mu  sync.Mutex
	log events.Store // from which of was folded; nil where that is to be done
	// stale is set where more has come since.
	stale bool
	last  events.Sequence
	of    map[filed]Filing
}

// filed names a campaign of the lab: another store may have one of its name.
type filed struct{ store, campaign string }

// read folds the stream where that was not done yet, or the log was opened again.
// The caller holds mu.
func (f *filings) read() error {
	log, err := f.own.Store()
	if err != nil || log == f.log && !f.stale {
		return err
	}
	if log != f.log {
		f.last, f.of = 0, make(map[filed]Filing)
	}
	if err := foldStream(context.Background(), log, events.FilingStream, f.last, f.apply); err != nil {
		return lablog.Fault(err)
	}
	f.log, f.stale = log, false
	return nil
}

// hear has the stream read on before it is used next: another process has filed
// something.
func (f *filings) hear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stale = true
}

// apply folds an event of the stream.
func (f *filings) apply(e events.Event) error {
	payload, err := events.Lab.Decode(e)
	if err != nil {
		return err
	}
	f.last = e.Sequence
	if p, ok := payload.(*events.CampaignFiled); ok {
		f.of[filed{p.Store, p.Campaign}] = Filing{
			Tags: p.Tags, Archived: p.Archived, By: events.ActorName(e.Actor), At: e.Time,
		}
	}
	return nil
}

// get returns how a campaign is filed; not at all where the log cannot be read, which
// shows when it is changed.
func (f *filings) get(at filed) Filing {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.read() != nil {
		return Filing{}
	}
	return f.of[at]
}

// change records a change, unless it changes nothing.
func (f *filings) change(ctx context.Context, at filed, c FilingChange, by engine.Request) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.read(); err != nil {
		return err
	}
	is := f.of[at]
	next := events.CampaignFiled{Store: at.store, Campaign: at.campaign, Archived: is.Archived}
	tags := make(map[string]bool)
	for _, t := range is.Tags {
		tags[t] = true
	}
	for _, text := range c.Add {
		t, err := tag(text)
		if err != nil {
			return err
		}
		tags[t] = true
	}
	for _, t := range c.Remove {
		delete(tags, strings.TrimSpace(t))
	}
	if next.Tags = slices.Sorted(maps.Keys(tags)); len(next.Tags) > mostTags {
		return problem.New(problem.Invalid, "a campaign has at most %d tags", mostTags)
	}
	if c.Archive != nil {
		next.Archived = *c.Archive
	}
	if slices.Equal(next.Tags, is.Tags) && next.Archived == is.Archived {
		return nil
	}
	e, err := events.Lab.New(events.FilingStream, events.KindCampaignFiled, &next)
	if err != nil {
		return err
	}
	e.Actor, e.Account = by.Actor, by.Account
	e.Time = engine.Stamp(clock.Now())
	stored, err := f.log.Append(ctx, events.FilingStream, f.last, e)
	if err != nil {
		f.log = nil // its present content is read anew
		return lablog.Fault(err)
	}
	return f.apply(stored[0])
}

// Filing returns the campaign's filing in the lab.
func (c *Campaign) Filing() Filing {
	return c.store.lab.filings.get(filed{c.Place(), c.name})
}

// File changes how the campaign is filed in the lab, for the requester. A campaign that is
// driven is not put into the archive, where no one would see its questions to people.
func (c *Campaign) File(ctx context.Context, change FilingChange, by engine.Request) error {
	if err := engine.CheckActor(by.Actor); err != nil {
		return err
	}
	if change.Archive != nil && *change.Archive && c.Standing().Runs() {
		return problem.New(problem.NotPossible, "%s is running: halt it, or wait until it has ended", c.name)
	}
	return c.store.lab.filings.change(ctx, filed{c.Place(), c.name}, change, by)
}
