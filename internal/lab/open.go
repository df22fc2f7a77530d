package lab

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/control"
)

// Patience is how long a store is waited for that another process has open just now.
const Patience = 3 * time.Second

// retryPause lies between two attempts to open a store that is in use.
const retryPause = 50 * time.Millisecond

// openLog opens a store for this process alone. Another process may have it open for a
// moment: it is waited for, up to [Patience].
func openLog(ctx context.Context, folder string, o LocalOptions) (log events.Store, err error) {
	open := o.Open
	if open == nil {
		open = store.Open
	}
	err = Patiently(ctx, func() error {
		log, err = open(folder, store.Options{
			MustExist: o.MustExist,
			Check:     func(log events.Store) error { return readAll(ctx, log, o.Campaign) },
		})
		return err
	})
	return log, err
}

// readAll reads every event, and those of a campaign, or of each, by their campaign too:
// so that what is not in its place is found.
func readAll(ctx context.Context, log events.Store, campaign string) error {
	for _, err := range log.Read(ctx, 0) {
		if err != nil {
			return err
		}
	}
	names, err := log.Campaigns(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if campaign != "" && name != campaign {
			continue
		}
		for _, err := range log.ReadCampaign(ctx, name, 0) {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Patiently tries to open a store until it is not in use any more, up to [Patience]: most
// commands have one open for a moment only.
func Patiently(ctx context.Context, open func() error) error {
	for began := time.Now(); ; {
		err := open()
		if !errors.Is(err, events.ErrInUse) || time.Since(began) > Patience {
			return err
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ReadKinds reads the events of some kinds, of one campaign or, where its name is empty, of
// all. From the process that holds the store it asks for no others.
func ReadKinds(
	ctx context.Context,
	log events.Log,
	campaign string,
	kinds ...events.Kind,
) iter.Seq2[events.Event, error] {
	if owner, ok := log.(*control.Client); ok {
		return owner.ReadKinds(ctx, campaign, kinds...)
	}
	all := log.Read(ctx, 0)
	if campaign != "" {
		all = events.ReadCampaign(ctx, log, campaign, 0)
	}
	return func(yield func(events.Event, error) bool) {
		for e, err := range all {
			wanted := err != nil || slices.Contains(kinds, e.Kind)
			if wanted && !yield(e, err) {
				return
			}
		}
	}
}

// Campaigns returns the names of the campaigns in a store, in the order of their beginning.
func Campaigns(ctx context.Context, log events.Log) ([]string, error) {
	if s, ok := log.(events.Store); ok {
		return s.Campaigns(ctx)
	}
	var names []string
	for e, err := range ReadKinds(ctx, log, "", events.KindCampaignDefined) {
		if err != nil {
			return nil, err
		}
		names = append(names, e.Campaign)
	}
	return names, nil
}
