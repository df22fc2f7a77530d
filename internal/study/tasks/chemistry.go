package tasks

import (
	"math"

	"github.com/campaignd/campaignd/events/definition"
)

// CasteelAmis is the conductivity of an electrolyte by the equation of Casteel
// and Amis (1972),
//
//	κ(m) = κmax (m/mmax)^a exp(b(m − mmax)² − (a/mmax)(m − mmax)),
//
// in the unit of kmax. m is the salt's molality and mmax the molality of
// greatest conductivity, in mol/kg; a is a pure number, b in (kg/mol)². Some
// authors print −b.
func CasteelAmis(m, mmax, kmax, a, b float64) float64 {
	u := m - mmax
	return kmax * math.Pow(m/mmax, a) * math.Exp(b*u*u-a/mmax*u)
}

// The curvature of [electrolyte], fitted with its other coefficients.
const curvatureA, curvatureB = 0.92615, -0.14833

// electrolyte is LiPF6 in ethylene, dimethyl and ethyl methyl carbonate: a
// Casteel–Amis equation whose parameters depend on the solvent, fitted to a
// table of 197 conductivities computed with the Advanced Electrolyte Model
// (RMSE 0.140 mS/cm).
func electrolyte() Task {
	return Task{
		Name: "electrolyte",
		Description: "conductivity of LiPF6 in EC, DMC and EMC at 25–30 °C: " +
			"a Casteel–Amis fit to the Advanced Electrolyte Model",
		Parameters: []definition.Parameter{
			parameter("lipf6", "mol/kg", 0.2, 2.1, "molality of LiPF6"),
			parameter("ec", "kg/kg", 0.30, 0.52, "mass fraction of EC in the solvent"),
			parameter("dmc", "", 0, 1, "share of DMC in the linear carbonates DMC and EMC"),
		},
		Objective: definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize},
		value: func(x []float64) float64 {
			e, d := x[1]-0.4, x[2]-0.5
			kmax := 11.66399 - 0.67469*e + 3.40934*d - 27.24876*e*e - 5.13445*e*d + 1.36066*d*d
			mmax := 1.01424 - 0.43794*e + 0.13766*d
			return CasteelAmis(x[0], mmax, kmax, curvatureA, curvatureB)
		},
		Best:  Extreme{At: []float64{1.1091219, 0.34051261, 1}, Value: 13.8052515242},
		Worst: Extreme{At: []float64{0.2, 0.3, 0}, Value: 4.27254940993},
	}
}

// mixture4 is synthetic: its coefficients are not fitted to data. They were
// chosen so that a carbonate mixture behaves as a chemist would expect (EC
// brings ions apart, DMC keeps the liquid thin, EMC is worse than DMC, a little
// FEC does no harm).
//
// It is a quadratic mixture polynomial in Scheffé's canonical form, Σ β_i x_i +
// Σ β_ij x_i x_j, concave on the plane of the mixture, so that it has exactly
// one optimum, on the face without EMC, and its least value at a corner.
func mixture4() Task {
	sum := 1.0
	return Task{
		Name:        "mixture4",
		Description: "conductivity of a mixture of EC, DMC, EMC and FEC: synthetic, a concave mixture polynomial",
		Parameters: []definition.Parameter{
			parameter("ec", "kg/kg", 0.1, 0.6, "mass fraction of ethylene carbonate"),
			parameter("dmc", "kg/kg", 0, 0.8, "mass fraction of dimethyl carbonate"),
			parameter("emc", "kg/kg", 0, 0.8, "mass fraction of ethyl methyl carbonate"),
			parameter("fec", "kg/kg", 0, 0.15, "mass fraction of fluoroethylene carbonate"),
		},
		Constraints: []definition.Constraint{{
			Name: "sum of fractions", Equals: &sum,
			Terms: map[string]float64{"ec": 1, "dmc": 1, "emc": 1, "fec": 1},
		}},
		Objective: definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize},
		value: func(x []float64) float64 {
			ec := x[0]
			dmc := x[1]
			emc := x[2]
			fec := x[3]
			return 3*ec + 7*dmc + 5*emc + 4*fec +
				22*ec*dmc + 20*ec*emc + 14*ec*fec + 3*dmc*emc + 12*dmc*fec + 7*emc*fec
		},
		// Where the three derivatives of the face are equal: 63, 92, 0 and 9
		// parts in 164.
		Best:  Extreme{At: []float64{63. / 164, 92. / 164, 0, 9. / 164}, Value: 1755.5 / 164},
		Worst: Extreme{At: []float64{0.1, 0, 0.8, 0.1}, Value: 7},
	}
}

