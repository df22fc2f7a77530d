package architecture

import (
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// hidden are the exported names whose types other modules cannot name, and why they need
// not.
var hidden = map[string]string{
	"projections/space.Space.Cells":            relaxed,
	"projections/space.Space.Region":           relaxed,
	"projections/space.Slice.Pieces":           relaxed,
	"projections/quantity.Model.GP":            model,
	"projections/quantity.Model.Given":         model,
	"projections/quantity.Model.Conditioned":   model,
	"projections/quantity.Model.Kernel":        model,
	"projections/quantity.Model.Negated":       model,
	"projections/quantity.Model.Scale":         model,
	"policies/seek.Problem.Functions":          composed,
	"projections/preference.Model.Choice":      model,
	"projections/preference.Model.Score":       model,
	"projections/preference.Model.Scaling":     model,
	"projections/preference.Outcomes.Utility":  model,
	"projections/preference.Outcomes.Better":   model,
	"projections/preference.Outcomes.Duels":    model,
	"policies/seek.Preferences.Utility":        model,
	"projections/preference.Utility.Posterior": model,
	"projections/preference.Utility.Duels":     model,
	"projections/preference.Utility.Link":      model,
	"policies/trust.Weigh":                     "it takes what quantity.Model.GP().Joint returns",
}

const (
	relaxed  = "a policy searches it by package search"
	composed = "an acquisition of package next is made of it"
	model    = "a policy is given the model, and calls its methods"
)

// Law: what another module must name is public: no exported name of a public package has a
// type of an internal one in its signature.
func TestPublicNamesArePublic(t *testing.T) {
	loaded := public(t, "./events/...", "./projections/...", "./policies/...", "./adapters/...", "./cmd/...", "./schemas")
	found := make(map[string]bool)
	for _, p := range loaded {
		folder := strings.TrimPrefix(p.Path(), module)
		for _, name := range exported(p) {
			for _, internal := range internalsOf(name.typ) {
				key := folder + "." + name.name
				found[key] = true
				if hidden[key] == "" {
					t.Errorf("%s names %s, which no other module can", key, internal)
				}
			}
		}
	}
	for key := range hidden {
		if !found[key] {
			t.Errorf("%s hides nothing any more", key)
		}
	}
}

// public returns the packages of some patterns that other modules can import, as the
// compiler sees them.
func public(t *testing.T, patterns ...string) []*types.Package {
	t.Helper()
	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}} {{.DepOnly}}"}, patterns...)
	list := exec.Command("go", args...)
	list.Dir = root
	out := must.Get(list.Output())(t)
	files := make(map[string]string)
	var paths []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue // a package without code of its own, such as unsafe
		}
		files[fields[0]] = fields[1]
		if fields[2] == "false" && !strings.Contains(fields[0], "/internal/") {
			paths = append(paths, fields[0])
		}
	}
	compiled := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	})
	var all []*types.Package
	for _, path := range paths {
		p := must.Get(compiled.Import(path))(t)
		all = append(all, p)
	}
	return all
}

// name is an exported name of a package: a function, a variable, a field or a method.
type name struct {
	name string
	typ  types.Type
}

// exported lists the exported names of a package, with the fields and methods of its types.
func exported(p *types.Package) []name {
	var names []name
	scope := p.Scope()
	for _, id := range scope.Names() {
		object := scope.Lookup(id)
		if !object.Exported() {
			continue
		}
		if _, isType := object.(*types.TypeName); !isType {
			names = append(names, name{id, object.Type()})
			continue
		}
		names = append(names, members(id, object.Type())...)
	}
	return names
}

// members lists the exported fields and methods of a type, and what it stands for where it
// is neither a struct nor an interface.
func members(id string, typ types.Type) []name {
	var names []name
	if named, ok := typ.(*types.Named); ok {
		for i := range named.NumMethods() {
			if m := named.Method(i); m.Exported() {
				names = append(names, name{id + "." + m.Name(), m.Type()})
			}
		}
	}
	switch u := typ.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			if f := u.Field(i); f.Exported() {
				names = append(names, name{id + "." + f.Name(), f.Type()})
			}
		}
	case *types.Interface:
		for i := range u.NumMethods() {
			names = append(names, name{id + "." + u.Method(i).Name(), u.Method(i).Type()})
		}
	default:
		names = append(names, name{id, u})
	}
	return names
}

// internalsOf lists the internal types that a type is written with.
func internalsOf(typ types.Type) []string {
	var found []string
	seen := make(map[types.Type]bool)
	var visit func(types.Type)
	visit = func(typ types.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		switch typ := typ.(type) {
		case *types.Alias:
			visitNamed(typ.Obj(), &found)
		case *types.Named:
			visitNamed(typ.Obj(), &found)
			for i := range typ.TypeArgs().Len() {
				visit(typ.TypeArgs().At(i))
			}
		case *types.Pointer:
			visit(typ.Elem())
		case *types.Slice:
			visit(typ.Elem())
		case *types.Array:
			visit(typ.Elem())
		case *types.Chan:
			visit(typ.Elem())
		case *types.Map:
			visit(typ.Key())
			visit(typ.Elem())
		case *types.Tuple:
			for i := range typ.Len() {
				visit(typ.At(i).Type())
			}
		case *types.Signature:
			visit(typ.Params())
			visit(typ.Results())
		case *types.Struct:
			for i := range typ.NumFields() {
				visit(typ.Field(i).Type())
			}
		}
	}
	visit(typ)
	slices.Sort(found)
	return slices.Compact(found)
}

// visitNamed notes a name that is one of our internal packages'.
func visitNamed(object *types.TypeName, found *[]string) {
	p := object.Pkg()
	if p == nil || !strings.HasPrefix(p.Path(), module) || !strings.Contains(p.Path(), "/internal/") {
		return
	}
	*found = append(*found, strings.TrimPrefix(p.Path(), module)+"."+object.Name())
}
