package tasks

import (
	"fmt"
	"math"

	"github.com/campaignd/campaignd/events/definition"
)

// The extremes below were found by the search that the tests repeat (many local
// searches from a fixed design) and polished to the digits given; where a
// closed form is known, it is used, and the comment says so.

// box returns a minimized task on the cube [lower, upper]^d with parameters x1
// … xd and an objective called value, all without units.
func box(name, description string, d int, lower, upper float64, f func([]float64) float64) Task {
	t := Task{
		Name:        name,
		Description: description,
		Objective:   definition.Objective{Name: "value", Goal: definition.Minimize},
		value:       f,
	}
	for i := range d {
		t.Parameters = append(t.Parameters, parameter(fmt.Sprintf("x%d", i+1), "", lower, upper, ""))
	}
	return t
}

// ackley is Xu et al. 2024, Eq. 71 with a = 20, c = 2π and b = 0.2, the usual
// value, which the paper does not print.
func ackley(x []float64) float64 {
	var squares, cosines float64
	for _, v := range x {
		squares += v * v
		cosines += math.Cos(2 * math.Pi * v)
	}
	d := float64(len(x))
	return -20*math.Exp(-0.2*math.Sqrt(squares/d)) - math.Exp(cosines/d) + 20 + math.E
}

func ackley4() Task {
	t := box("ackley4", "Ackley's function in 4 dimensions on [−1, 1] (Xu et al. 2024, Eq. 71)", 4,
		-1, 1, ackley)
	t.Best = Extreme{At: make([]float64, 4), Value: 0}
	t.Worst = Extreme{At: []float64{-1, -0.61051992, -0.61051992, -0.61051992}, Value: 4.70561017363}
	return t
}

func ackley6() Task {
	t := box("ackley6", "Ackley's function in 6 dimensions (Sinaga et al. 2026, §6), "+
		"on its usual box [−32.768, 32.768]",
		6, -32.768, 32.768, ackley)
	t.Best = Extreme{At: make([]float64, 6), Value: 0}
	// Both terms fall with their mean: far out, with every cosine near −1.
	far := 32.500414
	t.Worst = Extreme{At: []float64{far, far, far, far, far, far}, Value: 22.3203348484}
	return t
}

// holder2 is Xu et al. 2024, Eq. 72, with the sign turned so that it is
// minimized.
func holder2() Task {
	t := box("holder2", "Hölder's table in 2 dimensions "+
		"(Xu et al. 2024, Eq. 72, with the sign for minimizing)", 2, 0, 10,
		func(x []float64) float64 {
			r := math.Hypot(x[0], x[1])
			return -math.Abs(math.Sin(x[0]) * math.Cos(x[1]) * math.Exp(math.Abs(1-r/math.Pi)))
		})
	t.Worst = Extreme{At: []float64{0, 0}, Value: 0} // a product of absolute values
	t.Best = Extreme{At: []float64{8.0550235, 9.6645900}, Value: -19.2085025679}
	return t
}

// rastrigin2 is Xu et al. 2024, Eq. 73, where 10dΣ is a misprint of 10d + Σ.
func rastrigin2() Task {
	t := box("rastrigin2", "Rastrigin's function in 2 dimensions (Xu et al. 2024, Eq. 73)", 2, -5.12, 5.12,
		func(x []float64) float64 {
			sum := 10 * float64(len(x))
			for _, v := range x {
				sum += v*v - 10*math.Cos(2*math.Pi*v)
			}
			return sum
		})
	t.Best = Extreme{At: []float64{0, 0}, Value: 0}
	t.Worst = Extreme{At: []float64{4.5229937, 4.5229937}, Value: 80.7065803877}
	return t
}

// michalewicz5 is Xu et al. 2024, Eq. 74 with m = 10. The equation is printed
// without the minus sign that its optimum of −4.687658 has.
func michalewicz5() Task {
	t := box("michalewicz5", "Michalewicz's function in 5 dimensions (Xu et al. 2024, Eq. 74)", 5, 0, math.Pi,
		func(x []float64) float64 {
			var sum float64
			for i, v := range x {
				sum -= math.Sin(v) * math.Pow(math.Sin(float64(i+1)*v*v/math.Pi), 20)
			}
			return sum
		})
	t.Worst = Extreme{At: make([]float64, 5), Value: 0} // no term is positive on [0, π]
	t.Best = Extreme{
		At:    []float64{2.2029055, 1.5707963, 1.2849916, 1.9230585, 1.7204698},
		Value: -4.68765817909,
	}
	return t
}

// rosenbrock3 is Xu et al. 2024, Eq. 75.
func rosenbrock3() Task {
	t := box("rosenbrock3", "Rosenbrock's function in 3 dimensions (Xu et al. 2024, Eq. 75)", 3, -5, 10,
		func(x []float64) float64 {
			var sum float64
			for i := range len(x) - 1 {
				u, v := x[i+1]-x[i]*x[i], x[i]-1
				sum += 100*u*u + v*v
			}
			return sum
		})
	t.Best = Extreme{At: []float64{1, 1, 1}, Value: 0}
	t.Worst = Extreme{At: []float64{10, 10, -5}, Value: 1912662}
	return t
}

