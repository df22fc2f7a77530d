package campaignfile

import (
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/format"
)

func nextText(n events.Next, goal string) string {
	switch {
	case n.LCB != nil:
		bound := map[string]string{events.Maximize: "upper", events.Minimize: "lower"}[goal]
		switch n.LCB.BetaRule {
		case events.BetaLemma:
			return fmt.Sprintf("the composition with the best %s confidence bound, its width by Lemma 3.1 of Xu et al. 2024", bound)
		case events.BetaGrowing:
			return fmt.Sprintf("the composition with the best %s confidence bound, its width growing as in Adachi et al. 2024", bound)
		}
		return fmt.Sprintf("the composition with the best %s confidence bound of a Gaussian process (β = %s)", bound, optional(n.LCB.Beta))
	case n.LogEI != nil:
		return "the composition with the greatest expected improvement on the best so far (its logarithm)"
	case n.Thompson != nil:
		return "the optimum of one draw from the Gaussian process"
	case n.Sobol != nil:
		return "the next composition of a space-filling design, without a model"
	case n.Random != nil:
		return "a composition at random, without a model"
	case n.Prior != nil:
		return "a sample of the expert's prior, without a model of the objective"
	case n.Manual != nil:
		return "the composition that an expert names"
	}
	return "?"
}

func trustText(p events.Policy) string {
	t := p.Trust
	switch {
	case p.Next.Prior != nil:
		return "all in the experts' initial comparisons, which are the prior"
	case p.Next.Manual != nil:
		return "all in the experts: what they name is measured, and checked against the space alone"
	case t.COBOL != nil && t.COBOL.Paper:
		return "an expert's belief bends the choice by the rules of Xu et al. 2024, as printed" + feedbackText(t)
	case t.COBOL != nil:
		return fmt.Sprintf("an expert's belief bends the choice, unless the model is more than %s times as sure of it as of its own (cobol)", optional(t.COBOL.Eta)) + feedbackText(t)
	case t.COBOHL != nil:
		return "only compositions that the expert may accept are considered, without a test of harm (cobohl)" + feedbackText(t)
	case t.HCEI != nil:
		return "the probability that the expert accepts weighs the expected improvement (hcei)" + feedbackText(t)
	case t.CoExBO != nil:
		return fmt.Sprintf("the expert's prior bends a second candidate, less and less as the objective is known (coexbo, γ = %s)", optional(t.CoExBO.Gamma))
	case t.PiBO != nil:
		return fmt.Sprintf("the expert's prior to the power γ/t multiplies the acquisition (pibo, γ = %s)", optional(t.PiBO.Gamma))
	}
	return "experts do not bend the choice"
}

func feedbackText(t events.Trust) string {
	b := t.Belief()
	text := map[string]string{
		events.FeedbackComparison: "; the belief comes from pairwise comparisons",
		events.FeedbackRanking:    "; the belief comes from rankings",
		events.FeedbackPinpoint:   "; the expert names the composition",
		events.FeedbackGaussian:   "; the belief is the normal distribution they state",
	}[b.Feedback]
	if b.Window != nil {
		text += fmt.Sprintf("; only the last %d answers count", *b.Window)
	}
	return text
}

