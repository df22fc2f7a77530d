package campaignfile

import (
	"math"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/registry"
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

	defaultStallAfter  = definition.Duration(10 * time.Minute)
	defaultGiveUpAfter = definition.Duration(24 * time.Hour)
)

// Complete returns the definition with every default written out, the same for
// a definition that has them already. It does not change def and shares with it
// only what it does not change. It expects nothing of def: what is wrong with it
// stays, for [Validate] to report.
func Complete(reg registry.Registry, def definition.Campaign) definition.Campaign {
	set(&def.Seed, defaultSeed)
	set(&def.Replicates, defaultReplicates)
	set(&def.Parallel, 1)
	set(&def.Model.Kernel, "rbf")
	if !def.Measures() {
		def.Policy = completeDuel(def)
		if usesUtility(def.Policy) {
			def.Model.Utility = completeUtility(def.Model.Utility)
		}
	} else {
		setPointer(&def.Model.Feasibility, true)
		set(&def.Outliers.Action, definition.OutlierRepeat)
		setPointer(&def.Outliers.Threshold, defaultOutlierThreshold)
		completeInstrument(reg, &def)
		def.Policy = completePolicy(def.Policy, len(def.Experts) > 0)
	}
	completeExperts(reg, &def)
	def.Initial = completeInitial(def)
	if def.Stop.Window > 0 {
		setPointer(&def.Stop.Improvement, defaultImprovement)
	}
	return def
}

func completeInstrument(reg registry.Registry, def *definition.Campaign) {
	driver, known := reg.Driver(def.Instrument.Driver.Name)
	if !known {
		return
	}
	in := &def.Instrument
	in.ByHand = driver.ByHand
	if !in.ByHand {
		set(&in.StallAfter, defaultStallAfter)
		set(&in.GiveUpAfter, defaultGiveUpAfter)
	}
	in.Driver = completeChoice(in.Driver, driver.Settings(), def)
}

// completeChoice returns a choice whose owner has written out the defaults; the same
// where its settings cannot be read.
func completeChoice(c definition.Choice, settings definition.Settings, def *definition.Campaign) definition.Choice {
	if c.Decode(settings) != nil {
		return c
	}
	settings.Complete(def)
	return definition.NewChoice(c.Name, settings)
}

func completeExperts(reg registry.Registry, def *definition.Campaign) {
	def.Experts = slices.Clone(def.Experts)
	for i := range def.Experts {
		e := &def.Experts[i]
		channel, known := reg.Channel(e.Channel.Name)
		if !known {
			continue
		}
		e.Person = channel.Person
		e.Channel = completeChoice(e.Channel, channel.Settings(), def)
		// Where nothing is measured, there is nothing to go on with before they answer.
		if e.Person && def.Measures() {
			set(&e.AnswerWithin, definition.DefaultAnswerWithin)
		}
	}
}

func completePolicy(p definition.Policy, experts bool) definition.Policy {
	p.Next = completeNext(p.Next, p.Trust)
	p.Trust = completeTrust(p.Trust, experts && hasModel(p.Next))
	p.Handover = completeHandover(p.Handover, p.Trust, experts)
	return p
}

// hasModel says whether a rule reads a model of the objective.
func hasModel(n definition.Next) bool { return n.LCB != nil || n.LogEI != nil || n.Thompson != nil }

func completeNext(n definition.Next, t definition.Trust) definition.Next {
	if n == (definition.Next{}) {
		n.LCB = &definition.LCB{}
		if t.HCEI != nil {
			n = definition.Next{LogEI: &definition.LogEI{}}
		}
	}
	if n.LCB != nil {
		lcb := *n.LCB
		if lcb.Beta == nil && (t.CoExBO != nil || t.PiBO != nil) {
			set(&lcb.BetaRule, definition.BetaGrowing)
		}
		set(&lcb.BetaRule, definition.BetaFixed)
		if lcb.BetaRule == definition.BetaFixed {
			setPointer(&lcb.Beta, defaultBeta)
		}
		n.LCB = &lcb
	}
	return n
}

