package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"golang.org/x/mod/module"
)

// commands are what a release holds: campaignd, and beside it what it starts. Each is in the folder
// of its module.
var commands = []struct{ name, module, path string }{
	{"campaignd", ".", "./cmd/campaignd"},
	{"campaignd-forward", "cmd/campaignd-forward", "."},
}

// program is the program of a platform, with what goes along with it everywhere.
type program struct {
	platform
	commands []entry // executable files
	info     *debug.BuildInfo
	linked   []*debug.Module // into any of the commands, by path
	notices  []byte          // the licenses of what is in it
	bill     []byte          // its bill of materials, as CycloneDX in JSON
}

// build builds the program of a platform.
func (r *release) build(p platform) (*program, error) {
	b := &program{platform: p}
	for i, c := range commands {
		to := filepath.Join(r.work, c.name+"-"+p.OS+"-"+p.Arch)
		if err := r.compile(c.module, c.path, to, "-s -w", "GOOS="+p.OS, "GOARCH="+p.Arch); err != nil {
			return nil, err
		}
		data, err := os.ReadFile(to)
		if err != nil {
			return nil, err
		}
		info, err := buildinfo.ReadFile(to)
		if err != nil {
			return nil, err
		}
		b.commands = append(b.commands, entry{p.file(c.name), data, 0o755})
		if i == 0 {
			b.info = info
		}
		b.linked = append(b.linked, linked(info)...)
	}
	slices.SortFunc(b.linked, func(a, b *debug.Module) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Version, b.Version))
	})
	b.linked = slices.CompactFunc(b.linked, func(a, b *debug.Module) bool {
		return a.Path == b.Path && a.Version == b.Version
	})
	var err error
	b.notices, err = r.notices(b.linked)
	return b, err
}

// linked are the modules in a command that are not of this repository.
func linked(info *debug.BuildInfo) []*debug.Module {
	return slices.DeleteFunc(slices.Clone(info.Deps), func(d *debug.Module) bool { return d.Replace != nil })
}

// notices are the licenses of a program and of all that is linked into it: most of
// them ask to be handed on with it.
func (r *release) notices(linked []*debug.Module) ([]byte, error) {
	cache, err := output(r.dir, "go", "env", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	goroot, err := output(r.dir, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	type part struct{ name, dir string }
	parts := []part{{"campaignd", r.dir}, {"the Go runtime and standard library", goroot}}
	for _, d := range linked {
		escaped, err := module.EscapePath(d.Path)
		if err != nil {
			return nil, err
		}
		version, err := module.EscapeVersion(d.Version)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{d.Path + " " + d.Version, filepath.Join(cache, escaped+"@"+version)})
	}
	var all bytes.Buffer
	for _, p := range parts {
		texts, err := licenses(p.dir)
		if err != nil {
			return nil, err
		}
		if len(texts) == 0 {
			return nil, fmt.Errorf("%s has no license in %s", p.name, p.dir)
		}
		for _, text := range texts {
			fmt.Fprintf(&all, "==== %s\n\n%s\n\n", p.name, strings.TrimSpace(text))
		}
	}
	return all.Bytes(), nil
}

// licenses are the texts of those in a folder.
func licenses(dir string) (texts []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		is := func(prefix string) bool { return strings.HasPrefix(upper, prefix) }
		if e.Type().IsRegular() && (is("LICENSE") || is("LICENCE") || is("COPYING") || is("NOTICE") || is("PATENTS")) {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			texts = append(texts, string(text))
		}
	}
	return texts, nil
}

// bill writes a program's bill of materials: the modules that are linked into it
// with their checksums in Go's database, and Go itself.
func (r *release) bill(b *program) error {
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.at.Format("2006-01-02T15:04:05Z"),
		Component: component(cdx.ComponentTypeApplication, b.info.Main.Path, "v"+r.version, ""),
		Properties: &[]cdx.Property{{Name: "campaignd:commit", Value: r.commit},
			{Name: "campaignd:platform", Value: b.String()}},
	}
	parts := []cdx.Component{*component(cdx.ComponentTypeLibrary, "std", b.info.GoVersion, "")}
	for _, d := range b.linked {
		parts = append(parts, *component(cdx.ComponentTypeLibrary, d.Path, d.Version, d.Sum))
	}
	slices.SortFunc(parts, func(a, b cdx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	bom.Components = &parts
	var out bytes.Buffer
	encoder := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON)
	encoder.SetPretty(true)
	if err := encoder.Encode(bom); err != nil {
		return err
	}
	b.bill = out.Bytes()
	return os.WriteFile(r.path(r.name(b)+".cdx.json"), b.bill, 0o644)
}

// component is a module in a bill. Its checksum, "h1:…", is the SHA-256 over the
// checksums of its files (golang.org/x/mod/sumdb/dirhash).
func component(kind cdx.ComponentType, path, version, sum string) *cdx.Component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	c := &cdx.Component{Type: kind, Name: path, Version: version, PackageURL: purl, BOMRef: purl}
	if hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); err == nil && sum != "" {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(hash)}}
	}
	return c
}
