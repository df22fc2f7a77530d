package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// recordingFormat is part of a recording's key; it is raised when recordings of
// an earlier one would be misread.
const recordingFormat = "1"

// splitAbove is the time above which a test is recorded by its subtests.
const splitAbove = 2 * time.Second

// recordLimit bounds a test that is recorded.
const recordLimit = 20 * time.Minute

// recording says which blocks the tests of a package reach. It is the JSON of a
// file of the cache.
type recording struct {
	Places []string // blocks by the names that [block.place] gives
	Tests  []recordedTest
	Failed []string // tests that fail without a mutant, and defend nothing
}

// recordedTest is a top-level test, or a subtest TestX/name of a slow one.
type recordedTest struct {
	Name    string
	Seconds float64
	Reached []int // indices of places
}

// defense is a package whose tests defend, with what they reach.
type defense struct {
	suite
	rank    int
	key     string // of its recording
	reaches map[string][]int
	tests   []recordedTest
	failed  []string
}

// defenses lists the packages that defend the subjects, by rank: those of the
// table that depend on one, and the subjects themselves. With own, the subjects
// only. It also returns the folders of packages that depend on a subject, have
// tests and are in no row of the table. Recordings are of all packages that are
// probed.
//
// A row of the table without tests is an error, since a folder that was moved
// would defend nothing without a word.
func (w *workshop) defenses(
	ctx context.Context, subjects, probed []*subject, table []defender, own bool,
) (found []*defense, unlisted []string, err error) {
	mutated := paths(subjects)
	all, err := goList(ctx, w.root, "-deps", "-test", "./...")
	if err != nil {
		return nil, nil, err
	}
	sums, dirs, err := sources(all)
	if err != nil {
		return nil, nil, err
	}
	used := make(map[int]bool)
	for _, one := range all {
		path, isTest := strings.CutSuffix(one.ImportPath, ".test")
		if !isTest || dirs[path] == "" {
			continue
		}
		rel, err := filepath.Rel(w.root, dirs[path])
		if err != nil {
			return nil, nil, err
		}
		folder := filepath.ToSlash(rel)
		at, listed := rank(table, folder)
		used[at] = used[at] || listed
		reaches := slices.ContainsFunc(one.Deps, func(dep string) bool { return mutated[plain(dep)] })
		if !reaches {
			continue
		}
		if !listed && !mutated[path] {
			unlisted = append(unlisted, folder)
			continue
		}
		if !mutated[path] && (own || table[at].long && !w.long) {
			continue
		}
		key, err := w.recordingKey(one, dirs[path], sums, paths(probed))
		if err != nil {
			return nil, nil, err
		}
		found = append(found, &defense{
			suite: suite{
				path:   path,
				folder: folder,
				rapid:  slices.Contains(one.Deps, "pgregory.net/rapid"),
			},
			rank: at,
			key:  key,
		})
	}
	for i, d := range table {
		if !used[i] {
			return nil, nil, fmt.Errorf("the table of defenders names %s, where no package has tests", d.folder)
		}
	}
	slices.SortStableFunc(found, func(a, b *defense) int { return a.rank - b.rank })
	return found, unlisted, nil
}

// paths returns the import paths of packages.
func paths(packages []*subject) map[string]bool {
	all := make(map[string]bool)
	for _, s := range packages {
		all[s.path] = true
	}
	return all
}

// plain cuts from a package that is compiled for a test, as in "path [p.test]",
// what it is compiled for.
func plain(dep string) string {
	path, _, _ := strings.Cut(dep, " ")
	return path
}

// sources returns hashes of the sources of the module's packages, and their
// folders, by import path.
func sources(all []listed) (sums, dirs map[string]string, err error) {
	sums = make(map[string]string)
	dirs = make(map[string]string)
	for _, one := range all {
		made := one.ForTest != "" || strings.HasSuffix(one.ImportPath, ".test") // for a test
		if one.Module == nil || !one.Module.Main || made {
			continue
		}
		sums[one.ImportPath], err = sumFiles(one.Dir, slices.Concat(one.GoFiles, one.EmbedFiles))
		if err != nil {
			return nil, nil, err
		}
		dirs[one.ImportPath] = one.Dir
	}
	return sums, dirs, nil
}

