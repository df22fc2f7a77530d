package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/plaintext"
	"github.com/campaignd/campaignd/internal/telemetry"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// define writes the event that opens the target's campaign, and with it the
// trace that everything in the campaign is part of.
func (a *app) define(ctx context.Context, log events.Log, t target, def definition.Campaign) error {
	actor, err := a.actor()
	if err != nil {
		return err
	}
	ctx, span := telemetry.Start(ctx, "campaign", attribute.String("campaign", def.Name))
	err = engine.Define(ctx, log, events.CampaignDefined{Instance: engine.NewInstance(), Definition: def, Source: t.file.Source, Build: thisBuild().Build},
		actor, time.Now(), telemetry.Inject(ctx))
	telemetry.End(span, err)
	return err
}

// listCandidates completes a definition where its instrument measures only
// what it lists. Nothing is started for it.
func (a *app) listCandidates(ctx context.Context, t target, def definition.Campaign) (definition.Campaign, error) {
	driver, _ := a.registry.Driver(def.Instrument.Driver.Name)
	if !driver.Listed {
		return def, nil
	}
	env := instruments.Environment{Folder: t.base, Logf: func(string, ...any) {}}
	instrument, err := openInstrument(ctx, a.registry, def, env)
	if err != nil {
		return def, err
	}
	def, err = withCandidates(ctx, def, instrument)
	return def, errors.Join(err, closeInstrument(instrument))
}

// openOrDefine opens a store for a person who runs the experiments: where the
// target is a file whose store does not exist yet, it is made. check, if set,
// is called with the campaign before that, so that bad input makes no store.
func (a *app) openOrDefine(ctx context.Context, t target, check func(*engine.Core) error) (*session, error) {
	exists, err := t.hasStore()
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
			return nil, errors.Join(err, s.close())
		}
		return s, nil
	}
	if t.file == nil {
		return nil, badStore("there is no store %s yet; name the campaign file instead, and it is made", t.store)
	}
	def, err := a.listCandidates(ctx, t, t.file.Definition)
	if err != nil {
		return nil, err
	}
	if check != nil {
		core, err := a.rehearse(ctx, def)
		if err == nil {
			err = check(core)
		}
		if err != nil {
			return nil, err
		}
	}
	log, err := openOwn(ctx, t.store)
	if err != nil {
		return nil, err
	}
	if err := a.define(ctx, log, t, def); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return &session{app: a, log: log, own: log, name: t.campaign}, nil
}

// compare refuses a file that says something else than the store.
func (a *app) compare(ctx context.Context, t target, s *campaign.State) error {
	wanted, err := a.wantedDefinition(ctx, t, s)
	if err != nil {
		return err
	}
	changes := campaignfile.Diff(*s.Definition, wanted)
	if len(changes) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s differs from the campaign in %s (store → file):\n", t.path, t.store)
	for _, c := range changes {
		fmt.Fprintf(&b, "  %s\n", plaintext.Line(view.Change(s.Definition, c)))
	}
	fmt.Fprintf(&b, "Nothing was changed. To change the campaign: campaignd amend %s\n", t.path)
	fmt.Fprintf(&b, "To continue it as it is: campaignd run %s", t.store)
	return linesError{badInput("%s", b.String())}
}

// wantedDefinition is what a file says about a campaign that exists.
func (a *app) wantedDefinition(ctx context.Context, t target, s *campaign.State) (definition.Campaign, error) {
	def, err := a.listCandidates(ctx, t, t.file.Definition)
	if err != nil {
		return def, err
	}
	// A seed that --seed gave is not in the file, and need not be given again.
	if first, err := campaignfile.Parse(a.registry, t.path, []byte(s.Source)); err == nil && first.Definition.Seed == def.Seed {
		def.Seed = s.Definition.Seed
	}
	return def, nil
}

// checkCompatible refuses a campaign that its instrument cannot perform.
func checkCompatible(ctx context.Context, instrument instruments.Instrument, def definition.Campaign) error {
	if instrument == nil { // the campaign measures nothing
		return nil
	}
	description, err := instrument.Describe(ctx)
	if err != nil {
		return fmt.Errorf("the instrument does not describe itself: %w", err)
	}
	if err := instruments.Compatible(description, def); err != nil {
		return inputError{err}
	}
	return nil
}
