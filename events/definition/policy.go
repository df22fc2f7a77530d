package definition

// Policy composes the three choices of each step; in a campaign without an
// instrument Duel takes their place. In a campaign file the name of a method
// stands for its composition: cobol, cobohl, hcei, coexbo, pibo, batch-ucb,
// mr-lpf, raeubo, …; `campaignd validate --explain` writes it out. The packages
// that own the rules have their settings.
type Policy struct {
	// Next chooses a composition to measure: one acquisition and its settings. In a campaign file a
	// bare name stands for the default settings. By default, the acquisition that the rule of trust
	// was published with (lcb for cobol), and lognei where trust is "none".
	Next Choice `json:"next,omitzero"`
	// Trust lets an expert's belief bend that choice. Default cobol where there
	// are experts and the choice has a model, none otherwise.
	Trust Choice `json:"trust,omitzero"`
	// Handover decides whether the expert is asked first. Default width where
	// trust is cobol, cobohl or hcei, choose where it is coexbo, never
	// otherwise.
	Handover Choice `json:"handover,omitzero"`
	// Duel chooses what an expert compares where nothing is measured: the
	// expert's preferences are the objective. The rules on candidates work on a
	// finite set: a list, the grid of discrete parameters, or Sobol points of
	// the space. The others model the expert's utility (see Utility).
	Duel Choice `json:"duel,omitzero"`
}

// Measures reports whether the policy chooses what to measure, and not what an
// expert compares.
func (p Policy) Measures() bool { return p.Duel.IsZero() }

// Default fills a setting that was left out.
func Default[T comparable](setting *T, value T) {
	var zero T
	if *setting == zero {
		*setting = value
	}
}

// DefaultTo fills a setting that was left out and whose zero has a meaning.
func DefaultTo[T any](setting **T, value T) {
	if *setting == nil {
		*setting = &value
	}
}
