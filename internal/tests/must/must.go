// Package must ends a test where what it needs fails: a line in place of a branch for each error
// that a test has nothing else to say about.
package must

import "iter"

// TB is as much of a test as is needed: of package testing, or of a property.
type TB interface {
	Helper()
	Fatal(...any)
}

// Do ends the test where there is an error.
func Do(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns the value of a call, and ends the test where it failed: must.Get(os.ReadFile(path))(t).
func Get[T any](value T, err error) func(TB) T {
	return func(t TB) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Get2 is Get for a call with two values.
func Get2[T, U any](first T, second U, err error) func(TB) (T, U) {
	return func(t TB) (T, U) {
		t.Helper()
		Do(t, err)
		return first, second
	}
}

// Each gives what a sequence yields, and ends the test at its first error.
func Each[T any](t TB, all iter.Seq2[T, error]) iter.Seq[T] {
	return func(yield func(T) bool) {
		t.Helper()
		for value, err := range all {
			Do(t, err)
			if !yield(value) {
				return
			}
		}
	}
}
