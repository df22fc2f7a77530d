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
	asked  int    // how many of them were run, and passed
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

// judge runs the tests that reach a mutant until one fails, or those of the
// patience are used up.
func (c *court) judge(ctx context.Context, number int, m *mutant) (v verdict, err error) {
	start := time.Now()
	v = verdict{mutant: m, number: number, fate: unreached}
	defer func() { v.took = time.Since(start) }()
	all := c.asked(m)
	if len(all) == 0 {
		return v, nil
	}
	v.fate, v.tests = survived, len(all)
	overlay := c.overlay
	alone := !canSwitch(m)
	if alone {
		overlay, err = c.aloneOverlay(number, m)
		if err != nil {
			return v, err
		}
		defer removeAll(filepath.Dir(overlay))
	}
	var last *binary
	seconds := 0.0
	for _, batch := range batches(all) {
		if c.patience > 0 && seconds > 0 && seconds+batch.seconds() > c.patience.Seconds() {
			break
		}
		b := last
		switch {
		case !alone:
			b, err = c.binary(ctx, batch.suite)
		case last == nil || last.suite != batch.suite:
			b, err = c.build(ctx, batch.suite, overlay, filepath.Join(filepath.Dir(overlay), "tests"))
		}
		if err != nil {
			return v, err
		}
		last = b
		count := 0
		v.fate, v.by, count, err = c.try(ctx, b, overlay, number, batch)
		if err != nil || v.fate != survived {
			return v, err
		}
		seconds += batch.seconds()
		v.asked += count
	}
	return v, nil
}

// question is a test that is asked about a mutant.
type question struct {
	*defense
	recordedTest
}

// asked returns the tests that reach a mutant, in the order in which they are
// run: first the quick ones, by how near they are to the mutant, then the slow
// ones, the quickest first.
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
// with others of its test.
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

// try runs tests with a mutant. One that fails must pass without it: where it
// does not it is left out, and the others are tried again. It returns which
// test decided, and how many passed.
func (c *court) try(ctx context.Context, b *binary, overlay string, number int, batch batch) (fate, string, int, error) {
	tests := slices.DeleteFunc(slices.Clone(batch.tests), func(test recordedTest) bool { return !c.isSound(b.suite, test.Name) })
	if len(tests) == 0 {
		return survived, "", 0, nil
	}
	limit := c.limit(batch.seconds())
	outcome, out, err := c.run(ctx, b, selectMark+strconv.Itoa(number), overlay, limit, "-test.run", batchPattern(tests))
	if err != nil || outcome == passed {
		return survived, "", len(tests), err
	}
	suspects := tests // all of them, where a crash names none
	for _, match := range failure.FindAllStringSubmatch(out, -1) {
		at := slices.IndexFunc(tests, func(test recordedTest) bool { return test.Name == match[1] })
		if at >= 0 {
			suspects = tests[at : at+1]
			break
		}
	}
	for _, test := range suspects {
		sound, err := c.confirm(ctx, b.suite, test)
		if err != nil {
			return survived, "", 0, err
		}
		if !sound {
			return c.try(ctx, b, overlay, number, batch)
		}
	}
	by := b.folder + " " + batchName(suspects)
	if outcome == timedOut {
		return ended, by, 0, nil
	}
	return killed, by, 0, nil
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// batchName names a batch for people.
func batchName(batch []recordedTest) string {
	if len(batch) == 1 {
		return batch[0].Name
	}
	return fmt.Sprintf("%s and %d more", batch[0].Name, len(batch)-1)
}

// limit is the time that tests have which took some seconds.
func (c *court) limit(seconds float64) time.Duration {
	return c.floor + time.Duration(limitFactor*seconds*float64(time.Second))
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
	limit := c.limit(test.Seconds)
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
