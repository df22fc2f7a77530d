package app

import (
	"net/url"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// withModules fills in the Go module and the version of each family of methods,
// as the program was built with them. They are recorded with decisions, so that
// an audit knows which decisions it can make again. The given registry is not
// changed. A family that names its module itself keeps that.
func withModules(registry Registry, info *debug.BuildInfo) Registry {
	registry.Methods = slices.Clone(registry.Methods)
	for i := range registry.Methods {
		f := &registry.Methods[i]
		if f.Module == "" {
			f.Module, f.ModuleVersion = moduleOf(packageOf(f.New), info)
		}
	}
	return registry
}

// packageOf is the import path of the package that a function is declared in; "main" for a function
// of the program itself.
//
// Only the function's name gives it: a plug-in registers a function and nothing else.
func packageOf(function any) string {
	name := runtime.FuncForPC(reflect.ValueOf(function).Pointer()).Name()
	folder := strings.LastIndexByte(name, '/') + 1
	last, _, _ := strings.Cut(name[folder:], ".")
	// A dot in the last element of a path is written as %2e in the names of
	// functions.
	if plain, err := url.PathUnescape(last); err == nil {
		last = plain
	}
	return name[:folder] + last
}

// moduleOf is the path of the module that a package belongs to, and its version
// where that is known. The longest module path that is a prefix wins, because
// modules may be nested. For a package of no known module the path is the
// package's.
//
// A replaced module has the version of its replacement, empty for a local
// folder.
func moduleOf(pkg string, info *debug.BuildInfo) (path, version string) {
	if pkg == "main" {
		return info.Main.Path, released(info.Main.Version)
	}
	path = pkg
	found := ""
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if (pkg == m.Path || strings.HasPrefix(pkg, m.Path+"/")) && len(m.Path) > len(found) {
			found = m.Path
			version = m.Version
			if m.Replace != nil {
				version = m.Replace.Version
			}
		}
	}
	if found != "" {
		path = found
	}
	return path, released(version)
}

// released leaves out "(devel)", which stands for an unknown version. An
// unknown version must not look like one that could be compared.
func released(version string) string {
	if version == "(devel)" {
		return ""
	}
	return version
}
