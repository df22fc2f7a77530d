package main

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// String is the line of a mutant in the progress of a run.
func (v verdict) String() string {
	what := "survives"
	switch v.fate {
	case unreached:
		what = "survives, no test reaches it"
	case killed:
		what = "killed by " + v.by
	case ended:
		what = "killed by the time limit of " + v.by
	}
	return fmt.Sprintf("%s %s: %s (%.1f s)", v.where(), v.operator, what, v.took.Seconds())
}

// where returns the file and line of a mutant.
func (m *mutant) where() string {
	return fmt.Sprintf("%s:%d", m.source.rel, m.source.line(m.from))
}

// diff returns the lines of a mutant before and after. Whole lines are shown, at
// most eight of each side.
func (m *mutant) diff() string {
	text := m.source.text
	from := bytes.LastIndexByte(text[:m.from], '\n') + 1
	to := len(text)
	if end := bytes.IndexByte(text[m.to:], '\n'); end >= 0 {
		to = m.to + end
	}
	var out strings.Builder
	write := func(sign, lines string) {
		const most = 8
		all := strings.Split(lines, "\n")
		for i, line := range all {
			if i == most && len(all) > most+1 {
				fmt.Fprintf(&out, "  %s … and %d lines\n", sign, len(all)-most)
				break
			}
			fmt.Fprintf(&out, "  %s %s\n", sign, line)
		}
	}
	write("-", string(text[from:to]))
	write("+", m.apply(from, to))
	return out.String()
}

// tally counts the mutants of a package.
type tally struct {
	killed, ended, survived, unreached int
}

// dead counts those that a test noticed, all those that were judged: mutants
// that do not compile and equivalent ones are not among them.
func (t tally) dead() int { return t.killed + t.ended }
func (t tally) all() int  { return t.dead() + t.survived + t.unreached }

// score is the share that is killed, in percent; of nothing, all.
func (t tally) score() float64 {
	if t.all() == 0 {
		return 100
	}
	return 100 * float64(t.dead()) / float64(t.all())
}

// add counts one.
func (t *tally) add(f fate) {
	switch f {
	case killed:
		t.killed++
	case ended:
		t.ended++
	case survived:
		t.survived++
	case unreached:
		t.unreached++
	}
}

// result is all that a run found.
type result struct {
	sample     []*mutant
	verdicts   []verdict
	equivalent []*mutant // drawn, and listed as equivalent
	entries    map[string]*entry
	stale      []string // entries that match no mutant
	unsound    []string // tests that fail without a mutant
	invalid    int      // drawn, and not compiling
	total      int      // mutants there are
}

// list writes the mutants of a sample, in their order.
func list(out io.Writer, r result) {
	for _, m := range r.sample {
		fmt.Fprintf(out, "%s %s in %s\n%s  key: %s\n\n", m.where(), m.operator, m.function, m.diff(), m.key())
	}
}

// report writes a result for people, and returns the score. Survivors come
// first, each with its key, which is what equivalent.txt takes.
func report(out io.Writer, r result) float64 {
	var sum tally
	perPackage := make(map[string]*tally)
	var packages []string
	for _, v := range r.verdicts {
		name := path.Dir(v.source.rel)
		if perPackage[name] == nil {
			perPackage[name] = new(tally)
			packages = append(packages, name)
		}
		perPackage[name].add(v.fate)
		sum.add(v.fate)
	}
	slices.Sort(packages)
	for _, v := range r.verdicts {
		if v.fate != survived && v.fate != unreached {
			continue
		}
		reason := fmt.Sprintf("%d of the %d tests that reach it were asked", v.asked, v.tests)
		if v.fate == unreached {
			reason = "no test reaches it"
		}
		fmt.Fprintf(out, "survivor %s %s in %s: %s\n%s  key: %s\n\n",
			v.where(), v.operator, v.function, reason, v.diff(), v.key())
	}
	for _, m := range r.equivalent {
		fmt.Fprintf(out, "equivalent %s %s in %s: %s\n%s\n",
			m.where(), m.operator, m.function, r.entries[m.key()].reason, m.diff())
	}
	for _, key := range r.stale {
		fmt.Fprintf(out, "no mutant has this key; take it from the list of equivalents: %s\n", key)
	}
	for _, test := range r.unsound {
		fmt.Fprintf(out, "fails without a mutant, and was not asked: %s\n", test)
	}
	fmt.Fprintf(out, "%-10s %-10s %-10s %-10s %-8s %s\n",
		"killed", "time limit", "survived", "unreached", "score", "package")
	line := func(t tally, name string) {
		fmt.Fprintf(out, "%-10d %-10d %-10d %-10d %6.1f %% %s\n",
			t.killed, t.ended, t.survived, t.unreached, t.score(), name)
	}
	for _, name := range packages {
		line(*perPackage[name], name)
	}
	line(sum, "all")
	fmt.Fprintf(out,
		"%d of %d mutants judged; %d more were drawn and are listed as equivalent, %d did not compile\n",
		len(r.verdicts), r.total, len(r.equivalent), r.invalid)
	return sum.score()
}
