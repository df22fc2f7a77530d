package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// commands are the packages that write a remedy as a command, which needs no words.
var commands = []string{"cmd/campaignd/app", "internal/view", "internal/view/diagnose"}

// Law: each remedy says what to do. One that is words alone on a page, for it leads nowhere, says
// what to do it with: "give it" is not a remedy where nothing stands before it.
func TestRemediesSaySomething(t *testing.T) {
	found := 0
	isRemedy := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.SelectorExpr:
			of, ok := e.X.(*ast.Ident)
			return ok && of.Name == "problem" && e.Sel.Name == "Remedy"
		}
		return false
	}
	check := func(at token.Position, literal *ast.CompositeLit) {
		found++
		var text, action string
		said := false
		for _, element := range literal.Elts {
			pair, ok := element.(*ast.KeyValueExpr)
			if !ok {
				t.Errorf("%s: a remedy without the names of its fields", at)
				return
			}
			switch key := pair.Key.(*ast.Ident).Name; key {
			case "Text":
				said = true
				if value, ok := pair.Value.(*ast.BasicLit); ok {
					text, _ = strconv.Unquote(value.Value)
				} else {
					text = "worked out"
				}
			case "Action":
				if of, ok := pair.Value.(*ast.SelectorExpr); ok {
					action = of.Sel.Name
				}
			}
		}
		if !said || strings.TrimSpace(text) == "" {
			t.Errorf("%s: a remedy that says nothing", at)
		}
		if (action == "" || action == "Complete") && strings.HasSuffix(text, " it") && strings.Count(text, " ") == 1 {
			t.Errorf("%s: %q says nothing by itself", at, text)
		}
	}
	must.Do(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root:
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		inside, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, folder := range commands {
			if filepath.ToSlash(inside) == folder {
				return nil
			}
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if list, ok := literal.Type.(*ast.ArrayType); ok && isRemedy(list.Elt) {
				for _, element := range literal.Elts {
					if one, ok := element.(*ast.CompositeLit); ok {
						check(set.Position(one.Pos()), one)
					}
				}
			} else if isRemedy(literal.Type) {
				check(set.Position(literal.Pos()), literal)
			}
			return true
		})
		return nil
	}))
	if found < 80 {
		t.Errorf("%d remedies were looked at", found)
	}
}
