// Command mutation asks whether the tests notice when the code is wrong. It
// draws a sample of small changes (mutants) of some packages, runs for each the
// tests that reach it, and reports which changes no test noticed:
//
//	go -C internal/tests/mutation run . -n 400 -seed 1
//	go -C internal/tests/mutation run . -only projections/space/box.go:42
//
// It is a module of its own, so that no part of it is a part of the product.
//
// All mutants of a sample are compiled together: a mutated function has beside
// it a copy for each of its mutants, and calls the copy that is selected when
// the process starts. So a test binary is built once a run, not once a mutant.
// A mutant of a declaration has a build of its own. Everything goes through `go
// build -overlay`, and tests run in a copy of the tree, which is only read.
//
// Before that, once for each state of the sources, each test is run alone in a
// build that notes which blocks it reaches, and how long it takes. A mutant is
// then judged by the tests that reach its block: the quick ones of its own
// package, those of the packages that defend it ([defenders]), then the slow
// ones, until one fails that passes without the mutant.
//
// A survivor asks for a test, or for an entry in equivalent.txt that says why
// no test can tell it from the program.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are what a run is asked for.
type options struct {
	root       string        // of the module
	packages   []string      // patterns of the packages to mutate
	usual      []string      // patterns of those mutated by default, all of which are recorded
	n          int           // size of the sample
	seed       uint64        // of the order of all mutants
	only       []string      // file:line of mutants to judge instead of a sample
	list       bool          // show the mutants, and judge none
	own        bool          // only the tests of the mutated packages
	long       bool          // tests run in full, and the slow defenders too
	jobs       int           // mutants at a time
	equivalent string        // the list of equivalent mutants
	defenders  []defender    // who defends
	cache      string        // the folder of recordings
	floor      time.Duration // the least time that tests have with a mutant
	patience   time.Duration // the recorded time of tests asked about a mutant; 0 for all
}

