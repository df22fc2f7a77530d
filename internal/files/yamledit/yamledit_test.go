package yamledit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// examples are real files, with comments and both styles of YAML.
func examples(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	all := make(map[string]string)
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		all[filepath.Base(file)] = string(text)
	}
	return all
}

// plainOf reads a file into maps and lists.
func plainOf(t *testing.T, source string) any {
	t.Helper()
	root, err := read(source)
	if err != nil {
		t.Fatalf("%v:\n%s", err, source)
	}
	return root.Plain()
}

// put is the oracle of a change: it sets a value in maps and lists; absent removes it.
func put(plain any, path []any, value any, absent bool) any {
	if len(path) == 0 {
		return value
	}
	if key, ok := path[0].(string); ok {
		m, _ := plain.(map[string]any)
		if m == nil {
			m = map[string]any{}
		}
		if len(path) == 1 && absent {
			delete(m, key)
		} else {
			m[key] = put(m[key], path[1:], value, absent)
		}
		return m
	}
	at := path[0].(int)
	list, _ := plain.([]any)
	switch {
	case len(path) == 1 && absent:
		return append(list[:at:at], list[at+1:]...)
	case at == len(list):
		return append(list, put(nil, path[1:], value, absent))
	}
	list[at] = put(list[at], path[1:], value, absent)
	return list
}

// walk visits all nodes below the root.
func walk(n *yamltree.Node, path yamltree.Path, visit func(*yamltree.Node, yamltree.Path)) {
	if len(path) > 0 {
		visit(n, path)
	}
	for _, key := range n.Keys() {
		walk(n.Field(key), path.To(key), visit)
	}
	for i, item := range n.Items {
		walk(item, path.To(i), visit)
	}
}

// comments are the words behind each # that begins a comment, in the order of the file.
func comments(source string) (all []string) {
	for _, line := range strings.Split(source, "\n") {
		if at := strings.Index(" "+line, " #"); at >= 0 && strings.Count(line[:max(at, 0)], `"`)%2 == 0 {
			all = append(all, strings.TrimSpace(line[at:]))
		}
	}
	return all
}

// Law: whatever value of a file is set, added or removed, the file then says that and
// nothing else. A scalar is changed in its own line, where no other character of the file
// changes and no comment is lost; nor is one by adding a key, or an item.
func TestChanges(t *testing.T) {
	for name, source := range examples(t) {
		root, err := read(source)
		if err != nil {
			t.Fatal(name, err)
		}
		lines, kept := strings.Split(source, "\n"), comments(source)
		apply := func(path yamltree.Path, value *yamltree.Node) string {
			edited, err := Apply(source, Change{Path: path, Value: value})
			if err != nil {
				t.Errorf("%s: %v: %v", name, path, err)
				return source
			}
			var plain any
			if value != nil {
				plain = value.Plain()
			}
			want := put(plainOf(t, source), path, plain, value == nil)
			if got := plainOf(t, edited); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v says %v, not %v:\n%s", name, path, got, want, edited)
			}
			return edited
		}
		keeps := func(path yamltree.Path, edited string) {
			if got := comments(edited); !reflect.DeepEqual(got, kept) {
				t.Errorf("%s: %v: of the comments %q there are %q:\n%s", name, path, kept, got, edited)
			}
		}
		nodes, visited := 0, 0
		walk(root, nil, func(*yamltree.Node, yamltree.Path) { nodes++ })
		walk(root, nil, func(n *yamltree.Node, path yamltree.Path) {
			if visited++; visited%(1+nodes/50) != 0 { // of a long list, some
				return
			}
			apply(path, nil)
			apply(path, yamltree.Mapping().With("further", yamltree.Text("x: y")))
			switch {
			case n.IsMapping():
				keeps(path, apply(path.To("added"), yamltree.Text("yes")))
			case n.IsList():
				keeps(path, apply(path.To(len(n.Items)), yamltree.Mapping().With("name", yamltree.Text("#new"))))
			case !strings.HasSuffix(lines[n.Place.Line-1], ">"): // of several lines
				edited := apply(path, yamltree.Text("it's \"quoted\" # here"))
				keeps(path, strings.Replace(edited, `"it's \"quoted\" # here"`, "", 1))
				for i, line := range strings.Split(edited, "\n") {
					if i != n.Place.Line-1 && line != lines[i] {
						t.Fatalf("%s: %v: line %d has become %q", name, path, i+1, line)
					}
				}
			}
		})
		keeps(nil, apply(yamltree.Path{"added", "deep", 0, "er"}, yamltree.Int(3)))
	}
}

// Law: a key of the first level goes where it usually stands.
func TestOrder(t *testing.T) {
	const source = "name: a # the name\nobjective: {maximize: y}\n\n# how much\nbudget: {experiments: 3}\n"
	got, err := Apply(source, Change{
		Path: yamltree.Path{"seed"}, Value: yamltree.Int(7),
		Order: []string{"name", "seed", "objective", "policy", "budget"},
	})
	if want := strings.Replace(source, "name\n", "name\nseed: 7\n", 1); err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// Law: a file that cannot be read is not changed, nor one in which the path leads nowhere.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		source string
		path   yamltree.Path
	}{
		{"a: [1, 2", yamltree.Path{"b"}},
		{"a: 1\na: 2\n", yamltree.Path{"b"}},
		{"a: 1\n", yamltree.Path{"a", "b"}},
		{"a: [1]\n", yamltree.Path{"a", 3}},
	} {
		if got, err := Apply(c.source, Change{Path: c.path, Value: yamltree.Int(1)}); err == nil {
			t.Errorf("%q became %q", c.source, got)
		}
	}
}

// Law: what is written in a new file is read as it was meant, whatever the text.
func FuzzScalar(f *testing.F) {
	for _, s := range []string{"yes", "1e3", "a: b", "#x", "°C", "x #y", "-", "~", "0x1", "a,b", "null", " a"} {
		f.Add(s)
	}
	long := strings.Repeat("k", 300_000)
	for _, s := range []string{long, long + ": 1", "{" + long + ": &" + long + "}", strings.Repeat("\n", 300_000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			t.Skip("not text")
		}
		value := yamltree.Text(s)
		var edited string
		var err error
		draws.Answers(t, func() {
			edited, err = Apply("list: [1] # kept\n", Change{Path: yamltree.Path{"list", 1}, Value: value})
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, faults := yamltree.Read([]byte(edited), format); len(faults) > 0 {
			t.Skip("text that no file may hold")
		}
		want, _ := json.Marshal(map[string]any{"list": []any{json.Number("1"), s}})
		if got, _ := json.Marshal(plainOf(t, edited)); string(got) != string(want) {
			t.Errorf("%q is read as %s:\n%s", s, got, edited)
		}
	})
}