// electrolyte5 is synthetic: LiPF6 in four carbonates as mass fractions of the
// whole, which add up to 1. The conductivity is that of Casteel and Amis with
// the curvature of [electrolyte], a salt's molality in the solvent, and with
//
//	κmax = Σ β_i s_i + Σ β_ij s_i s_j,  mmax = Σ μ_i s_i
//
// of the shares s of the solvents among themselves; the coefficients are not
// fitted to data. At any solvent the greatest conductivity is κmax, at the
// molality mmax, so that the optimum is that of κmax, which is concave on the
// plane of the shares: at 311, 0, 280 and 120 parts in 711.
func electrolyte5() Task {
	const salt = 0.151905 // kg/mol
	sum := 1.0
	return Task{
		Name: "electrolyte5",
		Description: "conductivity of LiPF6 in EC, PC, DMC and EMC, five fractions that add up to 1: " +
			"synthetic, Casteel and Amis with a concave mixture polynomial",
		Parameters: []definition.Parameter{
			parameter("ec", "kg/kg", 0, 0.7, "mass fraction of ethylene carbonate"),
			parameter("pc", "kg/kg", 0, 0.7, "mass fraction of propylene carbonate"),
			parameter("dmc", "kg/kg", 0, 0.8, "mass fraction of dimethyl carbonate"),
			parameter("emc", "kg/kg", 0, 0.8, "mass fraction of ethyl methyl carbonate"),
			parameter("lipf6", "kg/kg", 0.02, 0.25, "mass fraction of LiPF6"),
		},
		Constraints: []definition.Constraint{{
			Name: "sum of fractions", Equals: &sum,
			Terms: map[string]float64{"ec": 1, "pc": 1, "dmc": 1, "emc": 1, "lipf6": 1},
		}},
		Objective: definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize},
		value: func(x []float64) float64 {
			solvent := x[0] + x[1] + x[2] + x[3]
			ec := x[0] / solvent
			pc := x[1] / solvent
			dmc := x[2] / solvent
			emc := x[3] / solvent
			kmax := 4*ec + 4.5*pc + 6*dmc + 5*emc +
				2*ec*pc + 18*ec*dmc + 19*ec*emc + 14*pc*dmc + 15*pc*emc + 2.5*dmc*emc
			mmax := 0.9*ec + 0.7*pc + 1.2*dmc + emc
			return CasteelAmis(x[4]/(salt*solvent), mmax, kmax, curvatureA, curvatureB)
		},
		Best: Extreme{At: []float64{0.3779836601, 0, 0.3403068323, 0.1458457853, 0.1358637223},
			Value: 9.62587904360},
		Worst: Extreme{At: []float64{0.05, 0.7, 0, 0, 0.25}, Value: 1.37246879202},
	}
}

// reaction is synthetic: the yield of B in two consecutive reactions of first
// order, A → B → C,
//
//	y = 100 k1/(k2 − k1) (exp(−k1 t) − exp(−k2 t)),
//
// whose rates are those of Arrhenius. A ligand has its own activity, activation
// energy, and polarity of the solvent that it likes best; more catalyst is
// quicker, and decomposes B. Heat speeds up the second reaction more than the
// first. The coefficients are not fitted to data.
func reaction() Task {
	ligands := []struct {
		name                                string
		activity, energy, liked, decomposes float64
	}{
		{"PPh3", 0.35, 62, 0.30, 1.0}, {"XPhos", 1.25, 70, 0.38, 1.1},
		{"SPhos", 1.10, 58, 0.62, 0.9}, {"dppf", 0.55, 54, 0.55, 0.6},
	}
	solvents := []struct {
		name                 string
		polarity, decomposes float64
	}{{"toluene", 0.10, 0.8}, {"dioxane", 0.35, 1.0}, {"ethanol", 0.65, 1.25}}
	loadings := make([]float64, 10)
	for i := range loadings {
		loadings[i] = float64(i+1) / 2
	}
	t := Task{
		Name: "reaction",
		Description: "yield of two consecutive reactions over temperature, time, loading, ligand and solvent: " +
			"synthetic, with the kinetics of Arrhenius",
		Parameters: []definition.Parameter{
			parameter("temperature", "°C", 30, 110, "temperature of the bath"),
			parameter("time", "min", 5, 120, "time of reaction"),
			{Name: "loading", Unit: "mol%", Description: "loading of the catalyst", Values: loadings},
			{Name: "ligand", Description: "ligand of the catalyst"},
			{Name: "solvent"},
		},
		Objective: definition.Objective{Name: "yield", Unit: "%", Goal: definition.Maximize},
		value: func(x []float64) float64 {
			const gas = 8.314462618e-3 // kJ/(mol K)
			warmth := (1/343.15 - 1/(273.15+x[0])) / gas
			ligand, solvent := ligands[int(x[3])], solvents[int(x[4])]
			off := (solvent.polarity - ligand.liked) / 0.3
			k1 := 0.03 * math.Pow(x[2], 0.9) * ligand.activity * math.Exp(-off*off) * math.Exp(ligand.energy*warmth)
			k2 := 0.002 * (1 + x[2]*x[2]/4) * ligand.decomposes * solvent.decomposes * math.Exp(95*warmth)
			return consecutive(k1, k2, x[1])
		},
		Best: Extreme{At: []float64{48.150737, 120, 3.5, 2, 2}, Value: 87.7279181831},
		// It falls below the smallest number that is printed.
		Worst: Extreme{At: []float64{110, 120, 5, 1, 1}, Value: 0},
	}
	for _, l := range ligands {
		t.Parameters[3].Categories = append(t.Parameters[3].Categories,
			definition.CategoryDef{Name: l.name})
	}
	for _, s := range solvents {
		t.Parameters[4].Categories = append(t.Parameters[4].Categories,
			definition.CategoryDef{Name: s.name})
	}
	return t
}

// consecutive is the yield of B in %, of A → B → C with the rates k1 and k2
// after the time t.
func consecutive(k1, k2, t float64) float64 {
	d := (k2 - k1) * t
	if d == 0 {
		return 100 * k1 * t * math.Exp(-k1*t)
	}
	return 100 * k1 * t * math.Exp(-k1*t) * -math.Expm1(-d) / d
}
