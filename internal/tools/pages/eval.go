package main

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"
	"text/template/parse"
)

// escaperPrefix begins the names of the functions that html/template appends to pipelines.
const escaperPrefix = "_html_template_"

// pipe compiles a pipeline, and returns the escapers at its end.
func (f *function) pipe(dot *variable, p *parse.PipeNode) (v value, escapers []string) {
	var final *value
	for _, cmd := range p.Cmds {
		if id, ok := cmd.Args[0].(*parse.IdentifierNode); ok && strings.HasPrefix(id.Ident, escaperPrefix) {
			escapers = append(escapers, id.Ident)
			continue
		}
		v = f.eval(dot, cmd.Args, final)
		final = &v
	}
	return v, escapers
}

// eval compiles a command: a value or a call, with what the command before it yields as its last
// argument.
func (f *function) eval(dot *variable, nodes []parse.Node, final *value) (v value) {
	args := func() (all []value) {
		for _, n := range nodes[1:] {
			all = append(all, f.eval(dot, []parse.Node{n}, nil))
		}
		if final != nil {
			all = append(all, *final)
		}
		return all
	}
	of := func(x *variable) value {
		x.used = true
		return value{code: x.code, typ: x.typ}
	}
	switch n := nodes[0].(type) {
	case *parse.FieldNode:
		return f.chain(n, of(dot), n.Ident, args())
	case *parse.VariableNode:
		if v = of(f.variable(n, n.Ident[0])); len(n.Ident) > 1 {
			return f.chain(n, v, n.Ident[1:], args())
		}
	case *parse.ChainNode:
		if id, ok := n.Node.(*parse.IdentifierNode); ok && f.imports[id.Ident] != nil {
			object := f.imports[id.Ident].Scope().Lookup(n.Field[0])
			if object == nil || !object.Exported() {
				f.fail(n, "package %s declares no %s", id.Ident, n.Field[0])
			}
			f.used[object.Pkg().Path()] = true
			x := value{code: id.Ident + "." + object.Name(), typ: object.Type()}
			if len(n.Field) > 1 {
				return f.chain(n, x, n.Field[1:], args())
			}
			return f.apply(n, x, args())
		}
		return f.chain(n, f.eval(dot, []parse.Node{n.Node}, nil), n.Field, args())
	case *parse.IdentifierNode:
		if all, ok := f.builtin(dot, n, nodes[1:], args); ok {
			return all
		}
		object := f.pkg.Scope().Lookup(n.Ident)
		if object == nil {
			f.fail(n, "package %s declares no %s", f.pkg.Name(), n.Ident)
		}
		return f.apply(n, value{code: n.Ident, typ: object.Type()}, args())
	case *parse.PipeNode:
		v, _ = f.pipe(dot, n)
	case *parse.DotNode:
		v = of(dot)
	case *parse.StringNode:
		v = value{code: strconv.Quote(n.Text), typ: types.Typ[types.UntypedString]}
	case *parse.BoolNode:
		v = value{code: strconv.FormatBool(n.True), typ: types.Typ[types.Bool]}
	case *parse.NumberNode:
		switch {
		case n.IsInt:
			v = value{code: strconv.FormatInt(n.Int64, 10), typ: types.Typ[types.UntypedInt]}
		case n.IsFloat:
			v = value{code: n.Text, typ: types.Typ[types.UntypedFloat]}
		}
	}
	if v.typ == nil {
		f.fail(nodes[0], "is not a value that is compiled")
	}
	if len(args()) > 0 {
		f.fail(nodes[0], "has arguments and is not a function")
	}
	return v
}

// variable finds a variable by its name.
func (f *function) variable(n parse.Node, name string) *variable {
	for i := len(f.vars) - 1; i >= 0; i-- {
		if f.vars[i].name == name {
			return f.vars[i]
		}
	}
	f.fail(n, "there is no variable %s", name)
	return nil
}

// chain compiles fields and methods of a value, the last of them with arguments. Those that are
// not exported are found in the package of the templates.
func (f *function) chain(n parse.Node, of value, names []string, args []value) value {
	for i, name := range names {
		object, _, _ := types.LookupFieldOrMethod(of.typ, true, f.pkg, name)
		if object == nil {
			f.fail(n, "%s has no field or method %s", f.typeName(of.typ), name)
		}
		of = value{code: of.in(unary) + "." + name, typ: object.Type()}
		if i == len(names)-1 {
			return f.apply(n, of, args)
		}
		of = f.apply(n, of, nil)
	}
	return of
}

