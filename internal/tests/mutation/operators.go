package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math/big"
	"strconv"
	"strings"
)

// The operators, by the names that reports and equivalent.txt use.
const (
	opBoundary  = "boundary"   // < ↔ <=, > ↔ >=
	opNegate    = "negate"     // == ↔ !=, < ↔ >=, > ↔ <=; if c → if !(c)
	opLogical   = "logical"    // && ↔ ||
	opLeft      = "left"       // a && b → a, a || b → a
	opRight     = "right"      // a && b → b, a || b → b
	opArith     = "arithmetic" // + ↔ -, * ↔ /, also += and ++
	opConstant  = "constant"   // an integer plus 1, a float times 2 (0.0 → 1.0)
	opBool      = "bool"       // true ↔ false
	opZero      = "zero"       // one result of a return statement → its zero value
	opStatement = "statement"  // an assignment or a call without used result is dropped
	opCase      = "case"       // the body of a case is dropped
	opElse      = "else"       // an else is dropped
	opSlice     = "slice"      // s[a:b] → s[a+1:b], s[a:b-1]
	opLoop      = "loop"       // continue ↔ break
)

var (
	boundaries = map[token.Token]string{
		token.LSS: "<=", token.LEQ: "<",
		token.GTR: ">=", token.GEQ: ">",
	}
	negations = map[token.Token]string{
		token.EQL: "!=", token.NEQ: "==",
		token.LSS: ">=", token.GEQ: "<",
		token.GTR: "<=", token.LEQ: ">",
	}
	logicals   = map[token.Token]string{token.LAND: "||", token.LOR: "&&"}
	arithmetic = map[token.Token]string{
		token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*",
		token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+=", token.MUL_ASSIGN: "/=", token.QUO_ASSIGN: "*=",
		token.INC: "--", token.DEC: "++",
	}
)

// mutant is one change of one file: the bytes [from, to) become another text. It
// refers to the text of its file by offsets, so that it is good for the state of
// the sources that was read.
type mutant struct {
	subject  *subject
	source   *source
	decl     ast.Decl // what it lies in: a function, or a declaration of the package
	function string   // (*Box).Contains, Decode, or var names
	operator string
	site     string // the source text that is mutated, on one line
	from, to int
	text     string
	same     int // how many mutants before it in the file have the same function, operator and site
}

// key names a mutant so that it survives edits elsewhere in its file. It has no
// line number; the second of several alike has #2 behind its operator.
func (m *mutant) key() string {
	operator := m.operator
	if m.same > 0 {
		operator += "#" + strconv.Itoa(m.same+1)
	}
	return m.source.rel + ": " + m.function + ": " + operator + ": " + m.site
}

// apply returns a text of the mutant's file from one offset to another, with
// the change in it.
func (m *mutant) apply(from, to int) string {
	return string(m.source.text[from:m.from]) + m.text + string(m.source.text[m.to:to])
}

// candidates returns every mutant of a package, in the order of its files and
// lines. Functions that only write an error's text are left out, as are
// generated files.
func candidates(s *subject) []*mutant {
	var all []*mutant
	for _, file := range s.files {
		if ast.IsGenerated(file.tree) {
			continue
		}
		same := make(map[string]int)
		for _, decl := range file.tree.Decls {
			w := walker{subject: s, source: file, decl: decl}
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Body == nil || isErrorText(decl) {
					continue
				}
				w.function = functionName(file, decl)
				w.walk(decl.Body)
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					values, ok := spec.(*ast.ValueSpec)
					if !ok {
						continue
					}
					w.function = decl.Tok.String() + " " + values.Names[0].Name
					w.walk(values)
				}
			}
			for _, m := range w.found {
				key := m.key()
				m.same = same[key]
				same[key]++
			}
			all = append(all, w.found...)
		}
	}
	return all
}

// functionName writes a function as Go's own reports do: Decode,
// (*Box).Contains.
func functionName(file *source, decl *ast.FuncDecl) string {
	if decl.Recv == nil || len(decl.Recv.List) == 0 {
		return decl.Name.Name
	}
	receiver := decl.Recv.List[0].Type
	return "(" + file.between(receiver.Pos(), receiver.End()) + ")." + decl.Name.Name
}

// isErrorText reports whether a function only writes an error's text.
func isErrorText(decl *ast.FuncDecl) bool {
	return decl.Recv != nil && decl.Name.Name == "Error" && decl.Type.Params.NumFields() == 0
}

// walker finds the mutants of one declaration.
type walker struct {
	subject  *subject
	source   *source
	decl     ast.Decl
	function string
	stack    []ast.Node // the ancestors of the node that is visited
	found    []*mutant
}

// walk visits a node and everything below it that is mutated. The stack has the
// ancestors of a node when visit sees it, and not the node.
func (w *walker) walk(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			w.stack = w.stack[:len(w.stack)-1]
			return true
		}
		if w.excluded(n) {
			return false
		}
		w.visit(n)
		w.stack = append(w.stack, n)
		return true
	})
}

