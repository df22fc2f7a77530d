package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
)

// RefusedError is the reason why results of several folders are not of one study, run by one
// program. Nothing was changed.
type RefusedError struct {
	// Reasons are sentences, each with its folders and a remedy.
	Reasons []string
}

// Error gives the reasons, a line each.
func (e *RefusedError) Error() string { return strings.Join(e.Reasons, "\n") }

// MissingError is a merge of folders that do not hold all campaigns of the
// study together.
type MissingError struct {
	// Units are the missing campaigns, in the order of the study, of Total.
	Units []Unit
	Total int
	// Of is the number of shards of the study, 0 if no folder states it; of several numbers the
	// greatest, whose shards are the least work.
	Of int
}

// Error counts them.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%d of %s are missing", len(e.Units), format.Count(e.Total, "campaign"))
}

// ByShard groups the missing campaigns by the shard that runs them, in the
// order of the shards.
func (e *MissingError) ByShard() (shards []Shard, units map[Shard][]Unit) {
	units = map[Shard][]Unit{}
	for _, u := range e.Units {
		sh := shardOf(u.Key, e.Of)
		units[sh] = append(units[sh], u)
	}
	shards = slices.SortedFunc(maps.Keys(units), func(a, b Shard) int { return a.Index - b.Index })
	return shards, units
}

// Merged is the result of a merge.
type Merged struct {
	// Held is the number of campaigns with results now, equal ones once.
	Held int
	// Folders counts the folders read, apart from the study's own.
	Folders int
	// Added are the results that the study did not hold before.
	Added int
	// Others are results of campaigns that the study does not have, left out.
	Others int
}

// kept are the results of a folder.
type kept struct {
	folder  string
	results []*Result
}

// file returns the path of its results.
func (k *kept) file() string { return filepath.Join(k.folder, resultsFile) }

// FoldersOfShards lists the folders with results that a path stands for: the folder itself, and the
// shards in it. The error is a *[RefusedError] without any.
func FoldersOfShards(path string) (folders []string, err error) {
	candidates := []string{path}
	below, err := os.ReadDir(filepath.Join(path, shardsFolder))
	if err != nil && !absent(err) {
		return nil, err
	}
	for _, entry := range below {
		candidates = append(candidates, filepath.Join(path, shardsFolder, entry.Name()))
	}
	for _, folder := range candidates {
		switch _, err := os.Stat(filepath.Join(folder, resultsFile)); {
		case err == nil:
			folders = append(folders, folder)
		case !absent(err):
			return nil, err
		}
	}
	if len(folders) == 0 {
		return nil, &RefusedError{[]string{fmt.Sprintf("%s holds no results, and no %s with results", path,
			filepath.Join(shardsFolder, "1-of-N"))}}
	}
	return folders, nil
}

// absent reports whether a path that leads through a folder leads nowhere.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

// Merge adds the results of other folders to those of a study's own folder. The folders are only
// read; one that is being written to is read as far as it is complete.
//
// The same campaign may be in several of them: then they must hold the same bytes, except for the
// measured times, whose first ones count. If they differ, or folders are of another version of
// the study or of different builds, the error is a *[RefusedError]. If campaigns are missing it is
// a *[MissingError], and with incomplete the others have been added nevertheless; after any other
// error nothing has.
//
// Results are added in the order of the study, with their present names: as one worker would have
// written them.
func (s *Study) Merge(own *Results, folder string, folders []string, incomplete bool) (Merged, error) {
	units := s.distinct()
	ours := map[string]Unit{}
	for _, u := range units {
		ours[u.Key] = u
	}
	sources, of, err := s.sources(own, folder, folders)
	if err != nil {
		return Merged{}, err
	}
	if err := sameBuild(sources, ours); err != nil {
		return Merged{}, err
	}
	merged := Merged{Folders: len(sources) - 1}
	found, err := s.unite(sources, ours)
	if err != nil {
		return Merged{}, err
	}
	for _, k := range sources[1:] {
		for _, result := range k.results {
			if _, ok := ours[result.Key]; !ok {
				merged.Others++
			}
		}
	}
	var added []*Result
	missing := &MissingError{Total: len(units), Of: of}
	for _, u := range units {
		result, ok := found[u.Key]
		switch {
		case !ok:
			missing.Units = append(missing.Units, u)
		case own.Get(u.Key) == nil:
			named := *result // a name does not belong to a campaign's identity, and may have changed
			named.Task, named.Arm = s.Tasks[u.Task].Name, s.Arms[u.Arm].Name
			added = append(added, &named)
		}
	}
	if len(missing.Units) > 0 && !incomplete {
		return Merged{}, missing
	}
	if err := own.Add(added...); err != nil {
		return Merged{}, fmt.Errorf("the results cannot be written: %w", err)
	}
	merged.Added, merged.Held = len(added), len(units)-len(missing.Units)
	if len(missing.Units) > 0 {
		return merged, missing
	}
	return merged, nil
}

