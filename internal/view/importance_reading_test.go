package view

import (
	"testing"

	"github.com/campaignd/campaignd/internal/view/diagnose"
)

// Law: importance does not speak against itself: where something comes with a parameter whatever
// the model does not know, it is not said that no effect is seen of it.
func TestImportanceAgreesWithItself(t *testing.T) {
	for _, c := range []struct {
		total, low float64
		want       string
	}{
		{0.17, 0.11, diagnose.ReadingUnsure}, {0.17, 0.01, diagnose.ReadingNone}, {0.02, 0.01, diagnose.ReadingNone},
	} {
		e := Effect{Total: &c.total, Low: &c.low, Learned: &Learned{Reading: diagnose.ReadingNone}}
		if e.reconcile(); e.Learned.Reading != c.want {
			t.Errorf("%v, at least %v: %s, want %s", c.total, c.low, e.Learned.Reading, c.want)
		}
		alone := Effect{Total: &c.total, Learned: &Learned{Reading: diagnose.ReadingBends}}
		if alone.reconcile(); alone.Learned.Reading != diagnose.ReadingBends {
			t.Error("what is seen is taken back")
		}
	}
}
