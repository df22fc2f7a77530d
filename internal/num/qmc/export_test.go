package qmc

import "math/bits"

// At fills dst (d values) with the point of the given index, counted from 0,
// and makes the following point the next one.
func (s *Sobol) At(index uint32, dst []float64) {
	s.Seek(index)
	s.Next(dst)
}

// Seek makes the point of the given index, counted from 0, the next one. It
// costs the same for every index.
func (s *Sobol) Seek(index uint32) {
	copy(s.point, s.shift)
	for gray := index ^ index>>1; gray != 0; gray &= gray - 1 {
		b := bits.TrailingZeros32(gray)
		for j := range s.point {
			s.point[j] ^= s.direction[j][b]
		}
	}
	s.next = uint64(index)
}