func completeTrust(t definition.Trust, aided bool) definition.Trust {
	if t == (definition.Trust{}) {
		if aided {
			t.COBOL = &definition.COBOL{}
		} else {
			t.None = &definition.NoTrust{}
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
		t.COBOHL = &definition.COBOHL{Belief: completeBelief(t.COBOHL.Belief, false)}
	case t.HCEI != nil:
		t.HCEI = &definition.HCEI{Belief: completeBelief(t.HCEI.Belief, false)}
	case t.CoExBO != nil:
		coexbo := *t.CoExBO
		setPointer(&coexbo.Gamma, defaultCoExBOGamma)
		set(&coexbo.Spread, definition.SpreadExpected)
		t.CoExBO = &coexbo
	case t.PiBO != nil:
		pibo := *t.PiBO
		setPointer(&pibo.Gamma, defaultPiBOGamma)
		t.PiBO = &pibo
	}
	return t
}

func completeBelief(b definition.Belief, paper bool) definition.Belief {
	set(&b.Feedback, definition.FeedbackLabel)
	if b.Feedback == definition.FeedbackRanking {
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

func completeHandover(h definition.Handover, t definition.Trust, experts bool) definition.Handover {
	if h == (definition.Handover{}) {
		belief := t.Belief()
		switch {
		case experts && t.CoExBO != nil:
			h.Choose = &definition.Choose{}
		case experts && belief != nil && belief.Feedback != definition.FeedbackGaussian:
			h.Width = &definition.Width{}
		default:
			h.Never = &definition.NeverAsk{}
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
func completeDuel(def definition.Campaign) definition.Policy {
	p, parameters := def.Policy, def.Parameters
	// The weights of the noise are the paper's for its own map of it, which is nearly
	// flat; ours falls by orders of magnitude, and the same weight would keep
	// every suggestion at the anchors.
	alpha, gamma := 1.0, 1.0
	if def.Model.Utility.Paper {
		alpha, gamma = paperRAEUBOAlpha, paperRAHBOGamma
	}
	d := &p.Duel
	dueling := func(c definition.Dueling, betaRule string) definition.Dueling {
		setPointer(&c.Lengthscale, duelLengthscale*math.Sqrt(float64(max(1, len(parameters)))))
		setPointer(&c.Lambda, defaultDuelLambda)
		setPointer(&c.Kappa, defaultKappa)
		set(&c.Loss, definition.LossRKHS)
		if c.Beta == nil {
			set(&c.BetaRule, betaRule)
		}
		if c.BetaRule == definition.BetaEq14 {
			setPointer(&c.Norm, 1)
		}
		setPointer(&c.Points, defaultDuelPoints)
		return c
	}
	switch {
	case d.MRLPF != nil:
		d.MRLPF = &definition.MRLPF{Dueling: dueling(d.MRLPF.Dueling, definition.BetaCalibrated)}
	case d.MaxMinLCB != nil:
		d.MaxMinLCB = &definition.MaxMinLCB{Dueling: dueling(d.MaxMinLCB.Dueling, definition.BetaPaper)}
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
func usesUtility(p definition.Policy) bool {
	d := p.Duel
	return !p.Measures() && d.MRLPF == nil && d.MaxMinLCB == nil
}

func completeUtility(u definition.Utility) definition.Utility {
	set(&u.Link, definition.LinkProbit)
	set(&u.Posterior, definition.PosteriorLaplace)
	setPointer(&u.Noise, defaultUtilityNoise)
	if !u.Paper {
		setPointer(&u.Strength, defaultUtilityStrength)
	}
	setPointer(&u.RefitEvery, defaultRefitEvery)
	return u
}

func completeInitial(def definition.Campaign) definition.Initial {
	in := def.Initial
	if len(in.Points) > 0 {
		set(&in.Design, definition.DesignPoints)
		setPointer(&in.Experiments, len(in.Points))
	}
	set(&in.Design, definition.DesignSobol)
	if !def.Measures() {
		setPointer(&in.Experiments, 0)
	}
	setPointer(&in.Experiments, defaultExperiments)

	simulated := len(def.Experts) > 0
	for _, e := range def.Experts {
		simulated = simulated && !e.Person
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
func usesLabels(p definition.Policy) bool {
	belief := p.Trust.Belief()
	return belief != nil && belief.Feedback == definition.FeedbackLabel
}

// usesComparisons says whether any part of a policy learns from comparisons
// that come before it.
func usesComparisons(p definition.Policy) bool {
	belief := p.Trust.Belief()
	return p.Trust.CoExBO != nil || p.Trust.PiBO != nil || p.Next.Prior != nil || usesUtility(p) ||
		belief != nil && (belief.Feedback == definition.FeedbackComparison || belief.Feedback == definition.FeedbackRanking)
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
