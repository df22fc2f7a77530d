package decisions

import (
	"errors"
	"reflect"

	"github.com/campaignd/campaignd/adapters/methods"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/shown"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Programs opens the program that is the method of a definition.
type Programs func(def definition.Campaign) (methods.Method, error)

// shownThen is a program's view as of an event, made again when the audit has folded that event.
type shownThen struct {
	made   bool
	view   []byte // if the program may answer again
	which  events.Program
	called engine.Consult // the method's question then; zero for none
	asked  methods.Question
}

// programs are what programs were shown, by the event behind it, and the one that is the campaign's
// method, or the reason for its absence, for the definition in the event by.
type programs struct {
	open   Programs // nil if none may answer again
	shown  map[events.Sequence]*shownThen
	by     string
	method methods.Method
	err    error
}

// note makes again the views that programs were shown up to the event just folded.
func (p *programs) note(core *engine.Core) {
	then := p.shown[core.State().Sequence]
	if then == nil || core.State().Definition == nil {
		return
	}
	then.made = true
	view, which := engine.Shown(core.State())
	then.which = which
	if step, _, ok := engine.Consultation(core.At(engine.World{})); ok {
		then.called = step
		if p.open != nil {
			then.view, then.asked = view, engine.Question(core.At(engine.World{}), step)
		}
	}
}

// again returns the program of the present definition, started once for each.
func (p *programs) again(s *campaign.State) (methods.Method, error) {
	if p.by != s.DefinedBy {
		p.close()
		p.by = s.DefinedBy
		p.method, p.err = p.open(*s.Definition)
	}
	return p.method, p.err
}

// close ends the program that answers again, if any.
func (p *programs) close() {
	if p.method != nil {
		_ = p.method.Close() // its answers stand
	}
	p.method = nil
}

// checkProgram compares a program's record of its view with the state of the log then.
func checkProgram(a *auditor, subject string, p *events.Program) {
	then := a.programs.shown[p.At]
	switch {
	case then == nil || !then.made:
		a.mismatch(subject, "the program was shown the campaign up to event %d, and this is event %d",
			p.At, a.event.Sequence)
	case p.Format != shown.Format:
		a.remark(subject, "the program was shown the campaign in form %d, which this program does not make", p.Format)
		a.report.OtherVersion++ // neither confirmed nor refuted
		a.share(a.running).OtherVersion++
	case p.View != then.which.View:
		a.mismatch(subject, "the program was shown something else than what the log said up to event %d", p.At)
	}
	if p.Name == "" {
		a.mismatch(subject, "it does not name the program")
	}
}

// checkMethod checks an answer of the program that is the campaign's method against its question
// and view. The answer is a fact; the decision on it is made again.
func checkMethod(a *auditor, in *identified, p *events.MethodAnswered) {
	a.report.Proposals++
	if in.name != p.Program.Name {
		a.mismatch(p.Decision, "its actor is %q, and it is an answer of %q", a.event.Actor, p.Program.Name)
	}
	asked := engine.Consult{Decision: p.Decision, Seed: p.Seed, Attempt: p.Attempt}
	called, _, ok := engine.Consultation(a.core.At(engine.World{}))
	then := a.programs.shown[p.Program.At]
	switch {
	case !ok:
		a.uncalled(p.Decision, "nothing before it calls for an answer of a program")
		return
	case called != asked:
		a.mismatch(p.Decision, "it answers %+v, and %+v was to be asked", asked, called)
	case then != nil && then.made && then.called != asked:
		a.mismatch(p.Decision, "as of event %d the program was to be asked something else", p.Program.At)
	}
	checkProgram(a, p.Decision, &p.Program)
	switch {
	case (p.Cause == "") != (len(p.Parameters) > 0):
		a.mismatch(p.Decision, "it has a composition or says why there is none, one of the two")
	case p.Cause == "" && p.Rejected != "", p.Cause != "" && (p.Reason != "" || p.Numbers != nil):
		a.mismatch(p.Decision, "it holds both a proposal and what was rejected")
	case p.Took < 0:
		a.mismatch(p.Decision, "it took %v seconds", p.Took)
	}
	answerAgain(a, p, then)
}

// answerAgain asks a program that declares itself deterministic again, with the same view and seed,
// if the audit may start programs. A program that has changed since cannot answer.
func answerAgain(a *auditor, p *events.MethodAnswered, then *shownThen) {
	if a.programs.open == nil || !p.Program.Deterministic || p.Cause != "" || then == nil || !then.made ||
		then.which.View != p.Program.View {
		return
	}
	method, err := a.programs.again(a.core.State())
	if err != nil {
		a.remark(p.Decision, "the program cannot answer again: %v", err)
		return
	}
	again, err := method.Propose(a.ahead.ctx, then.asked)
	switch {
	case err != nil || again.Cause != "":
		a.remark(p.Decision, "the program did not answer again: %v", errors.Join(err, errors.New(again.Cause)))
	case again.Program.Name != p.Program.Name || again.Program.Version != p.Program.Version ||
		again.Program.Files != p.Program.Files:
		a.remark(p.Decision, "it is an answer of %s %s, and here is %s %s with other files: it was not made again",
			p.Program.Name, p.Program.Version, again.Program.Name, again.Program.Version)
	case !reflect.DeepEqual(again.Parameters, p.Parameters) || again.Reason != p.Reason ||
		!reflect.DeepEqual(again.Numbers, p.Numbers):
		a.mismatch(p.Decision, "the program says that it is deterministic, and answered %v again with %v",
			p.Parameters, again.Parameters)
	default:
		a.report.ProposalsAgain++
	}
}

// checkAnswerer checks that a program, and only a program, identifies itself and its view.
func checkAnswerer(a *auditor, in *identified, p *events.QuestionAnswered) {
	expert := a.core.State().Definition.Expert(p.Expert)
	program := expert != nil && expert.Program
	switch {
	case p.Program == nil && program && in.author == byExpert:
		a.mismatch(p.Question, "%s is a program, and the answer does not say which", p.Expert)
	case p.Program != nil && (!program || in.author != byExpert || p.Volunteered):
		a.mismatch(p.Question, "it says that a program answered, and none was asked")
	case p.Program != nil:
		a.report.ProgramAnswers++
		checkProgram(a, p.Question, p.Program)
	}
}
