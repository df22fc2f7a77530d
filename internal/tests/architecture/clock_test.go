package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// measured are names of what holds a time of this process, from which a duration is measured.
var measured = regexp.MustCompile(`(?i)^(began|begin|begun|born|start|since|seen|sent|shown|printed|polled|before|after|limit|` +
	`last|lastExit|used|due|read|written|forgotten|renewed|again|reviewed|startedAt|promoted)$`)

// timed are functions that are given a time of this process: the deadlines of connections, and how
// old something is that is kept in memory.
var timed = []string{"SetDeadline", "SetReadDeadline", "SetWriteDeadline", "look", "refresh", "tellNext", "Since"}

// compared are where a variable now is compared with other times of the process.
var compared = []string{
	"cmd/campaignd/app/live.go", "events/pglog/worker.go", "internal/lab/cluster.go", "internal/lab/lablog/look.go",
}

// Law: what is recorded, shown or compared with what is recorded is read from internal/ground/clock, which
// tests set while programs run. The clock of package time measures how long something takes in this
// process, and nothing else: it has no place in an event, a document or a field Now.
func TestOneWallClock(t *testing.T) {
	found := 0
	for _, path := range goFiles(t, false) {
		if strings.HasPrefix(path, "internal/ground/clock/") {
			continue
		}
		set := token.NewFileSet()
		file := must.Get(parser.ParseFile(set, filepath.Join(root, path), nil, parser.SkipObjectResolution))(t)
		isNow := func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || s.Sel.Name != "Now" {
				return false
			}
			x, ok := s.X.(*ast.Ident)
			return ok && x.Name == "time"
		}
		parents := []ast.Node{}
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				parents = parents[:len(parents)-1]
				return true
			}
			parents = append(parents, n)
			if !isNow(n) {
				return true
			}
			found++
			if len(parents) < 3 || !measures(parents) && !slices.Contains(compared, path) {
				t.Errorf("%s: time.Now here may be recorded or shown: use clock.Now, or a variable whose name says that "+
					"something is measured from it", set.Position(n.Pos()))
			}
			return true
		})
	}
	if found < 20 {
		t.Errorf("only %d uses of time.Now were found", found)
	}
}

// measures reports whether time.Now, the last of the nodes, is called to measure how long something
// takes.
func measures(parents []ast.Node) bool {
	at := func(n int) ast.Node { return parents[max(len(parents)-n, 0)] }
	call, ok := at(2).(*ast.CallExpr)
	if !ok || call.Fun != at(1) {
		return false // handed on as a clock
	}
	name := func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.Ident:
			return e.Name
		case *ast.SelectorExpr:
			return e.Sel.Name
		case *ast.IndexExpr:
			if s, ok := e.X.(*ast.SelectorExpr); ok {
				return s.Sel.Name
			}
		}
		return ""
	}
	switch parent := at(3).(type) {
	case *ast.AssignStmt:
		i := slices.IndexFunc(parent.Rhs, func(e ast.Expr) bool { return e == call })
		return i >= 0 && i < len(parent.Lhs) && measured.MatchString(name(parent.Lhs[i]))
	case *ast.ValueSpec:
		return measured.MatchString(parent.Names[0].Name)
	case *ast.KeyValueExpr:
		key := name(parent.Key)
		return key != "Now" && measured.MatchString(key)
	case *ast.SelectorExpr:
		return slices.Contains([]string{"Add", "Sub", "Before", "After"}, parent.Sel.Name)
	case *ast.CallExpr:
		return slices.Contains(timed, name(parent.Fun))
	}
	return false
}

// readers are where a file is read that a person names, as it is and not as text, and why.
var readers = map[string]string{
	"adapters/instruments/table/table.go": "its hash is of the bytes; what is read of it is text",
	"internal/study/simulate/table.go":    "its hash is of the bytes",
	"cmd/campaignd/app/attach.go":         "a file of any kind is kept as it is",
	"cmd/campaignd/app/import.go":         "internal/files/exchange decodes tables",
	"cmd/campaignd/app/checkpoint.go":     "as text, also from a pipe",
	"internal/ground/input/text.go":       "this is how text is read",
}

// Law: each file that people write is read as text in whatever way an editor has encoded it, through
// one function; another reader is a line here, with the reason.
func TestTextIsReadInOnePlace(t *testing.T) {
	raw := regexp.MustCompile(`\binput\.(Read|Open)\(`)
	seen := make(map[string]bool)
	for _, path := range goFiles(t, false) {
		text := must.Get(os.ReadFile(filepath.Join(root, path)))(t)
		if raw.Match(text) {
			if seen[path] = true; readers[path] == "" {
				t.Errorf("%s reads a file as it is: use input.ReadText, or say in the table why not", path)
			}
		}
	}
	for path := range readers {
		if !seen[path] && path != "internal/ground/input/text.go" {
			t.Errorf("%s is in the table and reads no file so", path)
		}
	}
}
