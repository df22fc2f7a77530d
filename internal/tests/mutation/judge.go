package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// limitFactor times the recorded time, and the floor of a workshop, is what
// tests have with a mutant. An endless loop is what the limit is for: a kill,
// but one that is said apart.
const limitFactor = 8

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
	fate  fate
	by    string // package and test that killed it
	tests int    // how many tests reach it
	asked int    // how many of them were run, and passed
	took  time.Duration
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

// newCourt writes the overlay of a sample. Mutants have the numbers from 1 in
// the order of the sample; 0 selects none.
func newCourt(
	w *workshop, probed []*subject, defenses []*defense, sample []*mutant,
) (*court, error) {
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
	o, err := w.newOverlay("mutants")
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

// judge runs the tests that reach a mutant until one fails, or those of the
// patience are used up.
//
// Patience is counted in recorded seconds, not in those of the clock: what is
// asked must not depend on how busy the machine is. The first batch is asked in
// any case.
func (c *court) judge(ctx context.Context, number int, m *mutant) (v verdict, err error) {
	start := time.Now()
	v = verdict{mutant: m, fate: unreached}
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

// try runs tests with a mutant. One that fails must pass without it: where it
// does not it is left out, and the others are tried again. It returns which
// test decided, and how many passed. The test that failed is looked for in the
// output; a crash may name none, and then all of the batch are suspects that
// must pass without the mutant.
func (c *court) try(
	ctx context.Context, b *binary, overlay string, number int, batch batch,
) (fate, string, int, error) {
	tests := slices.DeleteFunc(slices.Clone(batch.tests), func(test recordedTest) bool {
		return !c.isSound(b.suite, test.Name)
	})
	if len(tests) == 0 {
		return survived, "", 0, nil
	}
	limit := c.limit(batch.seconds())
	mark := selectMark + strconv.Itoa(number)
	outcome, out, err := c.run(ctx, b, mark, overlay, limit,
		"-test.failfast", "-test.run", batchPattern(tests))
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

// limit is the time that tests have which took some seconds. The floor is for
// tests so quick that starting them takes longer.
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

// confirm reports whether a test passes in the binary of the mutants while none
// is selected. It is run once for that. Two goroutines may run it side by side
// for one test; a test that fails is listed once.
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
	if _, known = c.sound[key]; !known && outcome != passed {
		c.unsound = append(c.unsound, key+"\n"+lastLines(out))
	}
	c.sound[key] = outcome == passed
	return outcome == passed, nil
}

// binary returns the tests of a package, compiled with all mutants. The lock is
// not held while it is built, so that other packages are built meanwhile.
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

// aloneOverlay writes the overlay of a mutant that has a build of its own. It
// replaces one file, so that the build cache serves all other packages.
func (c *court) aloneOverlay(number int, m *mutant) (string, error) {
	o, err := c.newOverlay(fmt.Sprintf("alone%d", number))
	if err != nil {
		return "", err
	}
	if err := o.put(m.source.path, []byte(m.apply(0, len(m.source.text)))); err != nil {
		return "", err
	}
	return o.write()
}

// judgeAll judges a sample, and writes a line for each that survives as soon as
// that is known.
func (c *court) judgeAll(
	ctx context.Context, sample []*mutant, jobs int, progress io.Writer,
) ([]verdict, error) {
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
