package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// made makes everything of a program that is a script, from a small source tree,
// into a folder.
func made(t *testing.T, programs ...platform) *release {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"LICENSE": "do what you like", "README.md": "# campaignd", "CHANGELOG.md": "# Changes",
		"examples/a.yaml": "name: a", "examples/sub/b.csv": "1,2", "examples/plugin/main.go": "package main",
		"docs/deploy/campaignd.service":      "# how to\n\n[Unit]\n[Service]\nExecStart=/usr/local/bin/campaignd serve\n",
		"docs/deploy/campaignd-work.service": "[Service]\n\n[Unit]\nExecStart=/usr/local/bin/campaignd work\n",
		"internal/python/README.md":          "# Python",
		"internal/python/pyproject.toml": "[project]\nname = \"campaignd\"\ndescription = \"d\"\nreadme = \"README.md\"\n" +
			"requires-python = \">=3.10\"\nlicense = \"Apache-2.0\"\n[project.optional-dependencies]\n" +
			"plots = [\"six>=1; python_version < '4'\"]\n[project.urls]\nSource = \"https://example.org\"\n",
		"internal/python/campaignd/__init__.py":  "\"\"\"It.\"\"\"\n",
		"internal/python/campaignd/py.typed":     "",
		"internal/python/campaignd/sub/x.py":     "X = 1\n",
		"internal/python/campaignd/sub/x.cached": "not a part of it",
	} {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The real entry, which the wheel's test runs.
	// What finds and starts the program is the real thing.
	for _, name := range []string{"__main__.py", "program.py", "extras.py"} {
		text, err := os.ReadFile("../../python/campaignd/" + name)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, "internal/python/campaignd", name)
		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &release{out: t.TempDir(), work: t.TempDir(), source: source{
		dir: dir, commit: "1f2e3d", at: time.Unix(1_700_000_000, 0).UTC(), version: "0.3.0-dev+1f2e3d4c5b6a"}}
	p, err := readPackage(filepath.Join(dir, "internal/python"))
	if err != nil {
		t.Fatal(err)
	}
	var onLinux []*program
	for _, on := range programs {
		script := []byte("#!/bin/sh\necho ran \"$@\"\n")
		b := &program{platform: on, commands: []entry{{on.file("campaignd"), script, 0o755}, {on.file("campaignd-forward"), script, 0o755}}, notices: []byte("theirs"),
			info: &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Path: "example.org/campaignd"},
				Deps: []*debug.Module{{Path: "example.org/b", Version: "v1.0.0", Sum: "h1:AAAA"}, {Path: "example.org/a", Version: "v2.0.0+x"},
					{Path: "example.org/ours", Replace: &debug.Module{}}}}}
		b.linked = linked(b.info)
		errs := []error{r.bill(b), r.archive(b), r.wheel(p, b)}
		if on.OS == "linux" {
			errs = append(errs, r.packages(b))
			onLinux = append(onLinux, b)
		}
		for _, err := range errs {
			if err != nil {
				t.Fatal(on, err)
			}
		}
	}
	if err := r.image(onLinux); err != nil {
		t.Fatal(err)
	}
	if err := r.seal(""); err != nil {
		t.Fatal(err)
	}
	return r
}

// Law: the same source gives the same bytes, in whatever folder and at whatever
// time. (That the same holds of the program itself, .ci/run sees.)
func TestSameBytes(t *testing.T) {
	first := made(t, platforms...)
	time.Sleep(1100 * time.Millisecond) // formats count whole seconds
	second := made(t, platforms...)
	entries, err := os.ReadDir(first.out)
	if err != nil {
		t.Fatal(err)
	}
	// Of each platform an archive, a wheel and a bill; of two a .deb and a .rpm; an
	// image; the sums.
	if want := 5*3 + 2*2 + 2; len(entries) != want {
		t.Errorf("%d files, want %d: %v", len(entries), want, entries)
	}
	for _, e := range entries {
		a, errA := os.ReadFile(first.path(e.Name()))
		b, errB := os.ReadFile(second.path(e.Name()))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v %v", e.Name(), errA, errB)
		}
	}
}