// styblinski3 is Adachi et al. 2024, Eq. 105. Its optimum is −39.166166 d; the
// paper prints it without the sign.
func styblinski3() Task {
	t := box("styblinski3", "the function of Styblinski and Tang in 3 dimensions "+
		"(Adachi et al. 2024, Eq. 105)", 3, -5, 5,
		func(x []float64) float64 {
			var sum float64
			for _, v := range x {
				sum += (v*v*v*v - 16*v*v + 5*v) / 2
			}
			return sum
		})
	t.Worst = Extreme{At: []float64{5, 5, 5}, Value: 375}
	t.Best = Extreme{At: []float64{-2.9035340, -2.9035340, -2.9035340}, Value: -117.498497111}
	return t
}

// branin has three global optima.
func branin() Task {
	t := box("branin", "Branin's function (three global optima)", 2, 0, 0, braninAt)
	t.Parameters = []definition.Parameter{parameter("x1", "", -5, 10, ""), parameter("x2", "", 0, 15, "")}
	t.Best = Extreme{At: []float64{math.Pi, 2.275}, Value: 10 / (8 * math.Pi)}
	t.Worst = Extreme{At: []float64{-5, 0}, Value: 308.129096012}
	return t
}

// braninAt is Branin's function where x1 is in [−5, 10] and x2 in [0, 15].
func braninAt(x []float64) float64 { return braninWith(5.1/(4*math.Pi*math.Pi), x) }

// braninWith is braninAt with another coefficient of x1².
func braninWith(b float64, x []float64) float64 {
	u := x[1] - b*x[0]*x[0] + 5/math.Pi*x[0] - 6
	return u*u + 10*(1-1/(8*math.Pi))*math.Cos(x[0]) + 10
}

// hartmann returns the sum Σ_i α_i exp(−Σ_j A_ij (x_j − P_ij)²).
func hartmann(x []float64, a, p [][]float64) float64 {
	return hartmannWith([4]float64{1, 1.2, 3, 3.2}, x, a, p)
}

// hartmannWith is hartmann with the weights α.
func hartmannWith(alpha [4]float64, x []float64, a, p [][]float64) float64 {
	var sum float64
	for i := range alpha {
		var e float64
		for j, v := range x {
			u := v - p[i][j]
			e += a[i][j] * u * u
		}
		sum += alpha[i] * math.Exp(-e)
	}
	return sum
}

// hartmann3 has four local optima.
func hartmann3() Task {
	a := [][]float64{{3, 10, 30}, {0.1, 10, 35}, {3, 10, 30}, {0.1, 10, 35}}
	p := [][]float64{
		{0.3689, 0.1170, 0.2673}, {0.4699, 0.4387, 0.7470},
		{0.1091, 0.8732, 0.5547}, {0.0381, 0.5743, 0.8828},
	}
	t := box("hartmann3", "Hartmann's function in 3 dimensions (Sinaga et al. 2026, §6)", 3, 0, 1,
		func(x []float64) float64 { return -hartmann(x, a, p) })
	t.Best = Extreme{At: []float64{0.11458888, 0.55564889, 0.85254698}, Value: -3.86277978733}
	t.Worst = Extreme{At: []float64{1, 1, 0}, Value: -3.77271851416e-5}
	return t
}

// hartmann6 has its optimum in the literature (Dixon and Szegö 1978): −3.32237
// at (0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573).
func hartmann6() Task {
	t := box("hartmann6", "Hartmann's function in 6 dimensions (Dixon and Szegö 1978)", 6, 0, 1,
		func(x []float64) float64 { return -hartmann(x, hartmann6A, hartmann6P) })
	t.Best = Extreme{At: []float64{0.20168952, 0.15001069, 0.47687397, 0.27533243, 0.31165162,
		0.65730053}, Value: -3.32236801141}
	t.Worst = Extreme{At: []float64{1, 1, 0, 1, 1, 1}, Value: -2.81245054397e-8}
	return t
}

// Coefficients of [hartmann6].
var (
	hartmann6A = [][]float64{
		{10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8},
		{17, 8, 0.05, 10, 0.1, 14},
	}
	hartmann6P = [][]float64{
		{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886}, {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
		{0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650}, {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381},
	}
)

// hartmann4 is the first four dimensions of Hartmann's function in 6, shifted
// and scaled to mean about 0 and variance about 1 (Picheny, Wagner &
// Ginsbourger 2013), as Bayesian optimization libraries have it.
func hartmann4() Task {
	a := [][]float64{{10, 3, 17, 3.5}, {0.05, 10, 17, 0.1}, {3, 3.5, 1.7, 10}, {17, 8, 0.05, 10}}
	p := [][]float64{
		{0.1312, 0.1696, 0.5569, 0.0124}, {0.2329, 0.4135, 0.8307, 0.3736},
		{0.2348, 0.1451, 0.3522, 0.2883}, {0.4047, 0.8828, 0.8732, 0.5743},
	}
	t := box("hartmann4", "Hartmann's function in 4 dimensions, rescaled (Sinaga et al. 2026, §6)", 4, 0, 1,
		func(x []float64) float64 { return (1.1 - hartmann(x, a, p)) / 0.839 })
	t.Best = Extreme{At: []float64{0.18739527, 0.19415153, 0.55791778, 0.26477962}, Value: -3.13449414122}
	t.Worst = Extreme{At: []float64{1, 1, 0, 1}, Value: 1.30954062146}
	return t
}
