package format

import "testing"

// Law: the nearest name is the one with the fewest changes, and none where more than a third would have to change.
func TestNearest(t *testing.T) {
	names := []string{"viscosity", "conductivity", "pH", "a", "ab"}
	for name, want := range map[string]string{
		"conductivty": "conductivity", "Conductivity": "conductivity", "vicsosity": "viscosity", "ph": "pH",
		"density": "", "b": "", "nope": "", "": "", "A": "a",
	} {
		if near, ok := Nearest(name, names); near != want || ok != (want != "") {
			t.Errorf("%q is nearest to %q, want %q", name, near, want)
		}
	}
	if n := edits([]rune("abcd"), []rune("bacde")); n != 2 {
		t.Errorf("%d changes", n)
	}
}
