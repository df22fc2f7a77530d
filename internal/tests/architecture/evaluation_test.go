package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: no result depends on the order of evaluation. In
//
//	return d, fill(&d)
//
// the language leaves open whether d is read before it is filled: another compiler may
// return an empty decision.
func TestResultsAreReadAfterTheyAreFilled(t *testing.T) {
	must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if returned, ok := n.(*ast.ReturnStmt); ok && filledWhileRead(returned.Results) {
				t.Errorf("%s: a result is filled by a call in the same return", files.Position(returned.Pos()))
			}
			return true
		})
		return nil
	}))
}

// filledWhileRead reports whether one of several results is a variable whose address
// another one passes on.
func filledWhileRead(results []ast.Expr) bool {
	read := make(map[string]bool)
	for _, result := range results {
		if variable, ok := result.(*ast.Ident); ok {
			read[variable.Name] = true
		}
	}
	filled := false
	for _, result := range results {
		ast.Inspect(result, func(n ast.Node) bool {
			if address, ok := n.(*ast.UnaryExpr); ok && address.Op == token.AND {
				variable, ok := address.X.(*ast.Ident)
				filled = filled || ok && read[variable.Name]
			}
			return true
		})
	}
	return filled
}
