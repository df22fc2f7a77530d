package events

import "math"

// Compression is a transform of results in the campaign's unit: those beyond
// From, on the side of the sign of Width, count by their logarithm,
//
//	y′ = From + Width·ln(1 + (y − From)/Width),
//
// and the others as they are, y′ = y. Nil compresses nothing.
type Compression struct {
	From  float64 `json:"from"`
	Width float64 `json:"width"`
}

// mostWidths bounds the expanded values: a prediction beyond it means only "very bad".
const mostWidths = 100

// Compress returns y′.
func (c *Compression) Compress(y float64) float64 {
	if widths := c.beyond(y); widths > 0 {
		return c.From + c.Width*math.Log1p(widths)
	}
	return y
}

// Expand returns the y of a y′.
func (c *Compression) Expand(compressed float64) float64 {
	if widths := c.beyond(compressed); widths > 0 {
		return c.From + c.Width*math.Expm1(min(widths, mostWidths))
	}
	return compressed
}

// Stretch returns how many units of y there are to one of y′ between two values
// of y′: 1 where nothing is compressed between them.
func (c *Compression) Stretch(compressed1, compressed2 float64) float64 {
	beyond1, beyond2 := c.beyond(compressed1), c.beyond(compressed2)
	switch {
	case beyond1 == 0 && beyond2 == 0:
		return 1
	case compressed1 == compressed2:
		return math.Exp(min(beyond1, mostWidths))
	}
	return math.Abs((c.Expand(compressed1) - c.Expand(compressed2)) / (compressed1 - compressed2))
}

// beyond returns how many widths a value is beyond From, 0 where it is not.
func (c *Compression) beyond(y float64) float64 {
	if c == nil {
		return 0
	}
	return max(0, (y-c.From)/c.Width)
}
