package report

import (
	"testing"

	"github.com/campaignd/campaignd/events"
)

// Law: the report has words for every form of question.
func TestEveryFormHasWords(t *testing.T) {
	for _, form := range events.Forms() {
		if w := formWords[form]; w.action == "" || w.asks == "" || w.given == "" {
			t.Errorf("there are no words for a %s: %+v", form, w)
		}
	}
}
