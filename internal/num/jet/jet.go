// Package jet evaluates functions of a few variables together with their exact derivatives, by
// Taylor arithmetic (Griewank and Walther 2008, §13): a jet is the value of an expression and its
// derivatives, and each operation makes the jet of its result from those of its operands.
//
// Coordinates are of two kinds. The first n are random, quantities whose means and standard
// deviations a model knows; the others are fixed, as the parameters of a composition are. A mixture
// of linearizations of g (package composite) needs g, its gradient, and the curvature along the
// random coordinates
//
//	L = Σ_{k<n} w_k ∂²g/∂x_k²,  w_k = σ_k²,
//
// and for the gradient of those the Hessian and ∂L/∂x_i. That is all a jet holds, third derivatives
// only as far as L has them: the rules of the forward Laplacian (Li et al. 2024), differentiated
// once more.
//
// Rounding is the same everywhere: each product that could be fused with a sum is rounded first.
// The elementary functions are those of the Go library, whose last bit may differ between families
// of processors.
package jet

import (
	"fmt"
	"math"
)

// MaxRandom is the largest number of random coordinates.
const MaxRandom = 4

// Jet is the value of an expression with its derivatives. Its layout is that of the [Space] it
// belongs to. A jet must not be operand and result of one operation.
type Jet []float64

// Value returns the value of the expression.
func (j Jet) Value() float64 { return j[0] }

// Laplacian returns L = Σ w_k ∂²/∂x_k² over the random coordinates.
func (j Jet) Laplacian() float64 { return j[1] }

// Space is the coordinates that jets have derivatives in, and the weights w. Its
// operations write to dst. It is a workspace: one goroutine uses it at a time.
type Space struct {
	random, all int
	weights     []float64
	full        bool
}

// The layout of a jet: value, L, gradient (all coordinates), ∂L (all
// coordinates), a row of the Hessian (all coordinates) for each random one.
const gradientAt = 2

// NewSpace returns the space of random and of fixed coordinates, with weights 0
// and all derivatives. More than [MaxRandom] random ones panic.
func NewSpace(random, fixed int) *Space {
	if random > MaxRandom {
		panic(fmt.Sprintf("jet: %d random coordinates, at most %d are possible", random, MaxRandom))
	}
	return &Space{random: random, all: random + fixed, weights: make([]float64, random), full: true}
}

// All returns the number of coordinates.
func (s *Space) All() int { return s.all }

// Weigh sets the weights, one for each random coordinate. Jets that were made
// with others are not to be used any more.
func (s *Space) Weigh(weights []float64) { copy(s.weights, weights) }

// Differentiate says whether operations make all derivatives, or only those that the moments of a
// component need: value, L, and the gradient in the random coordinates. The others are then
// undefined.
func (s *Space) Differentiate(all bool) { s.full = all }

// New returns a jet to write to.
func (s *Space) New() Jet { return make(Jet, gradientAt+(2+s.random)*s.all) }

// Gradient returns the first derivatives, by coordinate.
func (s *Space) Gradient(j Jet) []float64 { return j[gradientAt : gradientAt+s.all] }

// LaplacianGradient returns ∂L/∂x_i, by coordinate.
func (s *Space) LaplacianGradient(j Jet) []float64 {
	return j[gradientAt+s.all : gradientAt+2*s.all]
}

// Hessian returns ∂²/∂x_k∂x_i of the random coordinate k, by coordinate i.
func (s *Space) Hessian(j Jet, k int) []float64 {
	at := gradientAt + (2+k)*s.all
	return j[at : at+s.all]
}

// Constant writes a number.
func (s *Space) Constant(dst Jet, value float64) {
	clear(s.used(dst))
	dst[0] = value
}

// Linear writes a jet with the given value and a slope in coordinate i: the coordinate itself where
// that is 1.
func (s *Space) Linear(dst Jet, i int, value, slope float64) {
	s.Constant(dst, value)
	if s.full || i < s.random {
		dst[gradientAt+i] = slope
	}
}

// used is the part of a jet that operations make.
func (s *Space) used(j Jet) Jet {
	if s.full {
		return j
	}
	return j[:gradientAt+s.random]
}

