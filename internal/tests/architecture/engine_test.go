package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: the engine is pure. It starts no goroutine, waits for nothing and reads no clock: what does is
// around it, in internal/engine/drive.
func TestEngineIsPure(t *testing.T) {
	files, err := filepath.Glob("../../engine/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	impure := map[string]bool{
		"time.Now": true, "time.Since": true, "time.Until": true, "time.After": true,
		"time.Sleep": true, "time.NewTimer": true, "time.NewTicker": true, "time.AfterFunc": true,
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file := must.Get(parser.ParseFile(set, path, nil, parser.SkipObjectResolution))(t)
		for _, imported := range file.Imports {
			switch imported.Path.Value {
			case `"sync"`, `"sync/atomic"`, `"os"`, `"net"`:
				t.Errorf("%s imports %s", path, imported.Path.Value)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			fault := ""
			switch n := n.(type) {
			case *ast.GoStmt:
				fault = "starts a goroutine"
			case *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				fault = "uses a channel"
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && impure[x.Name+"."+n.Sel.Name] {
					fault = "reads the clock: " + x.Name + "." + n.Sel.Name
				}
			}
			if fault != "" {
				t.Errorf("%s %s", set.Position(n.Pos()), fault)
			}
			return true
		})
	}
}
