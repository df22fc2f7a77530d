package definition

// Missing names the settings that an event's definition must have and this one
// lacks, as paths such as "initial/experiments". In an event every default is
// written out, and what reads a definition relies on it: one that lacks a setting
// was not written by campaignd, or was changed.
func (d *Campaign) Missing() []string {
	var m missing
	m.unless(d.Name != "", "name")
	m.unless(len(d.Parameters) > 0, "parameters")
	m.unless(d.Objective.Name != "", "objective/name")
	m.unless(d.Objective.Goal != "", "objective/goal")
	m.unless(d.Model.Kernel != "", "model/kernel")
	m.unless(d.Replicates > 0, "replicates")
	m.unless(d.Parallel > 0, "parallel")
	m.unless(d.Initial.Design != "", "initial/design")
	m.unless(d.Initial.Experiments != nil, "initial/experiments")
	m.unless(d.Initial.Labels != nil, "initial/labels")
	m.unless(d.Initial.Comparisons != nil, "initial/comparisons")
	m.unless(d.Initial.Balanced != nil, "initial/balanced")
	for _, e := range d.Experts {
		m.unless(e.Name != "", "experts/name")
	}
	if d.Stop.Window > 0 {
		m.unless(d.Stop.Improvement != nil, "stop/improvement")
	}
	if !d.Measures() {
		m.unless(d.Budget.Comparisons > 0, "budget/comparisons")
		m.duel(d.Policy.Duel)
		if d.Policy.Duel.MRLPF == nil && d.Policy.Duel.MaxMinLCB == nil {
			m.utility(d.Model.Utility)
		}
		return m
	}
	m.unless(d.Budget.Experiments > 0, "budget/experiments")
	m.unless(!d.Instrument.Driver.IsZero(), "instrument")
	m.unless(d.Outliers.Action != "", "outliers/action")
	m.unless(d.Model.Feasibility != nil, "model/feasibility")
	if a := d.Outliers.Action; a == OutlierRepeat || a == OutlierFlag {
		m.unless(d.Outliers.Threshold != nil, "outliers/threshold")
	}
	m.next(d.Policy.Next)
	m.trust(d.Policy.Trust)
	m.handover(d.Policy.Handover)
	return m
}

// missing collects paths.
type missing []string

func (m *missing) unless(there bool, path string) {
	if !there {
		*m = append(*m, path)
	}
}

func (m *missing) next(n Next) {
	m.unless(n != Next{}, "policy/next")
	if n.LCB != nil {
		m.unless(n.LCB.BetaRule != "", "policy/next/lcb/beta_rule")
		if n.LCB.BetaRule == BetaFixed {
			m.unless(n.LCB.Beta != nil, "policy/next/lcb/beta")
		}
	}
}

func (m *missing) trust(t Trust) {
	m.unless(t != Trust{}, "policy/trust")
	if c := t.COBOL; c != nil {
		m.unless(c.Lambda0 != nil, "policy/trust/cobol/lambda0")
		m.unless(c.Zeta != nil, "policy/trust/cobol/zeta")
		m.unless(c.Eta != nil, "policy/trust/cobol/eta")
	}
	if b := t.Belief(); b != nil {
		m.unless(b.Confidence != nil, "policy/trust/confidence")
		m.unless(b.Feedback != "", "policy/trust/feedback")
		if b.Feedback == FeedbackRanking {
			m.unless(b.Options != nil, "policy/trust/options")
		}
	}
	if t.CoExBO != nil {
		m.unless(t.CoExBO.Gamma != nil, "policy/trust/coexbo/gamma")
	}
	if t.PiBO != nil {
		m.unless(t.PiBO.Gamma != nil, "policy/trust/pibo/gamma")
	}
}

func (m *missing) handover(h Handover) {
	m.unless(h != Handover{}, "policy/handover")
	if w := h.Width; w != nil {
		m.unless(w.Threshold != nil, "policy/handover/width/threshold")
		m.unless(w.PerExperiment != nil, "policy/handover/width/per_experiment")
		m.unless(w.WhereItMatters != nil, "policy/handover/width/where_it_matters")
		m.unless(w.Gate != nil, "policy/handover/width/gate")
	}
	if c := h.Choose; c != nil {
		m.unless(c.Explain != nil, "policy/handover/choose/explain")
		m.unless(c.Gate != nil, "policy/handover/choose/gate")
	}
}

func (m *missing) duel(d Duel) {
	candidates := func(name string, c Dueling) {
		path := "policy/duel/" + name
		m.unless(c.Lengthscale != nil, path+"/lengthscale")
		m.unless(c.Lambda != nil, path+"/lambda")
		m.unless(c.Kappa != nil, path+"/kappa")
		m.unless(c.Loss != "", path+"/loss")
		m.unless(c.Points != nil, path+"/points")
		m.unless(c.Beta != nil || c.BetaRule != "", path+"/beta_rule")
		if c.Beta == nil && c.BetaRule == BetaEq14 {
			m.unless(c.Norm != nil, path+"/norm")
		}
	}
	switch {
	case d.MRLPF != nil:
		candidates("mr-lpf", d.MRLPF.Dueling)
	case d.MaxMinLCB != nil:
		candidates("maxmin-lcb", d.MaxMinLCB.Dueling)
	case d.RAEUBO != nil:
		m.unless(d.RAEUBO.Alpha != nil, "policy/duel/raeubo/alpha")
	case d.UCB != nil:
		m.unless(d.UCB.Beta != nil, "policy/duel/ucb/beta")
	case d.ANPEI != nil:
		m.unless(d.ANPEI.Gamma != nil, "policy/duel/anpei/gamma")
	case d.RAHBO != nil:
		m.unless(d.RAHBO.Eta != nil, "policy/duel/rahbo/eta")
		m.unless(d.RAHBO.Gamma != nil, "policy/duel/rahbo/gamma")
	}
}

func (m *missing) utility(u Utility) {
	m.unless(u.Noise != nil, "model/utility/noise")
	m.unless(u.Paper || u.Strength != nil, "model/utility/strength")
	m.unless(u.RefitEvery != nil, "model/utility/refit_every")
}
