package definition

// Method is a policy by one name: `policy: coexbo`.
type Method struct {
	// Name as it stands in a campaign file.
	Name string
	// Summary says in a line what it does.
	Summary string
	// Source is where it comes from; empty for what everybody does.
	Source string
	// Policy is the composition the name stands for, defaults left out.
	Policy Policy
}

// Methods returns every method that has a name of its own, in the order in
// which they are best read about.
func Methods() []Method { return methods }

// methods is the list; the schema of the campaign file has the same names.
var methods = func() []Method {
	none, never := Trust{None: &NoTrust{}}, Handover{Never: &NeverAsk{}}
	lcb, choose := Next{LCB: &LCB{}}, Handover{Choose: &Choose{}}
	growing := Next{LCB: &LCB{BetaRule: BetaGrowing}}
	alone := func(n Next) Policy { return Policy{Next: n, Trust: none, Handover: never} }
	duel := func(d Duel) Policy { return Policy{Duel: d} }
	return []Method{
		{"lcb", "confidence bound, nobody is asked", "", alone(lcb)},
		{"logei", "expected improvement, nobody is asked", "", alone(Next{LogEI: &LogEI{}})},
		{"thompson", "Thompson sampling, nobody is asked", "", alone(Next{Thompson: &Thompson{}})},
		{"sobol", "a space-filling design", "", alone(Next{Sobol: &Sobol{}})},
		{"random", "compositions at random", "", alone(Next{Random: &Random{}})},

		{"cobol", "accept or reject, with no-harm and handover", "Xu et al. 2024, Alg. 1",
			Policy{Next: lcb, Trust: Trust{COBOL: &COBOL{}}}},
		{"cobohl", "accept or reject with an expert who is known to help", "Xu et al. 2024, Alg. 2",
			Policy{Next: lcb, Trust: Trust{COBOHL: &COBOHL{}}}},
		{"hcei", "expected improvement weighed with acceptance", "Xu et al. 2024, Eq. 70",
			Policy{Next: Next{LogEI: &LogEI{}}, Trust: Trust{HCEI: &HCEI{}}}},

		{"coexbo", "the expert picks one of two, with explanations", "Adachi et al. 2024",
			Policy{Next: growing, Trust: Trust{CoExBO: &CoExBO{}}, Handover: choose}},
		{"coexbo-pibo", "CoExBO with the acquisition of πBO", "Adachi et al. 2024, Table 1",
			Policy{Next: growing, Trust: Trust{PiBO: &PiBO{}}, Handover: choose}},
		{"pibo", "the expert's prior bends the bound; nobody is asked after the initial comparisons", "Hvarfner et al. 2022",
			Policy{Next: growing, Trust: Trust{PiBO: &PiBO{}}, Handover: never}},
		{"batch-ucb", "the expert picks one of the two best bounds", "Adachi et al. 2024, Table 1",
			Policy{Next: growing, Trust: none, Handover: choose}},
		{"batch-thompson", "the expert picks one of two draws", "Adachi et al. 2024, Table 1",
			Policy{Next: Next{Thompson: &Thompson{}}, Trust: none, Handover: choose}},
		{"random-choice", "the expert picks one of two at random", "Adachi et al. 2024, Table 1",
			Policy{Next: Next{Random: &Random{}}, Trust: none, Handover: choose}},
		{"prior-sampling", "samples of the expert's prior", "Adachi et al. 2024, Table 1", alone(Next{Prior: &Prior{}})},
		{"manual", "the expert names each composition", "", alone(Next{Manual: &Manual{}})},

		{"mr-lpf", "comparisons alone: rounds of elimination", "Kayal et al. 2025, Alg. 1", duel(Duel{MRLPF: &MRLPF{}})},
		{"maxmin-lcb", "comparisons alone: a leader against its strongest rival", "Kayal et al. 2025, App. D", duel(Duel{MaxMinLCB: &MaxMinLCB{}})},
		{"eubo", "comparisons alone: the pair whose better one is expected to be best", "", duel(Duel{EUBO: &EUBO{}})},
		{"raeubo", "EUBO where the expert's judgement is reliable", "Sinaga et al. 2026, Eq. 11", duel(Duel{RAEUBO: &RAEUBO{}})},
		{"utility-ei", "comparisons alone: expected improvement of the utility", "", duel(Duel{EI: &UtilityEI{}})},
		{"utility-ucb", "comparisons alone: confidence bound of the utility", "", duel(Duel{UCB: &UtilityUCB{}})},
		{"anpei", "expected improvement less the noise of judgement", "Sinaga et al. 2026, Eq. 9", duel(Duel{ANPEI: &ANPEI{}})},
		{"rahbo", "a confidence bound less the noise of judgement", "Sinaga et al. 2026, Eq. 10", duel(Duel{RAHBO: &RAHBO{}})},
		{"random-duels", "comparisons at random", "", duel(Duel{RandomDuels: &RandomDuels{}})},
	}
}()