// Law: RECORD names every file of a wheel, with its hash and its size (PyPA's
// specification of the binary distribution format); nothing but the package, the
// program, the examples and the metadata is in it.
func TestRecord(t *testing.T) {
	r := made(t, platform{"darwin", "arm64"}, platform{"windows", "amd64"})
	const prefix = "campaignd-0.3.0.dev0+1f2e3d4c5b6a"
	for tag, script := range map[string]string{"macosx_12_0_arm64": "campaignd", "win_amd64": "campaignd.exe"} {
		z, err := zip.OpenReader(r.path(prefix + "-py3-none-" + tag + ".whl"))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		held := make(map[string][]byte)
		for _, f := range z.File {
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			if held[f.Name], err = io.ReadAll(in); err != nil {
				t.Fatal(err)
			}
			if executable := f.Mode()&0o111 != 0; executable != strings.Contains(f.Name, "/scripts/") {
				t.Errorf("%s has mode %v", f.Name, f.Mode())
			}
		}
		for _, name := range []string{"campaignd/__init__.py", "campaignd/__main__.py", "campaignd/py.typed", "campaignd/sub/x.py",
			prefix + ".data/scripts/" + script, prefix + ".data/scripts/" + strings.Replace(script, "campaignd", "campaignd-forward", 1), prefix + ".data/data/share/campaignd/examples/a.yaml",
			prefix + ".dist-info/METADATA", prefix + ".dist-info/WHEEL", prefix + ".dist-info/licenses/LICENSE"} {
			if _, ok := held[name]; !ok {
				t.Errorf("%s is not in the wheel", name)
			}
		}
		for name := range held {
			if strings.HasSuffix(name, ".cached") || strings.Contains(name, "plugin") {
				t.Errorf("%s is in the wheel", name)
			}
		}
		rows, err := csv.NewReader(bytes.NewReader(held[prefix+".dist-info/RECORD"])).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			data, ok := held[row[0]]
			sum := sha256.Sum256(data)
			want := []string{"sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]), fmt.Sprint(len(data))}
			if row[0] == prefix+".dist-info/RECORD" {
				want = []string{"", ""}
			}
			if !ok || row[1] != want[0] || row[2] != want[1] {
				t.Errorf("RECORD says %v, want %v", row, want)
			}
			delete(held, row[0])
		}
		if len(held) > 0 {
			t.Errorf("RECORD does not name %d files", len(held))
		}
	}
}

