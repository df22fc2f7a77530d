package main

import (
	"cmp"
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"time"
)

// together is the recorded time up to which tests are run in one process.
// Joining quick tests spares starting a process for each; a longer batch would
// tell later that one of its tests fails.
const together = time.Second

// question is a test that is asked about a mutant.
type question struct {
	*defense
	recordedTest
}

// asked returns the tests that reach a mutant, in the order in which they are
// run: first the quick ones, by how near they are to the mutant, then the slow
// ones, the quickest first. Most mutants are killed by a quick test near them,
// so that the slow ones are seldom run.
func (c *court) asked(m *mutant) []question {
	var all []question
	places := c.places(m)
	for _, d := range c.defenses {
		reach := make(map[int]bool)
		for place := range places {
			for _, i := range d.reaches[place] {
				reach[i] = true
			}
		}
		for i, test := range d.tests {
			if reach[i] {
				all = append(all, question{d, test})
			}
		}
	}
	slow := func(q question) int { return index(q.Seconds > splitAbove.Seconds()) }
	foreign := func(q question) int { return index(q.suite.path != m.subject.path) }
	slices.SortStableFunc(all, func(a, b question) int {
		if slow(a) == 1 && slow(b) == 1 {
			return cmp.Compare(a.Seconds, b.Seconds)
		}
		return cmp.Or(
			cmp.Compare(slow(a), slow(b)),
			cmp.Compare(foreign(a), foreign(b)),
			cmp.Compare(a.rank, b.rank),
			cmp.Compare(a.suite.path, b.suite.path),
			cmp.Compare(a.Seconds, b.Seconds),
		)
	})
	return all
}

// index makes of a condition something to sort by: false comes first.
func index(condition bool) int {
	if condition {
		return 1
	}
	return 0
}

// batch is tests of a package that are run in one process.
type batch struct {
	suite
	tests []recordedTest
}

// seconds is the recorded time of a batch.
func (b batch) seconds() float64 {
	sum := 0.0
	for _, test := range b.tests {
		sum += test.Seconds
	}
	return sum
}

// batches puts quick tests together that follow each other; a subtest is only
// with others of its test. Only neighbors are joined: the order of asked is
// kept.
func batches(all []question) []batch {
	var made []batch
	for _, q := range all {
		if len(made) > 0 {
			last := &made[len(made)-1]
			if last.suite == q.suite && parent(last.tests[0]) == parent(q.recordedTest) &&
				last.seconds()+q.Seconds <= together.Seconds() {
				last.tests = append(last.tests, q.recordedTest)
				continue
			}
		}
		made = append(made, batch{q.suite, []recordedTest{q.recordedTest}})
	}
	return made
}

// parent is the test that a subtest belongs to, "" for a test.
func parent(test recordedTest) string {
	top, _, sub := strings.Cut(test.Name, "/")
	if !sub {
		return ""
	}
	return top
}

// batchPattern is the -test.run of a batch. All tests of a batch have the same
// parent, since the pattern of -test.run is matched level by level.
func batchPattern(batch []recordedTest) string {
	var names []string
	for _, test := range batch {
		name := test.Name
		if top := parent(test); top != "" {
			name = name[len(top)+1:]
		}
		names = append(names, regexp.QuoteMeta(name))
	}
	own := "^(" + strings.Join(names, "|") + ")$"
	if top := parent(batch[0]); top != "" {
		return "^" + top + "$/" + own
	}
	return own
}

// places returns the blocks whose tests can notice a mutant: the one around it,
// or those that use a declaration of the package. A mutant of a function is in a
// block; a constant or variable of the package has no block of its own, and what
// uses it tells of it.
func (c *court) places(m *mutant) map[string]bool {
	found := make(map[string]bool)
	if b, ok := enclosing(c.blocks[m.source], m.from); ok {
		found[b.place()] = true
		return found
	}
	if spec := m.spec(); spec != nil {
		for _, name := range spec.Names {
			if object := m.subject.info.Defs[name]; object != nil {
				c.users(object, found, make(map[string]bool))
			}
		}
	}
	return found
}

// spec returns the declaration of constants or variables that a mutant lies in.
// Nil for a mutant of a function.
func (m *mutant) spec() *ast.ValueSpec {
	decl, ok := m.decl.(*ast.GenDecl)
	if !ok {
		return nil
	}
	for _, spec := range decl.Specs {
		if m.source.offset(spec.Pos()) <= m.from && m.from < m.source.offset(spec.End()) {
			values, _ := spec.(*ast.ValueSpec)
			return values
		}
	}
	return nil
}

// users adds the blocks that use a constant or variable of a package, itself or
// by another that is made of it. Objects are compared by package and name:
// packages are type-checked apart, and one object has a value in each. seen ends
// cycles.
func (c *court) users(object types.Object, found, seen map[string]bool) {
	name := object.Pkg().Path() + "." + object.Name()
	if seen[name] {
		return
	}
	seen[name] = true
	for _, s := range c.probed {
		for ident, used := range s.info.Uses {
			if used.Pkg() == nil || used.Pkg().Path() != object.Pkg().Path() ||
				used.Name() != object.Name() ||
				used.Parent() != used.Pkg().Scope() {
				continue
			}
			file := s.fileOf(ident)
			if b, ok := enclosing(c.blocks[file], file.offset(ident.Pos())); ok {
				found[b.place()] = true
				continue
			}
			for _, decl := range file.tree.Decls {
				general, ok := decl.(*ast.GenDecl)
				if !ok || ident.Pos() < decl.Pos() || decl.End() <= ident.Pos() {
					continue
				}
				for _, spec := range general.Specs {
					values, ok := spec.(*ast.ValueSpec)
					if !ok || ident.Pos() < spec.Pos() || spec.End() <= ident.Pos() {
						continue
					}
					for _, other := range values.Names {
						if made := s.info.Defs[other]; made != nil && made.Pkg() != nil {
							c.users(made, found, seen)
						}
					}
				}
			}
		}
	}
}

// fileOf returns the file that an identifier of the package lies in.
func (s *subject) fileOf(ident *ast.Ident) *source {
	for _, file := range s.files {
		if file.tree.FileStart <= ident.Pos() && ident.Pos() < file.tree.FileEnd {
			return file
		}
	}
	return nil
}
