package main

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/types"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// limitFactor times the recorded time, and the floor of a workshop, is what
// tests have with a mutant. An endless loop is what the limit is for: a kill,
// but one that is said apart.
const limitFactor = 8

// together is the recorded time up to which tests are run in one process.
const together = time.Second

// fate is what became of a mutant.
type fate int

const (
	survived  fate = iota
	unreached      // no test reaches it
	killed
	ended // a test did not end in its time: killed
)

// verdict is a mutant's fate and which test decided it.
type verdict struct {
	*mutant
	number int
	fate   fate
	by     string // package and test that killed it
	tests  int    // how many tests reach it
	took   time.Duration
}

// court judges mutants by the tests that reach them.
type court struct {
	*workshop
	probed   []*subject // all whose blocks are recorded
	defenses []*defense
	blocks   map[*source][]block
	overlay  string // with all mutants that can be switched

	mu       sync.Mutex
	binaries map[string]*compiled // by package, of the overlay
	sound    map[string]bool      // whether tests pass without a mutant, by package and pattern
	unsound  []string             // those that do not
}

// compiled is a binary that is built when it is first asked for.
type compiled struct {
	to     string
	once   sync.Once
	binary *binary
	err    error
}

// newCourt writes the overlay of a sample.
func newCourt(w *workshop, probed []*subject, defenses []*defense, sample []*mutant) (*court, error) {
	c := &court{
		workshop: w,
		probed:   probed,
		defenses: defenses,
		blocks:   make(map[*source][]block),
		binaries: make(map[string]*compiled),
		sound:    make(map[string]bool),
	}
	perFile := make(map[*source]map[int]*mutant)
	for i, m := range sample {
		if !canSwitch(m) {
			continue
		}
		if perFile[m.source] == nil {
			perFile[m.source] = make(map[int]*mutant)
		}
		perFile[m.source][i+1] = m
	}
	o, err := newOverlay(filepath.Join(w.dir, "mutants"))
	if err != nil {
		return nil, err
	}
	for _, s := range probed {
		switches := false
		for _, file := range s.files {
			c.blocks[file] = blocks(file)
			if perFile[file] == nil {
				continue
			}
			switches = true
			text, _ := switched(file, perFile[file])
			if err := o.put(file.path, text); err != nil {
				return nil, err
			}
		}
		if switches {
			if err := o.put(filepath.Join(s.dir, extra), []byte(selection(s.name))); err != nil {
				return nil, err
			}
		}
	}
	c.overlay, err = o.write()
	return c, err
}

// places returns the blocks whose tests can notice a mutant: the one around
// it, or those that use a declaration of the package.
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

