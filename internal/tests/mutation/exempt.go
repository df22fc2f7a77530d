package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
)

// texts lists calls that only make texts for people: error texts and log lines.
// Nothing inside them is mutated, and log lines are not dropped. The functions
// are matched by package and name; an empty name is every function.
var texts = []struct{ path, name string }{
	{"fmt", "Errorf"},
	{"errors", "New"},
	{"log", ""},
	{"log/slog", ""},
	{"github.com/go-logr/logr", ""},
}

// unmeasured lists types whose constants no test may hold to a value: no test
// asserts a time, and permissions are what the system's umask leaves of them.
var unmeasured = []struct{ path, name string }{
	{"time", "Duration"},
	{"io/fs", "FileMode"},
}

// versions matches names of versions of stored forms: a version is never edited
// but by adding the next.
var versions = regexp.MustCompile(`[vV]ersion`)

// excluded reports whether nothing at or below a node is mutated. These are
// rules for whole kinds of mutants; a single one that no test can kill is listed
// in equivalent.txt.
func (w *walker) excluded(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ExprStmt:
		call, ok := n.X.(*ast.CallExpr)
		return ok && w.isText(call)
	case *ast.CallExpr:
		return w.isText(n)
	case *ast.ValueSpec:
		return versions.MatchString(n.Names[0].Name)
	case *ast.KeyValueExpr:
		key, ok := n.Key.(*ast.Ident)
		return ok && versions.MatchString(key.Name)
	case *ast.ArrayType, *ast.FieldList, *ast.FuncType:
		return true // a type
	case *ast.BasicLit:
		// Bases, sizes and precisions: several numbers often mean the same.
		return w.isArgument("strconv", "") || w.excludedExpr(n)
	case ast.Expr:
		return w.excludedExpr(n)
	}
	return false
}

// excludedExpr is the part of excluded that holds for any expression.
func (w *walker) excludedExpr(e ast.Expr) bool {
	return w.isDuration(e) || w.isCapacity(e) || w.isVersionField(e) || w.isPadding(e)
}

// isPadding reports whether an expression is the zero that a return statement
// gives beside false or an error, where no caller reads it. The last result
// itself is mutated.
func (w *walker) isPadding(e ast.Expr) bool {
	if len(w.stack) == 0 {
		return false
	}
	statement, ok := w.stack[len(w.stack)-1].(*ast.ReturnStmt)
	if !ok || len(statement.Results) < 2 {
		return false
	}
	if e == statement.Results[len(statement.Results)-1] || !w.givesNothing(statement) {
		return false
	}
	given := w.subject.info.Types[e].Value
	if given == nil {
		return false
	}
	switch given.Kind() {
	case constant.Bool:
		return !constant.BoolVal(given)
	case constant.Int, constant.Float:
		return constant.Sign(given) == 0
	}
	return false
}

// givesNothing reports whether a return statement ends with false or an error,
// so that no caller reads its other results.
func (w *walker) givesNothing(n *ast.ReturnStmt) bool {
	tv := w.subject.info.Types[n.Results[len(n.Results)-1]]
	isFalse := tv.Value != nil && tv.Value.Kind() == constant.Bool && !constant.BoolVal(tv.Value)
	isError := !tv.IsNil() && types.Implements(tv.Type, errorType)
	return isFalse || isError
}

// makesError reports whether a return statement ends with an error that is made
// there, and so is not nil.
func (w *walker) makesError(n *ast.ReturnStmt) bool {
	last := n.Results[len(n.Results)-1]
	if call, ok := last.(*ast.CallExpr); ok {
		return w.isText(call)
	}
	made, ok := last.(*ast.UnaryExpr)
	return ok && made.Op == token.AND && w.givesNothing(n)
}

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

// isText reports whether a call is one of the texts.
func (w *walker) isText(call *ast.CallExpr) bool {
	called := w.called(call)
	if called == nil {
		return false
	}
	for _, text := range texts {
		if called.Pkg().Path() == text.path && (text.name == "" || text.name == called.Name()) {
			return true
		}
	}
	return false
}

// called returns the function or method that a call names; nil where it names
// none, or one of the language. A function value has no name here, so that its
// calls are mutated.
func (w *walker) called(call *ast.CallExpr) *types.Func {
	var name *ast.Ident
	switch function := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		name = function
	case *ast.SelectorExpr:
		name = function.Sel
	default:
		return nil
	}
	called, ok := w.subject.info.Uses[name].(*types.Func)
	if !ok || called.Pkg() == nil {
		return nil
	}
	return called
}

// isDuration reports whether an expression is a constant of an unmeasured type.
func (w *walker) isDuration(e ast.Expr) bool {
	tv := w.subject.info.Types[e]
	if tv.Value == nil {
		return false
	}
	named, ok := types.Unalias(tv.Type).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return false
	}
	for _, t := range unmeasured {
		if named.Obj().Pkg().Path() == t.path && named.Obj().Name() == t.name {
			return true
		}
	}
	return false
}

// isCapacity reports whether an expression only says how much room to make: the
// capacity of a slice or the size of a map.
func (w *walker) isCapacity(e ast.Expr) bool {
	if len(w.stack) == 0 {
		return false
	}
	call, ok := w.stack[len(w.stack)-1].(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	if !ok || w.subject.info.Uses[name] != types.Universe.Lookup("make") {
		return false
	}
	if len(call.Args) == 3 && e == call.Args[2] {
		return true
	}
	_, isMap := w.subject.info.TypeOf(call).Underlying().(*types.Map)
	return isMap && len(call.Args) == 2 && e == call.Args[1]
}

// isVersionField reports whether an expression is a version in a row without
// keys.
func (w *walker) isVersionField(e ast.Expr) bool {
	if len(w.stack) == 0 {
		return false
	}
	row, ok := w.stack[len(w.stack)-1].(*ast.CompositeLit)
	if !ok {
		return false
	}
	fields, ok := w.subject.info.TypeOf(row).Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for i, element := range row.Elts {
		if element == e && i < fields.NumFields() {
			return versions.MatchString(fields.Field(i).Name())
		}
	}
	return false
}
