package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// pythonPackage is the Python package around the program: its metadata, from
// pyproject.toml, and its files.
type pythonPackage struct {
	Project struct {
		Name         string
		Description  string
		Readme       string
		License      string
		Requires     string `toml:"requires-python"`
		Classifiers  []string
		Keywords     []string
		Dependencies []string
		Optional     map[string][]string `toml:"optional-dependencies"`
		URLs         map[string]string
	}
	readme []byte
	files  []entry
}

// readPackage reads the package of a folder.
func readPackage(dir string) (*pythonPackage, error) {
	text, err := os.ReadFile(filepath.Join(dir, "pyproject.toml"))
	if err != nil {
		return nil, err
	}
	p := new(pythonPackage)
	if err := toml.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("pyproject.toml: %w", err)
	}
	if p.Project.Name == "" || p.Project.Requires == "" {
		return nil, fmt.Errorf("pyproject.toml: project.name and project.requires-python are wanted")
	}
	if p.Project.Readme != "" {
		if p.readme, err = os.ReadFile(filepath.Join(dir, p.Project.Readme)); err != nil {
			return nil, err
		}
	}
	p.files, err = tree(filepath.Join(dir, p.Project.Name), p.Project.Name, func(name string) bool {
		base := filepath.Base(name)
		return !strings.Contains(base, ".") || strings.HasSuffix(base, ".py") || base == "py.typed"
	})
	return p, err
}

// tags are what platforms are called in the names of wheels. The program is linked
// statically, so that any C library will do; macOS is the oldest one that Go
// supports.
var tags = map[platform]string{
	{"linux", "amd64"}:   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	{"linux", "arm64"}:   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	{"darwin", "amd64"}:  "macosx_12_0_x86_64",
	{"darwin", "arm64"}:  "macosx_12_0_arm64",
	{"windows", "amd64"}: "win_amd64",
}

// pythonVersion is a version in the words of PEP 440: "0.3.0.dev0+1f2e3d4c5b6a".
func pythonVersion(version string) string {
	return strings.ToLower(strings.Replace(version, "-dev", ".dev0", 1))
}

// wheel writes the wheel of a platform: the package, and the program as a script of
// it, which lands on the path of the environment that it is installed into.
func (r *release) wheel(p *pythonPackage, b *program) error {
	tag, ok := tags[b.platform]
	if !ok {
		return fmt.Errorf("no tag of wheels is known for it")
	}
	version := pythonVersion(r.version)
	prefix := p.Project.Name + "-" + version
	info, data := prefix+".dist-info/", prefix+".data/"

	license, err := os.ReadFile(filepath.Join(r.dir, "LICENSE"))
	if err != nil {
		return err
	}
	examples, err := r.examples()
	if err != nil {
		return err
	}
	entries := slices.Clone(p.files)
	for _, c := range b.commands {
		entries = append(entries, entry{data + "scripts/" + c.name, c.data, c.mode})
	}
	for _, e := range examples {
		entries = append(entries, entry{data + "data/share/campaignd/" + e.name, e.data, e.mode})
	}
	var about bytes.Buffer
	fmt.Fprintf(&about, "Wheel-Version: 1.0\nGenerator: campaignd-release\nRoot-Is-Purelib: false\n")
	for _, t := range strings.Split(tag, ".") {
		fmt.Fprintf(&about, "Tag: py3-none-%s\n", t)
	}
	entries = append(entries,
		entry{info + "METADATA", p.metadata(version), 0o644},
		entry{info + "WHEEL", about.Bytes(), 0o644},
		entry{info + "licenses/LICENSE", license, 0o644},
		entry{info + "licenses/THIRD-PARTY-LICENSES", b.notices, 0o644},
		entry{info + "sboms/campaignd.cdx.json", b.bill, 0o644}) // PEP 770
	entries = append(entries, record(info+"RECORD", entries))
	packed, err := packZip(entries, r.at)
	if err != nil {
		return err
	}
	return os.WriteFile(r.path(prefix+"-py3-none-"+tag+".whl"), packed, 0o644)
}

// record lists the files of a wheel with their hashes, but for itself.
func record(name string, entries []entry) entry {
	var out bytes.Buffer
	for _, e := range entries {
		hash := sha256.Sum256(e.data)
		fmt.Fprintf(&out, "%s,sha256=%s,%d\n", e.name, base64.RawURLEncoding.EncodeToString(hash[:]), len(e.data))
	}
	fmt.Fprintf(&out, "%s,,\n", name)
	return entry{name, out.Bytes(), 0o644}
}

// metadata is what pyproject.toml says, as core metadata 2.4.
func (p *pythonPackage) metadata(version string) []byte {
	var out bytes.Buffer
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&out, "%s: %s\n", key, value)
		}
	}
	line("Metadata-Version", "2.4")
	line("Name", p.Project.Name)
	line("Version", version)
	line("Summary", p.Project.Description)
	line("Keywords", strings.Join(p.Project.Keywords, ","))
	line("License-Expression", p.Project.License)
	line("License-File", "LICENSE")
	line("License-File", "THIRD-PARTY-LICENSES")
	for _, c := range p.Project.Classifiers {
		line("Classifier", c)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Project.URLs)) {
		line("Project-URL", name+", "+p.Project.URLs[name])
	}
	line("Requires-Python", p.Project.Requires)
	for _, d := range p.Project.Dependencies {
		line("Requires-Dist", d)
	}
	for _, extra := range slices.Sorted(maps.Keys(p.Project.Optional)) {
		line("Provides-Extra", extra)
		for _, d := range p.Project.Optional[extra] {
			line("Requires-Dist", underExtra(d, extra))
		}
	}
	if len(p.readme) > 0 {
		line("Description-Content-Type", "text/markdown")
		fmt.Fprintf(&out, "\n%s", p.readme)
	}
	return out.Bytes()
}

// underExtra makes a requirement one of an extra, next to a condition of its own.
func underExtra(requirement, extra string) string {
	what, condition, conditional := strings.Cut(requirement, ";")
	if conditional {
		return fmt.Sprintf("%s; (%s) and extra == '%s'", strings.TrimSpace(what), strings.TrimSpace(condition), extra)
	}
	return fmt.Sprintf("%s; extra == '%s'", what, extra)
}
