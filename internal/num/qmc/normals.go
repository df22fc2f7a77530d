package qmc

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"
)

// Normals returns n quasi-random draws of d independent standard normal values.
// Beyond [MaxDim] dimensions they are pseudo-random.
func Normals(d, n int, seed uint64) ([][]float64, error) {
	rng := rand.New(rand.NewPCG(seed, 0x716d63)) // "qmc"
	if d > MaxDim {
		rows := make([][]float64, n)
		for i := range rows {
			rows[i] = make([]float64, d)
			for j := range rows[i] {
				rows[i][j] = rng.NormFloat64()
			}
		}
		return rows, nil
	}
	sequence, err := NewScrambled(d, rng.Uint64())
	if err != nil {
		return nil, err
	}
	rows := sequence.Points(n)
	for _, row := range rows {
		for j, u := range row {
			row[j] = mathext.NormalQuantile(max(u, 0x1p-53))
		}
	}
	return rows, nil
}
