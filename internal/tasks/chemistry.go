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

// electrolyte is LiPF6 in ethylene, dimethyl and ethyl methyl carbonate: a
// Casteel–Amis equation whose parameters depend on the solvent, fitted to a
// table of 197 conductivities computed with the Advanced Electrolyte Model
// (RMSE 0.140 mS/cm).
func electrolyte() Task {
	const a, b = 0.92615, -0.14833
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
			return CasteelAmis(x[0], mmax, kmax, a, b)
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
		// Where the three derivatives of the face are equal: 63, 92, 0 and 9 parts in 164.
		Best:  Extreme{At: []float64{63. / 164, 92. / 164, 0, 9. / 164}, Value: 1755.5 / 164},
		Worst: Extreme{At: []float64{0.1, 0, 0.8, 0.1}, Value: 7},
	}
}