// users adds the blocks that use a constant or variable of a package, itself
// or by another that is made of it.
func (c *court) users(object types.Object, found, seen map[string]bool) {
	name := object.Pkg().Path() + "." + object.Name()
	if seen[name] {
		return
	}
	seen[name] = true
	for _, s := range c.probed {
		for ident, used := range s.info.Uses {
			if used.Pkg() == nil || used.Pkg().Path() != object.Pkg().Path() || used.Name() != object.Name() ||
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

// judge runs the tests that reach a mutant, those of its own package first,
// until one fails.
func (c *court) judge(ctx context.Context, number int, m *mutant) (v verdict, err error) {
	start := time.Now()
	v = verdict{mutant: m, number: number, fate: unreached}
	defer func() { v.took = time.Since(start) }()
	places := c.places(m)
	order := slices.Clone(c.defenses)
	slices.SortStableFunc(order, func(a, b *defense) int {
		return cmp.Compare(foreign(a, m), foreign(b, m))
	})
	overlay := c.overlay
	alone := !canSwitch(m)
	if alone {
		overlay, err = c.aloneOverlay(number, m)
		if err != nil {
			return v, err
		}
		defer removeAll(filepath.Dir(overlay))
	}
	for _, d := range order {
		tests := d.reaching(places)
		if len(tests) == 0 {
			continue
		}
		if v.fate == unreached {
			v.fate = survived
		}
		v.tests += len(tests)
		var b *binary
		if alone {
			b, err = c.build(ctx, d.suite, overlay, filepath.Join(filepath.Dir(overlay), "tests"))
		} else {
			b, err = c.binary(ctx, d.suite)
		}
		if err != nil {
			return v, err
		}
		for _, batch := range batches(tests) {
			v.fate, v.by, err = c.try(ctx, b, overlay, number, batch)
			if err != nil || v.fate != survived {
				return v, err
			}
		}
	}
	return v, nil
}

// foreign is 0 for the package of a mutant and 1 for others.
func foreign(d *defense, m *mutant) int {
	if d.path == m.subject.path {
		return 0
	}
	return 1
}

// reaching returns the tests that reach one of the places, quickest first.
func (d *defense) reaching(places map[string]bool) []recordedTest {
	chosen := make(map[int]bool)
	for place := range places {
		for _, i := range d.reaches[place] {
			chosen[i] = true
		}
	}
	var tests []recordedTest
	for i, test := range d.tests {
		if chosen[i] {
			tests = append(tests, test)
		}
	}
	slices.SortStableFunc(tests, func(a, b recordedTest) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return tests
}

// batches puts quick tests together, in the order given; a subtest is only
// with others of its test.
func batches(tests []recordedTest) [][]recordedTest {
	var all [][]recordedTest
	var sum float64
	for _, test := range tests {
		sum += test.Seconds
		if len(all) > 0 && sum <= together.Seconds() && parent(test) == parent(all[len(all)-1][0]) {
			all[len(all)-1] = append(all[len(all)-1], test)
			continue
		}
		all = append(all, []recordedTest{test})
		sum = test.Seconds
	}
	return all
}

// parent is the test that a subtest belongs to, "" for a test.
func parent(test recordedTest) string {
	top, _, sub := strings.Cut(test.Name, "/")
	if !sub {
		return ""
	}
	return top
}

// batchPattern is the -test.run of a batch.
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

// try runs a batch with a mutant. A test that fails must pass without it:
// one that does not is left out, and the batch is tried again without it.
func (c *court) try(ctx context.Context, b *binary, overlay string, number int, batch []recordedTest) (fate, string, error) {
	batch = slices.DeleteFunc(slices.Clone(batch), func(test recordedTest) bool { return !c.isSound(b.suite, test.Name) })
	if len(batch) == 0 {
		return survived, "", nil
	}
	sum := 0.0
	for _, test := range batch {
		sum += test.Seconds
	}
	limit := c.floor + time.Duration(limitFactor*sum*float64(time.Second))
	outcome, out, err := c.run(ctx, b, selectMark+strconv.Itoa(number), overlay, limit, "-test.run", batchPattern(batch))
	if err != nil || outcome == passed {
		return survived, "", err
	}
	suspects := batch // all of them, where a crash names none
	for _, match := range failure.FindAllStringSubmatch(out, -1) {
		at := slices.IndexFunc(batch, func(test recordedTest) bool { return test.Name == match[1] })
		if at >= 0 {
			suspects = batch[at : at+1]
			break
		}
	}
	for _, test := range suspects {
		sound, err := c.confirm(ctx, b.suite, test)
		if err != nil {
			return survived, "", err
		}
		if !sound {
			return c.try(ctx, b, overlay, number, batch)
		}
	}
	by := b.folder + " " + batchName(suspects)
	if outcome == timedOut {
		return ended, by, nil
	}
	return killed, by, nil
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// batchName names a batch for people.
func batchName(batch []recordedTest) string {
	if len(batch) == 1 {
		return batch[0].Name
	}
	return fmt.Sprintf("%s and %d more", batch[0].Name, len(batch)-1)
}

// isSound reports whether nothing is known against a test.
func (c *court) isSound(s suite, name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	sound, known := c.sound[s.folder+" "+name]
	return sound || !known
}

// confirm reports whether a test passes in the binary of the mutants while
// none is selected. It is run once for that.
func (c *court) confirm(ctx context.Context, s suite, test recordedTest) (bool, error) {
	key := s.folder + " " + test.Name
	c.mu.Lock()
	sound, known := c.sound[key]
	c.mu.Unlock()
	if known {
		return sound, nil
	}
	b, err := c.binary(ctx, s)
	if err != nil {
		return false, err
	}
	limit := c.floor + time.Duration(limitFactor*test.Seconds*float64(time.Second))
	outcome, out, err := c.run(ctx, b, selectMark+"0", c.overlay, limit, "-test.run", pattern(test.Name))
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sound[key] = outcome == passed
	if outcome != passed {
		c.unsound = append(c.unsound, key+"\n"+lastLines(out))
	}
	return outcome == passed, nil
}

// binary returns the tests of a package, compiled with all mutants.
func (c *court) binary(ctx context.Context, s suite) (*binary, error) {
	c.mu.Lock()
	one := c.binaries[s.path]
	if one == nil {
		one = &compiled{to: filepath.Join(c.dir, fmt.Sprintf("tests%d", len(c.binaries)))}
		c.binaries[s.path] = one
	}
	c.mu.Unlock()
	one.once.Do(func() { one.binary, one.err = c.build(ctx, s, c.overlay, one.to) })
	return one.binary, one.err
}

// aloneOverlay writes the overlay of a mutant that has a build of its own.
func (c *court) aloneOverlay(number int, m *mutant) (string, error) {
	o, err := newOverlay(filepath.Join(c.dir, fmt.Sprintf("alone%d", number)))
	if err != nil {
		return "", err
	}
	if err := o.put(m.source.path, []byte(m.apply(0, len(m.source.text)))); err != nil {
		return "", err
	}
	return o.write()
}

// judgeAll judges a sample, and writes a line for each that survives as soon
// as that is known.
func (c *court) judgeAll(ctx context.Context, sample []*mutant, jobs int, progress io.Writer) ([]verdict, error) {
	verdicts := make([]verdict, len(sample))
	var mu sync.Mutex
	done := 0
	err := each(ctx, jobs, len(sample), func(ctx context.Context, i int) error {
		v, err := c.judge(ctx, i+1, sample[i])
		if err != nil {
			return err
		}
		verdicts[i] = v
		mu.Lock()
		defer mu.Unlock()
		done++
		fmt.Fprintf(progress, "%d/%d %s\n", done, len(sample), v)
		return nil
	})
	return verdicts, err
}