// recordingKey is a hash of what the recording of a package's tests depends on.
// That is the version of Go and the system, the sources of all packages that the
// tests depend on and whether each is probed, and the package's own folder with
// its test data.
func (w *workshop) recordingKey(
	tests listed, dir string, sums map[string]string, probed map[string]bool,
) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, recordingFormat, runtime.Version(), runtime.GOOS, runtime.GOARCH, w.long)
	for _, dep := range tests.Deps {
		dep := plain(dep)
		fmt.Fprintln(sum, dep, sums[dep], probed[dep])
	}
	own, err := sumTree(dir)
	if err != nil {
		return "", err
	}
	fmt.Fprintln(sum, own)
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// sumFiles returns a hash of files of a folder. The length stands before each
// text, so that no two lists of files read alike.
func sumFiles(dir string, names []string) (string, error) {
	sum := sha256.New()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d %s\n", name, len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// sumTree returns a hash of a package's folder, with the data of its tests but
// without the packages below it.
func sumTree(dir string) (string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if rel != "." && !strings.HasPrefix(rel, "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() {
			names = append(names, rel)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return sumFiles(dir, names)
}

// record finds which blocks each test reaches, of the packages whose recording
// is not in the cache. Recordings with failures are used and not kept.
func (w *workshop) record(
	ctx context.Context, probed []*subject, all []*defense, jobs int, progress io.Writer,
) error {
	if err := os.MkdirAll(w.cache, 0o777); err != nil {
		return err
	}
	var missing []*defense
	for _, d := range all {
		text, err := os.ReadFile(filepath.Join(w.cache, d.key))
		var r recording
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil { // none, or not a whole one
			missing = append(missing, d)
			continue
		}
		d.keep(r)
	}
	if len(missing) == 0 {
		return nil
	}
	fmt.Fprintf(progress,
		"recording what the tests of %d packages reach; kept in %s until their sources change\n",
		len(missing), w.cache)
	overlay, places, err := w.probe(probed)
	if err != nil {
		return err
	}
	return each(ctx, jobs, len(missing), func(ctx context.Context, i int) error {
		d := missing[i]
		start := time.Now()
		own := filepath.Join(w.dir, fmt.Sprintf("probed%d", i))
		r, err := w.recordPackage(ctx, d.suite, overlay, places, own)
		if err != nil {
			return err
		}
		if len(r.Failed) == 0 { // a failure may be the machine's: the next run tries again
			text, err := json.Marshal(r)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(w.cache, d.key), text, 0o666); err != nil {
				return err
			}
		}
		d.keep(r)
		fmt.Fprintf(progress, "recorded %s: %d tests in %.0f s\n",
			d.folder, len(r.Tests), time.Since(start).Seconds())
		for _, name := range r.Failed {
			fmt.Fprintf(progress, "%s fails without a mutant: it defends nothing\n%s\n", d.folder, name)
		}
		return nil
	})
}

// keep makes the index of a recording: which tests reach a place.
func (d *defense) keep(r recording) {
	d.tests = r.Tests
	d.failed = r.Failed
	d.reaches = make(map[string][]int)
	for i, test := range r.Tests {
		for _, place := range test.Reached {
			d.reaches[r.Places[place]] = append(d.reaches[r.Places[place]], i)
		}
	}
}

// probe writes the overlay in which every block of the packages notes that it
// is reached, and returns the blocks' places by number.
func (w *workshop) probe(packages []*subject) (path string, places []string, err error) {
	o, err := w.newOverlay("probes")
	if err != nil {
		return "", nil, err
	}
	for _, s := range packages {
		base := len(places)
		for _, file := range s.files {
			text, all := probed(file, len(places)-base)
			for _, b := range all {
				places = append(places, b.place())
			}
			if err := o.put(file.path, text); err != nil {
				return "", nil, err
			}
		}
		text := probes(s.name, len(places)-base, base)
		if err := o.put(filepath.Join(s.dir, extra), []byte(text)); err != nil {
			return "", nil, err
		}
	}
	path, err = o.write()
	return path, places, err
}

// recordPackage runs the tests of a package one by one.
func (w *workshop) recordPackage(
	ctx context.Context, s suite, overlay string, places []string, dir string,
) (recording, error) {
	found := recording{Places: places}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return found, err
	}
	defer removeAll(dir)
	b, err := w.build(ctx, s, overlay, filepath.Join(dir, "tests"))
	if err != nil {
		return found, err
	}
	r := recorder{workshop: w, binary: b, overlay: overlay, book: filepath.Join(dir, "reached")}
	_, listing, err := w.run(ctx, b, recordMark+r.book, overlay, recordLimit,
		"-test.list", "^(Test|Example|Fuzz)")
	if err != nil {
		return found, err
	}
	for name := range strings.Lines(listing) {
		name = strings.TrimSpace(name)
		if !testName.MatchString(name) {
			continue
		}
		tests, faults, err := r.split(ctx, name)
		if err != nil {
			return found, err
		}
		for _, test := range tests {
			if len(test.Reached) > 0 {
				found.Tests = append(found.Tests, test)
			}
		}
		found.Failed = append(found.Failed, faults...)
	}
	return found, nil
}

