package yamltree

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/google/go-cmp/cmp"
)

var tests = Format{Name: "a test", Subject: "test", Begin: "begin with a:"}

// read returns the tree of a text without faults.
func read(t *testing.T, text string) *Node {
	t.Helper()
	root, faults := Read([]byte(text), tests)
	if len(faults) > 0 {
		t.Fatalf("%s\n%v", text, faults)
	}
	return root
}

// Law: what a scalar means depends on nothing but how it is written. These are the rules.
func TestTyping(t *testing.T) {
	number := func(s string) json.Number { return json.Number(s) }
	for _, c := range []struct {
		written string
		want    any
		fault   string // instead
	}{
		// Numbers are decimal, with or without a point and an exponent, or name their base.
		{"1", number("1"), ""},
		{"-1", number("-1"), ""},
		{"+1", number("1"), ""},
		{"0x1F", number("31"), ""},
		{"0o17", number("15"), ""},
		{"0b11", number("3"), ""},
		{"1.5", number("1.5"), ""},
		{"1.", number("1"), ""},
		{"-.5", number("-0.5"), ""},
		{"1e3", number("1000"), ""},
		{"1E+3", number("1000"), ""},
		{"1e-3", number("0.001"), ""},
		{".5e3", number("500"), ""},
		{"1e6", number("1000000"), ""},
		{"25.0", number("25"), ""},
		{"1e21", number("1e+21"), ""},
		{"1e-400", number("0"), ""},
		// Whole numbers keep all their digits, whatever can hold them.
		{"18446744073709551615", number("18446744073709551615"), ""},
		{"99999999999999999999", number("99999999999999999999"), ""},
		{"-99999999999999999999", number("-99999999999999999999"), ""},
		// What no float64 holds is not a number.
		{"1e400", nil, "1e400 is too large a number"},
		{"-1.5e400", nil, "-1.5e400 is too large a number"},
		{strings.Repeat("9", 400), nil, "is too large a number"},
		{".inf", nil, ".inf is not a finite number; where there is no limit, leave the key out"},
		{"-.INF", nil, "-.INF is not a finite number"},
		{".nan", nil, ".nan is not a finite number"},
		// A leading zero is ambiguous: 8 in YAML 1.1, 10 in YAML 1.2, and often a name.
		{"010", nil, `010 may be a number or a name; write 10 for the number, "010" in quotes for the name`},
		{"-08", nil, `write -8 for the number`},
		{"00", nil, `write 0 for the number`},
		{"0", number("0"), ""},
		{"0.5", number("0.5"), ""},
		// So is what stands between digits: 1000 in YAML 1.1, and mostly a slip for 12.5 in 12_5.
		{"1_000", nil, `1_000 may be a number or a name; write 1000 if that is the number, "1_000" in quotes for the name`},
		{"12_5", nil, `write 125 if that is the number`},
		{"1_2.5", nil, `write 12.5 if that is the number`},
		{"'12_5'", "12_5", ""},
		// Truth and emptiness.
		{"true", true, ""},
		{"True", true, ""},
		{"FALSE", false, ""},
		{"null", nil, ""},
		{"~", nil, ""},
		{"", nil, ""},
		// In quotes everything is text.
		{`"1"`, "1", ""},
		{"'1e3'", "1e3", ""},
		{"'1e400'", "1e400", ""},
		{"'010'", "010", ""},
		{"'true'", "true", ""},
		{"'null'", "null", ""},
		{"|\n  1\n", "1\n", ""},
		// All else is text: YAML 1.1's booleans, dates, times, a comma, other spellings.
		{"yes", "yes", ""},
		{"no", "no", ""},
		{"on", "on", ""},
		{"Off", "Off", ""},
		{"y", "y", ""},
		{"2026-01-01", "2026-01-01", ""},
		{"2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z", ""},
		{"12:30", "12:30", ""},
		{"0,15", "0,15", ""},
		{"1.2.3", "1.2.3", ""},
		{"15m", "15m", ""},
		{"NaN", "NaN", ""},
		{"infinity", "infinity", ""},
		// Tags would say otherwise.
		{"!!str 1", nil, "tags (!!str) are not used here; remove the tag"},
		// Text that rewrites a terminal or turns text around.
		{`"\e[2J"`, nil, "the text holds a character that cannot be seen, U+001B"},
		{"\"\u202egnp.exe\"", nil, "U+202E (it turns text around); remove it"},
		{"\"a\\tb\"", "a\tb", ""},
	} {
		root, faults := Read([]byte("a: "+c.written+"\n"), tests)
		a := root.Field("a")
		if c.fault == "" && (len(faults) > 0 || !cmp.Equal(a.Plain(), c.want)) {
			t.Errorf("%s: %#v, %v, want %#v", c.written, a.Plain(), faults, c.want)
		}
		if c.fault != "" && (len(faults) != 1 || !strings.Contains(faults[0].String(), c.fault) || faults[0].Place != Place{1, 4} || !a.Faulty) {
			t.Errorf("%s: %v, want %s", c.written, faults, c.fault)
		}
	}
}