// sources reads the folders, and refuses those that cannot be read or are of
// another version of the study, all at once. The study's own results come first.
func (s *Study) sources(own *Results, folder string, folders []string) (sources []*kept, of int, err error) {
	sources = []*kept{{folder: folder, results: own.sorted()}}
	var reasons []string
	seen := map[string]bool{filepath.Clean(folder): true}
	now := s.sharded(Shard{})
	for _, other := range folders {
		if seen[filepath.Clean(other)] {
			continue
		}
		seen[filepath.Clean(other)] = true
		k := &kept{folder: other}
		k.results, _, _, err = readResults(k.file())
		said, err2 := readSharded(other)
		if err := errors.Join(err, err2); err != nil {
			reasons = append(reasons, err.Error())
			continue
		}
		if said != nil {
			of = max(of, said.Of)
			if why := said.differs(now, s.File.Path); why != "" {
				reasons = append(reasons, fmt.Sprintf("%s is of another version of the study: %s; "+
					"run shard %d/%d again, which keeps unchanged results, or remove the folder",
					other, why, said.Shard, said.Of))
			}
		}
		sources = append(sources, k)
	}
	if reasons != nil {
		return nil, 0, &RefusedError{reasons}
	}
	return sources, of, nil
}

// sorted returns the results in the order of the file.
func (r *Results) sorted() []*Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*Result, 0, len(r.all))
	for _, result := range r.all {
		all = append(all, result)
	}
	slices.SortFunc(all, func(a, b *Result) int { return a.line - b.line })
	return all
}

// sameBuild refuses results of the study that several builds have computed.
func sameBuild(sources []*kept, units map[string]Unit) error {
	var builds []events.Build
	where := map[events.Build][]string{}
	for _, k := range sources {
		for _, result := range k.results {
			if _, ok := units[result.Key]; !ok {
				continue
			}
			b := result.Build
			if where[b] == nil {
				builds = append(builds, b)
			}
			if !slices.Contains(where[b], k.file()) {
				where[b] = append(where[b], k.file())
			}
		}
	}
	if len(builds) < 2 {
		return nil
	}
	reasons := []string{"the results are of different builds of campaignd, whose last bits may differ; " +
		"remove the files of all builds but one, and run what they held with that one:"}
	for _, b := range builds {
		reasons = append(reasons, fmt.Sprintf("  %s: %s", view.Build(b), format.List(where[b]...)))
	}
	return &RefusedError{reasons}
}

// place is a result and the file that it stands in.
type place struct {
	file   string
	result *Result
}

// String is "FILE:LINE".
func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.result.line) }

// unite returns the results of the study by key. Of equal ones the first is
// taken; unequal ones are refused.
func (s *Study) unite(sources []*kept, units map[string]Unit) (map[string]*Result, error) {
	found := map[string]place{}
	var reasons []string
	for _, k := range sources {
		for _, result := range k.results {
			u, ok := units[result.Key]
			if !ok {
				continue
			}
			here := place{k.file(), result}
			before, ok := found[result.Key]
			if !ok {
				found[result.Key] = here
				continue
			}
			what, err := unequal(before.result, result)
			if err != nil {
				return nil, err
			}
			if what != "" {
				reasons = append(reasons, fmt.Sprintf("%s differs between %s and %s: %s; "+
					"remove the file whose machine or disk you trust less, and run its campaigns again",
					s.Named(u), before, here, what))
			}
		}
	}
	if len(reasons) > mostFailed {
		reasons = append(reasons[:mostFailed], fmt.Sprintf("and %d more", len(reasons)-mostFailed))
	}
	if reasons != nil {
		return nil, &RefusedError{reasons}
	}
	results := make(map[string]*Result, len(found))
	for key, p := range found {
		results[key] = p.result
	}
	return results, nil
}

// unequal returns the part in which two results of a campaign differ as bytes; "" if they are
// equal. Measured times always differ; names may.
func unequal(a, b *Result) (string, error) {
	for i := range min(len(a.Trajectory), len(b.Trajectory)) {
		if what, err := differ(a.Trajectory[i], b.Trajectory[i]); what != "" || err != nil {
			return fmt.Sprintf("step %d is %s", i+1, what), err
		}
	}
	if n, m := len(a.Trajectory), len(b.Trajectory); n != m {
		return fmt.Sprintf("one has %s, the other %d", format.Count(n, "step"), m), nil
	}
	bare := func(r *Result) Result {
		c := *r
		c.Task = ""
		c.Arm = ""
		c.Seconds = nil
		c.Trajectory = nil
		return c
	}
	return differ(bare(a), bare(b))
}

// differ returns two values as JSON if their bytes differ.
func differ(a, b any) (string, error) {
	one, err := json.Marshal(a)
	other, err2 := json.Marshal(b)
	if bytes.Equal(one, other) {
		return "", errors.Join(err, err2)
	}
	return fmt.Sprintf("%s and %s", one, other), errors.Join(err, err2)
}

// Named names a campaign as a person finds it in the study.
func (s *Study) Named(u Unit) string {
	return fmt.Sprintf("%s, %s, seed %d", s.Tasks[u.Task].Name, s.Arms[u.Arm].Name, u.Seed)
}
