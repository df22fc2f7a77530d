package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
)

// draw returns the first n mutants that compile of an order that the seed
// gives, and before them in that order those that are listed as equivalent, and
// how many did not compile. So a longer sample begins with the shorter one, and
// a new entry of equivalents adds mutants at the end only. A mutant's place
// follows from its key: the sample stays the same where the code does, so that
// a second run says what has become of the survivors of the first.
//
// Mutants are compiled in batches of what is still missing, since a batch is one
// type check for each package and most of it compiles.
func draw(
	all []*mutant, n int, seed uint64, equivalent map[string]*entry,
) (drawn, listed []*mutant, invalid int, err error) {
	order := ordered(all, seed)
	for len(drawn) < n && len(order) > 0 {
		var batch []*mutant
		for len(drawn)+len(batch) < n && len(order) > 0 {
			m := order[0]
			order = order[1:]
			if equivalent[m.key()] != nil {
				listed = append(listed, m)
				continue
			}
			batch = append(batch, m)
		}
		good, err := compiling(batch)
		if err != nil {
			return nil, nil, 0, err
		}
		invalid += len(batch) - len(good)
		drawn = append(drawn, good...)
	}
	return drawn, listed, invalid, nil
}

// ordered returns mutants in the order of a seed. Sorting by a hash draws
// without replacement, and needs no generator whose sequence would depend on how
// many mutants there are.
func ordered(all []*mutant, seed uint64) []*mutant {
	places := make(map[*mutant][sha256.Size]byte, len(all))
	for _, m := range all {
		places[m] = sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, m.key()))
	}
	order := slices.Clone(all)
	slices.SortFunc(order, func(a, b *mutant) int {
		x, y := places[a], places[b]
		return cmp.Or(bytes.Compare(x[:], y[:]), cmp.Compare(a.key(), b.key()))
	})
	return order
}

// compiling returns those mutants that compile, in the same order. All mutants
// of a package are type-checked in one go, as they will be built, and a fault is
// blamed on the copy in which it lies. Mutants that cannot be switched are
// checked one by one.
func compiling(batch []*mutant) ([]*mutant, error) {
	bad := make(map[int]bool)
	perFile := make(map[*source]map[int]*mutant)
	bySubject := make(map[*subject][]*source)
	for i, m := range batch {
		if !canSwitch(m) {
			texts := map[string][]byte{m.source.path: []byte(m.apply(0, len(m.source.text)))}
			faults, err := m.subject.faults(texts)
			bad[i] = err != nil || len(faults) > 0
			continue
		}
		if perFile[m.source] == nil {
			perFile[m.source] = make(map[int]*mutant)
			bySubject[m.subject] = append(bySubject[m.subject], m.source)
		}
		perFile[m.source][i] = m
	}
	for s, files := range bySubject {
		texts := map[string][]byte{extra: []byte(selection(s.name))}
		starts := make(map[string]map[int]int)
		for _, file := range files {
			texts[file.path], starts[file.path] = switched(file, perFile[file])
		}
		faults, err := s.faults(texts)
		if err != nil {
			return nil, err
		}
		for _, fault := range faults {
			number, ok := within(starts[fault.path], fault.offset)
			if !ok {
				return nil, &rewriteError{s.path, fault}
			}
			bad[number] = true
		}
	}
	var good []*mutant
	for i, m := range batch {
		if !bad[i] {
			good = append(good, m)
		}
	}
	return good, nil
}

// within returns the number of the mutant in whose copy an offset lies.
func within(starts map[int]int, offset int) (number int, ok bool) {
	best := -1
	for n, start := range starts {
		if start <= offset && start > best {
			number = n
			best = start
			ok = true
		}
	}
	return number, ok
}

// rewriteError is a fault of this tool: a rewritten package does not compile
// where no mutant is.
type rewriteError struct {
	path  string
	fault fault
}

func (e *rewriteError) Error() string {
	return fmt.Sprintf("the rewritten %s does not compile at offset %d of %s",
		e.path, e.fault.offset, e.fault.path)
}
