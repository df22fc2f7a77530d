package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/equip"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// define records the event that opens the target's campaign, with the file's text as its source.
// The source is kept for people; the definition holds, with every default written out.
func (a *app) define(ctx context.Context, h *lab.Local, t target, def definition.Campaign) error {
	actor, err := a.actor()
	if err != nil {
		return err
	}
	defined := events.CampaignDefined{Definition: def, Source: t.file.Source}
	return h.Define(ctx, defined, engine.Request{Actor: actor, Account: control.OwnAccount()})
}

// listCandidates completes a definition whose instrument measures only the
// compositions that it lists (a table). The list is read without starting the
// instrument.
//
// A file is compared with a store only after this: otherwise a table's
// candidates would look like a difference between the two.
func (a *app) listCandidates(
	ctx context.Context, t target, def definition.Campaign,
) (definition.Campaign, error) {
	if t.remote { // the list is where the instrument is
		return def, nil
	}
	env := instruments.Environment{Folder: t.base, Logf: func(string, ...any) {}}
	return equip.Listed(ctx, a.registry, def, env)
}

// openOrDefine opens a store for a person who runs the experiments themselves.
// Where the target is a file whose store does not exist yet, the store is made.
// check, if not nil, is called before that with the campaign as it would be, in
// memory, so that bad input leaves no store behind.
//
// The caller closes the session. A store that exists is only compared with the
// file, never changed.
func (a *app) openOrDefine(
	ctx context.Context, t target, check func(*engine.Core) error,
) (*session, error) {
	exists, err := a.hasCampaign(ctx, t)
	if err != nil {
		return nil, err
	}
	if exists {
		s, err := a.open(ctx, t, writing)
		if err != nil || t.file == nil {
			return s, err
		}
		core, err := s.core(ctx)
		if err == nil {
			err = a.compare(ctx, t, core.State())
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}
	if t.file == nil {
		return nil, badStore("there is no store %s yet; name the campaign file instead, and "+
			"it is made", t.store)
	}
	def, err := a.listCandidates(ctx, t, t.file.Definition)
	if err != nil {
		return nil, err
	}
	if check != nil {
		core, err := a.rehearse(def)
		if err == nil {
			err = check(core)
		}
		if err != nil {
			return nil, err
		}
	}
	if t.remote {
		if err := a.beginRemote(ctx, t, false, nil); err != nil {
			return nil, err
		}
		return a.open(ctx, t, writing)
	}
	h, err := a.openLocal(ctx, t.store, lab.LocalOptions{})
	if err != nil {
		return nil, err
	}
	if err := a.define(ctx, h, t, def); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return &session{Store: h, folder: t.store, name: t.campaign}, nil
}

// compare refuses a file that says something else than the store, with a line
// for each difference and the two commands that resolve it.
//
// Without it a person who edits the file and runs it again would believe that
// the campaign has changed.
func (a *app) compare(ctx context.Context, t target, s *campaign.State) error {
	wanted, err := a.wantedDefinition(ctx, t, s)
	if err != nil {
		return err
	}
	changes := campaignfile.Diff(*s.Definition, campaignfile.Respelled(*s.Definition, wanted))
	if len(changes) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s differs from the campaign in %s (store → file):\n", t.path, a.where(t))
	for _, c := range changes {
		fmt.Fprintf(&b, "  %s\n", plaintext.Line(view.Change(s.Definition, c)))
	}
	fmt.Fprintf(&b, "Nothing was changed. To change the campaign: campaignd amend %s\n", t.path)
	fmt.Fprintf(&b, "To continue it as it is: campaignd run %s", t.store)
	return linesError{badInput("%s", b.String())}
}

// wantedDefinition is a file's definition of a campaign that exists, completed in the same way as
// when that was begun: with the candidates of its instrument, and with the defaults of the program
// that began it. Otherwise a default that has changed since would look like a change of the file.
func (a *app) wantedDefinition(
	ctx context.Context, t target, s *campaign.State,
) (definition.Campaign, error) {
	def, err := a.listCandidates(ctx, t, t.file.Definition)
	if err != nil {
		return def, err
	}
	driver, _ := a.registry.DriverOf(&def)
	// The instrument is at the server, and so is its list.
	if t.remote && driver.Listed && def.Candidates == nil {
		def.Candidates = s.Definition.Candidates
	}
	def, err = campaignfile.Meant(a.registry, *s.Definition, s.Source, def)
	return t.file.Begun(a.registry, def, *s.Definition), err
}
