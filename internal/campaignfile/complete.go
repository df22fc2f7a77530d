package campaignfile

import (
	"math"
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

	defaultOptions = 4

	defaultCoExBOGamma = 0.01
	defaultPiBOGamma   = 10

	defaultThreshold     = 0.1
	defaultPerExperiment = 10

	// Comparisons at first: of simulated experts as in Adachi et al. 2024, of
	// people, and for duels as in Sinaga et al. 2026.
	simulatedComparisons = 100
	personComparisons    = 10
	duelComparisons      = 8

	defaultOutlierThreshold = 4
	defaultDuelLambda       = 0.05
	defaultKappa            = 1
	defaultDuelPoints       = 256
	// duelLengthscale is that of one dimension (Kayal et al. 2025, §5).
	duelLengthscale        = 0.1
	paperRAEUBOAlpha       = 10
	defaultUtilityBeta     = 2
	defaultANPEIGamma      = 1
	defaultRAHBOEta        = 2
	paperRAHBOGamma        = 10
	defaultUtilityNoise    = 1
	defaultUtilityStrength = 4
	defaultRefitEvery      = 10

	defaultAccuracy    = 1
	defaultStallAfter  = events.Duration(10 * time.Minute)
	defaultGiveUpAfter = events.Duration(24 * time.Hour)
	defaultReplyWithin = events.Duration(10 * time.Second)
)

// Complete returns the definition with every default written out, the same for
// a definition that has them already. It does not change def and shares with it
// only what it does not change. It expects nothing of def: what is wrong with it
// stays, for [Validate] to report.
func Complete(def events.Definition) events.Definition {
	set(&def.Seed, defaultSeed)
	set(&def.Replicates, defaultReplicates)
	set(&def.Parallel, 1)
	set(&def.Model.Kernel, "rbf")
	if def.Policy.Duel.Set() {
		def.Policy = completeDuel(def)
		if usesUtility(def.Policy) {
			def.Model.Utility = completeUtility(def.Model.Utility)
		}
	} else {
		setPointer(&def.Model.Feasibility, true)
		set(&def.Outliers.Action, events.OutlierRepeat)
		setPointer(&def.Outliers.Threshold, defaultOutlierThreshold)
		def.Instrument = completeInstrument(def.Instrument)
		def.Policy = completePolicy(def.Policy, len(def.Experts) > 0)
	}
	def.Experts = completeExperts(def.Experts, def.Instrument, def.Policy.Duel.Set())
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

// completeExperts completes experts; compares says that nothing is measured, so
// that there is nothing to go on with before they answer.
func completeExperts(experts []events.Expert, in events.Instrument, compares bool) []events.Expert {
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
		if e.Terminal != nil && !compares {
			set(&e.AnswerWithin, events.DefaultAnswerWithin)
		}
		done[i] = e
	}
	return done
}

func completePolicy(p events.Policy, experts bool) events.Policy {
	p.Next = completeNext(p.Next, p.Trust)
	p.Trust = completeTrust(p.Trust, experts && hasModel(p.Next))
	p.Handover = completeHandover(p.Handover, p.Trust, experts)
	return p
}

// hasModel says whether a rule reads a model of the objective.
func hasModel(n events.Next) bool { return n.LCB != nil || n.LogEI != nil || n.Thompson != nil }

func completeNext(n events.Next, t events.Trust) events.Next {
	if n == (events.Next{}) {
		n.LCB = &events.LCB{}
		if t.HCEI != nil {
			n = events.Next{LogEI: &events.LogEI{}}
		}
	}
	if n.LCB != nil {
		lcb := *n.LCB
		if lcb.Beta == nil && (t.CoExBO != nil || t.PiBO != nil) {
			set(&lcb.BetaRule, events.BetaGrowing)
		}
		set(&lcb.BetaRule, events.BetaFixed)
		if lcb.BetaRule == events.BetaFixed {
			setPointer(&lcb.Beta, defaultBeta)
		}
		n.LCB = &lcb
	}
	return n
}

func completeTrust(t events.Trust, aided bool) events.Trust {
	if t == (events.Trust{}) {
		if aided {
			t.COBOL = &events.COBOL{}
		} else {
			t.None = &events.NoTrust{}
		}
	}
	switch {
	case t.COBOL != nil:
		cobol := *t.COBOL
		setPointer(&cobol.Lambda0, defaultLambda0)
		setPointer(&cobol.Zeta, defaultZeta)
		setPointer(&cobol.Eta, defaultEta)
		cobol.Belief = completeBelief(cobol.Belief, cobol.Paper)
		t.COBOL = &cobol
	case t.COBOHL != nil:
		t.COBOHL = &events.COBOHL{Belief: completeBelief(t.COBOHL.Belief, false)}
	case t.HCEI != nil:
		t.HCEI = &events.HCEI{Belief: completeBelief(t.HCEI.Belief, false)}
	case t.CoExBO != nil:
		coexbo := *t.CoExBO
		setPointer(&coexbo.Gamma, defaultCoExBOGamma)
		set(&coexbo.Spread, events.SpreadExpected)
		t.CoExBO = &coexbo
	case t.PiBO != nil:
		pibo := *t.PiBO
		setPointer(&pibo.Gamma, defaultPiBOGamma)
		t.PiBO = &pibo
	}
	return t
}

func completeBelief(b events.Belief, paper bool) events.Belief {
	set(&b.Feedback, events.FeedbackLabel)
	if b.Feedback == events.FeedbackRanking {
		setPointer(&b.Options, defaultOptions)
	}
	if paper {
		setPointer(&b.Confidence, paperConfidence)
		return b
	}
	setPointer(&b.Confidence, defaultConfidence)
	setPointer(&b.MaxNorm, defaultMaxNorm)
	return b
}

