package notify

import (
	"strings"
	"testing"
	"time"
)

// Law: what two campaigns call alike are two things, and both are told.
func TestCampaignsAreToldApart(t *testing.T) {
	w := newWorld(t, "people: {ada: {notify: [\"ntfy://h/ada\"]}}\nalarms: [ada]\n", monday)
	w.happens("lose e1")
	w.happens("rye: lose e1")
	told := w.run(monday.Add(time.Minute), false, "", false)
	if !strings.Contains(told, "e1 of bread") || !strings.Contains(told, "e1 of rye") {
		t.Errorf("of two lost experiments ada is told\n%s", told)
	}
}
