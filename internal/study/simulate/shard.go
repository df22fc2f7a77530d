package simulate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/wholefile"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/view"
)

// Shard is one of Of parts of a study's campaigns, for a machine of its own:
// those whose key, as a number, has the remainder Index mod Of.
//
// Numbers of a batch system's array begin at 0 or at 1, and a single one of
// them is run again without the others. Since 0 and Of have the same remainder,
// a number names the same shard either way; Index is the one from 1 to Of.
type Shard struct {
	Index, Of int
}

// NewShard returns the shard of a number from 0 to of; false for any other.
func NewShard(number, of int) (Shard, bool) {
	if of < 1 || number < 0 || number > of {
		return Shard{}, false
	}
	if number == 0 {
		number = of
	}
	return Shard{Index: number, Of: of}, true
}

// String is the shard as people write and read it: "2/4".
func (sh Shard) String() string { return strconv.Itoa(sh.Index) + "/" + strconv.Itoa(sh.Of) }

// shardOf is the shard of a campaign among of. A key is a hash, so that shards
// are of like sizes; and it stays in its shard when others join the study.
func shardOf(key string, of int) Shard {
	number, err := strconv.ParseUint(key[:min(16, len(key))], 16, 64)
	if err != nil {
		panic("simulate: a key that is not a hash: " + key)
	}
	sh, _ := NewShard(int(number%uint64(of)), of)
	return sh
}

// Part returns the study with the campaigns of a shard alone, in their order;
// equal ones once.
func (s *Study) Part(sh Shard) *Study {
	part := *s
	part.Units = nil
	for _, u := range s.distinct() {
		if shardOf(u.Key, sh.Of) == sh {
			part.Units = append(part.Units, u)
		}
	}
	return &part
}

// shardsFolder is the name of the folder of shards in a study's folder, shardFile that of the file
// in each shard's folder that describes it.
const (
	shardsFolder = "shards"
	shardFile    = "shard.json"
)

// Folder is that of the shard's results in the folder of its study.
func (sh Shard) Folder(study string) string {
	return filepath.Join(study, shardsFolder, fmt.Sprintf("%d-of-%d", sh.Index, sh.Of))
}

// sharded describes the shard in a folder: a shardFile. It decides whether the folder belongs to a
// study, and explains why not.
type sharded struct {
	Shard int `json:"shard"`
	Of    int `json:"of"`
	// Digest is that of the keys of the whole study.
	Digest string          `json:"digest"`
	Size   string          `json:"size,omitempty"`
	Seeds  studyfile.Seeds `json:"seeds"`
	// Source is the study's file.
	Source string `json:"source"`
}

// sharded describes a shard of the study. It is called on the whole study, not on a part.
func (s *Study) sharded(sh Shard) sharded {
	keys := make([]string, len(s.Units))
	for i, u := range s.Units {
		keys[i] = u.Key
	}
	slices.Sort(keys)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(keys), "\n")))
	return sharded{
		Shard: sh.Index, Of: sh.Of, Digest: hex.EncodeToString(sum[:16]),
		Size: s.File.Size, Seeds: s.File.Seeds, Source: s.File.Source,
	}
}

// readSharded reads a folder's description; nil without one, as for a whole study.
func readSharded(folder string) (*sharded, error) {
	path := filepath.Join(folder, shardFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	said := new(sharded)
	if err := json.Unmarshal(data, said); err != nil {
		return nil, fmt.Errorf("%s cannot be read (%w); "+
			"run the shard again, which writes it anew and keeps what has been run", path, err)
	}
	return said, nil
}

// differs describes how the study of a shard differs from this one; empty if both have the same
// campaigns.
func (said *sharded) differs(now sharded, path string) string {
	if said.Digest == now.Digest {
		return ""
	}
	if said.Size != now.Size {
		size := func(name string) string {
			if name == "" {
				return "no --size"
			}
			return "--size " + name
		}
		return fmt.Sprintf("it was run with %s, this is with %s", size(said.Size), size(now.Size))
	}
	if said.Source != now.Source {
		then, here := strings.Split(said.Source, "\n"), strings.Split(now.Source, "\n")
		line := func(lines []string, i int) string {
			if i >= len(lines) {
				return "missing"
			}
			text := strings.TrimSpace(lines[i])
			if strings.HasPrefix(text, "#") { // a comment changes no campaign
				text = ""
			}
			return strconv.Quote(text)
		}
		for i := range max(len(then), len(here)) {
			if line(then, i) != line(here, i) {
				return fmt.Sprintf("line %d of %s was %s, and is %s", i+1, path, line(then, i), line(here, i))
			}
		}
	}
	if said.Seeds != now.Seeds {
		return fmt.Sprintf("it was run with seeds %s, this is with %s", seedsText(said.Seeds), seedsText(now.Seeds))
	}
	return "the study's file is the same; a file that it names, or the program's methods, have changed"
}

// seedsText writes seeds as --seeds takes them.
func seedsText(seeds studyfile.Seeds) string {
	return fmt.Sprintf("%d-%d", seeds.First, seeds.First+uint64(seeds.Count)-1)
}

// OpenShard opens the results of a shard in the folder of its study, for the study's [Study.Part],
// and notes their identity in the folder. Earlier results stay.
//
// Another build may compute other last bits: a shard begun by one build is not continued by another
// (*[RefusedError]), since a merge would refuse it after days.
func (s *Study) OpenShard(sh Shard, folder string, build events.Build) (r *Results, err error) {
	own := sh.Folder(folder)
	if r, err = OpenResults(own); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	for _, u := range s.Part(sh).Units {
		if had := r.Get(u.Key); had != nil && had.Build != build {
			return r, &RefusedError{[]string{fmt.Sprintf(
				"%s was begun by another build of campaignd, %s, and this is %s, whose last bits may differ; "+
					"go on with that one, or remove the folder",
				own, view.Build(had.Build), view.Build(build))}}
		}
	}
	text, err := json.Marshal(s.sharded(sh))
	if err != nil {
		return r, err
	}
	return r, wholefile.Replace(filepath.Join(own, shardFile), append(text, '\n'), 0o644)
}
