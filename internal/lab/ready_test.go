package lab_test

import (
	"strings"
	"testing"
)

// Law: a lab is ready while it is open, in no trouble while its stores are in none, and says that it is about to end from its closing
// on, whatever its stores are.
func TestReady(t *testing.T) {
	private(t)
	l := open(t, t.TempDir())
	define(t, l, byHand)
	if err := l.Ready(); err != nil {
		t.Errorf("an open lab: %v", err)
	}
	if stores, troubled := l.Health(); stores != 1 || troubled != 0 || len(l.Troubles()) > 0 {
		t.Errorf("of %d stores %d are in trouble: %q", stores, troubled, l.Troubles())
	}
	l.Close()
	if err := l.Ready(); err == nil || !strings.Contains(err.Error(), "about to end") {
		t.Errorf("a lab that was closed: %v", err)
	}
}
