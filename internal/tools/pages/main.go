// Package main compiles templates of html/template to Go: `go run . FOLDER TEMPLATES...` writes
// pages_gen.go into the package of the folder, with a function for each template and each type of
// dot that it is drawn with. What a template names is then looked up by the compiler, and no
// longer while a page is drawn.
//
// A template whose file begins with {{/* dot: TYPE */}} is a page, drawn by drawNAME; what the
// other files define are parts of every page. A page is the template "layout" where a file defines
// one, and otherwise the text of its file.
//
// How each text is escaped is html/template's decision: what is compiled are its escaped trees.
// Fields and methods of the package need not be exported. Functions are those of the package, of
// text/template, and those of other packages by their qualified name, as
// {{format.Count .Rows "row"}}; the files of the package import them.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"html/template"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
	"unicode"
)

// output is the file that is written.
const output = "pages_gen.go"

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: go run . FOLDER TEMPLATES...")
		os.Exit(2)
	}
	text, err := compile(os.Args[1], os.Args[2:])
	if err == nil {
		err = os.WriteFile(filepath.Join(os.Args[1], output), text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// compile compiles the templates that patterns name in a folder.
func compile(folder string, patterns []string) ([]byte, error) {
	pkg, imports, err := load(folder)
	if err != nil {
		return nil, err
	}
	sources, err := read(folder, patterns)
	if err != nil {
		return nil, err
	}
	c := &compiler{pkg: pkg, imports: imports, used: map[string]bool{}, named: map[string]string{}, taken: map[string]bool{}}
	for _, s := range sources {
		if s.dot == "" {
			continue
		}
		t, err := types.Eval(token.NewFileSet(), pkg, token.NoPos, s.dot)
		if err != nil || !t.IsType() {
			return nil, fmt.Errorf("%s: {{/* dot: %s */}}: package %s has no such type", s.file, s.dot, pkg.Name())
		}
		set, entry, err := escaped(sources, s)
		if err != nil {
			return nil, err
		}
		c.page(&page{source: s, set: set}, entry, t.Type)
	}
	return c.text()
}

// source is a file of templates.
type source struct {
	file  string // with its folder, as patterns name it
	name  string // without page- and .html
	dot   string // the type of a page's dot; empty of parts
	trees map[string]*parse.Tree
}

var dotComment = regexp.MustCompile(`^\{\{/\* dot: (\S+) \*/ ?-?\}\}`)

// read reads and parses files of templates, in the order of the patterns.
func read(folder string, patterns []string) (sources []*source, err error) {
	for _, p := range patterns {
		files, err := filepath.Glob(filepath.Join(folder, p))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("%s: no file matches", p)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			rel, err := filepath.Rel(folder, file)
			if err != nil {
				return nil, err
			}
			s := &source{file: filepath.ToSlash(rel), trees: map[string]*parse.Tree{}}
			s.name = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "page-"), ".html")
			if m := dotComment.FindSubmatch(text); m != nil {
				s.dot = string(m[1])
			}
			t := parse.New(s.file)
			t.Mode = parse.SkipFuncCheck
			if _, err := t.Parse(string(text), "", "", s.trees); err != nil {
				return nil, err
			}
			sources = append(sources, s)
		}
	}
	return sources, nil
}

// escaped returns the templates of a page as html/template escapes them, and the name of the one
// that is the page. Escaping goes before any execution, which fails for want of data.
func escaped(sources []*source, s *source) (*template.Template, string, error) {
	set, entry := template.New(""), s.file
	add := func(of *source) error {
		for name, tree := range of.trees {
			if _, err := set.AddParseTree(name, tree.Copy()); err != nil {
				return err
			}
			if name == "layout" {
				entry = name
			}
		}
		return nil
	}
	for _, of := range sources {
		if of.dot == "" {
			if err := add(of); err != nil {
				return nil, "", err
			}
		}
	}
	if err := add(s); err != nil {
		return nil, "", err
	}
	err := set.ExecuteTemplate(io.Discard, entry, nil)
	if refused := (*template.Error)(nil); errors.As(err, &refused) {
		return nil, "", refused
	}
	return set, entry, nil
}

// load parses and type-checks the package of a folder, without the file that is to be written,
// and therefore in spite of errors. It returns also what the package's files import, by name.
// Imports are read from export data, which the go command builds.
func load(folder string) (*types.Package, map[string]*types.Package, error) {
	found, err := build.ImportDir(folder, 0)
	if err != nil {
		return nil, nil, err
	}
	set, plain := token.NewFileSet(), map[string]bool{} // imports, and whether they keep their name
	var files []*ast.File
	for _, name := range found.GoFiles {
		if name == output {
			continue
		}
		f, err := parser.ParseFile(set, filepath.Join(folder, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, f)
		for _, i := range f.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return nil, nil, err
			}
			plain[path] = plain[path] || i.Name == nil
		}
	}
	list := exec.Command("go", append([]string{"list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}", "--"},
		slices.Sorted(maps.Keys(plain))...)...)
	list.Dir = folder
	var stderr bytes.Buffer
	list.Stderr = &stderr
	listed, err := list.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list in %s: %w\n%s", folder, err, stderr.Bytes())
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(listed)) {
		path, export, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = export
	}
	conf := types.Config{
		Error: func(error) {}, // what the output declares is not there
		Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
			return os.Open(exports[path])
		}),
	}
	pkg, _ := conf.Check(found.Name, set, files, nil)
	imports := map[string]*types.Package{}
	for _, i := range pkg.Imports() {
		if plain[i.Path()] {
			imports[i.Name()] = i
		}
	}
	return pkg, imports, nil
}

// camel writes the name of a template as a part of an identifier.
func camel(name string) string {
	var b strings.Builder
	upper := true
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			upper = true
			continue
		}
		if upper {
			r = unicode.ToUpper(r)
		}
		b.WriteRune(r)
		upper = false
	}
	return b.String()
}
