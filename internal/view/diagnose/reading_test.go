package diagnose

import "testing"

// Law: that no effect is seen is said of a parameter whose effect is within its uncertainty, and not
// where it is most of the way to being certain.
func TestNoEffectIsNotUncertainty(t *testing.T) {
	for _, c := range []struct {
		effect, sd, share float64
		want              string
	}{
		{17.3, 9.0, 2, ReadingUnsure}, // 1.9 of its sd
		{8.9, 9.0, 2, ReadingNone},
		{8.9, 9.0, 0.5, ReadingUnsure}, // a short lengthscale leaves room for one
		{18.1, 9.0, 2, ReadingCurve},
		{18.1, 9.0, 4, ReadingTrend},
	} {
		q := Parameter{Effect: &c.effect, EffectSD: &c.sd, Share: c.share}
		if got := q.read(0.01, false); got != c.want {
			t.Errorf("%v ± %v at a lengthscale of %v ranges: %s, want %s", c.effect, c.sd, c.share, got, c.want)
		}
	}
}