// apply calls what can be called, with arguments, and leaves other values as they are.
func (f *function) apply(n parse.Node, of value, args []value) value {
	signature, ok := of.typ.Underlying().(*types.Signature)
	if !ok {
		if len(args) > 0 {
			f.fail(n, "%s has arguments and is not a function", of.code)
		}
		return of
	}
	params, results := signature.Params(), signature.Results()
	fixed := params.Len()
	if signature.Variadic() {
		fixed--
	}
	if len(args) < fixed || len(args) > fixed && !signature.Variadic() {
		f.fail(n, "%s takes %d arguments, and has %d", of.code, params.Len(), len(args))
	}
	codes := make([]string, len(args))
	for i, a := range args {
		t := params.At(min(i, params.Len()-1)).Type()
		if i >= fixed {
			t = t.(*types.Slice).Elem()
		}
		if !types.AssignableTo(a.typ, t) {
			f.fail(n, "%s takes a %s, and has a %s", of.code, f.typeName(t), f.typeName(a.typ))
		}
		codes[i] = a.code
	}
	call := of.code + "(" + strings.Join(codes, ", ") + ")"
	fails := results.Len() == 2 && types.Identical(results.At(1).Type(), types.Universe.Lookup("error").Type())
	if results.Len() != 1 && !fails {
		f.fail(n, "%s returns no value, or a value and no error", of.code)
	}
	if fails {
		call = "markup.Must(" + call + ")"
	}
	return value{code: call, typ: results.At(0).Type()}
}

// condition compiles a pipeline as what an if asks for.
func (f *function) condition(dot *variable, p *parse.PipeNode) value {
	if len(p.Cmds) == 1 {
		return f.holds(dot, p.Cmds[0].Args)
	}
	v, _ := f.pipe(dot, p)
	return f.truth(p, v)
}

// holds is whether a command yields what is true. It is asked of the operands of and, or and not,
// whatever their types.
func (f *function) holds(dot *variable, nodes []parse.Node) value {
	switch n := nodes[0].(type) {
	case *parse.PipeNode:
		if len(nodes) == 1 {
			return f.condition(dot, n)
		}
	case *parse.IdentifierNode:
		op, sign := or, " || "
		if n.Ident == "and" {
			op, sign = and, " && "
		}
		if (n.Ident == "and" || n.Ident == "or") && len(nodes) > 2 {
			var all []string
			for _, arg := range nodes[1:] {
				all = append(all, f.holds(dot, []parse.Node{arg}).in(op))
			}
			return value{strings.Join(all, sign), types.Typ[types.Bool], op}
		}
	}
	return f.truth(nodes[0], f.eval(dot, nodes, nil))
}

// truth is whether a value is what text/template takes for true.
func (f *function) truth(n parse.Node, v value) value {
	is := func(format string) value {
		return value{fmt.Sprintf(format, v.in(comparison)), types.Typ[types.Bool], comparison}
	}
	switch t := v.typ.Underlying().(type) {
	case *types.Basic:
		switch info := t.Info(); {
		case info&types.IsBoolean != 0:
			return v
		case info&types.IsString != 0:
			return is(`%s != ""`)
		case info&types.IsNumeric != 0:
			return is("%s != 0")
		}
	case *types.Slice, *types.Map:
		return is("len(%s) > 0")
	case *types.Pointer, *types.Signature:
		return is("%s != nil")
	}
	f.fail(n, "a %s is always true, or true by what is in it", f.typeName(v.typ))
	return value{}
}

