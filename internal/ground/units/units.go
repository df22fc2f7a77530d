// Package units recognizes units as people and programs write them: mPa.s, mPa·s and
// mPa s are one, and so are °C and Cel, or µS, μS and uS. It knows codes of the Unified
// Code for Units of Measure (UCUM, Schadow and McDonald 2017), case-sensitive: the
// atoms of a laboratory, metric prefixes, products, quotients and powers. An atom that
// it does not know, as EUR, is one of its own.
//
// It converts nothing. Two units are the same where a value in one is that value in the
// other, and nothing that tells them apart was cancelled: kg/kg and mol/mol are
// different pure numbers, and mol/kg is never mol/L.
package units

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Same reports whether two texts are the same unit. Texts that are equal are, and what
// cannot be read is like nothing else.
func Same(a, b string) bool {
	if a == b {
		return true
	}
	u, okU := parse(a)
	v, okV := parse(b)
	if !okU || !okV {
		return false
	}
	if u.cancels() || v.cancels() {
		return maps.Equal(u.written, v.written)
	}
	return maps.Equal(u.dimensions, v.dimensions) && u.factor.Cmp(v.factor) == 0
}

// Code returns the unit's UCUM code; false where UCUM lacks an atom of it, or it cannot be read.
func Code(text string) (string, bool) {
	u, ok := parse(text)
	if !ok || u.foreign || text == "" {
		return "", false
	}
	return plain(text), true
}

// parsed is a unit that was read.
type parsed struct {
	factor     *big.Rat       // in base units
	dimensions map[string]int // powers of base units, none of 0
	written    map[string]int // powers of the symbols as they are written, those below the line behind a slash
	atoms      map[string]int // how the atoms without their prefixes stand: 1 above, 2 below the line, 3 both
	foreign    bool           // UCUM lacks an atom
}

// cancels reports whether an atom was divided by itself, or all dimensions are gone: the rest no
// longer tells the quantities of the ratio.
func (u *parsed) cancels() bool {
	for _, sides := range u.atoms {
		if sides == 3 {
			return true
		}
	}
	return len(u.dimensions) == 0
}

// spellings are other ways to write UCUM's signs.
var spellings = strings.NewReplacer(
	"µ", "u", "μ", "u", "Ω", "Ohm", "Ω", "Ohm", "°C", "Cel", "℃", "Cel", "·", ".", "⋅", ".", "*", ".", "×", ".", "^", "",
	"⁻", "-", "−", "-", "¹", "1", "²", "2", "³", "3", "⁴", "4",
)

// plain is a text in UCUM's signs.
func plain(text string) string {
	text = strings.Join(strings.Fields(spellings.Replace(text)), ".")
	return strings.NewReplacer("./", "/", "/.", "/", "..", ".").Replace(text)
}

// parse reads a unit.
func parse(text string) (*parsed, bool) {
	u := &parsed{
		factor: big.NewRat(1, 1), dimensions: map[string]int{},
		written: map[string]int{}, atoms: map[string]int{},
	}
	r := reader{u: u, rest: plain(text)}
	if r.rest == "" {
		return u, true
	}
	ok := r.term(1) && r.rest == ""
	maps.DeleteFunc(u.dimensions, func(_ string, power int) bool { return power == 0 })
	return u, ok
}

// reader reads the rest of a text into a unit.
type reader struct {
	u    *parsed
	rest string
}

// term reads components, multiplied or divided from left to right, to a power of 1 or −1.
func (r *reader) term(power int) bool {
	side := power
	if strings.HasPrefix(r.rest, "/") {
		r.rest, side = r.rest[1:], -power
	}
	for {
		if !r.component(side) {
			return false
		}
		switch {
		case strings.HasPrefix(r.rest, "."):
			side = power
		case strings.HasPrefix(r.rest, "/"):
			side = -power
		default:
			return true
		}
		r.rest = r.rest[1:]
	}
}

// component reads an atom with its power, or a term in parentheses.
func (r *reader) component(side int) bool {
	if strings.HasPrefix(r.rest, "(") {
		r.rest = r.rest[1:]
		if !r.term(side) || !strings.HasPrefix(r.rest, ")") {
			return false
		}
		r.rest = r.rest[1:]
		return true
	}
	if rest, one := strings.CutPrefix(r.rest, "1"); one && (rest == "" || strings.ContainsRune("./)", rune(rest[0]))) {
		r.rest = rest // a number, as in 1/s
		return true
	}
	end := strings.IndexAny(r.rest, "./()+-0123456789")
	if end < 0 {
		end = len(r.rest)
	}
	symbol := r.rest[:end]
	r.rest = r.rest[end:]
	power, ok := r.power()
	if symbol == "" || !ok {
		return false
	}
	return r.u.add(symbol, side*power)
}

// mostPower bounds a power: no unit has a greater one.
const mostPower = 9

// power reads a power, 1 for a missing one.
func (r *reader) power() (int, bool) {
	end := 0
	for end < len(r.rest) && (r.rest[end] >= '0' && r.rest[end] <= '9' ||
		end == 0 && strings.ContainsRune("+-", rune(r.rest[0]))) {
		end++
	}
	if end == 0 {
		return 1, true
	}
	power, err := strconv.Atoi(r.rest[:end])
	r.rest = r.rest[end:]
	return power, err == nil && power != 0 && power >= -mostPower && power <= mostPower
}

// add multiplies the unit by a symbol to a power.
func (u *parsed) add(symbol string, power int) bool {
	prefix, name, known := resolve(symbol)
	a := atom{dimensions: map[string]int{symbol: 1}}
	if known {
		a = atoms[name]
	} else {
		name, u.foreign = symbol, true
	}
	if power > 0 {
		u.atoms[name] |= 1
		u.written[symbol] += power
	} else {
		u.atoms[name] |= 2
		u.written["/"+symbol] -= power
	}
	for base, n := range a.dimensions {
		u.dimensions[base] += n * power
	}
	size := new(big.Rat).Mul(tens(prefixes[prefix]), tens(a.tens))
	if a.times != 0 {
		size.Mul(size, big.NewRat(a.times, 1))
	}
	if power < 0 {
		size.Inv(size)
	}
	for range max(power, -power) {
		u.factor.Mul(u.factor, size)
	}
	return true
}

// resolve splits a symbol into a prefix and an atom; an atom without one comes first.
func resolve(symbol string) (prefix, name string, known bool) {
	if _, ok := atoms[symbol]; ok {
		return "", symbol, true
	}
	for _, p := range slices.Sorted(maps.Keys(prefixes)) {
		if rest, ok := strings.CutPrefix(symbol, p); ok && p != "" && atoms[rest].metric {
			return p, rest, true
		}
	}
	return "", "", false
}

// tens is a power of ten.
func tens(n int) *big.Rat {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil)
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), power)
	}
	return new(big.Rat).SetInt(power)
}
