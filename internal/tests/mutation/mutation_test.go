package main

import (
	"bytes"
	"go/importer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Law: each operator makes the changes that its name says, and no others.
func TestOperators(t *testing.T) {
	tests := []struct {
		name string
		code string   // the body of func f(a, b int, p, q bool, xs []int) (int, error)
		want []string // operator: the line that it makes of the first line of code
	}{
		{
			name: "comparison",
			code: `_ = a < b`,
			want: []string{"boundary: _ = a <= b", "negate: _ = a >= b"},
		},
		{
			name: "equality has no boundary",
			code: `_ = a == b`,
			want: []string{"negate: _ = a != b"},
		},
		{
			name: "logic",
			code: `_ = p && q`,
			want: []string{"logical: _ = p || q", "left: _ = p", "right: _ = q"},
		},
		{
			name: "condition that is not a comparison",
			code: `if p { return a, nil }`,
			want: []string{"negate: if !(p) { return a, nil }", "zero: if p { return 0, nil }"},
		},
		{
			name: "condition that is a comparison is negated once",
			code: `if a == b { return 0, nil }`,
			want: []string{"negate: if a != b { return 0, nil }", "constant: if a == b { return 1, nil }"},
		},
		{
			name: "else",
			code: `if p { a = b } else { b = a }`,
			want: []string{
				"negate: if !(p) { a = b } else { b = a }",
				"else: if p { a = b }",
				"statement: if p {  } else { b = a }",
				"statement: if p { a = b } else {  }",
			},
		},
		{
			name: "numbers",
			code: `_ = a * b`,
			want: []string{"arithmetic: _ = a / b"},
		},
		{
			name: "strings are not subtracted",
			code: `_ = "a" + string(rune(a))`,
		},
		{
			name: "assignments",
			code: `a += b`,
			want: []string{"arithmetic: a -= b", "statement:"},
		},
		{
			name: "steps",
			code: `a++`,
			want: []string{"arithmetic: a--", "statement:"},
		},
		{
			name: "constants",
			code: `_, _, _, _ = 0, 0x10, 0.0, 2.5`,
			want: []string{
				"constant: _, _, _, _ = 1, 0x10, 0.0, 2.5",
				"constant: _, _, _, _ = 0, 17, 0.0, 2.5",
				"constant: _, _, _, _ = 0, 0x10, 1.0, 2.5",
				"constant: _, _, _, _ = 0, 0x10, 0.0, (2 * 2.5)",
			},
		},
		{
			name: "truth",
			code: `_ = true`,
			want: []string{"bool: _ = false"},
		},
		{
			name: "bounds",
			code: `_ = xs[a:b]`,
			want: []string{"slice: _ = xs[a+1:b]", "slice: _ = xs[a:b-1]"},
		},
		{
			name: "loops",
			code: `for p { if q { break }; continue }`,
			want: []string{
				"negate: for p { if !(q) { break }; continue }",
				"loop: for p { if q { continue }; continue }",
				"loop: for p { if q { break }; break }",
			},
		},
		{
			name: "cases",
			code: `switch a { case b: panic(p) }`,
			want: []string{"case: switch a { case b:  }", "statement: switch a { case b:  }"},
		},
		{
			name: "calls",
			code: `clear(xs)`,
			want: []string{"statement:"},
		},
		{
			name: "results",
			code: `return a, errors.ErrUnsupported`,
			want: []string{"zero: return 0, errors.ErrUnsupported", "zero: return a, nil"},
		},
		{
			name: "the zero beside an error is not a value, and the text of an error no law",
			code: `return 0, fmt.Errorf("%d of %d", a+1, b)`,
			want: []string{"zero: return 0, nil"},
		},
		{
			name: "nor is another value beside an error that is made there",
			code: `return a, fmt.Errorf("%d of %d", a+1, b)`,
			want: []string{"zero: return a, nil"},
		},
		{
			name: "permissions",
			code: `_ = os.Mkdir("", 0o700)`,
		},
		{
			name: "times and capacities",
			code: `_, _ = 5*time.Second, make([]int, 1, 8+a)`,
			want: []string{"constant: _, _ = 5*time.Second, make([]int, 2, 8+a)"},
		},
		{
			name: "of an infinity only the sign counts",
			code: `_ = math.Inf(1)`,
			want: []string{"constant: _ = math.Inf((-1))"},
		},
		{
			name: "versions",
			code: `type row struct { kind, version int }; _ = row{a, 1}`,
		},
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "source", nil)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			code := `package p

import ("errors"; "fmt"; "math"; "os"; "time")

var _, _, _, _, _ = errors.New, fmt.Errorf, math.Pi, os.Open, time.Now

func f(a, b int, p, q bool, xs []int) (int, error) {
` + test.code + `
panic(p)
}
`
			if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			one := listed{ImportPath: "p", Name: "p", Dir: dir, GoFiles: []string{"p.go"}}
			s, err := parse(fset, imports, dir, one)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range candidates(s) {
				if m.site == "panic(p)" && m.operator == opStatement && m.source.line(m.from) == 9 {
					continue // the end of every f
				}
				line := strings.Split(m.apply(0, len(m.source.text)), "\n")[7]
				got = append(got, strings.TrimSpace(m.operator+": "+strings.TrimSpace(line)))
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

const fixture = "testdata/fixture"

func fixtureMutants(t *testing.T) []*mutant {
	t.Helper()
	root, err := filepath.Abs(fixture)
	if err != nil {
		t.Fatal(err)
	}
	_, subjects, err := load(t.Context(), root, nil, []string{"./calc"})
	if err != nil {
		t.Fatal(err)
	}
	return candidates(subjects[0])
}

func keys(mutants []*mutant) []string {
	var all []string
	for _, m := range mutants {
		all = append(all, m.key())
	}
	return all
}

// Law: a sample is a function of the seed; a longer one begins with the
// shorter, and a mutant listed as equivalent leaves the others as they are.
func TestDraw(t *testing.T) {
	all := fixtureMutants(t)
	sample := func(n int, seed uint64, equivalent map[string]*entry) []string {
		drawn, _, _, err := draw(all, n, seed, equivalent)
		if err != nil {
			t.Fatal(err)
		}
		return keys(drawn)
	}
	ten := sample(10, 1, nil)
	if len(ten) != 10 {
		t.Fatalf("drew %d mutants, not 10", len(ten))
	}
	if again := sample(10, 1, nil); !slices.Equal(ten, again) {
		t.Errorf("seed 1 gave\n%q\nand then\n%q", ten, again)
	}
	if other := sample(10, 2, nil); slices.Equal(ten, other) {
		t.Errorf("seeds 1 and 2 gave the same sample")
	}
	if five := sample(5, 1, nil); !slices.Equal(ten[:5], five) {
		t.Errorf("5 mutants are %q, of 10 the first are %q", five, ten[:5])
	}
	without := sample(9, 1, map[string]*entry{ten[3]: {}})
	if want := slices.Delete(slices.Clone(ten), 3, 4); !slices.Equal(without, want) {
		t.Errorf("without the fourth the sample is %q, not %q", without, want)
	}
}

// Law: what is drawn compiles, and every key names one mutant.
func TestDrawnCompile(t *testing.T) {
	all := fixtureMutants(t)
	drawn, _, invalid, err := draw(all, len(all), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(drawn)+invalid != len(all) {
		t.Errorf("%d compile and %d do not, of %d", len(drawn), invalid, len(all))
	}
	for _, m := range drawn {
		text := []byte(m.apply(0, len(m.source.text)))
		faults, err := m.subject.faults(map[string][]byte{m.source.path: text})
		if err != nil || len(faults) > 0 {
			t.Errorf("%s does not compile: %v %v", m.key(), err, faults)
		}
	}
	named := keys(all)
	slices.Sort(named)
	if len(slices.Compact(named)) != len(all) {
		t.Error("two mutants have one key")
	}
}

// Law: each mutant of the fixture has the fate that its function's comment
// says, wherever its tests are; what is listed as equivalent is not judged,
// and an entry that matches nothing is reported; a test that fails without a
// mutant too kills none; nothing is written in the module. A second run judges
// the same from the kept recordings.
func TestRun(t *testing.T) {
	root, err := filepath.Abs(fixture)
	if err != nil {
		t.Fatal(err)
	}
	before := tree(t, root)
	o := fixtureOptions(t, root)
	o.defenders = []defender{{folder: "user"}}
	var progress bytes.Buffer
	r, err := run(t.Context(), o, &progress)
	if err != nil {
		t.Fatal(err)
	}
	judged := make(map[string]int)
	for _, v := range r.verdicts {
		judged[v.function]++
		want, by := killed, "calc "
		switch v.function {
		case "Unnoticed":
			want, by = survived, ""
		case "Forgotten":
			want, by = unreached, ""
		case "Double", "Child":
			by = "user "
		case "Sum":
			if v.site == "n--" {
				want = ended
			}
		}
		if v.fate != want || !strings.HasPrefix(v.by, by) {
			t.Errorf("fate %d by %q, not %d by %q: %s", v.fate, v.by, want, by, v)
		}
	}
	functions := []string{
		"const Limit", "Clamp", "Sum", "Double", "Child", "Unnoticed", "Forgotten", "(counter).Of", "Pick",
	}
	for _, name := range functions {
		if judged[name] == 0 {
			t.Errorf("no mutant of %s was judged", name)
		}
	}
	listed := keys(r.equivalent)
	slices.Sort(listed)
	want := []string{"calc/calc.go: Clamp: boundary: x > Limit", "calc/calc.go: Sum: boundary: n > 0"}
	if !slices.Equal(listed, want) {
		t.Errorf("equivalent are %q, not %q", listed, want)
	}
	if want := []string{"calc/calc.go: Gone: boundary: x > y"}; !slices.Equal(r.stale, want) {
		t.Errorf("stale are %q, not %q", r.stale, want)
	}
	if len(r.unsound) != 1 || !strings.HasPrefix(r.unsound[0], "calc TestUnsound\n") {
		t.Errorf("failed without a mutant: %q, not only TestUnsound", r.unsound)
	}
	if after := tree(t, root); after != before {
		t.Errorf("the module was\n%s\nand is\n%s", before, after)
	}

	var text bytes.Buffer
	report(&text, r)
	for _, want := range []string{
		"survivor calc/calc.go:32 arithmetic in Unnoticed: 1 of the 2 tests that reach it were asked\n" +
			"  - func Unnoticed(x int) int { return x - 1 }\n" +
			"  + func Unnoticed(x int) int { return x + 1 }\n" +
			"  key: calc/calc.go: Unnoticed: arithmetic: x - 1\n",
		"At the limit both branches return the limit.",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks\n%s\nit is\n%s", want, text.String())
		}
	}

	o.only = []string{"calc/calc.go:26"}
	progress.Reset()
	again, err := run(t.Context(), o, &progress)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.verdicts) != judged["Double"] {
		t.Errorf("-only judged %d mutants, not %d", len(again.verdicts), judged["Double"])
	}
	if strings.Contains(progress.String(), "recorded") {
		t.Errorf("what was recorded is recorded again:\n%s", progress.String())
	}
}

// fixtureOptions ask for all mutants of the fixture.
func fixtureOptions(t *testing.T, root string) options {
	return options{
		root:       root,
		packages:   []string{"./calc"},
		n:          1000,
		seed:       1,
		jobs:       2,
		equivalent: "equivalent.txt",
		cache:      t.TempDir(),
		floor:      2 * time.Second,
	}
}

// Law: the sound parts of a test defend where another part fails without a
// mutant, and what failed is recorded anew in the next run.
func TestFailingParts(t *testing.T) {
	root, err := filepath.Abs(fixture)
	if err != nil {
		t.Fatal(err)
	}
	o := fixtureOptions(t, root)
	o.defenders = []defender{{folder: "broken"}}
	o.only = []string{"calc/calc.go:26"}
	for range 2 {
		var progress bytes.Buffer
		r, err := run(t.Context(), o, &progress)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range r.verdicts {
			if v.fate != killed || v.by != "broken TestParts/good" {
				t.Errorf("not killed by the sound part: %s", v)
			}
		}
		if len(r.verdicts) == 0 {
			t.Error("no mutant was judged")
		}
		if len(r.unsound) != 1 || !strings.HasPrefix(r.unsound[0], "broken TestParts/bad\n") {
			t.Errorf("failed without a mutant: %q, not TestParts/bad", r.unsound)
		}
		if !strings.Contains(progress.String(), "recorded broken") {
			t.Errorf("a failure was kept: %s", progress.String())
		}
	}
}

// tree lists the files of a folder with their contents.
func tree(t *testing.T, root string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.WriteString(path + "\n" + string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// Law: the list of equivalents is read strictly: a reason belongs to each
// mutant, and a mutant is listed once.
func TestReadEquivalent(t *testing.T) {
	for name, text := range map[string]string{
		"no reason":  "a.go: F: bool: true\n",
		"no mutant":  "\tbecause\n",
		"two of one": "a.go: F: bool: true\n\twhy\na.go: F: bool: true\n\twhy\n",
	} {
		path := filepath.Join(t.TempDir(), "equivalent.txt")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readEquivalent(path); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Law: the tables name folders that are there. (A run says so too, but runs
// are rare.)
func TestTables(t *testing.T) {
	for _, pattern := range usual {
		if _, err := os.Stat(filepath.Join("../../..", strings.TrimSuffix(pattern, "/..."))); err != nil {
			t.Errorf("usual: %v", err)
		}
	}
	for _, d := range defenders {
		if _, err := os.Stat(filepath.Join("../../..", d.folder)); err != nil {
			t.Errorf("defenders: %v", err)
		}
		if d.why == "" {
			t.Errorf("defenders: %s without a reason", d.folder)
		}
	}
}
