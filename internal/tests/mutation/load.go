package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// listed is what `go list` says of a package. The fields have the names that the
// tool prints.
type listed struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	EmbedFiles []string
	Export     string
	ForTest    string
	DepOnly    bool
	Deps       []string
	Module     *struct{ Main bool }
}

// goList runs `go list -json` with arguments in the module's root.
func goList(ctx context.Context, root string, args ...string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-json"}, args...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	var all []listed
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var one listed
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, one)
	}
}

// moduleRoot returns the folder of the go.mod of the module that a folder is
// in.
func moduleRoot(ctx context.Context, folder string) (string, error) {
	env := exec.CommandContext(ctx, "go", "env", "GOMOD")
	env.Dir = folder
	out, err := env.Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	file := strings.TrimSpace(string(out))
	if file == "" || file == os.DevNull {
		return "", errors.New("no go.mod: -root names a folder of the module that is mutated")
	}
	return filepath.Dir(file), nil
}

// subject is a package that is mutated, parsed and type-checked.
type subject struct {
	path  string // import path
	name  string // in package clauses
	dir   string
	files []*source
	info  *types.Info
	fset  *token.FileSet
	check func([]*ast.File, *types.Info) []types.Error
}

// source is one file of a subject.
type source struct {
	path string // absolute
	rel  string // from the module's root, with slashes
	text []byte
	tree *ast.File
	base int // of the file in the file set: an offset is a position less base
}

// offset turns a position into a byte offset in the text.
func (s *source) offset(pos token.Pos) int { return int(pos) - s.base }

// between returns the text from one position to another.
func (s *source) between(from, to token.Pos) string {
	return string(s.text[s.offset(from):s.offset(to)])
}

// line returns the number of the line that holds an offset, from 1.
func (s *source) line(offset int) int {
	return 1 + bytes.Count(s.text[:offset], []byte("\n"))
}

// rewriting are the packages that a rewritten one imports.
var rewriting = []string{"os", "strconv", "strings", "sync/atomic"}

// load parses and type-checks the packages that the patterns name, without
// their tests and without the suites, whose subject is other code. It returns
// those of both lists, and of these those of the second.
//
// Imports are read from export data, which the first list has the go command
// build: a package is type-checked without its dependencies' sources.
func load(
	ctx context.Context, root string, usual, patterns []string,
) (all, chosen []*subject, err error) {
	args := slices.Concat([]string{"-deps", "-export"}, rewriting, usual, patterns)
	packages, err := goList(ctx, root, args...)
	if err != nil {
		return nil, nil, err
	}
	named, err := goList(ctx, root, patterns...)
	if err != nil {
		return nil, nil, err
	}
	exports := make(map[string]string, len(packages))
	for _, one := range packages {
		exports[one.ImportPath] = one.Export
	}
	fset := token.NewFileSet()
	compiled := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		file := exports[path]
		if file == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(file)
	})
	slices.SortFunc(packages, func(a, b listed) int {
		return strings.Compare(a.ImportPath, b.ImportPath)
	})
	for _, one := range packages {
		if one.DepOnly || one.Module == nil || isSuite(one.ImportPath) {
			continue
		}
		s, err := parse(fset, compiled, root, one)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, s)
		if slices.ContainsFunc(named, func(n listed) bool { return n.ImportPath == s.path }) {
			chosen = append(chosen, s)
		}
	}
	return all, chosen, nil
}

// isSuite reports whether a package is a conformance suite or a helper of
// tests, by the last word of its path: logtest, instrumenttest, policytest.
func isSuite(path string) bool { return strings.HasSuffix(path, "test") }

// parse reads a package and keeps how it was checked, for the same check of its
// mutants.
func parse(fset *token.FileSet, imports types.Importer, root string, one listed) (*subject, error) {
	s := &subject{
		path: one.ImportPath,
		name: one.Name,
		dir:  one.Dir,
		fset: fset,
		info: &types.Info{
			Types: make(map[ast.Expr]types.TypeAndValue),
			Uses:  make(map[*ast.Ident]types.Object),
			Defs:  make(map[*ast.Ident]types.Object),
		},
	}
	var trees []*ast.File
	for _, name := range one.GoFiles {
		path := filepath.Join(one.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, &source{
			path: path,
			rel:  filepath.ToSlash(rel),
			text: text,
			tree: tree,
			base: fset.File(tree.FileStart).Base(),
		})
		trees = append(trees, tree)
	}
	s.check = func(trees []*ast.File, info *types.Info) []types.Error {
		var faults []types.Error
		config := types.Config{Importer: imports, Error: func(err error) {
			var fault types.Error
			if errors.As(err, &fault) {
				faults = append(faults, fault)
			}
		}}
		_, _ = config.Check(one.ImportPath, fset, trees, info) // its error is the first of the faults
		return faults
	}
	if faults := s.check(trees, s.info); len(faults) > 0 {
		return nil, fmt.Errorf("%s does not compile: %w", one.ImportPath, faults[0])
	}
	return s, nil
}

// fault is an error of the compiler in a text of a package.
type fault struct {
	path   string
	offset int
}

// faults type-checks the package with other texts of some of its files, by
// their paths, and with further files. Files that are not replaced are not
// parsed again.
func (s *subject) faults(texts map[string][]byte) ([]fault, error) {
	var trees []*ast.File
	for _, file := range s.files {
		if texts[file.path] == nil {
			trees = append(trees, file.tree)
		}
	}
	for path, text := range texts {
		tree, err := parser.ParseFile(s.fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
	}
	var all []fault
	for _, e := range s.check(trees, nil) {
		position := s.fset.PositionFor(e.Pos, false)
		all = append(all, fault{position.Filename, position.Offset})
	}
	return all, nil
}
