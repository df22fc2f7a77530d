package lock

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: all users of a machine have the same folders of locks, wherever each has files of their own,
// unless another is named.
func TestFolderOfAll(t *testing.T) {
	t.Setenv(Variable, "")
	before := Dirs()
	for _, own := range []string{"HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"} {
		t.Setenv(own, t.TempDir())
	}
	if dirs := Dirs(); !filepath.IsAbs(dirs[0]) || !slices.Equal(dirs, before) {
		t.Errorf("the folders are %q, and %q for another user", before, dirs)
	}
	t.Setenv(Variable, "/lab/locks")
	if dirs := Dirs(); !slices.Equal(dirs, []string{"/lab/locks"}) {
		t.Errorf("the folders that are named are %q", dirs)
	}
}

// systemHas has the system's folders be others for a test.
func systemHas(t *testing.T, dirs ...string) {
	t.Helper()
	t.Setenv(Variable, "")
	before := systemDirs
	systemDirs = func() []string { return dirs }
	t.Cleanup(func() { systemDirs = before })
}

// Law: the first folder that can be made is used, and with it each other one that is there: a
// program that could not make the first, or is of an earlier version, has its locks in that. So
// any two programs meet in one, in whichever order they come.
func TestFoldersMeet(t *testing.T) {
	parent := t.TempDir()
	for name, c := range map[string]struct{ there, want []string }{
		"none":    {nil, []string{"a"}},
		"first":   {[]string{"a"}, []string{"a"}},
		"earlier": {[]string{"b"}, []string{"a", "b"}},
		"both":    {[]string{"a", "b"}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			at := filepath.Join(parent, name)
			systemHas(t, filepath.Join(at, "a"), filepath.Join(at, "b"))
			for _, dir := range append(c.there, "") {
				must.Do(t, os.MkdirAll(filepath.Join(at, dir), 0o777))
			}
			var got []string
			for _, dir := range Dirs() {
				got = append(got, filepath.Base(dir))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("the folders are %v, want %v", got, c.want)
			}
		})
	}
	// Where the first cannot be made, the second is.
	systemHas(t, filepath.Join(parent, "nowhere", "a"), filepath.Join(parent, "b"))
	if dirs := Dirs(); len(dirs) != 1 || filepath.Base(dirs[0]) != "b" {
		t.Errorf("the folders are %v", dirs)
	}
}

// Law: a folder is hidden where another program of the machine may see another one under its name;
// one that all see is not, whatever else is private.
func TestHidden(t *testing.T) {
	const shared, temporary = "/run/lock/campaignd", "/tmp/campaignd-locks"
	systemHas(t, shared, temporary)
	root := mounted{"/", "/", "ext4"}
	overlay := mounted{"/", "/", "overlay"}
	unit := []mounted{root, {"/", "/run", "tmpfs"}, {"/tmp/systemd-private-1f-campaignd.service-x/tmp", "/tmp", "ext4"}}
	says := func(is bool) func(string) *bool { return func(string) *bool { return &is } }
	for name, c := range map[string]struct {
		sight  sight
		dir    string
		named  bool
		hidden string // a word of it
	}{
		"another system":                {sight{}, temporary, false, ""},
		"a machine":                     {sight{pid: firstPID, mount: "mnt:[1]", mounts: []mounted{root}}, temporary, false, ""},
		"a machine from an image":       {sight{pid: firstPID, mount: "mnt:[1]", mounts: []mounted{root}, marked: "/.dockerenv"}, temporary, false, ""},
		"its first namespace":           {sight{pid: firstPID, mount: firstMount, mounts: unit}, temporary, false, ""},
		"that of the first process":     {sight{pid: firstPID, mount: "mnt:[1]", init: "mnt:[1]", mounts: unit}, temporary, false, ""},
		"a unit":                        {sight{pid: firstPID, mount: "mnt:[2]", mounts: unit}, temporary, false, "PrivateTmp"},
		"a unit, the folder named":      {sight{pid: firstPID, mount: "mnt:[2]", mounts: unit}, "/tmp/x", true, "PrivateTmp"},
		"a unit and the machine's":      {sight{pid: firstPID, mount: "mnt:[2]", mounts: unit}, shared, false, ""},
		"a unit, seen to differ":        {sight{pid: firstPID, mount: "mnt:[2]", init: "mnt:[1]", same: says(false), mounts: []mounted{root}}, temporary, false, "first process"},
		"a unit, seen to be the same":   {sight{pid: firstPID, mount: "mnt:[2]", init: "mnt:[1]", same: says(true), mounts: unit}, shared, false, ""},
		"a container":                   {sight{pid: "pid:[7]", mount: "mnt:[7]", init: "mnt:[7]", mounts: []mounted{overlay}}, shared, false, "container"},
		"a container with the host's":   {sight{pid: "pid:[7]", mount: "mnt:[7]", mounts: []mounted{overlay, {"/campaignd", shared, "tmpfs"}}}, shared, false, ""},
		"a container with its own /run": {sight{pid: "pid:[7]", mount: "mnt:[7]", mounts: []mounted{overlay, {"/", "/run/lock", "tmpfs"}}}, shared, false, "container"},
		"a container, the folder named": {sight{pid: "pid:[7]", mount: "mnt:[7]", mounts: []mounted{overlay}}, "/locks", true, ""},
		"a container among the machine's processes": {
			sight{pid: firstPID, mount: "mnt:[7]", mounts: []mounted{overlay}, marked: "/.dockerenv"}, temporary, false, "container"},
	} {
		got := c.sight.hidden(c.dir, c.named)
		if c.hidden == "" && got != "" || !strings.Contains(got, c.hidden) {
			t.Errorf("%s: %q, want %q", name, got, c.hidden)
		}
	}
}
