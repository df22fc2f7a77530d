// Package qmc holds the Sobol sequence, a low-discrepancy sequence in the unit
// cube: the first 2^m points of every dimension fall one each into the 2^m
// equal intervals, and their low-dimensional projections are spread nearly as
// well. It places initial designs and the starts of searches.
//
// A sequence is a pure function of its dimension and seed: no clock, no global
// randomness, the same points on every machine (only integers and one exact
// multiplication by a power of two are involved).
package qmc

import (
	_ "embed"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
)

// MaxDim is the largest dimension of a Sobol sequence here.
const MaxDim = 256

// ErrDimension reports a dimension outside 1 … MaxDim.
var ErrDimension = errors.New("no Sobol sequence of this dimension")

const (
	inputBits  = 32 // a sequence has 2³² points
	outputBits = 53 // the digits of a coordinate, all that a float64 in [0, 1) holds
)

// Sobol is a Sobol sequence in d dimensions, with the direction numbers of Joe
// and Kuo 2008, its points in the order of the Gray code (Bratley and Fox
// 1988). It is not safe for concurrent use.
type Sobol struct {
	// direction[j][b]: what bit b of the Gray code adds to coordinate j, in
	// outputBits digits
	direction [][inputBits]uint64
	shift     []uint64 // the digital shift; the point of index 0
	point     []uint64 // the point of index next
	next      uint64
}

// New returns the plain sequence in dim dimensions. Its first point is the
// origin, a corner of the cube: prefer NewScrambled for a design. It fails with
// ErrDimension.
func New(dim int) (*Sobol, error) {
	if dim < 1 || dim > MaxDim {
		return nil, fmt.Errorf("%w: %d dimensions asked for, 1 to %d are possible",
			ErrDimension, dim, MaxDim)
	}
	s := &Sobol{
		direction: make([][inputBits]uint64, dim),
		shift:     make([]uint64, dim),
		point:     make([]uint64, dim),
	}
	table := directions()
	for j := range s.direction {
		for b, v := range table[j] {
			s.direction[j][b] = uint64(v) << (outputBits - inputBits)
		}
	}
	return s, nil
}

// NewScrambled returns the sequence in dim dimensions, randomized by seed: each
// coordinate's digits pass through a random non-singular lower triangular
// binary matrix, then a random digital shift (Matoušek 1998, §4: random linear
// scrambling). Every point is then uniform in the cube, and every net property
// of the plain sequence is kept. It fails with ErrDimension.
func NewScrambled(dim int, seed uint64) (*Sobol, error) {
	s, err := New(dim)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(seed, 0x736f626f6c)) // the second word spells "sobol": a stream of its own
	for j := range s.direction {
		// columns[c] is the image of digit c alone (digit 0 is the leading
		// one): itself and random lower digits.
		var columns [inputBits]uint64
		for c := range columns {
			digit := uint64(1) << (outputBits - 1 - c)
			columns[c] = digit | random.Uint64()&(digit-1)
		}
		for b, v := range s.direction[j] {
			var image uint64
			for c := range columns {
				if v>>(outputBits-1-c)&1 == 1 {
					image ^= columns[c]
				}
			}
			s.direction[j][b] = image
		}
		s.shift[j] = random.Uint64() >> (64 - outputBits)
	}
	copy(s.point, s.shift)
	return s, nil
}

// Dim returns d.
func (s *Sobol) Dim() int { return len(s.direction) }

// Next fills dst (d values) with the next point, each coordinate in [0, 1).
// After 2³² points, which is all there are, it panics.
func (s *Sobol) Next(dst []float64) {
	s.check(dst)
	if s.next == 1<<inputBits {
		panic("qmc: the sequence has no more points")
	}
	s.write(dst)
	s.next++
	if b := bits.TrailingZeros64(s.next); b < inputBits { // the bit in which consecutive Gray codes differ
		for j := range s.point {
			s.point[j] ^= s.direction[j][b]
		}
	}
}

// Points returns the next n points, n rows of d values.
func (s *Sobol) Points(n int) [][]float64 {
	rows, flat := make([][]float64, n), make([]float64, n*s.Dim())
	for i := range rows {
		rows[i] = flat[i*s.Dim() : (i+1)*s.Dim() : (i+1)*s.Dim()]
		s.Next(rows[i])
	}
	return rows
}

func (s *Sobol) write(dst []float64) {
	for j, p := range s.point {
		dst[j] = float64(p) * (1.0 / (1 << outputBits))
	}
}

func (s *Sobol) check(dst []float64) {
	if len(dst) != len(s.point) {
		panic(fmt.Sprintf("qmc: a point of %d values for a sequence in %d dimensions", len(dst),
			len(s.point)))
	}
}

//go:embed joe-kuo.txt
var joeKuo string

// directions returns, for each dimension, the direction numbers v_1 … v_32 as
// binary fractions of 32 digits. The table gives the first s of a dimension;
// the others follow from its primitive polynomial (Joe and Kuo 2008, Eq. 2).
var directions = sync.OnceValue(func() [][inputBits]uint32 {
	table := make([][inputBits]uint32, 1, MaxDim)
	for b := range table[0] {
		table[0][b] = 1 << (31 - b) // the first dimension is the van der Corput sequence
	}
	for line := range strings.Lines(joeKuo) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var numbers []uint32
		for _, field := range strings.Fields(line) {
			n, err := strconv.ParseUint(field, 10, 32)
			if err != nil {
				panic("qmc: the embedded table is damaged: " + err.Error())
			}
			numbers = append(numbers, uint32(n))
		}
		degree := int(numbers[1])
		inner := numbers[2]
		initial := numbers[3:]
		var v [inputBits]uint32
		for b := range v {
			if b < degree {
				v[b] = initial[b] << (31 - b)
				continue
			}
			v[b] = v[b-degree] ^ v[b-degree]>>degree
			for k := 1; k < degree; k++ {
				if inner>>(degree-1-k)&1 == 1 {
					v[b] ^= v[b-k]
				}
			}
		}
		table = append(table, v)
	}
	return table
})
