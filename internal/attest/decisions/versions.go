package decisions

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/policies"
)

// Unmade are decisions that were not made again: by another version of the method, or another
// method of the name.
type Unmade struct {
	// Family and Module are the recorded ones; Family is empty in decisions of programs that did
	// not record it, and Module then stands for campaignd's own.
	Family string `json:"family,omitempty"`
	Module string `json:"module,omitempty"`
	// Version is the deciding version, Here this program's, of the family HereFamily in HereModule.
	// For decisions without a family the two may be equal: before versions belonged to families,
	// methods changed without a new one.
	Version    int    `json:"version"`
	Here       int    `json:"here"`
	HereFamily string `json:"here_family,omitempty"`
	HereModule string `json:"here_module,omitempty"`
	// Decisions counts them.
	Decisions int `json:"decisions"`
}

// decides reports whether the present policy can make the decisions of a decision's version of the
// method.
//
// The version of the module is not compared: a family has a version of its own, which its author
// raises when decisions change.
func decides(core *engine.Core, p events.PolicyRef) bool {
	ref := core.Ref()
	return core.Registry().Methods.Makes(core.State().Definition.Policy, p.Version) && (p.Family == "" || p.Family == ref.Family) &&
		moduleOf(p) == moduleOf(ref)
}

// stepOf returns the step that a decision records.
func stepOf(core *engine.Core, p *events.DecisionMade) engine.Decide {
	step := engine.Decide{Decision: p.Decision, Seed: p.Seed}
	if p.Policy.Version != core.Ref().Version {
		step.Version = p.Policy.Version
	}
	return step
}

// moduleOf returns the module of a policy's family: campaignd's own if none is recorded.
func moduleOf(p events.PolicyRef) string { return cmp.Or(p.Module, policies.Module) }

// located returns the name of a policy with the recorded origin of the family, of another build:
// the family was compared, and the version of the module decides nothing.
func located(made, recorded events.PolicyRef) events.PolicyRef {
	made.Family = recorded.Family
	made.Module = recorded.Module
	made.ModuleVersion = recorded.ModuleVersion
	return made
}

// leaveOut counts the present event, a decision that cannot be made again, as neither confirmed nor
// refuted, and its consequences as recorded.
func (a *auditor) leaveOut(share *BuildShare, p events.PolicyRef) {
	a.report.OtherVersion++
	share.OtherVersion++
	a.unmade = a.event.ID
	unmade := Unmade{
		Family: p.Family, Module: p.Module, Version: p.Version,
		Here: a.core.Ref().Version, HereFamily: a.core.Ref().Family, HereModule: a.core.Ref().Module,
	}
	a.report.unmade(unmade).Decisions++
}

// leaveOutFit counts a fit or a judgment as neither confirmed nor refuted.
func (a *auditor) leaveOutFit(build events.Build) {
	a.report.OtherVersion++
	a.report.OtherModels++
	a.share(build).OtherVersion++
}

// uncalled is a mismatch of an unneeded record of the engine, unless a version of the method
// decided that this program lacks: that one may have needed other fits and first questions. The
// audit is then incomplete in any case, and reports it.
func (a *auditor) uncalled(subject, format string, args ...any) {
	if !a.othersDecided() {
		a.mismatch(subject, format, args...)
	}
}

// deciders are the policies that made the decisions of a campaign, for each of
// its definitions in their order.
type deciders [][]events.PolicyRef

// decidersOf reads them from a log, before the audit folds it. Unreadable events are left to the
// audit. There is an entry for the first definition and one for each amendment.
//
// shown has an entry for each event up to which a program was shown the campaign, to be filled in
// as the audit goes by.
func decidersOf(ctx context.Context, log events.Log, name string) (
	all deciders, shown map[events.Sequence]*shownThen, err error,
) {
	all, shown = deciders{nil}, make(map[events.Sequence]*shownThen)
	for e, err := range events.ReadCampaign(ctx, log, name, 0) {
		if err != nil {
			return nil, nil, err
		}
		switch e.Kind {
		case events.KindCampaignAmended:
			all = append(all, nil)
		case events.KindMethodAnswered, events.KindQuestionAnswered:
			var answer struct {
				Program *struct {
					At events.Sequence `json:"at"`
				} `json:"program"`
			}
			if json.Unmarshal(e.Data, &answer) == nil && answer.Program != nil {
				shown[answer.Program.At] = new(shownThen)
			}
		case events.KindDecisionMade:
			var decision struct {
				Policy events.PolicyRef `json:"policy"`
			}
			last := &all[len(all)-1]
			if json.Unmarshal(e.Data, &decision) == nil && !slices.Contains(*last, decision.Policy) {
				*last = append(*last, decision.Policy)
			}
		}
	}
	return all, shown, nil
}

// othersDecided reports whether decisions under the present definition are left out, being of
// another version of the method than this program's. The audit is then incomplete.
func (a *auditor) othersDecided() bool {
	if a.amended >= len(a.deciders) {
		return false
	}
	return slices.ContainsFunc(a.deciders[a.amended],
		func(p events.PolicyRef) bool { return !decides(a.core, p) })
}
