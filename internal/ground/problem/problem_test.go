package problem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// declared returns the values of the constants that a file declares with a type.
func declared(t *testing.T, file, kind string) (values []string) {
	t.Helper()
	f := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t)
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if ident, ok := spec.Type.(*ast.Ident); !ok || ident.Name != kind {
			return true
		}
		for _, value := range spec.Values {
			if literal, ok := value.(*ast.BasicLit); ok {
				value := must.Get(strconv.Unquote(literal.Value))(t)
				values = append(values, value)
			}
		}
		return true
	})
	return values
}

// Law: the list of codes is whole, so that a table that is tested against it is
// whole too.
func TestCodesAreWhole(t *testing.T) {
	var listed []string
	for _, c := range Codes() {
		listed = append(listed, string(c))
	}
	want := declared(t, "problem.go", "Code")
	slices.Sort(listed)
	slices.Sort(want)
	if len(want) == 0 || !slices.Equal(listed, want) {
		t.Errorf("listed are %q, declared %q", listed, want)
	}
}

// Law: an error has the code of what it wraps; what nobody knows is internal.
func TestCodeOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Code
	}{
		{New(NotFound, "there is no experiment e9"), NotFound},
		{fmt.Errorf("row 3: %w", New(Conflict, "it is there already")), Conflict},
		{fmt.Errorf("%w: %q", NoCampaign, "x"), NoCampaign},
		{fmt.Errorf("store: %w: block 7", events.ErrDamaged), Damaged},
		{fmt.Errorf("%w: no room", events.ErrUncertain), Uncertain},
		{events.ErrInUse, Unavailable},
		{events.ErrClosed, Unavailable},
		{events.ErrNewerFormat, Unsupported},
		{events.ErrEarlierFormat, Unsupported},
		{&events.UnknownKindError{}, Unsupported},
		{fmt.Errorf("fit: %w", context.Canceled), Interrupted},
		{New(Unavailable, "%w", context.Canceled), Interrupted},
		{errors.New("the disk is on fire"), Internal},
		{&Error{Code: "of_next_year"}, Internal},
	} {
		if got := CodeOf(c.err); got != c.want {
			t.Errorf("%v is %s, want %s", c.err, got, c.want)
		}
	}
}

// Law: an error of our own is not taken for another one that has its code.
func TestSameCodeIsNotSameError(t *testing.T) {
	nobody := New(Unavailable, "no process serves the store")
	if errors.Is(nobody, events.ErrClosed) || errors.Is(nobody, New(Unavailable, "another")) {
		t.Error("it is taken for a log that was closed")
	}
	if !errors.Is(fmt.Errorf("x: %w", nobody), nobody) {
		t.Error("it is not itself any more")
	}
}

// Law: an error that travels as JSON arrives as what it was: its words, its code,
// its remedies, and what errors.Is says of it.
func TestTravel(t *testing.T) {
	wrong := New(NotNow, "the fate of %s is unknown", "e7").About("e7").
		With(Remedy{Text: "settle it", Action: Resolve, Subject: "e7"})
	const want = `{"code":"not_now","subject":"e7","detail":"row 2: the fate of e7 is unknown",` +
		`"remedies":[{"text":"settle it","action":"resolve","subject":"e7"}]}`
	text, err := json.Marshal(FromError(fmt.Errorf("row 2: %w", wrong)))
	if err != nil || string(text) != want {
		t.Fatalf("it travels as %s, %v", text, err)
	}
	for _, c := range []struct {
		sent  error
		is    []error
		isNot []error
	}{
		{wrong, []error{ErrInvalidRequest, NotNow}, []error{Conflict, events.ErrClosed}},
		{fmt.Errorf("%w: %q", NoCampaign, "x"), []error{NoCampaign}, []error{ErrInvalidRequest}},
		{fmt.Errorf("%w: block 7", events.ErrDamaged), []error{events.ErrDamaged, Damaged}, []error{events.ErrClosed}},
		{events.ErrUncertain, []error{events.ErrUncertain}, []error{events.ErrDamaged}},
		{events.ErrClosed, []error{events.ErrClosed}, []error{ErrInvalidRequest}},
		{context.Canceled, []error{context.Canceled}, []error{events.ErrClosed}},
		{errors.New("the disk is on fire"), []error{Internal}, []error{ErrInvalidRequest, events.ErrDamaged}},
	} {
		text := must.Get(json.Marshal(FromError(c.sent)))(t)
		received := new(Error)
		must.Do(t, json.Unmarshal(text, received))
		if received.Error() != c.sent.Error() {
			t.Errorf("%q arrived as %q", c.sent, received)
		}
		for _, target := range c.is {
			if !errors.Is(received, target) {
				t.Errorf("%v is no %v any more", received, target)
			}
		}
		for _, target := range c.isNot {
			if errors.Is(received, target) {
				t.Errorf("%v has become a %v", received, target)
			}
		}
	}
}
