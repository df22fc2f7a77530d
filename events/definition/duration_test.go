package definition

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"
)

// Law: a time is written with its unit, days and weeks too, and what the schema lets
// through is what is read.
func TestDuration(t *testing.T) {
	pattern := regexp.MustCompile(DurationPattern)
	for text, want := range map[string]time.Duration{
		"90s":   90 * time.Second,
		"1h30m": 90 * time.Minute,
		"14d":   336 * time.Hour,
		"1.5d":  36 * time.Hour,
		"2w":    336 * time.Hour,
		"1d12h": 36 * time.Hour,
	} {
		var d Duration
		if err := json.Unmarshal([]byte(`"`+text+`"`), &d); err != nil || time.Duration(d) != want || !pattern.MatchString(text) {
			t.Errorf("%s is %v (%v), want %v; matches the schema: %t", text, d, err, want, pattern.MatchString(text))
		}
	}
	for _, text := range []string{"", "14", "d", "2 days", "-3d", "1y", "1e3d", "99999999w"} {
		var d Duration
		if err := json.Unmarshal([]byte(`"`+text+`"`), &d); err == nil {
			t.Errorf("%q is read as %v", text, d)
		}
	}
}
