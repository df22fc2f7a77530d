package tasks

import (
	"math"

	"github.com/campaignd/campaignd/events/definition"
)

// vehicleSafety is a response surface of a car's crash: mass, acceleration and
// the intrusion of the toe board over the thicknesses of five reinforced parts
// (Liao et al. 2008, as RE3-5-4 of Tanabe and Ishibuchi 2020). The worst values
// are 1.1 times those of the front of Tanabe and Ishibuchi, whose hypervolume it
// is.
func vehicleSafety() Tradeoff {
	t := minimized("vehicle-safety",
		"mass, acceleration and intrusion of a car in a crash: response surfaces "+
			"of Liao et al. 2008 (Tanabe and Ishibuchi 2020, RE3-5-4)",
		5, []float64{1864.72022, 11.81993945, 0.2903999384},
		func(x []float64) []float64 {
			a, b, c, d, e := x[0], x[1], x[2], x[3], x[4]
			return []float64{
				1640.2823 + 2.3573285*a + 2.3220035*b + 4.5688768*c + 7.7213633*d + 4.4559504*e,
				6.5856 + 1.15*a - 1.0427*b + 0.9738*c + 0.8364*d - 0.3695*a*d + 0.0861*a*e +
					0.3628*b*d - 0.1106*a*a - 0.3437*c*c + 0.1764*d*d,
				-0.0551 + 0.0181*a + 0.1024*b + 0.0421*c - 0.0073*a*b + 0.024*b*c -
					0.0118*b*d - 0.0204*c*d - 0.008*c*e - 0.0241*b*b + 0.0109*d*d,
			}
		})
	bounded(&t, [][2]float64{{1, 3}, {1, 3}, {1, 3}, {1, 3}, {1, 3}})
	t.Objectives[0].Name, t.Objectives[0].Unit = "mass", "kg"
	t.Objectives[1].Name, t.Objectives[2].Name = "acceleration", "intrusion"
	t.Hypervolume = 246.81607081187002
	return t
}

// carSideImpact is a response surface of a car hit from its side: weight, force
// on the pelvis, velocity, and the sum of ten violated constraints, over seven
// thicknesses (Jain and Deb 2014, as RE4-7-1 of Tanabe and Ishibuchi 2020). The
// hypervolume is that of the latter's front.
func carSideImpact() Tradeoff {
	t := minimized("car-side-impact",
		"weight, force, velocity and violations of a car hit from its side: response "+
			"surfaces of Jain and Deb 2014 (Tanabe and Ishibuchi 2020, RE4-7-1)",
		7, []float64{45.4872, 4.5114, 13.3394, 10.3942}, carSideImpactAt)
	bounded(&t, [][2]float64{
		{0.5, 1.5}, {0.45, 1.35}, {0.5, 1.5}, {0.5, 1.5}, {0.875, 2.625}, {0.4, 1.2}, {0.4, 1.2},
	})
	for k, name := range []string{"weight", "force", "velocity", "violations"} {
		t.Objectives[k].Name = name
	}
	t.Hypervolume = 484.72654347642793
	return t
}

// carSideImpactAt returns the objectives of [carSideImpact].
func carSideImpactAt(x []float64) []float64 {
	a, b, c, d, e, f, g := x[0], x[1], x[2], x[3], x[4], x[5], x[6]
	weight := 1.98 + 4.9*a + 6.67*b + 6.98*c + 4.01*d + 1.78*e + 1e-5*f + 2.73*g
	force := 4.72 - 0.5*d - 0.19*b*c
	// Velocities at the middle of the B-pillar and further to the front, V_MBP and V_FD.
	middle := 10.58 - 0.674*a*b - 0.67275*b
	front := 16.45 - 0.489*c*g - 0.843*e*f
	slacks := []float64{
		1 - 1.16 + 0.3717*b*d + 0.0092928*c,
		0.32 - 0.261 + 0.0159*a*b + 0.06486*a + 0.019*b*g - 0.0144*c*e - 0.0154464*f,
		0.32 - 0.214 - 0.00817*e + 0.045195*a + 0.0135168*a - 0.03099*b*f + 0.018*b*g -
			0.007176*c - 0.023232*c + 0.00364*e*f + 0.018*b*b,
		0.32 - 0.74 + 0.61*b + 0.031296*c + 0.031872*g - 0.227*b*b,
		32 - 28.98 - 3.818*c + 4.2*a*b - 1.27296*f + 2.68065*g,
		32 - 33.86 - 2.95*c + 5.057*a*b + 3.795*b + 3.4431*g - 1.45728,
		32 - 46.36 + 9.9*b + 4.4505*a,
		4 - force,
		9.9 - middle,
		15.7 - front,
	}
	var violations float64
	for _, s := range slacks {
		violations += max(-s, 0)
	}
	return []float64{weight, force, 0.5 * (middle + front), violations}
}

// bounded gives the parameters of a problem, in order, their bounds.
func bounded(t *Tradeoff, bounds [][2]float64) {
	for i, b := range bounds {
		t.Parameters[i].Min, t.Parameters[i].Max = &b[0], &b[1]
	}
}