// Law: a key is text as it is written.
func TestKeys(t *testing.T) {
	root := read(t, "b: 1\n'a': 2\n3: 4\ntrue: 5\n1e3: 6\n")
	if got, want := root.Keys(), []string{"b", "a", "3", "true", "1e3"}; !cmp.Equal(got, want) {
		t.Errorf("keys %q, want %q in the order of the file", got, want)
	}
}

// Law: every node knows where it stands. What an alias or a merge brings stands at the
// alias; what is empty, at its key.
func TestPlaces(t *testing.T) {
	root := read(t, `a: &a {x: 1, y: [2, 3]}
b: *a
c:
  <<: *a
  x: 4
d:
e:
  - f: 5
    g: 6
`)
	for _, c := range []struct {
		path       Path
		value, key Place
	}{
		{Path{"a"}, Place{1, 7}, Place{1, 1}},
		{Path{"a", "y", 1}, Place{1, 21}, Place{}},
		{Path{"b"}, Place{2, 4}, Place{2, 1}},
		{Path{"b", "y", 1}, Place{2, 4}, Place{}},
		{Path{"b", "y"}, Place{2, 4}, Place{2, 4}},
		{Path{"c", "x"}, Place{5, 6}, Place{5, 3}},
		{Path{"c", "y"}, Place{4, 7}, Place{4, 7}},
		{Path{"d"}, Place{6, 1}, Place{6, 1}},
		{Path{"e", 0}, Place{8, 5}, Place{}},
		{Path{"e", 0, "g"}, Place{9, 8}, Place{9, 5}},
	} {
		n, rest := root.Find(c.path)
		if len(rest) > 0 || !cmp.Equal(n.Path, c.path) || n.Place != c.value || n.Key != c.key {
			t.Errorf("%v: path %v, %v, key %v, rest %v", c.path, n.Path, n.Place, n.Key, rest)
		}
	}
	want := `{"a":{"x":1,"y":[2,3]},"b":{"x":1,"y":[2,3]},"c":{"x":4,"y":[2,3]},"d":null,"e":[{"f":5,"g":6}]}`
	if got, err := json.Marshal(root.Plain()); err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

// Law: an alias stands for what its anchor was when the alias was written; of several
// merges the first holds, and a mapping's own keys before all.
func TestAliases(t *testing.T) {
	for text, want := range map[string]string{
		"p: &x 1\nq: &y [*x]\nr: &x 2\ns: *y\nt: *x":                        `{"p":1,"q":[1],"r":2,"s":[1],"t":2}`,
		"p: &x {a: 1, b: 1}\nq: &y {b: 2, c: 2}\nr: {<<: *x, <<: *y, a: 0}": `{"p":{"a":1,"b":1},"q":{"b":2,"c":2},"r":{"a":0,"b":1,"c":2}}`,
	} {
		got, err := json.Marshal(read(t, text).Plain())
		if err != nil || string(got) != want {
			t.Errorf("%s\n%s, want %s", text, got, want)
		}
	}
}

// Law: every fault of a file is reported once, at its place, and what is beside it is read.
func TestFaults(t *testing.T) {
	nested := "a0: &a0 [" + strings.Repeat("[", 90) + strings.Repeat("]", 90) + "]\n"
	nested += "a1: " + strings.Repeat("[", 90) + "*a0" + strings.Repeat("]", 90) + "\n"
	for text, want := range map[string][]string{
		"":                 {"0:0 the file is empty; begin with a:"},
		"# nothing":        {"0:0 the file is empty; begin with a:"},
		"- a":              {"1:1 a test is a mapping (key: value), and this is a list; begin with a:"},
		"7":                {"1:1 a test is a mapping (key: value), and this is a number; begin with a:"},
		"a: 1\n---\na: 2":  {"3:1 the file holds more than one document; describe one test in one file, without further --- lines"},
		"a: [1":            {"1:4 this is not YAML: sequence end token ']' not found"},
		"a:\n\tb: 1":       {"2:1 this is not YAML: a tab stands where the line is indented; indent with spaces"},
		"a: 1\nb: 2\na: 3": {`3:1 a: the key "a" stands here twice; it is on line 1 already; keep one of them`},
		"a: *x\nb: .inf": {"1:4 a: there is no anchor &x before this alias",
			"2:4 b: .inf is not a finite number; where there is no limit, leave the key out"},
		"a: &a [1, *a]":              {"1:11 a[1]: the alias *a stands inside its own anchor"},
		"a: &a {<<: *a, b: 1}":       {"1:12 a: the alias *a stands inside its own anchor"},
		"a: &a [.nan]\nb: *a\nc: *a": {"1:8 a[0]: .nan is not a finite number; where there is no limit, leave the key out"},
		"a: {<<: 1}":                 {"1:5 a: << needs the alias of a mapping"},
		"\"\\u0007\": 1":             {"1:1 \a: the key holds a character that cannot be seen, U+0007 (a control character); remove it"},
		nested:                       {"2:95 a1" + strings.Repeat("[0]", 100) + ": lists and mappings lie more than 100 deep in each other once aliases are written out; write less of it with aliases"},
	} {
		_, faults := Read([]byte(text), tests)
		var got []string
		for _, f := range faults {
			got = append(got, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.60q (-want +got):\n%s", text, diff)
		}
	}
}

// Law: depth is counted as a person sees it: what stands beside each other is not deep.
func TestDeepEnough(t *testing.T) {
	deep := func(n int) string { return "a: " + strings.Repeat("[", n) + strings.Repeat("]", n) }
	for text, ok := range map[string]bool{
		deep(99):  true,
		deep(101): false,
		strings.Repeat("a:\n- b: 1\n  c:\n  - d\n- e\n", 500):                               true,
		strings.Repeat("- {a: [1, 2], b: {c: 1}}\n", 500):                                   true,
		strings.Repeat("- a: &x 1\n  b: *x\n", 500):                                         true,
		strings.Repeat("---\na: 1\n", 500):                                                  true,
		"a: |\n" + strings.Repeat("  - [[[ text: in: a: block\n", 500) + "b: 1\n":           true,
		"a: \"" + strings.Repeat("[{- ", 500) + "\"\nb: '" + strings.Repeat("[", 500) + "'": true,
		strings.Repeat("# [[[[[[ : - - -\n", 500) + "a: 1":                                  true,
	} {
		if f := outOfBounds([]byte(text)); (f == nil) != ok {
			t.Errorf("%.40q: %v", text, f)
		}
	}
}

// Law: a file beyond the bounds is refused before it is parsed, with one fault.
func TestBounds(t *testing.T) {
	keys := ""
	for i := range 2001 {
		keys += fmt.Sprintf("k%d: 1\n", i)
	}
	for want, text := range map[string]string{
		"more than 4 MiB":          "a: \"" + strings.Repeat("x", 4<<20) + "\"",
		"the file is too long":     "a: [" + strings.Repeat("x,", 200_000) + "x]",
		"more than 2000 keys":      keys,
		"this key has 201 bytes":   "a: {" + strings.Repeat("k", 201) + ": 1}",
		"this key has 300000":      strings.Repeat("k", 300_000) + ": 1",
		"this key has 400":         "? '" + strings.Repeat("k", 400) + "'\n: 1",
		"more than 100 deep":       "a: " + strings.Repeat("!x ", 101) + "y",
		"more than 100 deep in":    "a: " + strings.Repeat("&x ", 101) + "y",
		"aliases are written out;": "a: &a [" + strings.Repeat("x,", 99) + "x]\nb: [" + strings.Repeat("*a,", 2000) + "x]",
	} {
		root, faults := Read([]byte(text), tests)
		if root != nil || len(faults) != 1 || !strings.Contains(faults[0].String(), want) {
			t.Errorf("%.20q: %v, want %s", text, faults, want)
		}
	}
}

// Law: an error lists the faults in the order of the file, each once, with the part of the
// line around it, and nothing in it rewrites a terminal.
func TestError(t *testing.T) {
	text := "a: 1\r\nb: \x1b[2J\r\n" + strings.Repeat("x", 200) + "Y" + strings.Repeat("z", 200) + "\n"
	faults := []Fault{
		{Place: Place{3, 201}, Path: Path{"c"}, Message: "far right"},
		{Place: Place{2, 4}, Path: Path{"b\x1b", 1, "c"}, Message: "odd\x1b", Remedy: "write\notherwise"},
		{Place: Place{2, 4}, Path: Path{"b\x1b", 1, "c"}, Message: "odd\x1b", Remedy: "write\notherwise"},
		{Place: Place{3, 400}, Message: "at the end"},
		{Place: Place{9, 1}, Message: "beyond the end"},
		{Message: "of the whole"},
	}
	got := NewError("f.yaml", []byte(text), "nothing was done", faults).Error()
	want := `f.yaml: of the whole
f.yaml:2:4: b\u001b[1].c: odd\u001b
    2 | b: \u001b[2J
      |    ^
      = write otherwise
f.yaml:3:201: c: far right
    3 | …` + strings.Repeat("x", 80) + "Y" + strings.Repeat("z", 79) + `…
      | ` + strings.Repeat(" ", 81) + `^
f.yaml:3:400: at the end
    3 | …` + strings.Repeat("z", 160) + `
      | ` + strings.Repeat(" ", 159) + `^
f.yaml:9:1: beyond the end
5 faults; nothing was done`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var many []Fault
	for i := range 60 {
		many = append(many, Fault{Place: Place{1, 1}, Message: fmt.Sprint("fault ", i)})
	}
	got = NewError("f.yaml", []byte(text), "nothing was done", many).Error()
	if strings.Count(got, ": fault") != 50 || !strings.HasSuffix(got, "and 10 more\n60 faults; nothing was done") {
		t.Errorf("%s", got)
	}
}

// Law: what a file says, and where, does not depend on what ends its lines.
func TestLineBreaks(t *testing.T) {
	lines := []string{"a: 'one", "  text'", "# x", "", "b: .inf", ""}
	for _, end := range []string{"\n", "\r\n", "\r"} {
		text := strings.Join(lines, end)
		root, faults := Read([]byte(text), tests)
		if got := root.Field("a").Value; got != "one text" {
			t.Errorf("%q: a is %q", end, got)
		}
		got := NewError("f.yaml", []byte(text), "nothing was done", faults).Error()
		if want := "f.yaml:5:4: b: .inf is not a finite number\n    5 | b: .inf\n      |    ^\n"; !strings.HasPrefix(got, want) {
			t.Errorf("%q:\n%s\nwant %s", end, got, want)
		}
	}
}

// Law: trees are composed without changing those they are composed of, and a node in the
// new tree is still found where it was written.
func TestComposition(t *testing.T) {
	a := read(t, "policy: {next: lcb, seen: 1}\nlist: [1, 2]\n")
	before, _ := json.Marshal(a.Plain())
	made := must.Get(FromValue(map[string]any{"budget": map[string]int{"experiments": 3}}))(t)
	policy := a.Field("policy").With("next", Text("logei")).Without("seen")
	doc := made.With("policy", policy).With("list",
		a.Field("list").WithItems(a.Field("list").Items[1:])).With("n", Int(7))
	after, _ := json.Marshal(a.Plain())
	got, _ := json.Marshal(doc.Plain())
	if want := `{"budget":{"experiments":3},"list":[2],"n":7,"policy":{"next":"logei"}}`; string(got) != want ||
		string(before) != string(after) {
		t.Errorf("%s, want %s; %s became %s", got, want, before, after)
	}
	if got, want := doc.Keys(), []string{"budget", "policy", "list", "n"}; !cmp.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
	three := read(t, "a: 1\nb: 2\nc: 3")
	x, y := three.With("x", Int(1)), three.With("y", Int(1))
	if !cmp.Equal(x.Keys(), []string{"a", "b", "c", "x"}) || !cmp.Equal(y.Keys(), []string{"a", "b", "c", "y"}) {
		t.Errorf("keys %v and %v", x.Keys(), y.Keys())
	}
	for _, c := range []struct {
		path  Path
		place Place
		rest  int
	}{
		{Path{"policy", "next"}, Place{1, 9}, 1},
		{Path{"list", 0}, Place{2, 11}, 0},
		{Path{"list", 5}, Place{2, 7}, 1},
	} {
		n, rest := doc.Written(c.path)
		if n.Place != c.place || len(rest) != c.rest {
			t.Errorf("%v is written at %v, rest %v", c.path, n.Place, rest)
		}
	}
	if n, _ := doc.Written(Path{"budget", "experiments"}); n != nil {
		t.Errorf("the budget was written at %v", n.Place)
	}
}

// Law: no input makes the reader or the decoder panic, or never answer; every fault has words and a place in
// the file; its message is safe to print; and what was read without a fault is JSON.
func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"../../../examples/*.yaml", "../../../examples/studies/*.yaml",
		"../campaignfile/testdata/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal(pattern, err)
		}
		for _, file := range files {
			data := must.Get(os.ReadFile(file))(f)
			f.Add(data)
		}
	}
	for _, data := range draws.LongKeys() {
		f.Add(data)
	}
	f.Add([]byte("a: &a [*a, *a]\nb: &b {<<: *b}\nc: !!binary x\n? [d, e]\n: 1e400"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var root *Node
		var faults []Fault
		draws.Answers(t, func() { root, faults = Read(data, tests) })
		if root == nil && len(faults) == 0 {
			t.Fatal("neither a tree nor a fault")
		}
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 1
		for _, fault := range faults {
			if fault.Message == "" || fault.Line < 0 || fault.Line > lines+1 {
				t.Errorf("%+v in %d lines", fault, lines)
			}
		}
		text := NewError("f.yaml", data, "nothing was done", faults).Error()
		if c, offset := plaintext.Find(text); offset >= 0 || !utf8.ValidString(text) {
			t.Errorf("%q holds %q", text, c)
		}
		if root == nil {
			return
		}
		if _, err := json.Marshal(root.Plain()); err != nil {
			t.Error(err)
		}
		var settings everything
		root.Decode(&settings)
	})
}
