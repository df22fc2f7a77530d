package must_test

import (
	"errors"
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
