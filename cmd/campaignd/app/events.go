package app

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/internal/engine/control"
)

// eventsCommand is `campaignd events`.
//
// Where neither a file nor --campaign names one, it prints the whole log, events
// of all campaigns and of other streams.
//
// Events are printed as they are recorded, in the form for other programs; in
// words they are in the report and on the pages.
var eventsCommand = command{
	name: "events",
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var kinds []string
		var after uint64
		var follow bool
		flags.StringSliceVar(&kinds, "kind", nil, "only these `kinds`, separated by commas")
		flags.Uint64Var(&after, "after", 0, "only events after this `position`")
		flags.BoolVar(&follow, "follow", false, "go on with further events")
		return func(c *call, args []string) error {
			t, err := c.optionalTarget(args)
			if err != nil {
				return err
			}
			if follow && c.json {
				return badInput(
					"--json prints one document, which --follow never ends: use --follow alone, it prints a JSON document a line",
				)
			}
			keep, err := kindFilter(kinds)
			if err != nil {
				return err
			}
			all := []json.RawMessage{}
			// print writes one event, or keeps it for the one document of
			// --json. Messages that others published on the campaign's bus are
			// shown with it.
			print := func(e events.Event) error {
				if t.campaign != "" && e.Campaign != t.campaign &&
					e.Campaign != "bus/"+t.campaign || !keep(e.Kind) {
					return nil
				}
				text, err := events.MarshalCloudEvent(e)
				if err != nil {
					return err
				}
				if c.json {
					all = append(all, text)
					return nil
				}
				_, err = c.stdout.Write(append(text, '\n'))
				return err
			}
			if follow {
				return followLog(c, t, events.Position(after), print)
			}
			s, err := c.openStore(c.ctx, t, reading)
			if err != nil {
				return err
			}
			defer s.Close()
			for e, err := range s.Log().Read(c.ctx, events.Position(after)) {
				if err != nil {
					return err
				}
				if err := print(e); err != nil {
					return err
				}
			}
			if c.json {
				return c.printJSON(all)
			}
			return nil
		}
	},
}

// kindFilter returns which kinds are wanted: all of them if wanted is empty. The messages of the
// bus are a kind as well, one outside the vocabulary. A kind that does not exist is refused with
// the nouns: a misspelled one would print nothing, and with --follow wait for that.
func kindFilter(wanted []string) (keep func(events.Kind) bool, err error) {
	if len(wanted) == 0 {
		return func(events.Kind) bool { return true }, nil
	}
	kinds := make(map[events.Kind]bool)
	var nouns []string
	for _, w := range wanted {
		found := false
		for _, info := range append(events.Kinds(), events.KindInfo{Kind: bus.KindMessage}) {
			noun, _, _ := strings.Cut(string(info.Kind), ".")
			if !slices.Contains(nouns, noun) {
				nouns = append(nouns, noun)
			}
			if w == string(info.Kind) || w == noun {
				kinds[info.Kind], found = true, true
			}
		}
		if !found {
			return nil, badInput("there is no kind of event %q; the nouns are %s, "+
				"and `campaignd schema --list` lists all kinds", w, strings.Join(nouns, ", "))
		}
	}
	return func(k events.Kind) bool { return kinds[k] }, nil
}

// followLog prints events until the campaigns of the store have ended, or ctx is done, which does
// not count as an error. A store that no process holds is opened only for a moment at a time, so
// that a run can begin meanwhile; one that is held is followed through its process.
//
// The store changes hands while it is followed: a run begins, ends, is taken over by a server. Each
// round of the loop opens it as it is then, and goes on behind the last event that was read.
func followLog(a *call, t target, after events.Position, print func(events.Event) error) error {
	ctx := a.ctx
	ended := make(map[string]bool) // the campaigns seen, and whether they have ended
	over := func() bool {
		for name, e := range ended {
			if !e && (t.campaign == "" || name == t.campaign) {
				return false
			}
		}
		return len(ended) > 0
	}
	// take reads all events, also those up to after, because they say which
	// campaigns have ended; print gets only those beyond.
	last := events.Position(0)
	take := func(stream iter.Seq2[events.Event, error]) error {
		for e, err := range stream {
			if err != nil {
				return err
			}
			last = e.Position
			switch e.Kind {
			case events.KindCampaignDefined, events.KindCampaignAmended:
				ended[e.Campaign] = false
			case events.KindCampaignCompleted, events.KindCampaignStopped:
				ended[e.Campaign] = true
			}
			if e.Position > after {
				if err := print(e); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for {
		s, err := a.openStore(ctx, t, reading)
		if err != nil {
			return err
		}
		if t.remote {
			t.store, t.campaign = s.folder, s.name
			err := errors.Join(followRemote(ctx, s, &last, over, take), s.Close())
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if s.held() {
			// A run goes on a little after the campaign has ended, so it is
			// followed to its own end.
			err = take(s.Log().Follow(ctx, last))
		} else {
			err = take(s.Log().Read(ctx, last))
		}
		err = errors.Join(err, s.Close())
		switch {
		case ctx.Err() != nil:
			return nil // Ctrl-C is how following ends
		// The process that held the store has ended: the next round reads its last events, from the
		// store itself.
		case err != nil && (!s.held() || !errors.Is(err, events.ErrClosed)):
			return err
		case !s.held() && over():
			return nil
		}
		waitForRun(ctx, t.store)
		if ctx.Err() != nil {
			return nil
		}
	}
}

// followRemote follows a campaign of a server. A server never releases its store, so the end of the
// process cannot be waited for: it reads the events so far, and then follows, until the campaign
// has ended.
//
// s stays open all the while. Following is begun again where it ends without an error before the
// campaign does.
func followRemote(
	ctx context.Context, s *session, last *events.Position, over func() bool,
	take func(iter.Seq2[events.Event, error]) error,
) error {
	untilOver := func(yield func(events.Event, error) bool) {
		for e, err := range s.Log().Follow(ctx, *last) {
			if !yield(e, err) || over() {
				return
			}
		}
	}
	for {
		if err := take(s.Log().Read(ctx, *last)); err != nil || over() {
			return err
		}
		if err := take(untilOver); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// waitForRun waits half a second, less if a process begins to run the store. It
// dials the socket, since the file of a socket can outlive its process.
func waitForRun(ctx context.Context, store string) {
	for range 10 {
		if owner, err := control.Dial(ctx, store); err == nil {
			_ = owner.Close()
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}
