package app

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/web/server/api"
)

// deviceAbort aborts every campaign that uses a device: of a lab on a server, or
// of the stores in a folder or a database. One that cannot be reached is named,
// and keeps no other from being aborted.
type deviceAbort struct {
	*call
	device string
	order  engine.Request
}

func (a *deviceAbort) run(where string) error {
	actor, err := a.actor()
	switch {
	case err != nil:
		return err
	case strings.TrimSpace(a.device) == "":
		return badInput("--device is empty: give the device's identity, or its name")
	case a.campaign != "":
		return badInput("--device is about every campaign that uses the device: leave --campaign out")
	case a.server != "" && where != "":
		return badInput("with --server, --device is about the campaigns of that lab: leave %s out", where)
	}
	answer := &api.DeviceAborted{Device: a.device}
	if a.server != "" {
		if err := a.api().Post(a.ctx, "/abort?as="+url.QueryEscape(actor), api.DeviceToAbort{Device: a.device, Reason: a.order.Abort.Reason}, answer); err != nil {
			return err
		}
		return a.print(answer)
	}
	stores, err := a.storesAt(where)
	if err != nil {
		return err
	}
	a.order.Actor, a.order.Account = actor, control.OwnAccount()
	each := make([][]lab.Aborted, len(stores))
	known := make([][]string, len(stores))
	var group sync.WaitGroup
	for i, address := range stores {
		group.Go(func() { each[i], known[i] = a.abortIn(address) })
	}
	group.Wait()
	answer.Campaigns = slices.Concat(each...)
	if len(answer.Campaigns) == 0 {
		return lab.NoDevice(a.device, slices.Concat(known...))
	}
	return a.print(answer)
}

// storesAt are the stores of a folder or a database; of a store that store
// alone.
func (a *deviceAbort) storesAt(where string) (stores []string, err error) {
	where = cmp.Or(where, a.store, ".")
	if !store.InDatabase(where) {
		if lablog.Exists(where) {
			return nil, badInput("%s is the log of a lab: give the folder of the stores", where)
		}
		for _, s := range storesIn(where) {
			if !lablog.Is(s) {
				stores = append(stores, s)
			}
		}
		if stores == nil && strings.HasSuffix(strings.TrimRight(where, "/"), store.Ending) {
			stores = []string{where}
		}
	} else {
		database, name, err := store.Split(where)
		if err != nil {
			return nil, inputError{err}
		}
		if name != "" {
			return []string{where}, nil
		}
		names, err := storesOf(a.ctx, database)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			stores = append(stores, store.In(database, name))
		}
	}
	if stores == nil {
		return nil, badInput("there is no store in %s", where)
	}
	return stores, nil
}

// abortIn aborts the campaigns of a store that use a device. known are the
// devices that its campaigns use.
func (a *deviceAbort) abortIn(address string) (aborted []lab.Aborted, known []string) {
	failed := func(campaign string, err error) {
		aborted = append(aborted, lab.Aborted{Campaign: campaign, Store: address}.With(nil, err))
	}
	s, err := a.openStore(a.ctx, target{store: address}, writing)
	if err != nil {
		failed("", err)
		return aborted, nil
	}
	defer s.Close()
	names, err := lab.Campaigns(a.ctx, s)
	if err != nil {
		failed("", err)
	}
	for _, name := range names {
		core, err := lab.Load(a.ctx, s, name)
		if err != nil {
			failed(name, err)
			continue
		}
		devices := engine.DevicesOf(core.State())
		known = append(known, devices...)
		if !slices.Contains(devices, a.device) {
			continue
		}
		stored, err := s.Submit(a.ctx, name, a.order.Identified(rand.Text()))
		one := lab.Aborted{Campaign: name, Store: address, Driven: lab.RunningIn(s, name) != nil}
		aborted = append(aborted, one.With(stored, err))
	}
	return aborted, known
}

// print reports each campaign. The error is that of the first that could
// not be reached.
func (a *deviceAbort) print(answer *api.DeviceAborted) error {
	var failed error
	for _, c := range answer.Campaigns {
		if c.Error != "" && failed == nil {
			failed = errors.Join(errReported, c.Err)
		}
	}
	if a.json {
		return errors.Join(a.printJSON(answer), failed)
	}
	for _, c := range answer.Campaigns {
		name := c.Store
		if c.Campaign != "" {
			name = c.Campaign + " (" + c.Store + ")"
		}
		switch {
		case c.Error != "":
			a.printf("%s is NOT aborted: %s\n", name, c.Error)
		case len(c.CalledOff) == 0:
			a.printf("%s: nothing of it is under way that is not called off already; it sends nothing more.\n", name)
		case c.Driven:
			a.printf("%s: %s.\n", name, view.BeingCalledOff(c.CalledOff))
		default:
			a.printf("%s: %s: that is recorded, but no process drives the campaign. Use the hardware's own stop.\n",
				name, view.BeingCalledOff(c.CalledOff))
		}
	}
	return failed
}
