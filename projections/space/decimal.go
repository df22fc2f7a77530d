package space

import (
	"math"
	"math/big"
	"strconv"
)

// decimal returns x as the decimal number a person wrote: the shortest one
// whose nearest float64 is x. x must be finite. 0.1 is then one tenth, and not
// the binary fraction next to it, so that 0.1 + 0.2 + 0.7 is 1.
func decimal(x float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	if !ok {
		panic("space: not a finite number")
	}
	return r
}

// floorRat returns ⌊r⌋ for |r| < 2⁶³.
func floorRat(r *big.Rat) int64 {
	// Euclidean division rounds down, since a Rat's denominator is positive.
	return new(big.Int).Div(r.Num(), r.Denom()).Int64()
}

// denominator returns the least common denominator.
func denominator(list []*big.Rat) *big.Int {
	den := big.NewInt(1)
	for _, c := range list {
		den.Mul(den, new(big.Int).Quo(c.Denom(), new(big.Int).GCD(nil, nil, den, c.Denom())))
	}
	return den
}

// reachable says whether Σ coefficient·k = rhs has a solution in integers k:
// whether the greatest common divisor of the coefficients divides rhs. It finds
// at once what a search over the lattice may not find at all: that no multiples
// of 0.3 add up to 1. Bézout's identity: whole combinations of some numbers are
// the multiples of their greatest common divisor. Bounds are not looked at, so
// that true only means that it may be.
func reachable(coefficients []*big.Rat, rhs *big.Rat) bool {
	den := denominator(append([]*big.Rat{rhs}, coefficients...))
	whole := func(r *big.Rat) *big.Int {
		return new(big.Int).Mul(r.Num(), new(big.Int).Quo(den, r.Denom()))
	}
	gcd := new(big.Int)
	for _, c := range coefficients {
		gcd.GCD(nil, nil, gcd, new(big.Int).Abs(whole(c)))
	}
	target := whole(rhs)
	if gcd.Sign() == 0 {
		return target.Sign() == 0
	}
	return new(big.Int).Rem(target, gcd).Sign() == 0
}

// near says whether a and b agree to Tolerance relative to magnitude.
func near(a, b, magnitude float64) bool { return math.Abs(a-b) <= Tolerance*magnitude }
