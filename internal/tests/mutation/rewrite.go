package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Marks are entries at the end of PATH by which a process and all its children
// are told what to do. No variable of our own would do: test frameworks and
// drivers give their children a fresh environment, in which only PATH is kept.
const (
	selectMark = "/campaignd-mutation/select/" // followed by the number of the mutant to be
	recordMark = "/campaignd-mutation/record/" // followed by the file to note reached blocks in
)

// edit replaces the bytes [from, to) of a text.
type edit struct {
	from, to int
	text     string
}

// edited applies edits that do not overlap; those at one place are in order.
func edited(text []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(out, text[at:e.from]...)
		out = append(out, e.text...)
		at = e.to
	}
	return append(out, text[at:]...)
}

// switched returns a file that holds mutants of its functions side by side:
// each is a copy of its function with the change in it, and the function calls
// the copy where its number is selected. The numbers are the keys.
//
// The text of a copy begins in the result at the offset given for its number.
// The function itself stays and has the dispatch at the beginning of its body.
func switched(file *source, mutants map[int]*mutant) (text []byte, starts map[int]int) {
	var edits []edit
	var copies []string
	starts = make(map[int]int)
	numbers := make(map[*ast.FuncDecl][]int)
	for number, m := range mutants {
		decl := m.decl.(*ast.FuncDecl)
		numbers[decl] = append(numbers[decl], number)
	}
	var order []int
	for _, d := range file.tree.Decls {
		decl, ok := d.(*ast.FuncDecl)
		if !ok || len(numbers[decl]) == 0 {
			continue
		}
		slices.Sort(numbers[decl])
		call, named := forward(file, decl)
		edits = append(edits, named...)
		var dispatch strings.Builder
		for _, number := range numbers[decl] {
			suffix := "_mutant" + strconv.Itoa(number)
			if decl.Type.Results.NumFields() > 0 {
				fmt.Fprintf(&dispatch, " if mutationSelected == %d { return %s }\n", number, call(suffix))
			} else {
				fmt.Fprintf(&dispatch, " if mutationSelected == %d { %s; return }\n", number, call(suffix))
			}
			m := mutants[number]
			from := file.offset(decl.Pos())
			name := file.offset(decl.Name.End())
			to := file.offset(decl.End())
			copies = append(copies, string(file.text[from:name])+suffix+m.apply(name, to))
			order = append(order, number)
		}
		open := file.offset(decl.Body.Lbrace) + 1
		edits = append(edits, edit{open, open, dispatch.String()})
	}
	text = edited(file.text, edits)
	for i, number := range order {
		text = append(text, "\n\n"...)
		starts[number] = len(text)
		text = append(text, copies[i]...)
	}
	return append(text, '\n'), starts
}

// forward returns how a function calls a copy of itself whose name has a
// suffix, and the edits that name its receiver and parameters for that.
// Parameters without a name, or with the blank, get one: they could not be
// passed on otherwise.
func forward(file *source, decl *ast.FuncDecl) (call func(suffix string) string, edits []edit) {
	next := 0
	names := func(fields *ast.FieldList) []string {
		var all []string
		if fields == nil {
			return nil
		}
		for _, field := range fields.List {
			if len(field.Names) == 0 {
				next++
				name := "mutationArgument" + strconv.Itoa(next)
				at := file.offset(field.Type.Pos())
				edits = append(edits, edit{at, at, name + " "})
				all = append(all, name)
			}
			for _, ident := range field.Names {
				name := ident.Name
				if name == "_" {
					next++
					name = "mutationArgument" + strconv.Itoa(next)
					edits = append(edits, edit{file.offset(ident.Pos()), file.offset(ident.End()), name})
				}
				all = append(all, name)
			}
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				all[len(all)-1] += "..."
			}
		}
		return all
	}
	receiver := ""
	if decl.Recv != nil {
		receiver = names(decl.Recv)[0] + "."
	}
	arguments := strings.Join(names(decl.Type.Params), ", ")
	typeArguments := ""
	if decl.Type.TypeParams != nil {
		typeArguments = "[" + strings.Join(names(decl.Type.TypeParams), ", ") + "]"
	}
	return func(suffix string) string {
		return receiver + decl.Name.Name + suffix + typeArguments + "(" + arguments + ")"
	}, edits
}

// canSwitch reports whether a mutant can be a copy of its function. A
// declaration of the package cannot; nor can a function that recovers itself,
// which a deferred call must reach without another between.
func canSwitch(m *mutant) bool {
	decl, ok := m.decl.(*ast.FuncDecl)
	if !ok || decl.Name.Name == "_" {
		return false
	}
	recovers := false
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		if ident, ok := n.(*ast.Ident); ok && ident.Name == "recover" {
			recovers = true
		}
		_, inner := n.(*ast.FuncLit)
		return !inner
	})
	return !recovers
}