func completeHandover(h events.Handover, t events.Trust, experts bool) events.Handover {
	if h == (events.Handover{}) {
		belief := t.Belief()
		switch {
		case experts && t.CoExBO != nil:
			h.Choose = &events.Choose{}
		case experts && belief != nil && belief.Feedback != events.FeedbackGaussian:
			h.Width = &events.Width{}
		default:
			h.Never = &events.NeverAsk{}
		}
	}
	if h.Width != nil {
		// The paper's rules ask wherever a belief is wide, without a gate.
		ours := t.COBOL == nil || !t.COBOL.Paper
		width := *h.Width
		setPointer(&width.Threshold, defaultThreshold)
		setPointer(&width.PerExperiment, defaultPerExperiment)
		setPointer(&width.WhereItMatters, ours)
		setPointer(&width.Gate, ours)
		h.Width = &width
	}
	if h.Choose != nil {
		choose := *h.Choose
		setPointer(&choose.Explain, true)
		setPointer(&choose.Gate, true)
		h.Choose = &choose
	}
	return h
}

// completeDuel completes the policy of a campaign without an instrument.
func completeDuel(def events.Definition) events.Policy {
	p, parameters := def.Policy, def.Parameters
	// The weights of the noise are the paper's for its own map of it, which is nearly
	// flat; ours falls by orders of magnitude, and the same weight would keep
	// every suggestion at the anchors.
	alpha, gamma := 1.0, 1.0
	if def.Model.Utility.Paper {
		alpha, gamma = paperRAEUBOAlpha, paperRAHBOGamma
	}
	d := &p.Duel
	dueling := func(c events.Dueling, betaRule string) events.Dueling {
		setPointer(&c.Lengthscale, duelLengthscale*math.Sqrt(float64(max(1, len(parameters)))))
		setPointer(&c.Lambda, defaultDuelLambda)
		setPointer(&c.Kappa, defaultKappa)
		set(&c.Loss, events.LossRKHS)
		if c.Beta == nil {
			set(&c.BetaRule, betaRule)
		}
		if c.BetaRule == events.BetaEq14 {
			setPointer(&c.Norm, 1)
		}
		setPointer(&c.Points, defaultDuelPoints)
		return c
	}
	switch {
	case d.MRLPF != nil:
		d.MRLPF = &events.MRLPF{Dueling: dueling(d.MRLPF.Dueling, events.BetaCalibrated)}
	case d.MaxMinLCB != nil:
		d.MaxMinLCB = &events.MaxMinLCB{Dueling: dueling(d.MaxMinLCB.Dueling, events.BetaPaper)}
	case d.RAEUBO != nil:
		rule := *d.RAEUBO
		setPointer(&rule.Alpha, alpha)
		d.RAEUBO = &rule
	case d.UCB != nil:
		rule := *d.UCB
		setPointer(&rule.Beta, defaultUtilityBeta)
		d.UCB = &rule
	case d.ANPEI != nil:
		rule := *d.ANPEI
		setPointer(&rule.Gamma, defaultANPEIGamma)
		d.ANPEI = &rule
	case d.RAHBO != nil:
		rule := *d.RAHBO
		setPointer(&rule.Eta, defaultRAHBOEta)
		setPointer(&rule.Gamma, gamma)
		d.RAHBO = &rule
	}
	return p
}

// usesUtility says whether a policy models the utility of compositions.
func usesUtility(p events.Policy) bool {
	d := p.Duel
	return d.Set() && d.MRLPF == nil && d.MaxMinLCB == nil
}

func completeUtility(u events.Utility) events.Utility {
	set(&u.Link, events.LinkProbit)
	set(&u.Posterior, events.PosteriorLaplace)
	setPointer(&u.Noise, defaultUtilityNoise)
	if !u.Paper {
		setPointer(&u.Strength, defaultUtilityStrength)
	}
	setPointer(&u.RefitEvery, defaultRefitEvery)
	return u
}

func completeInitial(def events.Definition) events.Initial {
	in := def.Initial
	if len(in.Points) > 0 {
		set(&in.Design, events.DesignPoints)
		setPointer(&in.Experiments, len(in.Points))
	}
	set(&in.Design, events.DesignSobol)
	if def.Policy.Duel.Set() {
		setPointer(&in.Experiments, 0)
	}
	setPointer(&in.Experiments, defaultExperiments)

	simulated := len(def.Experts) > 0
	for _, e := range def.Experts {
		simulated = simulated && e.Simulated != nil
	}
	setPointer(&in.Balanced, simulated)
	if len(def.Experts) > 0 {
		if usesLabels(def.Policy) {
			setPointer(&in.Labels, defaultLabels)
		}
		switch {
		case usesUtility(def.Policy):
			setPointer(&in.Comparisons, duelComparisons)
		case usesComparisons(def.Policy) && simulated:
			setPointer(&in.Comparisons, simulatedComparisons)
		case usesComparisons(def.Policy):
			setPointer(&in.Comparisons, personComparisons)
		}
	}
	setPointer(&in.Labels, 0)
	setPointer(&in.Comparisons, 0)
	return in
}

// usesLabels says whether any part of a policy reads experts' accepts and
// rejects.
func usesLabels(p events.Policy) bool {
	belief := p.Trust.Belief()
	return belief != nil && belief.Feedback == events.FeedbackLabel
}

// usesComparisons says whether any part of a policy learns from comparisons
// that come before it.
func usesComparisons(p events.Policy) bool {
	belief := p.Trust.Belief()
	return p.Trust.CoExBO != nil || p.Trust.PiBO != nil || p.Next.Prior != nil || usesUtility(p) ||
		belief != nil && (belief.Feedback == events.FeedbackComparison || belief.Feedback == events.FeedbackRanking)
}

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