// penicillin is a fed-batch fermentation, simulated hour by hour: yield, carbon
// dioxide and duration (Liang and Lai 2021, after Birol, Ündey and Çinar 2002).
// The yield is negated, as there, and the worst values and hypervolume are of a
// front found by NSGA-II.
func penicillin() Tradeoff {
	const minimize = definition.Minimize
	return Tradeoff{
		Name: "penicillin",
		Description: "yield of penicillin, carbon dioxide and duration of a simulated fermentation " +
			"(Liang and Lai 2021)",
		Parameters: []definition.Parameter{
			parameter("volume", "L", 60, 120, "volume of the culture"),
			parameter("biomass", "g/L", 0.05, 18, "concentration of biomass"),
			parameter("temperature", "K", 293, 303, ""),
			parameter("glucose", "g/L", 0.05, 18, "concentration of glucose"),
			parameter("feed", "L/h", 0.01, 0.5, "feed rate of the substrate"),
			parameter("substrate", "g/L", 500, 700, "concentration of the substrate that is fed"),
			parameter("ph", "", 5, 6.5, ""),
		},
		Objectives: []Outcome{
			{Name: "negated_yield", Unit: "g/L", Goal: minimize, Worst: 25.935},
			{Name: "carbon_dioxide", Unit: "mmol/L", Goal: minimize, Worst: 57.612},
			{Name: "duration", Unit: "h", Goal: minimize, Worst: 935.5},
		},
		Hypervolume: 2183455.909507436,
		values:      ferment,
	}
}

// ferment follows a fermentation of [penicillin] by Euler's steps of an hour
// until the vessel is full, the substrate used up or no more penicillin is made,
// for 2,500 hours at most. Names and constants are those of Liang and Lai 2021,
// App. A.
func ferment(at []float64) []float64 {
	const (
		yieldX, yieldP         = 0.45, 0.90 // biomass and penicillin of substrate
		k1, k2                 = 1e-10, 7e-5
		maintenance            = 0.014
		alpha1, alpha2, alpha3 = 0.143, 4e-7, 1e-4
		muX, contois           = 0.092, 0.15
		muP, kP, kI, hydrolyze = 0.005, 0.0002, 0.10, 0.04
		kGrow, eGrow           = 7e3, 5100.0
		kDie, eDie             = 1e33, 50000.0
		evaporation            = 2.5e-4
		freezing, boiling      = 273.0, 373.0
		gas                    = 1.9872 // cal/(mol K)
		full                   = 180.0
		longest                = 2500
	)
	v, x, temperature, s, feed, fed := at[0], at[1], at[2], at[3], at[4], at[5]
	h := math.Pow(10, -at[6])
	warmth := kGrow*math.Exp(-eGrow/(gas*temperature)) - kDie*math.Exp(-eDie/(gas*temperature))
	acidity := muX / (1 + k1/h + h/k2)
	lost := evaporation * math.Expm1(5*((temperature-boiling)/(freezing-boiling)))
	var p, dioxide float64
	hour := 0
	for ended := false; !ended && hour < longest; {
		hour++
		dv := feed - v*lost
		mu := acidity * (s / (contois*x + s)) * warmth
		dx := mu*x - x/v*dv
		made := muP * (s / (kP + s + s*s/kI))
		ds := -mu/yieldX*x - made/yieldP*x - maintenance*x + feed*fed/v - s/v*dv
		dp := made*x - hydrolyze*p - p/v*dv
		dioxide += alpha1*dx + alpha2*x + alpha3
		p, v, x, s = p+dp, v+dv, x+dx, s+ds
		ended = v > full || s < 0 || dp < 1e-11
	}
	return []float64{-p, dioxide, float64(hour)}
}

// electrolyteTradeoff is [electrolyte] with viscosity and price next to the
// conductivity. Both are a simulation and made up to be plausible, not fitted to
// measurements: the logarithms of the solvents' viscosities add up by mass
// (Arrhenius's rule for mixtures; those of DMC and EMC are of Xu 2004, Table 1,
// that of EC is for the liquid at 25 °C, where it would freeze alone), and salt
// adds terms of first and second order in its molality m,
//
//	ln η = w ln 2.2 + (1−w)(r ln 0.59 + (1−r) ln 0.65) + 0.95 m + 0.12 m²,
//
// with w the share of EC and r that of DMC in the rest, so that salt and EC make
// it thicker. The price is that of the parts, by mass. The hypervolume is that
// of 114,736 points: a lower bound, to about 1e-3.
func electrolyteTradeoff() Tradeoff {
	const salt = 0.15191 // kg/mol
	conductivity := electrolyte()
	return Tradeoff{
		Name: "electrolyte",
		Description: "conductivity of LiPF6 in EC, DMC and EMC by Casteel and Amis, " +
			"with a simulated viscosity and the price",
		Parameters: conductivity.Parameters,
		Objectives: []Outcome{
			{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize, Worst: 6},
			{Name: "viscosity", Unit: "mPa·s", Goal: definition.Minimize, Worst: 8},
			{Name: "price", Unit: "EUR/kg", Goal: definition.Minimize, Worst: 5, Known: true},
		},
		Hypervolume: 93.622415217617,
		values: func(x []float64) []float64 {
			m, w, r := x[0], x[1], x[2]
			solvent := w*math.Log(2.2) + (1-w)*(r*math.Log(0.59)+(1-r)*math.Log(0.65))
			s := salt * m
			return []float64{
				conductivity.value(x),
				math.Exp(solvent + 0.95*m + 0.12*m*m),
				(30*s + 1.5*w + (1-w)*(r+2*(1-r))) / (1 + s),
			}
		},
	}
}
