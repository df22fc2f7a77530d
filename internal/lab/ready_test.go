package lab_test

import (
	"strings"
	"testing"
)

// Law: a lab is ready while it is open, and says that it is about to end from its closing
// on, whatever its stores are.
func TestReady(t *testing.T) {
	private(t)
	l := open(t, t.TempDir())
	define(t, l, byHand)
	if err := l.Ready(); err != nil {
		t.Errorf("an open lab: %v", err)
	}
	l.Close()
	if err := l.Ready(); err == nil || !strings.Contains(err.Error(), "about to end") {
		t.Errorf("a lab that was closed: %v", err)
	}
}
