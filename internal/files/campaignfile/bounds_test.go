package campaignfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/tests/must"
)

const soundRest = `
objective: {name: y, goal: maximize}
budget: {experiments: 5}
instrument: {manual: {}}
`

// parameters writes n parameters.
func parameters(n int) string {
	var b strings.Builder
	b.WriteString("name: many\nparameters:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: p%d, min: 0, max: 1}\n", i)
	}
	return b.String() + soundRest
}

// Law: however a file is made, reading it costs time and memory in proportion to what is
// sensible, and what is not sensible is said once, at its place.
func TestHostileFiles(t *testing.T) {
	indented := ""
	for i := range 2000 {
		indented += strings.Repeat(" ", i) + "a:\n"
	}
	keys := ""
	for i := range 5_000 {
		keys += fmt.Sprintf("k%d: 1\n", i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"brackets": {"name: " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
			"more than 100 deep"},
		"brackets, open": {"name: " + strings.Repeat("[", 100_000), "more than 100 deep"},
		"braces":         {strings.Repeat("{a: ", 20_000), "more than 100 deep"},
		"dashes":         {"name:\n" + strings.Repeat("- ", 50_000) + "x", "more than 100 deep"},
		"question marks": {strings.Repeat("? ", 50_000) + "x", "more than 100 deep"},
		"indented":       {indented, "more than 100 deep"},
		"tags":           {"a: " + strings.Repeat("!x ", 50_000) + "y", "more than 100 deep"},
		"anchors":        {"a: " + strings.Repeat("&a ", 50_000) + "y", "more than 100 deep"},
		"keys":           {keys, "more than 2000 keys"},
		"keys in braces": {"a: {" + strings.ReplaceAll(keys, "\n", ", ") + "}", "more than 2000 keys"},
		"merges":         {"a: &a {x: 1}\n" + strings.Repeat("<<: *a\n", 5_000), "more than 2000 keys"},
		"a long list":    {"name: [" + strings.Repeat("a,", 200_001) + "a]", "too long"},
		"aliases": {"a: &a [" + strings.Repeat("x,", 99) + "x]\nb: [" + strings.Repeat("*a,", 2500) + "x]",
			"aliases"},
		"large":            {"name: \"" + strings.Repeat("x", yamltree.MaxSize) + "\"", "more than 4 MiB"},
		"1001 parameters":  {parameters(1001), "1001 parameters are more than the 1000 that are possible"},
		"5,000 parameters": {parameters(5000), "5000 parameters are more than the 1000"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, err := Parse(builtin.Registry(), "hostile.yaml", []byte(c.text))
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		var faults *yamltree.Error
		if !errors.As(err, &faults) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.300v", name, err)
			continue
		}
		if faults.Faults[0].Line == 0 && name != "large" && name != "aliases" {
			t.Errorf("%s: a fault without a place: %v", name, faults.Faults[0])
		}
		if len(err.Error()) > 100_000 {
			t.Errorf("%s: the message has %d bytes", name, len(err.Error()))
		}
		if took > time.Minute || after.TotalAlloc-before.TotalAlloc > 3<<30 {
			t.Errorf("%s: %v, %d MiB", name, took, (after.TotalAlloc-before.TotalAlloc)>>20)
		}
	}
}

// Of many faults the first are written out, and how many there are.
func TestManyFaults(t *testing.T) {
	text := strings.ReplaceAll(parameters(600), "min: 0", "mim: 0")
	_, err := Parse(builtin.Registry(), "many.yaml", []byte(text))
	if err == nil || strings.Count(err.Error(), "unknown key") != 50 ||
		!strings.Contains(err.Error(), "and 550 more\n600 faults; nothing was changed") {
		t.Errorf("%.2000v", err)
	}
}

// Law: no text of a campaign file holds what rewrites a terminal or turns text around.
// It is refused at its place.
func TestUnprintable(t *testing.T) {
	for _, text := range []string{"a\\x1b]0;x\\a", "\\u202egnp.exe", "\\x9b2J", "\\x7f", "a\\rb", "\\u2066",
		"\\u200f", "\\0"} {
		for _, line := range []string{
			"name: n\ndescription: \"%s\"\n", "name: \"%s\"\n", "name: n\n\"%s\": 1\n",
			"name: n\nparameters: [{name: a, unit: \"%s\", min: 0, max: 1}]\n", "name: n\nparameters: [{name: a, categories: [{name: \"%s\"}, {name: x}]}]\n",
		} {
			_, err := Parse(builtin.Registry(), "bad.yaml", fmt.Appendf(nil, line, text))
			var faults *yamltree.Error
			if !errors.As(err, &faults) ||
				!strings.Contains(err.Error(),
					"a character that cannot be seen, U+") || !strings.Contains(err.Error(), "remove it") {
				t.Errorf("%q in %q: %v", text, line, err)
				continue
			}
			for _, f := range faults.Faults {
				if strings.Contains(f.Message, "cannot be seen") && (f.Line == 0 || f.Column == 0 || len(f.Path) == 0) {
					t.Errorf("a fault without its place: %+v", f)
				}
			}
		}
	}
	if _, err := Parse(builtin.Registry(), "good.yaml",
		[]byte("name: n\ndescription: |\n  two lines,\n  a\ttab, µ and 電解\nparameters: [{name: a, min: 0, max: 1}]\n"+soundRest)); err != nil {
		t.Error(err)
	}
}

// A table is a regular file.
func TestTablesAreFiles(t *testing.T) {
	dir := t.TempDir()
	for _, table := range []string{"/dev/zero", ".", "none.csv"} {
		path := filepath.Join(dir, "table.yaml")
		text := strings.Replace(parameters(2), "manual: {}", "table: {file: "+table+"}", 1)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := Read(builtin.Registry(), path); err == nil ||
			!strings.Contains(err.Error(), "instrument.table.file") {
			t.Errorf("%s: %v", table, err)
		}
	}
	for _, path := range []string{"/dev/zero", dir} {
		if _, err := Read(builtin.Registry(), path); err == nil {
			t.Errorf("%s was read", path)
		}
	}
}
