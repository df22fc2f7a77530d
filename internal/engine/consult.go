package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/methods"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine/shown"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Consultation returns the question for the program that is the campaign's method, and the
// faults of its answers so far; ok is false if the method is not a program, or needs no
// question now.
//
// It depends on the state alone, and not on other steps that the campaign has to take first: an
// answer may come while the campaign is paused.
func Consultation(c Now) (step Consult, refused []string, ok bool) {
	consulter, consults := c.policy.(policies.Consulter)
	if !consults || c.Status.Ended() {
		return Consult{}, nil, false
	}
	wanted, refused := consulter.Consults(c.State, c.space)
	if !wanted {
		return Consult{}, nil, false
	}
	id, attempt := events.DecisionID(c.Decisions+1), len(c.Proposals)+1
	// 31 bits, which every generator of random numbers takes for a seed. An
	// attempt has its own: a program that is deterministic is to have a chance.
	seed := seedFor(c.Definition.Seed, "proposal", id, attempt) & math.MaxInt32
	return Consult{Decision: id, Seed: seed, Attempt: attempt}, refused, true
}

// Shown returns the view of the campaign as a program would receive it now, and the view's
// record: sequence, format and digest.
func Shown(s *campaign.State) (view []byte, which events.Program) {
	view, digest, err := shown.Of(s).Encode()
	if err != nil {
		panic(fmt.Sprintf("engine: stored settings are not valid JSON: %v", err))
	}
	return view, events.Program{At: s.Sequence, Format: shown.Format, View: digest}
}

// Question returns the question that a step puts to the program.
func Question(c Now, step Consult) methods.Question {
	_, refused, _ := Consultation(c)
	view, which := Shown(c.State)
	return methods.Question{
		Decision: step.Decision, Seed: step.Seed, Attempt: step.Attempt, Refused: refused,
		View: view, Shown: which,
	}
}

// Bounds on the recorded part of a program's answer. Our adapter keeps to them; they are
// enforced here too, since programs of other modules may bring their own adapters.
const (
	mostNumbers  = 32
	mostRejected = 2000 // characters
)

// Proposed is the record of an answer to a step, and who gave it; nil where the
// answer is not called for any more: the campaign has ended, is another one by
// an amendment, or has gone on.
func Proposed(c Now, step Consult, a events.MethodAnswered) (actor string, payload events.Payload) {
	if called, _, ok := Consultation(c); !ok || called != step {
		return "", nil
	}
	a.Decision = step.Decision
	a.Seed = step.Seed
	a.Attempt = step.Attempt
	a.Program.Name, a.Program.Version = name(a.Program.Name), name(a.Program.Version)
	if a.Program.Name == "" {
		a.Program.Name = "program"
	}
	a.Reason, a.Cause = legible(a.Reason), legible(a.Cause)
	if text := []rune(a.Rejected); len(text) > mostRejected {
		a.Rejected = string(text[:mostRejected])
	}
	a.Numbers = slices.DeleteFunc(slices.Clone(a.Numbers), func(n events.Number) bool {
		return math.IsNaN(n.Value) || math.IsInf(n.Value, 0)
	})
	a.Numbers = a.Numbers[:min(len(a.Numbers), mostNumbers)]
	if len(a.Numbers) == 0 {
		a.Numbers = nil
	}
	for i := range a.Numbers {
		a.Numbers[i].Name = name(a.Numbers[i].Name)
	}
	if a.Cause == "" && !expressible(a.Parameters) {
		a.Cause = "it proposed no composition that can be recorded"
	}
	if a.Cause != "" { // the one or the other
		a.Parameters = nil
		a.Reason = ""
		a.Numbers = nil
	} else {
		a.Rejected = ""
	}
	if math.IsNaN(a.Took) || a.Took < 0 {
		a.Took = 0
	}
	return "method:" + a.Program.Name, &a
}

// name returns a name of a program's as it is recorded.
func name(s string) string { return instruments.Legible(s, instruments.MaxName) }

// expressible reports whether a composition can be recorded: JSON can express
// it, and its names are names.
func expressible(p definition.Point) bool {
	for parameter, v := range p {
		x, number := v.Float()
		if number && (math.IsNaN(x) || math.IsInf(x, 0)) || !number && v.Name() == "" ||
			name(parameter) != parameter || name(v.Name()) != v.Name() {
			return false
		}
	}
	return len(p) > 0 && len(p) <= mostParameters
}

// mostParameters is beyond any campaign: it bounds the proposal of a program.
const mostParameters = 1000