// selection is the file that a package with switched mutants gets: it reads
// once which is selected, 0 for none.
func selection(name string) string {
	return `package ` + name + `

import (
	mutationOS "os"
	mutationConv "strconv"
	mutationStrings "strings"
)

var mutationSelected = func() int {
	for _, entry := range mutationStrings.Split(mutationOS.Getenv("PATH"), string(mutationOS.PathListSeparator)) {
		if number, ok := mutationStrings.CutPrefix(entry, "` + selectMark + `"); ok {
			n, _ := mutationConv.Atoi(number)
			return n
		}
	}
	return 0
}()
`
}

// block is a run of statements of which all are executed where the first is, as
// far as nothing panics.
type block struct {
	file     *source
	from, to int // its first byte and the byte after its last
}

// place names a block within one state of the tree.
func (b block) place() string { return b.file.rel + ":" + strconv.Itoa(b.from) }

// blocks returns the blocks of a file, an outer one before those in it. A
// statement that may leave the run, as if, for, return or switch may, ends it:
// behind it a new block begins.
func blocks(file *source) []block {
	var all []block
	list := func(statements []ast.Stmt) {
		var open *block
		for _, statement := range statements {
			if open == nil {
				all = append(all, block{file: file, from: file.offset(statement.Pos())})
				open = &all[len(all)-1]
			}
			open.to = file.offset(statement.End())
			switch statement.(type) {
			case *ast.AssignStmt, *ast.ExprStmt, *ast.IncDecStmt, *ast.DeclStmt, *ast.DeferStmt, *ast.GoStmt:
			default:
				open = nil // what it does may leave the run
			}
		}
	}
	ast.Inspect(file.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			if len(n.List) > 0 && !isClause(n.List[0]) {
				list(n.List)
			}
		case *ast.CaseClause:
			list(n.Body)
		case *ast.CommClause:
			list(n.Body)
		}
		return true
	})
	return all
}

// isClause reports whether a statement is a case: the block of a switch holds
// nothing else.
func isClause(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}

// enclosing returns the innermost of a file's blocks around an offset. Of equal
// ones it is the later, which lies within.
func enclosing(all []block, offset int) (block, bool) {
	var best block
	found := false
	for _, b := range all {
		if b.from <= offset && offset < b.to && (!found || b.to-b.from <= best.to-best.from) {
			best, found = b, true
		}
	}
	return best, found
}

// probed returns a file that notes each block when it is reached first in a
// process; the file's blocks have the numbers from first on.
func probed(file *source, first int) (text []byte, all []block) {
	all = blocks(file)
	var edits []edit
	for i, b := range all {
		edits = append(edits, edit{b.from, b.from, "mutationReached(" + strconv.Itoa(first+i) + "); "})
	}
	return edited(file.text, edits), all
}

// probes is the file that a package with probed files gets. A number is written
// at once, by one call, so that what a killed process reached is known too. The
// numbers in the file are the package's own plus base.
func probes(name string, count, base int) string {
	return `package ` + name + `

import (
	mutationOS "os"
	mutationConv "strconv"
	mutationStrings "strings"
	mutationAtomic "sync/atomic"
)

var mutationSeen [` + strconv.Itoa(count) + `]mutationAtomic.Bool

var mutationBook = func() *mutationOS.File {
	for _, entry := range mutationStrings.Split(mutationOS.Getenv("PATH"), string(mutationOS.PathListSeparator)) {
		if path, ok := mutationStrings.CutPrefix(entry, "` + recordMark + `"); ok {
			file, _ := mutationOS.OpenFile(path, mutationOS.O_WRONLY|mutationOS.O_CREATE|mutationOS.O_APPEND, 0o600)
			return file
		}
	}
	return nil
}()

func mutationReached(i int) {
	if mutationSeen[i].Load() || mutationBook == nil || mutationSeen[i].Swap(true) {
		return
	}
	_, _ = mutationBook.WriteString(mutationConv.Itoa(i+` + strconv.Itoa(base) + `) + "\n")
}
`
}

// overlay collects the files that replace those of the tree, and of the copy of
// it, for a build.
type overlay struct {
	*workshop
	dir     string // where the replacements are kept
	replace map[string]string
}

// newOverlay makes an overlay that is kept in a folder of a name.
func (w *workshop) newOverlay(name string) (*overlay, error) {
	dir := filepath.Join(w.dir, name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return &overlay{workshop: w, dir: dir, replace: make(map[string]string)}, nil
}

// put sets the text that a build reads at a path of the tree. The file in the
// copy is replaced as well, for programs that tests build there.
func (o *overlay) put(path string, text []byte) error {
	rel, err := filepath.Rel(o.root, path)
	if err != nil {
		return err
	}
	kept := filepath.Join(o.dir, strconv.Itoa(len(o.replace))+".go")
	o.replace[path] = kept
	o.replace[filepath.Join(o.copy, rel)] = kept
	return os.WriteFile(kept, text, 0o666)
}

// write writes the JSON that `go build -overlay` reads, and returns its path.
func (o *overlay) write() (string, error) {
	data, err := json.Marshal(struct{ Replace map[string]string }{o.replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(o.dir, "overlay.json")
	return path, os.WriteFile(path, data, 0o666)
}

// extra is the name of the file that a rewritten package gets.
const extra = "mutation_overlay.go"