// add notes a mutant: the text between two positions becomes another; site is
// the node that a reader sees changed.
func (w *walker) add(operator string, site ast.Node, from, to token.Pos, text string) {
	w.found = append(w.found, &mutant{
		subject:  w.subject,
		source:   w.source,
		decl:     w.decl,
		function: w.function,
		operator: operator,
		site:     oneLine(w.source.between(site.Pos(), site.End())),
		from:     w.source.offset(from),
		to:       w.source.offset(to),
		text:     text,
	})
}

// oneLine makes a source text fit for a key: on one line and not too long.
func oneLine(text string) string {
	const most = 120
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}

// visit notes the mutants of one node; what is below it has its own turn.
func (w *walker) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		w.binary(n)
	case *ast.IfStmt:
		w.ifStatement(n)
	case *ast.AssignStmt:
		w.assignment(n)
	case *ast.IncDecStmt:
		w.add(opArith, n, n.TokPos, n.TokPos+2, arithmetic[n.Tok])
		w.drop(n)
	case *ast.ExprStmt:
		w.drop(n)
	case *ast.BasicLit:
		w.literal(n)
	case *ast.Ident:
		if w.subject.info.Uses[n] == types.Universe.Lookup("true") {
			w.add(opBool, n, n.Pos(), n.End(), "false")
		}
		if w.subject.info.Uses[n] == types.Universe.Lookup("false") {
			w.add(opBool, n, n.Pos(), n.End(), "true")
		}
	case *ast.ReturnStmt:
		w.returnStatement(n)
	case *ast.CaseClause:
		w.body(n, n.Body)
	case *ast.CommClause:
		w.body(n, n.Body)
	case *ast.SliceExpr:
		w.slice(n)
	case *ast.BranchStmt:
		switch n.Tok {
		case token.CONTINUE:
			w.add(opLoop, n, n.TokPos, n.TokPos+token.Pos(len("continue")), "break")
		case token.BREAK:
			w.add(opLoop, n, n.TokPos, n.TokPos+token.Pos(len("break")), "continue")
		}
	}
}

// binary notes the mutants of an operator with two sides.
func (w *walker) binary(n *ast.BinaryExpr) {
	operator := func(name, text string) {
		w.add(name, n, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), text)
	}
	if text, ok := boundaries[n.Op]; ok {
		operator(opBoundary, text)
	}
	if text, ok := negations[n.Op]; ok {
		operator(opNegate, text)
	}
	if text, ok := logicals[n.Op]; ok {
		operator(opLogical, text)
		w.add(opLeft, n, n.X.End(), n.Y.End(), "")
		w.add(opRight, n, n.X.Pos(), n.Y.Pos(), "")
	}
	if text, ok := arithmetic[n.Op]; ok && w.isNumber(n) {
		operator(opArith, text)
	}
}

// isNumber reports whether an expression is one of a numeric type; a sum of
// strings is not.
func (w *walker) isNumber(e ast.Expr) bool {
	basic, ok := w.subject.info.TypeOf(e).Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsNumeric != 0
}

// ifStatement negates the condition, unless it is a comparison, and drops the
// else.
func (w *walker) ifStatement(n *ast.IfStmt) {
	compared := false
	if binary, ok := ast.Unparen(n.Cond).(*ast.BinaryExpr); ok {
		_, compared = negations[binary.Op] // which is negated already, by its operator
	}
	if !compared {
		cond := w.source.between(n.Cond.Pos(), n.Cond.End())
		w.add(opNegate, n.Cond, n.Cond.Pos(), n.Cond.End(), "!("+cond+")")
	}
	if n.Else != nil {
		w.add(opElse, n.Else, n.Body.End(), n.Else.End(), "")
	}
}

// assignment changes += and its like, and drops an assignment. A definition
// stays, without which most functions do not compile; so does one to the blank.
func (w *walker) assignment(n *ast.AssignStmt) {
	if text, ok := arithmetic[n.Tok]; ok && w.isNumber(n.Lhs[0]) {
		w.add(opArith, n, n.TokPos, n.TokPos+2, text)
	}
	blank := true
	for _, left := range n.Lhs {
		if ident, ok := left.(*ast.Ident); !ok || ident.Name != "_" {
			blank = false
		}
	}
	if n.Tok != token.DEFINE && !blank {
		w.drop(n)
	}
}

// drop notes that a statement of a block goes; the clauses of a for or an if
// stay.
func (w *walker) drop(n ast.Stmt) {
	if len(w.stack) == 0 {
		return
	}
	switch parent := w.stack[len(w.stack)-1].(type) {
	case *ast.BlockStmt, *ast.CaseClause:
		w.add(opStatement, n, n.Pos(), n.End(), "")
	case *ast.CommClause:
		if parent.Comm != n {
			w.add(opStatement, n, n.Pos(), n.End(), "")
		}
	}
}

// body empties a case.
func (w *walker) body(clause ast.Node, body []ast.Stmt) {
	if len(body) > 0 {
		w.add(opCase, clause, body[0].Pos(), body[len(body)-1].End(), "")
	}
}