// Add writes a + b.
func (s *Space) Add(dst, a, b Jet) {
	dst, a, b = s.used(dst), s.used(a), s.used(b)
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

// Sub writes a − b.
func (s *Space) Sub(dst, a, b Jet) {
	dst, a, b = s.used(dst), s.used(a), s.used(b)
	for i := range dst {
		dst[i] = a[i] - b[i]
	}
}

// Shift writes a + c.
func (s *Space) Shift(dst, a Jet, c float64) {
	copy(s.used(dst), s.used(a))
	dst[0] += c
}

// Scale writes c·a.
func (s *Space) Scale(dst, a Jet, c float64) {
	dst, a = s.used(dst), s.used(a)
	for i := range dst {
		dst[i] = c * a[i]
	}
}

// DivBy writes a/c.
func (s *Space) DivBy(dst, a Jet, c float64) {
	s.Scale(dst, a, 1/c)
	dst[0] = a[0] / c
}

// Mul writes a·b.
func (s *Space) Mul(dst, a, b Jet) {
	u, v := a[0], b[0]
	du, dv := s.Gradient(a), s.Gradient(b)
	cross := 0.0
	for k, w := range s.weights {
		cross += float64(float64(w*du[k]) * dv[k])
	}
	dst[0] = u * v
	dst[1] = float64(u*b[1]) + float64(v*a[1]) + 2*cross
	d := s.Gradient(dst)
	if !s.full {
		for k := range s.random {
			d[k] = float64(u*dv[k]) + float64(v*du[k])
		}
		return
	}
	dl, dlu, dlv := s.LaplacianGradient(dst), s.LaplacianGradient(a), s.LaplacianGradient(b)
	for i := range d {
		d[i] = float64(u*dv[i]) + float64(v*du[i])
		dl[i] = float64(u*dlv[i]) + float64(du[i]*b[1]) + float64(v*dlu[i]) + float64(dv[i]*a[1])
	}
	for k, w := range s.weights {
		h, hu, hv := s.Hessian(dst, k), s.Hessian(a, k), s.Hessian(b, k)
		uk, vk := du[k], dv[k]
		for i := range h {
			h[i] = float64(u*hv[i]) + float64(v*hu[i]) + float64(uk*dv[i]) + float64(vk*du[i])
			dl[i] += float64(2 * w * (float64(hu[i]*vk) + float64(uk*hv[i])))
		}
	}
}

// Div writes a/b and overwrites scratch.
func (s *Space) Div(dst, a, b, scratch Jet) {
	s.Over(scratch, 1, b)
	s.Mul(dst, a, scratch)
	dst[0] = a[0] / b[0]
}

// Compose writes φ(a), given y = φ and its derivatives y1, y2, y3 at the value of
// a.
func (s *Space) Compose(dst, a Jet, y, y1, y2, y3 float64) {
	g, l := s.Gradient(a), a[1]
	square := 0.0 // Σ w_k g_k²
	for k, w := range s.weights {
		square += float64(float64(w*g[k]) * g[k])
	}
	dst[0] = y
	dst[1] = float64(y1*l) + float64(y2*square)
	d := s.Gradient(dst)
	if !s.full {
		for k := range s.random {
			d[k] = y1 * g[k]
		}
		return
	}
	dl, dla := s.LaplacianGradient(dst), s.LaplacianGradient(a)
	byGradient := float64(y2*l) + float64(y3*square)
	for i := range d {
		d[i] = y1 * g[i]
		dl[i] = float64(y1*dla[i]) + float64(byGradient*g[i])
	}
	for k, w := range s.weights {
		h, ha := s.Hessian(dst, k), s.Hessian(a, k)
		bent := y2 * g[k]
		for i := range h {
			h[i] = float64(y1*ha[i]) + float64(bent*g[i])
			dl[i] += float64(2 * w * bent * ha[i])
		}
	}
}

// Over writes c/a.
func (s *Space) Over(dst Jet, c float64, a Jet) {
	x := a[0]
	y := c / x
	y1 := -y / x
	y2 := -2 * y1 / x
	s.Compose(dst, a, y, y1, y2, -3*y2/x)
}

// Exp writes eᵃ.
func (s *Space) Exp(dst, a Jet) {
	y := math.Exp(a[0])
	s.Compose(dst, a, y, y, y, y)
}

// Log writes ln a.
func (s *Space) Log(dst, a Jet) { s.logarithm(dst, a, math.Log(a[0]), 1) }

// Log10 writes the decimal logarithm.
func (s *Space) Log10(dst, a Jet) { s.logarithm(dst, a, math.Log10(a[0]), math.Log10E) }

// logarithm writes y = scale·ln a.
func (s *Space) logarithm(dst, a Jet, y, scale float64) {
	x := a[0]
	y1 := scale / x
	y2 := -y1 / x
	s.Compose(dst, a, y, y1, y2, -2*y2/x)
}

// Sqrt writes √a.
func (s *Space) Sqrt(dst, a Jet) {
	x := a[0]
	y := math.Sqrt(x)
	y1 := 0.5 / y
	y2 := -0.5 * y1 / x
	s.Compose(dst, a, y, y1, y2, -1.5*y2/x)
}

// Pow returns xʸ as [math.Pow] does, but NaN where either is one: a value that is
// not known does not become known by a power.
func Pow(x, y float64) float64 {
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.NaN()
	}
	return math.Pow(x, y)
}

// Power writes aᵖ, p a number. A derivative that vanishes for every base does so
// at 0 too.
func (s *Space) Power(dst, a Jet, p float64) {
	x := a[0]
	var y [3]float64
	factor := 1.0
	for n := range y {
		if factor *= p - float64(n); factor != 0 {
			y[n] = factor * math.Pow(x, p-float64(n)-1)
		}
	}
	s.Compose(dst, a, Pow(x, p), y[0], y[1], y[2])
}

// Exponential writes cᵃ, c a number. It has derivatives where c > 0 only.
func (s *Space) Exponential(dst Jet, c float64, a Jet) {
	y, rate := Pow(c, a[0]), math.Log(c)
	s.Compose(dst, a, y, y*rate, y*rate*rate, y*rate*rate*rate)
}

// PowerOf writes aᵇ, with the derivatives of e^(b·ln a), and overwrites scratch. It
// has derivatives where a > 0 only, and is NaN elsewhere but for its value.
func (s *Space) PowerOf(dst, a, b, scratch Jet) {
	s.Log(dst, a)
	s.Mul(scratch, b, dst)
	y := Pow(a[0], b[0])
	s.Compose(dst, scratch, y, y, y, y)
}
