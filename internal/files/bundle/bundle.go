// Package bundle writes a whole campaign for other people and programs: its
// table, its log, its campaign file and its attached files, in a folder or in a
// zip archive. The same log gives the same bundle, byte by byte, by the same
// program.
package bundle

import (
	"archive/zip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/wholefile"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Names of the files of every bundle. Attached files follow by experiment.
const (
	TableName  = "experiments.csv"
	LogName    = "events.jsonl"
	SourceName = "campaign.yaml"
	IndexName  = "files.csv"
)

// Source is the campaign that a bundle is made of.
type Source struct {
	State *campaign.State
	// Log writes all events of the campaign as CloudEvents, one a line.
	Log func(io.Writer) error
	// Open opens a stored file, whose bytes are compared with its digest as they are read.
	Open func(*campaign.File) (io.ReadCloser, error)
}

// Entry is a file of a bundle.
type Entry struct {
	// Path is its place in the bundle: of ASCII letters, digits, points, dashes and underscores,
	// which every system accepts, with slashes between.
	Path string
	// Modified is the time of its last change, by the log.
	Modified time.Time
	// Attached is the attached file that it holds, nil for one that the bundle
	// itself makes.
	Attached *campaign.File
	// Write writes its content.
	Write func(io.Writer) error
}

// Entries returns the contents of a campaign's bundle: the same, in the same order, for the same
// log. Files that were withdrawn, or stay elsewhere, are listed in its index only.
func Entries(s Source) []Entry {
	last := s.State.DefinedAt
	for _, f := range s.State.Files {
		last = later(last, f.Time)
	}
	for i := range s.State.Experiments {
		last = later(last, s.State.Experiments[i].EndedAt)
	}
	entries := []Entry{
		{Path: TableName, Modified: last, Write: func(w io.Writer) error {
			return exchange.TableOf(s.State).WriteCSV(w)
		}},
		{Path: LogName, Modified: last, Write: s.Log},
	}
	if s.State.Source != "" {
		entries = append(entries, Entry{Path: SourceName, Modified: last, Write: func(w io.Writer) error {
			_, err := io.WriteString(w, s.State.Source)
			return err
		}})
	}
	if len(s.State.Files) == 0 {
		return entries
	}
	entries = append(entries, Entry{Path: IndexName, Modified: last, Write: func(w io.Writer) error {
		return writeIndex(w, s.State.Files)
	}})
	for i := range s.State.Files {
		f := &s.State.Files[i]
		if f.Withdrawn || !f.Kept() {
			continue
		}
		entries = append(entries, Entry{
			Path: PathOf(f), Modified: f.Time, Attached: f,
			Write: func(w io.Writer) error { return copyFile(w, s, f) },
		})
	}
	return entries
}

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// copyFile writes the bytes of an attached file.
func copyFile(w io.Writer, s Source, f *campaign.File) error {
	content, err := s.Open(f)
	if err != nil {
		return fmt.Errorf("%s (%s): %w", f.ID, f.Name, err)
	}
	_, err = io.Copy(w, content)
	if err = errors.Join(err, content.Close()); err != nil {
		return fmt.Errorf("%s (%s): %w", f.ID, f.Name, err)
	}
	return nil
}

// PathOf returns the path of an attached file in a bundle: by its experiment, under its identifier,
// which is unique, and as much of its name as every system accepts.
func PathOf(f *campaign.File) string {
	name := f.ID + "-" + safeName(f.Name)
	if f.Experiment == "" {
		return path.Join("campaign", name)
	}
	return path.Join("experiments", f.Experiment, name)
}

// maxSafeName is the maximum length of a name in a bundle, in bytes.
const maxSafeName = 80

// safeName removes the characters of a name that a system, archive or address could interpret.
// Names behind different identifiers need not differ.
func safeName(name string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, name)
	plain = strings.TrimRight(plain, ".")
	if ending := path.Ext(plain); len(plain) > maxSafeName && len(ending) < maxSafeName/2 {
		return plain[:maxSafeName-len(ending)] + ending
	}
	return plain[:min(len(plain), maxSafeName)]
}

// writeIndex writes the table of attached files: those in the bundle with their path, the others
// with the reason.
func writeIndex(w io.Writer, files []campaign.File) error {
	out := csv.NewWriter(w)
	rows := [][]string{{
		"file", "experiment", "name", "path", "media_type", "size", "digest", "uri", "quantity", "comment", "by", "time", "withdrawn",
	}}
	for i := range files {
		f := &files[i]
		at := ""
		size := ""
		withdrawn := ""
		if f.Kept() && !f.Withdrawn {
			at = PathOf(f)
		}
		if f.Size > 0 {
			size = strconv.FormatInt(f.Size, 10)
		}
		if f.Withdrawn {
			withdrawn = f.Reason
		}
		row := []string{
			f.ID, f.Experiment, f.Name, at, f.MediaType, size, f.Digest, f.URI, f.Quantity, f.Comment,
			events.ActorName(f.Actor), f.Time.UTC().Format(time.RFC3339), withdrawn,
		}
		for k := range row {
			row[k] = exchange.Harmless(row[k])
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}

// WriteFolder writes a bundle into a missing or empty folder. On failure it leaves nothing behind.
func WriteFolder(folder string, entries []Entry) (err error) {
	switch names, err := os.ReadDir(folder); {
	case err == nil && len(names) > 0:
		return fmt.Errorf("%s is there already, and not empty", folder)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	for _, e := range entries {
		at := filepath.Join(folder, filepath.FromSlash(e.Path))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := wholefile.Write(at, 0o644, e.Write); err != nil {
			return err
		}
	}
	return nil
}

// stored are the endings of files that are compressed already.
var stored = []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".zip", ".gz", ".xlsx", ".pdf"}

// WriteZip writes a bundle as a zip archive, below a folder root, or at its top if root is empty.
func WriteZip(w io.Writer, root string, entries []Entry) error {
	archive := zip.NewWriter(w)
	for _, e := range entries {
		header := &zip.FileHeader{
			Name: path.Join(root, e.Path), Method: zip.Deflate, Modified: e.Modified.UTC().Truncate(time.Second),
		}
		if slices.Contains(stored, strings.ToLower(path.Ext(e.Path))) {
			header.Method = zip.Store
		}
		part, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if err := e.Write(part); err != nil {
			return err
		}
	}
	return archive.Close()
}
