package campaignfile

import (
	"time"

	"github.com/campaignd/campaignd/events"
)

// Defaults that the comments of package events promise.
const (
	defaultSeed        = 1
	defaultReplicates  = 1
	defaultExperiments = 3
	defaultLabels      = 10
	defaultBeta        = 1
	defaultImprovement = 0.1

	defaultLambda0    = 1
	defaultZeta       = 0.02
	defaultEta        = 3
	defaultConfidence = 0.1
	paperConfidence   = 0.01
	defaultMaxNorm    = 4

	defaultThreshold     = 0.1
	defaultPerExperiment = 10

	defaultAccuracy     = 1
	defaultStallAfter   = events.Duration(10 * time.Minute)
	defaultGiveUpAfter  = events.Duration(24 * time.Hour)
	defaultReplyWithin  = events.Duration(10 * time.Second)
	defaultAnswerWithin = events.Duration(2 * time.Minute)
)

// Complete returns the definition with every default written out, the same for
// a definition that has them already. It does not change def and shares with it
// only what it does not change. It expects nothing of def: what is wrong with it
// stays, for [Validate] to report.
func Complete(def events.Definition) events.Definition {
	set(&def.Seed, defaultSeed)
	set(&def.Replicates, defaultReplicates)
	set(&def.Model.Kernel, "rbf")
	def.Instrument = completeInstrument(def.Instrument)
	def.Experts = completeExperts(def.Experts, def.Instrument)
	def.Policy = completePolicy(def.Policy, len(def.Experts) > 0)
	def.Initial = completeInitial(def)
	if def.Stop.Window > 0 {
		setPointer(&def.Stop.Improvement, defaultImprovement)
	}
	return def
}

func completeInstrument(in events.Instrument) events.Instrument {
	if in.Manual == nil {
		set(&in.StallAfter, defaultStallAfter)
		set(&in.GiveUpAfter, defaultGiveUpAfter)
	}
	if in.Process != nil {
		process := *in.Process
		set(&process.ReplyWithin, defaultReplyWithin)
		in.Process = &process
	}
	return in
}

func completeExperts(experts []events.Expert, in events.Instrument) []events.Expert {
	if experts == nil {
		return nil
	}
	done := make([]events.Expert, len(experts))
	for i, e := range experts {
		if e.Simulated != nil {
			simulated := *e.Simulated
			setPointer(&simulated.Accuracy, defaultAccuracy)
			if in.Simulated != nil {
				set(&simulated.Task, in.Simulated.Task)
			}
			e.Simulated = &simulated
		}
		if e.Terminal != nil {
			set(&e.AnswerWithin, defaultAnswerWithin)
		}
		done[i] = e
	}
	return done
}

func completePolicy(p events.Policy, experts bool) events.Policy {
	n := &p.Next
	if n.LCB == nil && n.LogEI == nil && n.Thompson == nil && n.Sobol == nil && n.Random == nil {
		n.LCB = &events.LCB{}
	}
	if n.LCB != nil {
		lcb := *n.LCB
		setPointer(&lcb.Beta, defaultBeta)
		set(&lcb.BetaRule, events.BetaFixed)
		n.LCB = &lcb
	}
	hasModel := n.LCB != nil || n.LogEI != nil || n.Thompson != nil

	t := &p.Trust
	switch {
	case t.None != nil || t.COBOL != nil:
	case experts && hasModel:
		t.COBOL = &events.COBOL{}
	default:
		t.None = &events.NoTrust{}
	}
	paper := false
	if t.COBOL != nil {
		cobol := *t.COBOL
		paper = cobol.Paper
		setPointer(&cobol.Lambda0, defaultLambda0)
		setPointer(&cobol.Zeta, defaultZeta)
		setPointer(&cobol.Eta, defaultEta)
		if cobol.Paper {
			setPointer(&cobol.Confidence, paperConfidence)
		} else {
			setPointer(&cobol.Confidence, defaultConfidence)
		}
		if !paper {
			setPointer(&cobol.MaxNorm, defaultMaxNorm)
		}
		t.COBOL = &cobol
	}

	h := &p.Handover
	switch {
	case h.Never != nil || h.Width != nil:
	case t.COBOL != nil && experts:
		h.Width = &events.Width{}
	default:
		h.Never = &events.NeverAsk{}
	}
	if h.Width != nil {
		width := *h.Width
		setPointer(&width.Threshold, defaultThreshold)
		setPointer(&width.PerExperiment, defaultPerExperiment)
		setPointer(&width.WhereItMatters, !paper)
		setPointer(&width.Gate, !paper)
		h.Width = &width
	}
	return p
}

func completeInitial(def events.Definition) events.Initial {
	in := def.Initial
	if len(in.Points) > 0 {
		set(&in.Design, events.DesignPoints)
		setPointer(&in.Experiments, len(in.Points))
	}
	set(&in.Design, events.DesignSobol)
	setPointer(&in.Experiments, defaultExperiments)

	simulated := len(def.Experts) > 0
	for _, e := range def.Experts {
		simulated = simulated && e.Simulated != nil
	}
	setPointer(&in.Balanced, simulated)
	if len(def.Experts) > 0 && usesLabels(def.Policy) {
		setPointer(&in.Labels, defaultLabels)
	}
	setPointer(&in.Labels, 0)
	return in
}

// usesLabels says whether any part of a policy reads experts' labels.
func usesLabels(p events.Policy) bool { return p.Trust.COBOL != nil || p.Handover.Width != nil }

// set and setPointer fill a field that was left out.
func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func setPointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