// Law: pip takes the wheel, puts the program on the environment's path, and
// `python -m campaignd` is it.
func TestPip(t *testing.T) {
	if err := exec.Command("python3", "-c", "import ensurepip, venv").Run(); err != nil {
		t.Skip("python3 with venv is not installed")
	}
	r := made(t, platform{"linux", "amd64"}, platform{"linux", "arm64"}, platform{"darwin", "arm64"}, platform{"darwin", "amd64"})
	env := filepath.Join(t.TempDir(), "env")
	wheels, err := filepath.Glob(r.path("*.whl"))
	if err != nil || len(wheels) != 4 {
		t.Fatal(wheels, err)
	}
	for _, command := range [][]string{
		{"python3", "-m", "venv", env},
		// Of all wheels in the folder, the one that is for this machine.
		{env + "/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--pre", "--find-links", r.out, "campaignd"},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	for _, command := range [][]string{{env + "/bin/campaignd", "a", "b c"}, {env + "/bin/python", "-m", "campaignd", "a", "b c"}} {
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		if err != nil || string(out) != "ran a b c\n" {
			t.Errorf("%v: %v: %s", command, err, out)
		}
	}
	out, err := exec.Command(env+"/bin/python", "-c",
		"from importlib.metadata import metadata as m; m = m('campaignd'); print(m['Version'], m.get_all('Provides-Extra'))").Output()
	if err != nil || string(out) != "0.3.0.dev0+1f2e3d4c5b6a ['plots']\n" {
		t.Errorf("metadata: %v: %s", err, out)
	}
}

// Law: who has the public key sees that the sums are those that were signed, with
// OpenSSH alone; and that others are not.
func TestSignature(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	r := made(t, platform{"darwin", "arm64"})
	key := filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	if err := os.Remove(r.path("SHA256SUMS")); err != nil { // sums of itself would be those of another list
		t.Fatal(err)
	}
	if err := r.seal(key); err != nil {
		t.Fatal(err)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	signers := filepath.Join(t.TempDir(), "signers")
	if err := os.WriteFile(signers, append([]byte("campaignd "), public...), 0o600); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(r.path("SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	verify := func(list []byte) error {
		c := exec.Command("ssh-keygen", "-Y", "verify", "-f", signers, "-I", "campaignd", "-n", "campaignd-release",
			"-s", r.path("SHA256SUMS.sig"))
		c.Stdin = bytes.NewReader(list)
		return c.Run()
	}
	if err := verify(sums); err != nil {
		t.Error("the signature is refused:", err)
	}
	if verify(append([]byte("0"), sums[1:]...)) == nil {
		t.Error("a signature of other sums is accepted")
	}
	c := exec.Command("sha256sum", "--quiet", "-c", "SHA256SUMS")
	c.Dir = r.out
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v: %s", err, out)
	}
}

// Law: the image has each architecture under its name, runs the program as a user
// that is not root, and that user owns the folder of the lab.
func TestImage(t *testing.T) {
	r := made(t, platform{"linux", "amd64"}, platform{"linux", "arm64"})
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-xf", r.path("campaignd-oci-"+r.version+".tar"), "-C", dir).CombinedOutput(); err != nil {
		t.Skip("tar: ", err, string(out))
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := index.IndexManifest()
	if err != nil || len(outer.Manifests) != 1 {
		t.Fatal(outer, err)
	}
	inner, err := index.ImageIndex(outer.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := inner.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 {
		t.Fatal(manifest, err)
	}
	for i, arch := range []string{"amd64", "arm64"} {
		if got := manifest.Manifests[i].Platform; got == nil || got.Architecture != arch || got.OS != "linux" {
			t.Errorf("platform %v, want %s", got, arch)
		}
		image, err := inner.Image(manifest.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil || config.Config.User != "65532:65532" || config.Architecture != arch {
			t.Errorf("%s: %+v, %v", arch, config, err)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatal(layers, err)
		}
		content, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command("tar", "-tv", "--numeric-owner", "-f", "-")
		c.Stdin = content
		list, err := c.Output()
		if err != nil || !strings.Contains(string(list), "drwx------ 65532/65532") || !strings.Contains(string(list), "-rwxr-xr-x 0/0") {
			t.Errorf("%v:\n%s", err, list)
		}
	}
}

// Law: a bill names what is linked, and what is in this repository it leaves out.
func TestBill(t *testing.T) {
	r := made(t, platform{"linux", "arm64"})
	text, err := os.ReadFile(r.path("campaignd-linux-arm64-" + r.version + ".cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bill struct {
		BOMFormat  string
		Components []struct{ Purl string }
	}
	if err := json.Unmarshal(text, &bill); err != nil {
		t.Fatal(err)
	}
	want := "[{pkg:golang/example.org/a@v2.0.0%2Bx} {pkg:golang/example.org/b@v1.0.0} {pkg:golang/std@go1.26}]"
	if got := fmt.Sprint(bill.Components); got != want || bill.BOMFormat != "CycloneDX" {
		t.Errorf("%s of %s, want %s", bill.BOMFormat, got, want)
	}
}

// Law: the package's services start the program where the package puts it.
func TestUnit(t *testing.T) {
	r := made(t)
	unit, err := r.unit("campaignd.service")
	if err != nil || string(unit) != "[Unit]\n[Service]\nExecStart=/usr/bin/campaignd serve\n" {
		t.Errorf("%v: %s", err, unit)
	}
	r.dir = "../../.." // the real one has what is replaced
	for _, name := range []string{"campaignd.service", "campaignd-work.service"} {
		if _, err := r.unit(name); err != nil {
			t.Error(err)
		}
	}
}