func handoverText(p events.Policy) string {
	h := p.Handover
	switch {
	case p.Next.Manual != nil:
		return "an expert is asked for each composition; without an answer one is taken at random"
	case h.Choose != nil:
		text := "an expert chooses between two candidates"
		if h.Choose.Explain != nil && *h.Choose.Explain {
			text += ", with explanations"
		}
		if h.Choose.Gate != nil && *h.Choose.Gate {
			text += ", while their choices agree with what is measured"
		}
		return text
	case h.Width == nil && (p.Next.Prior != nil || p.Trust.PiBO != nil):
		return "no one is asked after the initial comparisons"
	case h.Width == nil:
		return "no one is asked"
	}
	gate := h.Width.Gate != nil && *h.Width.Gate
	switch b := p.Trust.Belief(); {
	case b == nil:
	case b.Feedback == events.FeedbackComparison || b.Feedback == events.FeedbackRanking:
		text := "an expert orders the candidate with the best bound and the one that their belief bends it to, where the two differ"
		if b.Feedback == events.FeedbackRanking {
			text += fmt.Sprintf(", among %d", *b.Options)
		}
		if gate {
			text += "; while their order agrees with what is measured"
		}
		return text
	case b.Feedback == events.FeedbackPinpoint:
		text := "an expert names a composition before each experiment, which is measured unless it could do harm"
		if gate {
			text += "; after three in a row that could, they are asked no more"
		}
		return text
	}
	text := fmt.Sprintf("an expert is asked where their belief is wider than %s logits", optional(h.Width.Threshold))
	if h.Width.WhereItMatters != nil && *h.Width.WhereItMatters {
		text += " and the answer could matter"
	}
	switch {
	case gate && p.Trust.COBOL != nil:
		text += ", once their labels have shown that they go with what is measured and until seven tenths of the experiments are done"
	case gate:
		text += ", while their labels go with what is measured"
	}
	if h.Width.PerExperiment != nil {
		text += fmt.Sprintf("; at most %s before one experiment", format.Count(*h.Width.PerExperiment, "question"))
	}
	return text
}

func duelText(d events.Duel) string {
	candidates := func(c events.Dueling) string {
		beta := "β = " + optional(c.Beta)
		if c.Beta == nil {
			beta = "β by the rule " + c.BetaRule
		}
		return fmt.Sprintf("kernel lengthscale %.3g of the unit cube, %s, %d Sobol points where the space is not finite", *c.Lengthscale, beta, *c.Points)
	}
	switch {
	case d.MRLPF != nil:
		return "the pair that is least known, in rounds that eliminate candidates (mr-lpf); " + candidates(d.MRLPF.Dueling)
	case d.MaxMinLCB != nil:
		return "the candidate that may be best with its strongest rival (maxmin-lcb); " + candidates(d.MaxMinLCB.Dueling)
	case d.EUBO != nil:
		return "the pair whose better one is expected to be best (eubo)"
	case d.RAEUBO != nil:
		return fmt.Sprintf("the pair whose better one is expected to be best, less %s (raeubo)", noiseText(d.RAEUBO.Alpha))
	case d.EI != nil:
		return "the greatest expected improvement with the last winner"
	case d.UCB != nil:
		return fmt.Sprintf("the best upper confidence bound (β = %s) with the last winner", optional(d.UCB.Beta))
	case d.ANPEI != nil:
		return fmt.Sprintf("the greatest expected improvement less %s, with the last winner (anpei)", noiseText(d.ANPEI.Gamma))
	case d.RAHBO != nil:
		return fmt.Sprintf("the best upper confidence bound (η = %s) less %s, with the last winner (rahbo)", optional(d.RAHBO.Eta), noiseText(d.RAHBO.Gamma))
	case d.RandomDuels != nil:
		return "two compositions at random"
	}
	return "?"
}

// noiseText names the noise of judgement with its weight, where that is not 1.
func noiseText(weight *float64) string {
	if weight != nil && *weight == 1 {
		return "the noise of judgement"
	}
	return optional(weight) + " times the noise of judgement"
}

func utilityText(def events.Definition) string {
	u := def.Model.Utility
	posterior := map[string]string{
		events.PosteriorLaplace: "Laplace's approximation", events.PosteriorEP: "expectation propagation", events.PosteriorHallucinate: "hallucination believer",
	}[u.Posterior]
	anchored := func(e events.Expert) bool { return len(e.Anchors) > 0 }
	noise := fmt.Sprintf("noise %s far from anchors, exp(−%s) of it at the densest anchor", optional(u.Noise), optional(u.Strength))
	switch {
	case !slices.ContainsFunc(def.Experts, anchored):
		noise = fmt.Sprintf("noise %s everywhere, as no expert has named anchors", optional(u.Noise))
	case u.Paper:
		noise = fmt.Sprintf("noise %s far from anchors, less by exp(−density) near them, as printed in Sinaga et al. 2026", optional(u.Noise))
	}
	return fmt.Sprintf("%s link, %s; %s; refitted every %d comparisons", u.Link, posterior, noise, *u.RefitEvery)
}
