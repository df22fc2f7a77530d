package must_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// ended notes what a test ended with, in place of ending.
type ended struct{ with []any }

func (e *ended) Helper()            {}
func (e *ended) Fatal(words ...any) { e.with = append(e.with, words...) }

// Law: a value is that of the call, and an error, of whatever call, ends the test.
func TestMust(t *testing.T) {
	for _, err := range []error{nil, errors.New("it fails")} {
		var x ended
		must.Do(&x, err)
		one := must.Get(1, err)(&x)
		two, three := must.Get2(2, "three", err)(&x)
		if one != 1 || two != 2 || three != "three" {
			t.Errorf("the values are %v, %v, %v", one, two, three)
		}
		if err == nil && x.with != nil || err != nil && (len(x.with) != 3 || x.with[0] != any(err)) {
			t.Errorf("%v: it ended with %v", err, x.with)
		}
	}
}

// Law: a sequence gives its values in their order, as far as they are wanted, and ends the test where
// one is an error.
func TestEach(t *testing.T) {
	broken := errors.New("it breaks off")
	all := func(yield func(int, error) bool) {
		_ = yield(1, nil) && yield(2, nil) && yield(0, broken)
	}
	var x ended
	var values []int
	for value := range must.Each(&x, all) {
		values = append(values, value)
	}
	if !slices.Equal(values, []int{1, 2, 0}) || len(x.with) != 1 || x.with[0] != any(broken) {
		t.Errorf("it gave %v and ended with %v", values, x.with)
	}
	for range must.Each(&x, all) {
		break
	}
	if len(x.with) != 1 {
		t.Errorf("it went on to the end: %v", x.with)
	}
}
