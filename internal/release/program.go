package main

import (
	"bytes"
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

// program is the program of a platform, with what goes along with it everywhere.
type program struct {
	platform
	bytes   []byte
	info    *debug.BuildInfo
	notices []byte // the licenses of what is in it
	bill    []byte // its bill of materials, as CycloneDX in JSON
}

// build builds the program of a platform.
func (r *release) build(p platform) (*program, error) {
	to := filepath.Join(r.work, p.OS+"-"+p.Arch)
	if err := r.compile(to, "-s -w", "GOOS="+p.OS, "GOARCH="+p.Arch); err != nil {
		return nil, err
	}
	b := &program{platform: p}
	var err error
	if b.bytes, err = os.ReadFile(to); err != nil {
		return nil, err
	}
	if b.info, err = buildinfo.ReadFile(to); err != nil {
		return nil, err
	}
	b.notices, err = r.notices(b.info)
	return b, err
}

// linked are the modules in a program.
func linked(info *debug.BuildInfo) []*debug.Module {
	var deps []*debug.Module
	for _, d := range info.Deps {
		if d.Replace == nil { // else it is in this repository
			deps = append(deps, d)
		}
	}
	return deps
}

// notices are the licenses of a program and of all that is linked into it: most of
// them ask to be handed on with it.
func (r *release) notices(info *debug.BuildInfo) ([]byte, error) {
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
	for _, d := range linked(info) {
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
	for _, d := range linked(b.info) {
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