// It ends with 1 where the score is too low or the list of equivalents is stale,
// and with 2 where there is no result.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	folder := flag.String("root", filepath.Join("..", "..", ".."), "`folder` of the module to mutate")
	packages := flag.String("packages", strings.Join(usual, ","),
		"`patterns` of packages to mutate, with commas between")
	only := flag.String("only", "",
		"judge all mutants of `file:line`, with commas between, instead of a sample")
	flag.IntVar(&o.n, "n", 400, "how many mutants to judge")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the sample")
	flag.BoolVar(&o.list, "list", false, "show the mutants of the sample, and judge none")
	flag.BoolVar(&o.own, "own", false, "ask only the tests of the mutated packages")
	flag.BoolVar(&o.long, "long", false,
		"run tests in full, not with -short, and the slow defenders too")
	flag.DurationVar(&o.patience, "patience", time.Minute,
		"the time of the tests that are asked about a mutant, quick and near ones first; 0 asks all")
	flag.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "how many mutants to judge at a time")
	flag.StringVar(&o.equivalent, "equivalent", "internal/tests/mutation/equivalent.txt",
		"`file` of the mutants that are equivalent, from the module's root")
	least := flag.Float64("least", 85, "exit with 1 where fewer `percent` are killed")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "unexpected %q; packages are named by -packages\n", flag.Arg(0))
		os.Exit(2)
	}
	o.packages = strings.Split(*packages, ",")
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	o.usual, o.defenders = usual, defenders
	root, err := moduleRoot(ctx, *folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	o.root = root
	cache, err := os.UserCacheDir()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	o.cache = filepath.Join(cache, "campaignd-mutation")
	o.floor = 6 * time.Second
	r, err := run(ctx, o, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if o.list {
		list(os.Stdout, r)
		return
	}
	if score := report(os.Stdout, r); score < *least || len(r.stale) > 0 {
		os.Exit(1)
	}
}

// run draws a sample and judges it.
//
// The steps: find all mutants of the chosen packages (load, candidates), draw a
// sample of those that compile (draw), record which tests reach which blocks or
// take that from the cache (record), build the sample and judge it (newCourt,
// judgeAll).
func run(ctx context.Context, o options, progress io.Writer) (result, error) {
	var r result
	if !filepath.IsAbs(o.equivalent) {
		o.equivalent = filepath.Join(o.root, o.equivalent)
	}
	entries, err := readEquivalent(o.equivalent)
	if err != nil {
		return r, err
	}
	r.entries = entries
	probed, subjects, err := load(ctx, o.root, o.usual, o.packages)
	if err != nil {
		return r, err
	}
	var all []*mutant
	for _, s := range subjects {
		all = append(all, candidates(s)...)
	}
	r.total = len(all)
	r.stale = stale(o.root, entries, subjects, all)
	if len(o.only) > 0 {
		all, err = at(all, o.only)
		if err != nil {
			return r, err
		}
		o.n = len(all)
	}
	var sample []*mutant
	sample, r.equivalent, r.invalid, err = draw(all, o.n, o.seed, entries)
	if err != nil {
		return r, err
	}
	r.sample = sample
	if o.list {
		return r, nil
	}
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return r, err
	}
	defer removeAll(dir)
	w := &workshop{
		root:     o.root,
		copy:     filepath.Join(dir, "tree"),
		dir:      dir,
		cache:    o.cache,
		floor:    o.floor,
		patience: o.patience,
		seed:     o.seed,
		long:     o.long,
	}
	if err := copyTree(w.root, w.copy); err != nil {
		return r, err
	}
	defenses, unlisted, err := w.defenses(ctx, subjects, probed, o.defenders, o.own)
	if err != nil {
		return r, err
	}
	if len(unlisted) > 0 {
		fmt.Fprintf(progress, "in no row of the table of defenders, and not asked: %s\n",
			strings.Join(unlisted, " "))
	}
	if err := w.record(ctx, probed, defenses, o.jobs, progress); err != nil {
		return r, err
	}
	c, err := newCourt(w, probed, defenses, sample)
	if err != nil {
		return r, err
	}
	r.verdicts, err = c.judgeAll(ctx, sample, o.jobs, progress)
	if err != nil {
		return r, err
	}
	for _, d := range defenses {
		for _, test := range d.failed {
			r.unsound = append(r.unsound, d.folder+" "+test)
		}
	}
	slices.Sort(c.unsound)
	r.unsound = append(r.unsound, c.unsound...)
	slices.SortStableFunc(r.verdicts, func(a, b verdict) int {
		return cmp.Or(cmp.Compare(a.source.rel, b.source.rel), cmp.Compare(a.from, b.from))
	})
	return r, nil
}

// stale returns the keys of entries whose file is one of the packages' and has
// no such mutant, and of those whose file is gone. Entries of files that this
// run does not mutate are not judged.
func stale(root string, entries map[string]*entry, subjects []*subject, all []*mutant) []string {
	files := make(map[string]bool)
	for _, s := range subjects {
		for _, file := range s.files {
			files[file.rel] = true
		}
	}
	keys := make(map[string]bool)
	for _, m := range all {
		keys[m.key()] = true
	}
	var found []string
	for key := range entries {
		file, _, _ := strings.Cut(key, ": ")
		_, err := os.Stat(filepath.Join(root, file))
		gone := errors.Is(err, fs.ErrNotExist)
		if gone || files[file] && !keys[key] {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found
}

// at returns the mutants of some lines, each a file and a line.
func at(all []*mutant, places []string) ([]*mutant, error) {
	var found []*mutant
	for _, place := range places {
		file, number, _ := strings.Cut(filepath.ToSlash(place), ":")
		line, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("-only %s: not a file and a line, as in projections/space/box.go:42", place)
		}
		before := len(found)
		for _, m := range all {
			if m.source.rel == file && m.source.line(m.from) == line {
				found = append(found, m)
			}
		}
		if len(found) == before {
			return nil, fmt.Errorf("-only %s: no mutant there", place)
		}
	}
	return found, nil
}
