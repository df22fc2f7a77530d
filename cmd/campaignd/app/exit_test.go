package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/input"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: every code has the exit code that `campaignd --help` documents for it.
func TestExitCodeOfEveryCode(t *testing.T) {
	want := map[problem.Code]int{
		problem.NotPossible: 1, problem.NotFound: 1, problem.Conflict: 1, problem.NotNow: 1, problem.Gone: 1, problem.Internal: 1,
		problem.Unauthenticated: 1, problem.Forbidden: 1, problem.TooMany: 1,
		problem.Invalid:    2,
		problem.NoCampaign: 3, problem.Unavailable: 3, problem.Uncertain: 3, problem.Damaged: 3, problem.Unsupported: 3,
		problem.Interrupted: 4,
	}
	docs := must.Get(os.ReadFile("../../../docs/operations.md"))(t)
	for _, code := range problem.Codes() {
		row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| `%s` \\| .* \\| %d \\| [0-9]+ \\|$", string(code), want[code]))
		if !row.Match(docs) {
			t.Errorf("docs/operations.md does not say that %s ends with %d", string(code), want[code])
		}
		if got := exitCode(problem.New(code, "no")); want[code] == 0 || got != want[code] {
			t.Errorf("%s ends with %d, want %d", string(code), got, want[code])
		}
	}
}

// Law: an error has the exit code of what is at the bottom of it.
func TestExitCodeOfErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errReported, 1},
		{fmt.Errorf("%wthere is not a model", errNo), 1},
		{errors.New("a fault of ours"), 1},
		{badInput("no such flag"), 2},
		{inputError{fs.ErrNotExist}, 2},
		{inputError{problem.New(problem.NotPossible, "who asks has no name")}, 2},
		{fmt.Errorf("read: %w", &yamltree.Error{}), 2},
		{&input.Error{}, 2},
		{fmt.Errorf("open x: %w", fs.ErrPermission), 2},
		{badStore("there is no store"), 3},
		{storeError{fs.ErrPermission}, 3},
		{fmt.Errorf("a: %w", events.ErrInUse), 3},
		{fmt.Errorf("a: %w", events.ErrDamaged), 3},
		{fmt.Errorf("a: %w", events.ErrUncertain), 3},
		{events.ErrNewerFormat, 3},
		{fmt.Errorf("a: %w", events.ErrEarlierFormat), 3},
		{events.ErrClosed, 3},
		{&events.UnknownKindError{}, 3},
		{fmt.Errorf("a: %w", events.ErrStopped), 3},
		{fmt.Errorf("%w: %q", engine.ErrNoCampaign, "x"), 3},
		{control.ErrNobody, 3},
		{fmt.Errorf("a: %w", errInterrupted), 4},
		{fmt.Errorf("fit: %w", context.Canceled), 4},
		{storeError{context.Canceled}, 4},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%v ends with %d, want %d", c.err, got, c.want)
		}
	}
}
