package format

import (
	"math"
	"strconv"
)

// Bytes writes the size of a file, in units of powers of 1,000: "870 bytes",
// "1.2 kB", "50 MB".
func Bytes(n int64) string {
	const unit = 1000
	if n < unit {
		return Count(int(n), "byte")
	}
	size, names := float64(n)/unit, []string{"kB", "MB", "GB", "TB"}
	// A size that rounds to 1,000 of a unit is written in the next one.
	for len(names) > 1 && size >= unit-0.5 {
		size, names = size/unit, names[1:]
	}
	step := 1.0
	if size < 10 {
		step = 10
	}
	return strconv.FormatFloat(math.Round(size*step)/step, 'f', -1, 64) + " " + names[0]
}