var (
	testName = regexp.MustCompile(`^(Test|Example|Fuzz)\S*$`)
	subtest  = regexp.MustCompile(`(?m)^    --- (?:PASS|FAIL): ([^/\s]+/[^/\s]+) \(`)
)

// recorder runs single tests of a package that note what they reach.
type recorder struct {
	*workshop
	*binary
	overlay string
	book    string // the file to note in
}

// split records a test, or its subtests where it is slow or fails. It also
// returns the outputs of those that fail.
//
// Subtests are taken apart only where that helps: a slow test whose subtests run
// by themselves. Where one of them fails alone, the whole is one test.
func (r *recorder) split(
	ctx context.Context, name string,
) (tests []recordedTest, faults []string, err error) {
	whole, fault, out, err := r.record(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if fault == "" && whole.Seconds <= splitAbove.Seconds() {
		return []recordedTest{whole}, nil, nil
	}
	parts := subtest.FindAllStringSubmatch(out, -1)
	for _, part := range parts {
		test, fault, _, err := r.record(ctx, part[1])
		if err != nil {
			return nil, nil, err
		}
		if fault != "" {
			faults = append(faults, fault)
			continue
		}
		tests = append(tests, test)
	}
	switch {
	case fault != "" && len(parts) == 0:
		return nil, []string{fault}, nil
	case fault == "" && (len(parts) < 2 || len(faults) > 0): // a subtest may need those before it
		return []recordedTest{whole}, nil, nil
	}
	return tests, faults, nil
}

// record runs a test or subtest. The fault says that it failed, and how. The
// time is that of the process, its start included.
func (r *recorder) record(
	ctx context.Context, name string,
) (test recordedTest, fault, out string, err error) {
	_ = os.Remove(r.book)
	start := time.Now()
	ended, out, err := r.run(ctx, r.binary, recordMark+r.book, r.overlay, recordLimit,
		"-test.v", "-test.run", pattern(name))
	if err != nil {
		return test, "", "", err
	}
	if ended != passed {
		fault = name + "\n" + lastLines(out)
	}
	test = recordedTest{Name: name, Seconds: time.Since(start).Seconds()}
	test.Reached, err = readNumbers(r.book)
	return test, fault, out, err
}

// pattern is the -test.run of one test or subtest.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// readNumbers reads the numbers of a file of probes, each once. No file means
// that nothing was reached.
func readNumbers(path string) ([]int, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []int
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	slices.Sort(all)
	return slices.Compact(all), lines.Err()
}

// lastLines returns the end of an output.
func lastLines(out string) string {
	const most = 20
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// each calls do for 0 to n-1, so many at a time, until one fails. The first
// error ends the context of the others and is returned.
func each(ctx context.Context, jobs, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() {
			for i := range numbers {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		select {
		case numbers <- i:
		case <-ctx.Done():
		}
	}
	close(numbers)
	workers.Wait()
	return context.Cause(ctx)
}
