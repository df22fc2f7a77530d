package events_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/events"
)

// Law: a compression leaves what is better as it is, is continuous, keeps the order, and is undone; what it
// stretches is the difference of two values in the one unit over that in the other.
func TestCompression(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64Range(-1e3, 1e3)
		width := rapid.Float64Range(0.1, 50).Draw(t, "width")
		if rapid.Bool().Draw(t, "maximized") {
			width = -width
		}
		c := &events.Compression{From: value.Draw(t, "from"), Width: width}
		a, b := value.Draw(t, "a"), value.Draw(t, "b")
		ca, cb := c.Compress(a), c.Compress(b)
		near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*max(1, math.Abs(x), math.Abs(y)) }
		if !near(c.Expand(ca), a) {
			t.Errorf("%v is %v compressed, and %v expanded", a, ca, c.Expand(ca))
		}
		if better := (a-c.From)/width <= 0; better && ca != a || !better && math.Abs(ca-c.From) > math.Abs(a-c.From)*(1+1e-9) {
			t.Errorf("%v is %v compressed", a, ca)
		}
		if (a-b)*(ca-cb) < 0 {
			t.Errorf("%v and %v change places: %v and %v", a, b, ca, cb)
		}
		if math.Abs(ca-cb) > 1e-3 && !near(c.Stretch(ca, cb)*math.Abs(ca-cb), math.Abs(a-b)) {
			t.Errorf("between %v and %v the unit is stretched by %v", a, b, c.Stretch(ca, cb))
		}
	})
	if c := (*events.Compression)(nil); c.Compress(7) != 7 || c.Expand(7) != 7 || c.Stretch(1, 9) != 1 {
		t.Error("nothing compresses something")
	}
}
