package kernel

import (
	"fmt"
	"math"

	"github.com/campaignd/campaignd/internal/num/special"
)

// Family is a shape ρ of the stationary kernels, a function of the scaled
// squared distance s alone. Fitting code works on families: the squared
// differences of the data do not change while the lengthscales do.
type Family uint8

// The families, from the smoothest to the roughest.
const (
	RBF      Family = iota // exp(−s/2): infinitely differentiable
	Matern52               // ν = 5/2: twice differentiable
	Matern32               // ν = 3/2: once differentiable
)

const (
	sqrt3 = 1.7320508075688772
	sqrt5 = 2.2360679774997896
)

// ParseFamily returns the family called name, as in New, or ErrUnknown.
func ParseFamily(name string) (Family, error) {
	for _, f := range []Family{RBF, Matern52, Matern32} {
		if name == f.String() {
			return f, nil
		}
	}
	return 0, fmt.Errorf("%w %q: known are %s, %s and %s", ErrUnknown, name, RBF, Matern52, Matern32)
}

// String returns the family's name.
func (f Family) String() string {
	switch f {
	case RBF:
		return "rbf"
	case Matern52:
		return "matern52"
	case Matern32:
		return "matern32"
	}
	return fmt.Sprintf("Family(%d)", uint8(f))
}

// FamilyOf returns the family of a kernel that New has returned. ok is false for
// others, which are not stationary.
func FamilyOf(k Kernel) (family Family, ok bool) {
	a, ok := k.(*ard)
	if !ok {
		return 0, false
	}
	return a.family, true
}

// Rho returns ρ(s), s ≥ 0.
func (f Family) Rho(s float64) float64 {
	switch f {
	case RBF:
		return special.ExpNeg(-0.5 * s)
	case Matern52:
		a := sqrt5 * math.Sqrt(s)
		return (1 + a + (5.0/3)*s) * special.ExpNeg(-a)
	case Matern32:
		a := sqrt3 * math.Sqrt(s)
		return (1 + a) * special.ExpNeg(-a)
	}
	panic("kernel: unknown family " + f.String())
}

// RhoSlope returns ρ(s) and ρ'(s) = dρ/ds ≤ 0, s ≥ 0.
func (f Family) RhoSlope(s float64) (rho, slope float64) {
	switch f {
	case RBF:
		e := special.ExpNeg(-0.5 * s)
		return e, -0.5 * e
	case Matern52:
		a := sqrt5 * math.Sqrt(s)
		e := special.ExpNeg(-a)
		return (1 + a + (5.0/3)*s) * e, (-5.0 / 6) * (1 + a) * e
	case Matern32:
		a := sqrt3 * math.Sqrt(s)
		e := special.ExpNeg(-a)
		return (1 + a) * e, -1.5 * e
	}
	panic("kernel: unknown family " + f.String())
}

// Fill sets dst[i] = outputScale · ρ(s[i]). dst and s have one length and may
// be the same slice.
func (f Family) Fill(dst, s []float64, outputScale float64) {
	checkLen("dst", len(dst), len(s))
	// One loop per family keeps the choice out of the inner loop.
	switch f {
	case RBF:
		for i, v := range s {
			dst[i] = outputScale * special.ExpNeg(-0.5*v)
		}
	default:
		for i, v := range s {
			dst[i] = outputScale * f.Rho(v)
		}
	}
}

// FillSlope sets rho[i] = outputScale · ρ(s[i]) and slope[i] = outputScale ·
// ρ'(s[i]). The three slices have one length; rho or slope may be the same
// slice as s.
func (f Family) FillSlope(rho, slope, s []float64, outputScale float64) {
	checkLen("rho", len(rho), len(s))
	checkLen("slope", len(slope), len(s))
	switch f {
	case RBF:
		for i, v := range s {
			e := outputScale * special.ExpNeg(-0.5*v)
			rho[i], slope[i] = e, -0.5*e
		}
	default:
		for i, v := range s {
			r, sl := f.RhoSlope(v)
			rho[i], slope[i] = outputScale*r, outputScale*sl
		}
	}
}