// literal changes a number. Texts are not mutated.
func (w *walker) literal(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT:
		if w.isArgument("math", "Inf") {
			w.add(opConstant, w.around(n), n.Pos(), n.End(), "(-1)") // only the sign counts
			return
		}
		value := constant.MakeFromLiteral(n.Value, token.INT, 0)
		next := constant.BinaryOp(value, token.ADD, constant.MakeInt64(1))
		w.add(opConstant, w.around(n), n.Pos(), n.End(), next.ExactString())
	case token.FLOAT:
		value, ok := new(big.Float).SetString(strings.ReplaceAll(n.Value, "_", ""))
		if !ok {
			return
		}
		text := "1.0"
		if value.Sign() != 0 {
			text = "(2 * " + n.Value + ")"
		}
		w.add(opConstant, w.around(n), n.Pos(), n.End(), text)
	}
}

// isArgument reports whether the visited node is an argument, or one with a
// sign, of a function; an empty name is every function of the package.
func (w *walker) isArgument(path, name string) bool {
	for i := len(w.stack) - 1; i >= 0; i-- {
		switch parent := w.stack[i].(type) {
		case *ast.UnaryExpr:
		case *ast.CallExpr:
			called := w.called(parent)
			return called != nil && called.Pkg().Path() == path && (name == "" || called.Name() == name)
		default:
			return false
		}
	}
	return false
}

// around returns the expression next above a literal, which says more in a key
// than the number alone, or the literal where that is not an expression.
func (w *walker) around(n ast.Expr) ast.Node {
	if len(w.stack) > 0 {
		switch parent := w.stack[len(w.stack)-1].(type) {
		case *ast.BinaryExpr, *ast.CallExpr, *ast.IndexExpr, *ast.SliceExpr, *ast.UnaryExpr,
			*ast.KeyValueExpr, *ast.AssignStmt, *ast.ReturnStmt:
			return parent
		}
	}
	return n
}

// slice moves a bound by one.
func (w *walker) slice(n *ast.SliceExpr) {
	if n.Low != nil && !isLiteral(n.Low) {
		w.add(opSlice, n, n.Low.End(), n.Low.End(), "+1")
	}
	if n.High != nil && !isLiteral(n.High) {
		w.add(opSlice, n, n.High.End(), n.High.End(), "-1")
	}
}

// isLiteral reports whether an expression is a number that the operator of
// constants changes already.
func isLiteral(e ast.Expr) bool {
	_, ok := ast.Unparen(e).(*ast.BasicLit)
	return ok
}

// returnStatement notes each result that is not zero already as made zero.
func (w *walker) returnStatement(n *ast.ReturnStmt) {
	results := w.results()
	if results.NumFields() == 0 || results.NumFields() != len(n.Results) {
		return // without results, naked, or one call with several results
	}
	for i, typ := range fieldTypes(results) {
		result := n.Results[i]
		unread := i < len(n.Results)-1 && w.makesError(n)
		if !unread && !w.isZero(result) {
			w.add(opZero, n, result.Pos(), result.End(), w.zero(typ))
		}
	}
}

// results returns the results of the innermost function around the visited
// node.
func (w *walker) results() *ast.FieldList {
	for i := len(w.stack) - 1; i >= 0; i-- {
		if literal, ok := w.stack[i].(*ast.FuncLit); ok {
			return literal.Type.Results
		}
	}
	if decl, ok := w.decl.(*ast.FuncDecl); ok {
		return decl.Type.Results
	}
	return nil
}

// fieldTypes returns one type a parameter or result: (a, b int) has two.
func fieldTypes(fields *ast.FieldList) []ast.Expr {
	var all []ast.Expr
	for _, field := range fields.List {
		for range max(1, len(field.Names)) {
			all = append(all, field.Type)
		}
	}
	return all
}

// zero writes the zero value of a type. Of a type parameter, and of what has no
// shorter form, it is *new(T).
func (w *walker) zero(typ ast.Expr) string {
	t := w.subject.info.TypeOf(typ)
	if _, ok := t.(*types.TypeParam); !ok {
		switch under := t.Underlying().(type) {
		case *types.Basic:
			switch {
			case under.Info()&types.IsNumeric != 0:
				return "0"
			case under.Info()&types.IsString != 0:
				return `""`
			case under.Info()&types.IsBoolean != 0:
				return "false"
			}
		case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature, *types.Interface:
			return "nil"
		}
	}
	return "*new(" + w.source.between(typ.Pos(), typ.End()) + ")"
}

// isZero reports whether a result is a zero value as it is written, or a truth
// value, which has an operator of its own.
func (w *walker) isZero(e ast.Expr) bool {
	tv := w.subject.info.Types[e]
	if tv.IsNil() {
		return true
	}
	if tv.Value != nil {
		switch tv.Value.Kind() {
		case constant.Bool:
			return true
		case constant.String:
			return constant.StringVal(tv.Value) == ""
		default:
			return constant.Sign(tv.Value) == 0
		}
	}
	composite, ok := e.(*ast.CompositeLit)
	if !ok || len(composite.Elts) > 0 {
		return false
	}
	switch tv.Type.Underlying().(type) {
	case *types.Struct, *types.Array:
		return true
	}
	return false
}
