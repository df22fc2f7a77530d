// Package formula is the language in which a campaign file computes with
// quantities and parameters: objectives, prices, costs, and constraints on
// outcomes.
//
//	conductivity / sqrt(viscosity)
//	capacity_100 >= 0.8*capacity_1
//	temperature > 60 ? 2*price : price
//
// A formula is made of numbers; names (letters, digits, underscores);
// reference.NAME, the value of NAME at the reference composition; + − * / ^ and
// parentheses; min and max of two or more, abs, sqrt, exp, ln, log10, pow(a, b),
// which is a^b; and a choice, a < b ? x : y, by <, <=, > or >=. ^ binds more
// tightly than the minus before it and groups to the right: −a^b^c is −(a^(b^c)).
// There is nothing else: no text, no clock, no randomness, no loop. A length and
// a depth are the bounds of every formula.
//
// [Parse] reads one; for a text that is not a formula it gives the column and
// the reason. A formula has one canonical text, which parses to the same formula,
// and whose SHA-256 digest stands for it in a log.
//
// A formula is evaluated in the order it is written, in float64, and a number
// that is not finite goes through to the result: a comparison with a NaN chooses
// NaN. [Bound.Value] does so for numbers, [Bound.Jet] with derivatives, where min,
// max, abs and choices have those of the side that is taken, at a tie the first
// one. Both give the same values, bit for bit. Each product is rounded before it
// is added to anything, so that a processor with fused operations makes no
// difference; exp, ln, log10 and powers are those of the Go library.
package formula
