package belief

import (
	"encoding/json"
	"fmt"

	"github.com/campaignd/campaignd/events/definition"
)

// Forms of feedback from which a belief is built (Xu et al. 2024, App. H).
const (
	FeedbackLabel      = "label"      // accept or reject
	FeedbackComparison = "comparison" // the better of two compositions
	FeedbackRanking    = "ranking"    // several compositions from best to worst
	FeedbackPinpoint   = "pinpoint"   // the expert names the composition
	FeedbackGaussian   = "gaussian"   // a normal distribution stated beforehand
)

// Settings of the model of an expert's belief. Rules of a policy that read one
// embed them in their own.
type Settings struct {
	// Confidence is c in α₁ = c√(n+1): how far a belief may be from the
	// likeliest one. Default 0.1, with which beliefs stay wide enough for
	// questions to arise (docs/results.md); with paper: 0.01, doubled with the
	// norm bound.
	Confidence *float64 `json:"confidence,omitempty" jsonschema:"exclusiveMinimum=0"`
	// MaxNorm is the largest norm bound B_g of the belief. Default 4; with
	// paper: no limit.
	MaxNorm *float64 `json:"max_norm,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Window keeps only the most recent labels or comparisons, so many of them,
	// for an expert who learns (Xu et al. 2024, App. I.1). Default: all.
	Window *int `json:"window,omitempty" jsonschema:"minimum=1"`
	// Feedback is the form of the expert's answers: "label" (default), "comparison", "ranking",
	// "pinpoint" or "gaussian" (Xu et al. 2024, App. H). With gaussian each expert states a belief
	// and no questions are asked.
	Feedback string `json:"feedback,omitempty" jsonschema:"enum=label,enum=comparison,enum=ranking,enum=pinpoint,enum=gaussian"`
	// Options is how many compositions a ranking holds. Default 4.
	Options *int `json:"options,omitempty" jsonschema:"minimum=3,maximum=8"`
}

// Defaults of the settings.
const (
	defaultConfidence = 0.1
	paperConfidence   = 0.01
	defaultMaxNorm    = 4
	defaultOptions    = 4
	defaultLabels     = 10
	// Comparisons at first: of simulated experts as in Adachi et al. 2024, and
	// of people.
	simulatedComparisons = 100
	personComparisons    = 10
)

// Fill writes out every default, and how many answers each expert gives at
// first. paper asks for the rules of Xu et al. 2024 as printed.
func (s *Settings) Fill(def *definition.Campaign, paper bool) {
	definition.Default(&s.Feedback, FeedbackLabel)
	if s.Feedback == FeedbackRanking {
		definition.DefaultTo(&s.Options, defaultOptions)
	}
	if paper {
		definition.DefaultTo(&s.Confidence, paperConfidence)
	} else {
		definition.DefaultTo(&s.Confidence, defaultConfidence)
		definition.DefaultTo(&s.MaxNorm, defaultMaxNorm)
	}
	if len(def.Experts) == 0 {
		return
	}
	switch s.Feedback {
	case FeedbackLabel:
		definition.DefaultTo(&def.Initial.Labels, defaultLabels)
	case FeedbackComparison, FeedbackRanking:
		definition.DefaultTo(&def.Initial.Comparisons, InitialComparisons(def))
	}
}

// InitialComparisons is how many comparisons each expert makes at first where a
// policy learns from them besides measurements, if the campaign does not say.
func InitialComparisons(def *definition.Campaign) int {
	for _, e := range def.Experts {
		if e.Asked() {
			return personComparisons
		}
	}
	return simulatedComparisons
}

// Faults returns the faults of the settings, which stand at a path.
func (s *Settings) Faults(def *definition.Campaign, here definition.Path) (faults []definition.Fault) {
	if s.Options != nil && s.Feedback != FeedbackRanking {
		faults = append(faults, definition.Fault{At: here.To("options"),
			Problem: "only a ranking has options", Remedy: "write feedback: ranking, or remove options"})
	}
	if s.Feedback != FeedbackGaussian {
		return faults
	}
	for i, e := range def.Experts {
		if e.Belief == nil {
			faults = append(faults, definition.Fault{At: definition.At("experts", i),
				Problem: fmt.Sprintf("%s has not stated a belief", e.Name),
				Remedy:  "add belief: {mean: …, sd: …}, or choose another feedback"})
		}
	}
	return faults
}

// Text names the source of the belief in words, as a continuation; empty for labels.
func (s *Settings) Text() string {
	text := map[string]string{
		FeedbackComparison: "; the belief comes from pairwise comparisons",
		FeedbackRanking:    "; the belief comes from rankings",
		FeedbackPinpoint:   "; the expert names the composition",
		FeedbackGaussian:   "; the belief is the normal distribution they state",
	}[s.Feedback]
	if s.Window != nil {
		text += fmt.Sprintf("; only the last %d answers count", *s.Window)
	}
	return text
}

// Missing returns an error that names the settings of a complete definition that these lack.
func (s *Settings) Missing() error {
	switch {
	case s.Confidence == nil:
		return fmt.Errorf("the definition lacks confidence")
	case s.Feedback == "":
		return fmt.Errorf("the definition lacks feedback")
	case s.Feedback == FeedbackRanking && s.Options == nil:
		return fmt.Errorf("the definition lacks options")
	}
	return nil
}

// SettingsOf returns the settings of the belief that a rule of trust reads,
// whichever rule it is, in a complete definition; nil where it reads none.
func SettingsOf(trust definition.Choice) *Settings {
	var s Settings
	if err := json.Unmarshal(trust.Settings(), &s); err != nil || s.Feedback == "" {
		return nil
	}
	return &s
}

// Reads reports whether a rule of trust reads a belief that is built from a
// form of feedback.
func Reads(trust definition.Choice, feedback string) bool {
	s := SettingsOf(trust)
	return s != nil && s.Feedback == feedback
}

// Needs is how a policy wants the beliefs of experts.
type Needs struct {
	Settings
	// DoubleConfidence doubles the confidence with the norm bound (Xu et al.
	// 2024, App. F).
	DoubleConfidence bool
}