// builtin compiles a function of text/template.
func (f *function) builtin(dot *variable, n *parse.IdentifierNode, nodes []parse.Node, list func() []value) (value, bool) {
	boolean := types.Typ[types.Bool]
	need := func(least, most int) []value {
		args := list()
		if len(args) < least || len(args) > most {
			f.fail(n, "%s has %d arguments", n.Ident, len(args))
		}
		return args
	}
	switch n.Ident {
	case "not":
		if len(nodes) != 1 {
			f.fail(n, "not has %d arguments", len(nodes))
		}
		return value{"!" + f.holds(dot, nodes).in(unary), boolean, none}, true
	case "and", "or":
		args := need(2, 1<<10)
		kind := types.Default(args[0].typ)
		_, basic := kind.Underlying().(*types.Basic)
		codes := make([]string, len(args))
		for i, a := range args {
			if !types.AssignableTo(a.typ, kind) {
				f.fail(n, "%s yields a %s or a %s", n.Ident, f.typeName(kind), f.typeName(a.typ))
			}
			codes[i] = a.code
		}
		switch {
		case types.Identical(kind, boolean):
			return f.holds(dot, append([]parse.Node{n}, nodes...)), true
		case basic && n.Ident == "or":
			f.used["cmp"] = true
			return value{code: "cmp.Or(" + strings.Join(codes, ", ") + ")", typ: kind}, true
		}
		f.fail(n, "%s of a %s is compiled as a condition only", n.Ident, f.typeName(kind))
	case "eq":
		args := need(2, 1<<10)
		var all []string
		for _, a := range args[1:] {
			all = append(all, f.compare(n, args[0], "==", a))
		}
		op := or
		if len(all) == 1 {
			op = comparison
		}
		return value{strings.Join(all, " || "), boolean, op}, true
	case "ne", "lt", "le", "gt", "ge":
		args := need(2, 2)
		op := map[string]string{"ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}[n.Ident]
		return value{f.compare(n, args[0], op, args[1]), boolean, comparison}, true
	case "len":
		args := need(1, 1)
		switch t := args[0].typ.Underlying().(type) {
		case *types.Slice, *types.Map, *types.Array:
			return value{code: "len(" + args[0].code + ")", typ: types.Typ[types.Int]}, true
		case *types.Basic:
			if t.Info()&types.IsString != 0 {
				return value{code: "len(" + args[0].code + ")", typ: types.Typ[types.Int]}, true
			}
		}
		f.fail(n, "a %s has no length", f.typeName(args[0].typ))
	case "index":
		args := need(2, 1<<10)
		v := args[0]
		for _, at := range args[1:] {
			key := types.Type(types.Typ[types.Int])
			var elem types.Type
			switch t := v.typ.Underlying().(type) {
			case *types.Slice:
				elem = t.Elem()
			case *types.Array:
				elem = t.Elem()
			case *types.Map:
				key, elem = t.Key(), t.Elem()
			}
			if elem == nil || !types.AssignableTo(at.typ, key) {
				f.fail(n, "a %s has no element at a %s", f.typeName(v.typ), f.typeName(at.typ))
			}
			v = value{code: v.in(unary) + "[" + at.code + "]", typ: elem}
		}
		return v, true
	case "slice":
		args := need(2, 3)
		if _, ok := args[0].typ.Underlying().(*types.Slice); !ok {
			f.fail(n, "a %s is not cut", f.typeName(args[0].typ))
		}
		code := args[0].in(unary) + "[" + args[1].code + ":"
		if len(args) == 3 {
			code += args[2].code
		}
		return value{code: code + "]", typ: args[0].typ}, true
	case "print", "printf":
		var codes []string
		for _, a := range need(1, 1<<10) {
			codes = append(codes, a.code)
		}
		f.used["fmt"] = true
		name := map[string]string{"print": "Sprint", "printf": "Sprintf"}[n.Ident]
		return value{code: "fmt." + name + "(" + strings.Join(codes, ", ") + ")", typ: types.Typ[types.String]}, true
	case "call", "js", "println":
		f.fail(n, "the function %s is not compiled", n.Ident)
	}
	return value{}, false
}

// compare compares two values of one kind, which text/template does whatever their types.
func (f *function) compare(n parse.Node, x value, op string, y value) string {
	kind := func(v value) string {
		b, ok := v.typ.Underlying().(*types.Basic)
		if !ok {
			return ""
		}
		switch info := b.Info(); {
		case info&types.IsString != 0:
			return "string"
		case info&types.IsBoolean != 0 && (op == "==" || op == "!="):
			return "bool"
		case info&types.IsUnsigned != 0:
			return "uint64"
		case info&types.IsInteger != 0:
			return "int64"
		case info&types.IsFloat != 0:
			return "float64"
		}
		return ""
	}
	literal := func(v value) bool {
		b, ok := v.typ.(*types.Basic)
		return ok && b.Info()&types.IsUntyped != 0
	}
	kx, ky := kind(x), kind(y)
	if kx == "uint64" && literal(y) && ky == "int64" && !strings.HasPrefix(y.code, "-") {
		ky = kx
	}
	if kx == "" || kx != ky {
		f.fail(n, "a %s is not compared with a %s", f.typeName(x.typ), f.typeName(y.typ))
	}
	if kx == "float64" && strings.HasPrefix(op, ">") {
		f.fail(n, "%s of floats differs from Go's where one is not a number", n)
	}
	if !types.Identical(x.typ, y.typ) && !literal(x) && !literal(y) {
		return fmt.Sprintf("%s(%s) %s %[1]s(%[4]s)", kx, x.code, op, y.code)
	}
	return x.in(comparison) + " " + op + " " + y.in(comparison)
}
