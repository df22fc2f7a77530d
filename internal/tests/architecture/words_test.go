package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// commandLine is what only the command line may say: a command of ours, or a flag.
var commandLine = regexp.MustCompile("campaignd (account|allow|amend|anchor|audit|checkpoint|correct|diagnose|events|explain|export|import|" +
	"note|pause|predict|refuse|replay|report|resolve|resume|run|simulate|status|stop|suggest|tell|validate|verify)\\b|" +
	"(^|[ (`])--[a-z]")

// Law: below the command line no text says how something is typed. What can be done is
// data (internal/ground/problem), for a browser too.
func TestNobodyElseSaysCommands(t *testing.T) {
	for _, folder := range []string{
		"events", "projections", "policies",
		"internal/lab/accounts", "internal/engine", "internal/view/diagnose", "internal/engine/control", "internal/ground/problem",
	} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text := must.Get(os.ReadFile(path))(t)
			set := token.NewFileSet()
			f := must.Get(parser.ParseFile(set, path, text, parser.SkipObjectResolution))(t)
			ast.Inspect(f, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				value := must.Get(strconv.Unquote(literal.Value))(t)
				if commandLine.MatchString(value) {
					t.Errorf("%s says %q", set.Position(literal.Pos()), value)
				}
				return true
			})
		}
	}
}
