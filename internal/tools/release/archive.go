package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file in an archive. Who owns it, and when it was written, are the same
// for all, so that the same files give the same bytes.
type entry struct {
	name string // with slashes
	data []byte
	mode fs.FileMode
}

// texts are what goes along with a program: what it is, its licenses, its bill of
// materials.
func (r *release) texts(b *program) ([]entry, error) {
	entries := []entry{{"THIRD-PARTY-LICENSES", b.notices, 0o644}, {"campaignd.cdx.json", b.bill, 0o644}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name, data, 0o644})
	}
	return entries, nil
}

// examples are the files of examples/ but those that are for Go.
func (r *release) examples() (entries []entry, err error) {
	return tree(filepath.Join(r.dir, "examples"), "examples", func(name string) bool {
		return name != "examples/plugin" && path.Base(name) != "testdata" && !strings.HasSuffix(name, ".go")
	})
}

// tree are the files below a folder, under another name; those folders that wanted
// refuses are left out.
func tree(dir, as string, wanted func(name string) bool) (entries []entry, err error) {
	err = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		name := path.Join(as, filepath.ToSlash(relative))
		if !wanted(name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		data, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		entries = append(entries, entry{name, data, 0o644})
		return nil
	})
	return entries, err
}

// name is that of a platform's files. The version comes last, or pip would take an
// archive for the source of a package.
func (r *release) name(b *program) string {
	return fmt.Sprintf("campaignd-%s-%s-%s", b.OS, b.Arch, r.version)
}

// archive writes a program with its texts and the examples, in one folder: as
// .tar.gz, and for Windows as .zip.
func (r *release) archive(b *program) error {
	entries, err := r.texts(b)
	if err != nil {
		return err
	}
	examples, err := r.examples()
	if err != nil {
		return err
	}
	entries = slices.Concat(b.commands, entries, examples)
	folder := r.name(b)
	for i := range entries {
		entries[i].name = folder + "/" + entries[i].name
	}
	pack, suffix := packTar, ".tar.gz"
	if b.OS == "windows" {
		pack, suffix = packZip, ".zip"
	}
	packed, err := pack(entries, r.at)
	if err != nil {
		return err
	}
	return os.WriteFile(r.path(folder+suffix), packed, 0o644)
}

func packTar(entries []entry, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := writeTar(z, entries, at); err != nil {
		return nil, err
	}
	return out.Bytes(), z.Close()
}

// writeTar writes entries; one whose name ends in a slash is a folder.
func writeTar(to interface{ Write([]byte) (int, error) }, entries []entry, at time.Time) error {
	w := tar.NewWriter(to)
	for _, e := range entries {
		h := &tar.Header{
			Name: e.name, Mode: int64(e.mode.Perm()), Size: int64(len(e.data)), ModTime: at,
			Typeflag: tar.TypeReg, Format: tar.FormatPAX,
		}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag, h.Uid, h.Gid = tar.TypeDir, user, user // the folders of an image that are its user's
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(e.data); err != nil {
			return err
		}
	}
	return w.Close()
}

func packZip(entries []entry, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		h.SetMode(e.mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
