package console_test

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

var electrolyte = []definition.Parameter{
	{Name: "lipf6", Unit: "mol/kg"}, {Name: "ec"}, {Name: "salt",
		Categories: []definition.CategoryDef{{Name: "LiPF6"}, {Name: "Li TFSI"}}},
}

func TestComposition(t *testing.T) {
	text := console.Composition(format.NewCompositions([]definition.Parameter{
		{Name: "lipf6", Unit: "mol/kg"}, {Name: "κ", Description: "a pure number"}, {Name: "solvent"},
	}, nil), definition.Point{"lipf6": definition.Number(1.1), "κ": definition.Number(2), "solvent": definition.Category("EC")})
	want := []string{"lipf6    1.1 mol/kg", "κ        2  (a pure number)", "solvent  EC"}
	if got := text.Lines(80); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Options stand in columns, under each other where they are too many for the
// width, and what differs is marked.
func TestOptions(t *testing.T) {
	options := make([]events.Option, 3)
	for i := range options {
		options[i].Parameters = definition.Point{
			"lipf6": definition.Number(1.1 + float64(i%2)), "ec": definition.Number(0.36), "salt": definition.Category("LiPF6"),
		}
	}
	options[1].Prediction = &events.Prediction{Mean: 12.345, SD: 0.43, Unit: "mS/cm"}
	got := strings.Join(console.Options(format.NewCompositions(electrolyte, nil), options, func(i int) string { return "xyz"[i : i+1] }).Lines(45),
		"\n")
	want := strings.TrimPrefix(`
                     x      y
* lipf6 (mol/kg)     1.1    2.1
  ec                 0.36   0.36
  salt               LiPF6  LiPF6
  predicted (mS/cm)  ?      12.35 ± 0.43
                     z
* lipf6 (mol/kg)     1.1
  ec                 0.36
  salt               LiPF6
  predicted (mS/cm)  ?`, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A composition may be written by name, in any order and with units, or as
// values in order.
func TestParseComposition(t *testing.T) {
	want := definition.Point{"lipf6": definition.Number(1.2), "ec": definition.Number(0.36),
		"salt": definition.Category("Li TFSI")}
	for _, text := range []string{
		"lipf6=1.2 ec=0.36 salt=Li TFSI",
		"lipf6=1.2,ec=0.36,salt=Li TFSI",
		"salt = Li TFSI; ec = 3.6e-1; lipf6 = 1.2 mol/kg",
		"1.2, 0.36, Li TFSI",
	} {
		if got, err := console.ParseComposition(electrolyte, text); err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                                "lipf6, ec and salt are missing; write lipf6=… ec=… salt=…",
		"lipf6=1.2 ec=x":                  `ec: "x" is not a number; salt is missing`,
		"mostly lipf6=1.2 ec=1 salt=NaCl": `"mostly" belongs to no parameter; salt: "NaCl" is none of LiPF6, Li TFSI`,
		"lipf6=1.2 mol ec=1 salt=LiPF6":   `lipf6: "1.2 mol" is not a number`,
	} {
		if got, err := console.ParseComposition(electrolyte, text); err == nil ||
			!strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("%q: %v, %v, want %q", text, got, err, want)
		}
	}
}

// Lines are broken between words; a word that is too long has a line of its own.
func TestWrap(t *testing.T) {
	got := console.Wrap("µ is  the mean of\nsomethingverylong here", 9)
	if want := []string{"µ is the", "mean of", "somethingverylong", "here"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Law: what is too long for a line is broken below its beginning, within the
// width, and whole.
func TestPropertiesAreBroken(t *testing.T) {
	const said = "one of LiPF6 and LiTFSI and LiFSI and LiBOB, as the supplier has it"
	lines := console.Properties(
		[]definition.Parameter{{Name: "lipf6"}, {Name: "salt"}}, []string{"0.2 to 2.1", said}).Lines(40)
	if len(lines) < 3 || lines[0] != "lipf6  0.2 to 2.1" {
		t.Fatalf("it says %q", lines)
	}
	whole := ""
	for i, line := range lines[1:] {
		if len(line) > 40 {
			t.Errorf("a line of %d characters: %q", len(line), line)
		}
		rest, ok := strings.CutPrefix(line, []string{"salt   ", "       "}[min(i, 1)])
		if !ok {
			t.Errorf("line %d is %q", i+1, line)
		}
		whole += rest + " "
	}
	if strings.TrimSpace(whole) != said {
		t.Errorf("it says %q", whole)
	}
}
