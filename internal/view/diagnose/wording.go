package diagnose

import (
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// wording is the text of a finding. The texts are formats for the values of the check that makes
// the finding.
type wording struct {
	code  string
	title string
	// text describes it in a sentence with its numbers, next what a person should know before
	// acting.
	text, next string
}

// The findings and their texts. The remedies are with the checks, since they depend on the
// campaign.
var (
	sayBrokenModel = wording{
		code:  BrokenModel,
		title: "it cannot be built from the measurements",
		text:  "The model cannot be built from the measurements and its last fit: %v.",
		next:  "Decisions come from a space-filling design until it can.",
	}
	sayNothingMeasured = wording{
		code:  NoModel,
		title: "nothing is measured",
		text: "Nothing is measured in this campaign: the experts' comparisons are the objective, " +
			"and there is no measurement to judge them by.",
		next: "Measure what the experts hold best: only that can tell whether they were right.",
	}
	sayNoModel = wording{
		code:  NoModel,
		title: "there is none yet",
		text:  "There is no model yet: it takes %d measurements that count, and there %s.",
	}
	sayNoFit = wording{
		code:  FailedFit,
		title: "the fit failed",
		text:  "There is no model: the fit failed: %s.",
	}
	sayOldFit = wording{
		code:  FailedFit,
		title: "the last fit failed",
		text:  "The last fit failed, and the model is that of an older one: %s.",
		next:  "It is tried again after the next measurement.",
	}
	sayFewCompositions = wording{
		code:  FewCompositions,
		title: "too few compositions yet",
		text: "%s for %s: too few to tell whether the model predicts anything, " +
			"and its lengthscales are mostly the prior's.",
		next: "Read nothing into lengthscales and slices before there are %d compositions.",
	}
	sayEqualValues = wording{
		code:  EqualValues,
		title: "all measurements are equal",
		text:  "All measurements are equal: there is nothing to model.",
		next: "Check that the instrument measures at all, and that its unit has decimals enough; " +
			"then measure compositions that lie further apart.",
	}
	sayLagged = wording{
		code:  Lagged,
		title: "results look like those of the experiment before",
		text: "The last %d results of %s fit the compositions of the experiments before them better " +
			"than their own (by %s nats of evidence).",
		next: "Check what the program that drives the instrument reads: a value that is not renewed yet, the newest " +
			"file, a list that is off by one. What was measured so has to be corrected or left out.",
	}
	sayTooFast = wording{
		code:  TooFast,
		title: "it knows nothing along %s between measurements",
		text: "The lengthscale of %s is at its lower bound, %s of its range: " +
			"between measurements the model knows nothing along it.",
		next: "Measure compositions that differ in %s alone, a little at a time; " +
			"a single wrong value does the same to a fit.",
	}
	sayLogarithm = wording{
		code:  Logarithm,
		title: "the logarithm of %s would be easier to model",
		text: "The measurements span more than a factor of ten, and their logarithm would be " +
			"much easier to model (by %s nats of evidence).",
		next: "An objective cannot be changed under way.",
	}
	sayStale = wording{
		code:  Stale,
		title: "measurements are newer than the fit",
		text:  "%s: the model holds the present ones, its lengthscales and noise are older.",
		next:  "Nothing: it is fitted again when a decision needs it.",
	}
	sayNotConverged = wording{
		code:  NotConverged,
		title: "the search for the hyperparameters ended early",
		text: "The search for the hyperparameters ended before the maximum (the slope left is %s): " +
			"other lengthscales explain the measurements better.",
		next: "It is searched again, from here too, after the next measurement.",
	}
	sayJitter = wording{
		code:  Jitter,
		title: "compositions lie too close together",
		text: "The covariance could be factored only with %s of jitter on its diagonal: " +
			"compositions lie too close together for so little noise.",
		next: "Where two nearly equal compositions gave different values one of them is wrong.",
	}
	sayContradiction = wording{
		code:  Contradiction,
		title: "%s contradicts all other measurements",
		text:  "%s measured %s where all other measurements predict %s ± %s: %s standard deviations away.",
	}
	sayLittleScatter = wording{
		code:  Scatter,
		title: "repetitions scatter less than the noise says",
		text:  "Repetitions scatter by %s (95 %%: %s to %s), less than the %s of %s.",
		next: "The model is more cautious than it need be. " +
			"What repetitions do not see, such as a fresh preparation, is noise too.",
	}
	sayMuchScatter = wording{
		code:  Scatter,
		title: "repetitions scatter more than the noise says",
		text: "Repetitions scatter by %s (95 %%: %s to %s), more than the %s of %s; " +
			"%s and %s differ most, by %s.",
	}
	sayAllNoise = wording{
		code:  AllNoise,
		title: "the noise is as large as the whole spread",
		text: "The noise of one measurement (%s) is nearly as large as the spread of all of them (%s): " +
			"left-out compositions are predicted no better than by the mean (R² %s).",
		next: "Measure each composition several times (replicates: in a campaign's file), reduce the " +
			"scatter of the instrument, or vary the parameters over wider ranges.",
	}
	sayLowR2 = wording{
		code:  LowR2,
		title: "it predicts left-out compositions badly",
		text:  "Left-out compositions are predicted %s (leave-one-out R² %s).",
	}
	sayTooSure = wording{
		code:  TooSure,
		title: "it is too sure of itself",
		text:  "The model is too sure of itself: %s.",
		next:  "Multiply the model's standard deviations by about %s in your head.",
	}
	sayTooCautious = wording{
		code:  TooCautious,
		title: "it is more cautious than it need be",
		text:  "The model is more cautious than it need be: %s.",
		next:  "Nothing needs to be done; the campaign explores a little more than it must.",
	}
	sayQuantity = wording{
		code:  LowR2,
		title: "%s is predicted badly",
		text: "Left-out values of %s are predicted badly (R² %.2f, over %d compositions): what the models say of it, " +
			"and with it %s, is worth little.",
		next: "Look for wrong values of it, and for a scale that suits it: values of several orders of magnitude want scale: log.",
	}
	sayUnneeded = wording{
		code:  LowR2,
		title: "%s is predicted badly, and not needed",
		text: "Left-out values of %s are predicted badly (R² %.2f, over %d compositions). Nothing that is sought or required " +
			"depends on it.",
		next: "Nothing needs to be done; where it is only to be kept, record: true in the campaign file saves its model.",
	}
	sayMissing = wording{
		code:  MissingQuantity,
		title: "%s is missing in %s",
		text:  "%s is missing in %s%s. Without a value of it there is no model of what is sought, and no best.",
		next: "Check that what measures reports it by this name and in its unit; until it does, experiments are spread evenly " +
			"over the space.",
	}
	sayMissingBound = wording{
		code:  MissingQuantity,
		title: "%s is missing in %s",
		text:  "%s is missing in %s%s. Constraints on it are not judged.",
		next:  "Check that what measures reports it by this name and in its unit.",
	}
	sayMissingInSome = wording{
		code:  MissingQuantity,
		title: "%s is missing in %s",
		text:  "%s is missing in %s%s. Its model learns from the others.",
	}
	sayNotFinite = wording{
		code:  NotFinite,
		title: "%d of %s have no value of the formula",
		text:  "%d of %s have all quantities and no value of %s, for it is not finite there. %s.",
		next: "The quantities of these experiments still count. A model of the formula's values, and the best measured " +
			"value, know nothing of them.",
	}
	sayUncalibrated = wording{
		code:  Uncalibrated,
		title: "the probability to be feasible says nothing",
		text: "Of %d experiments %d kept the constraints, and the probabilities that the others gave them were no better " +
			"than that share for all (Brier score %.3f, of the share %.3f).",
		next: "Judge by what was measured until more is known near the bounds.",
	}
	sayTogether = wording{
		code:  Together,
		title: "what %s and %s do unexpectedly goes together",
		text: "Where %s is greater than expected, %s is %s (r %.2f over %d compositions). The models take the two for " +
			"independent: %s",
		next: "What moves both, such as a temperature or a batch, is not among the parameters: hold it fixed, or add it. Until then " +
			"judge the two together by what was measured.",
	}
	sayReference = wording{
		code:  OpenReference,
		title: "the compromise depends on what was not given",
		text: "The compromise is %s, and %s where the worst value that is of interest lies farther away in %s. " +
			"It was inferred from what was measured.",
		next: "Give the worst value still of interest in the campaign file (worst:), and amend.",
	}
	sayMisleading = wording{
		code:  Misleading,
		title: "the %s of %s are worse than guessing",
		text: "%s's %s are worse than guessing: of %s is the better in %s of pairs " +
			"(95 %%: %s to %s; guessing gives half).",
		next: "Show them the measurements: they may be judging another goal.",
	}
)

// Advice shared by several findings.
const (
	settleFirst = "Settle what contradicts the others first."
	readLittle  = "Take means and slices for guesses. If something that matters is not among the parameters, " +
		"such as a temperature, hold it fixed or add it."
)

// exclude leaves a measurement out of the model; an empty experiment is for the person to choose.
func exclude(experiment, text string) problem.Remedy {
	return problem.Remedy{
		Text:    text,
		Action:  problem.Correct,
		Subject: experiment,
		Ways:    []string{problem.WayExclude},
	}
}

// amend changes settings.
func amend(text string, settings ...problem.Setting) problem.Remedy {
	return problem.Remedy{Text: text, Action: problem.Amend, Settings: settings}
}
