package campaign_test

import (
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
)

// Law: the latest sign of life counts. One that does not say how far the command is leaves the
// earlier word on that; a promise lapses with the next sign; a handle stays until another comes.
func TestSigns(t *testing.T) {
	f := begin(t)
	f.must(request(1), &events.ExperimentDispatched{Experiment: "e1", Command: "c/e1", Instrument: "robot"})
	says := func(sign events.Sign) {
		f.must(&events.InstrumentSignalled{Experiment: "e1", Command: "c/e1", Instrument: "robot", Sign: sign})
	}
	for _, c := range []struct {
		says         events.Sign
		text, handle string
		longer       time.Duration
	}{
		{events.Sign{Text: "cycle 1", Fraction: ptr(0.5), NextBy: 3600}, "cycle 1", "", 50 * time.Minute},
		{events.Sign{Handle: "run 7"}, "cycle 1", "run 7", 0},
		{events.Sign{Text: "cycle 2"}, "cycle 2", "run 7", 0},
		{events.Sign{Handle: "run 8", NextBy: 5}, "cycle 2", "run 8", 0},
	} {
		says(c.says)
		got := f.State().Experiment("e1").Command
		since, longer := got.Silence(10 * time.Minute)
		if got.Sign.Text != c.text || got.Handle != c.handle || longer != c.longer || !since.Equal(got.Sign.At) {
			t.Errorf("after %+v: %+v, %q, longer by %v", c.says, got.Sign, got.Handle, longer)
		}
	}
}
