package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Law: what decides, and what reads it, starts no goroutine: the order of goroutines can touch no decision, and
// the race detector has nothing to find there.
func TestNothingRunsBesideADecision(t *testing.T) {
	files := token.NewFileSet()
	for _, folder := range []string{"policies", "projections", "internal/num", "internal/view", "internal/view/report", "internal/view/figure", "internal/view/plot"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				_, starts := n.(*ast.GoStmt)
				if call, ok := n.(*ast.CallExpr); ok {
					method, ok := call.Fun.(*ast.SelectorExpr)
					starts = ok && method.Sel.Name == "Go" // of a sync.WaitGroup
				}
				if starts {
					t.Errorf("%s: a goroutine", files.Position(n.Pos()))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
