package attest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/view"
)

// checkDefinitions compares each definition of a campaign with the campaign file recorded with it,
// and the listed changes of an amendment with the two definitions. Another program may have read
// the same file differently, so a difference there is a remark. As part of an audit it reads the
// log itself.
func checkDefinitions(
	ctx context.Context,
	reg registry.Registry,
	log events.Log,
	name string,
	this events.Build,
) (mismatches, remarks []decisions.Mismatch, err error) {
	var present definition.Campaign
	var source string // of the present definition
	var running events.Build
	for e, err := range events.ReadCampaign(ctx, log, name, 0) {
		if err != nil {
			return nil, nil, err
		}
		payload, err := events.Decode(e)
		if err != nil {
			continue // the audit has reported it
		}
		// This very build must be able to derive its own records again. Another one may have read
		// the same file otherwise, and been right by its own rules.
		say := func(format string, args ...any) {
			m := decisions.Mismatch{
				Position: e.Position,
				Event:    e.Kind,
				Subject:  "definition",
				Problem:  fmt.Sprintf(format, args...),
			}
			if running == this {
				mismatches = append(mismatches, m)
			} else {
				m.Problem += "; another program wrote it"
				remarks = append(remarks, m)
			}
		}
		switch p := payload.(type) {
		case *events.RecoveryDone:
			running = p.Build
		case *events.DecisionMade:
			running = p.Build
		case *events.ModelFitted:
			running = p.Build
		case *events.CampaignDefined:
			running = p.Build
			present = p.Definition
			source = p.Source
			means := asBegun(reg, p.Definition)
			if running == this {
				means = defined // this program's present choice
			}
			if problem := followsFrom(reg, p.Source, p.Definition, means); problem != "" {
				say("%s", problem)
			}
		case *events.CampaignAmended:
			if !slices.Equal(campaignfile.Diff(present, p.Definition), p.Changes) {
				say("the changes that it lists are not those of the definition")
			}
			if problem := followsFrom(reg, p.Source, p.Definition,
				amends(reg, present, source)); problem != "" {
				say("%s", problem)
			}
			present, source = p.Definition, p.Source
		}
	}
	return mismatches, remarks, nil
}

// meaning returns the definition that a campaign file gives at its place in a log. Open settings
// are filled in differently for a new campaign, a running one, and an amended one.
type meaning func(*campaignfile.File) (definition.Campaign, error)

// defined is the meaning of a new campaign's file.
func defined(f *campaignfile.File) (definition.Campaign, error) { return f.Definition, nil }

// asBegun is the meaning with open settings taken from the given definition.
func asBegun(reg registry.Registry, begun definition.Campaign) meaning {
	return func(f *campaignfile.File) (definition.Campaign,
		error) {
		return f.Begun(reg, f.Definition, begun), nil
	}
}

// amends is the meaning for a campaign with a definition and a file: settings on which the two
// files agree stay, whatever the defaults of the amending program.
func amends(reg registry.Registry, present definition.Campaign, source string) meaning {
	return func(f *campaignfile.File) (definition.Campaign, error) {
		def, err := campaignfile.Meant(reg, present, source, f.Definition)
		return f.Begun(reg, def, present), err
	}
}

// followsFrom returns the difference between a definition and its recorded campaign file. The seed
// may have been given on the command line, and a list of candidates by the instrument: their
// consequences are made again.
//
// Without a source there is nothing to compare: the definition came from a program. Only the first
// difference is named; it is enough to refuse, and a person then looks at both.
func followsFrom(
	reg registry.Registry, source string, def definition.Campaign, means meaning,
) string {
	if source == "" {
		return ""
	}
	file, err := campaignfile.Parse(reg, "the campaign file", []byte(source))
	if err != nil {
		var faults *yamltree.Error
		if errors.As(err, &faults) {
			return "the campaign file that is recorded with it would be refused"
		}
		return fmt.Sprintf("the campaign file that is recorded with it does not read: %v", err)
	}
	wanted, err := means(file)
	if err != nil {
		return fmt.Sprintf("what the campaign file means that is recorded with it cannot be "+
			"said: %v", err)
	}
	wanted.Seed = def.Seed
	driver, _ := reg.DriverOf(&def)
	if wanted.Candidates == nil && driver.Listed {
		wanted.Candidates = def.Candidates
	}
	if changes := campaignfile.Diff(campaignfile.Respelled(def, wanted), def); len(changes) > 0 {
		return fmt.Sprintf("it does not follow from the campaign file that is recorded with it: %s",
			view.Change(&def, changes[0]))
	}
	return ""
}
