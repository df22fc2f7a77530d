//go:build linux

package lock

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// showVariable has this program say whether its folder of locks is hidden, and end.
const showVariable = "CAMPAIGND_TEST_LOOK"

func TestMain(m *testing.M) {
	if os.Getenv(showVariable) != "" {
		dir, hidden := Look()
		fmt.Printf("%s: %s\n", dir, hidden)
		return
	}
	os.Exit(m.Run())
}

// Law: the units that are shipped see the machine's folder of locks, and make it where it is not
// there.
func TestUnitsSeeTheFolder(t *testing.T) {
	units, err := filepath.Glob("../../../docs/deploy/*.service")
	if err != nil || len(units) < 2 {
		t.Fatalf("%v, %v", units, err)
	}
	for _, unit := range units {
		text := must.Get(os.ReadFile(unit))(t)
		for _, line := range []string{
			"ExecStartPre=+/usr/bin/install -d -m 1777 " + systemDirs()[0], "ReadWritePaths=" + systemDirs()[0],
			"BindPaths=-" + systemDirs()[1],
		} {
			if !strings.Contains(string(text), "\n"+line+"\n") {
				t.Errorf("%s lacks %s", unit, line)
			}
		}
	}
}

// Law: in the mount namespace of a unit with PrivateTmp a folder of locks in /tmp is known to be
// hidden, and one outside of it is not.
func TestUnitsNamespace(t *testing.T) {
	self := must.Get(os.Executable())(t)
	outside := t.TempDir()
	if strings.HasPrefix(outside, "/tmp/") {
		outside = filepath.Join("/run/lock", filepath.Base(filepath.Dir(outside)))
	}
	private := fmt.Sprintf("/tmp/systemd-private-test-%d", os.Getpid())
	must.Do(t, os.MkdirAll(filepath.Join(private, "tmp"), 0o700))
	t.Cleanup(func() { _ = os.RemoveAll(private) })
	for dir, hidden := range map[string]bool{"/tmp/locks": true, outside: false} {
		// The program is opened first: its folder may be hidden.
		script := fmt.Sprintf(`exec 9<%q && mount --bind %s/tmp /tmp && exec /proc/self/fd/9`, self, private)
		cmd := exec.Command("unshare", "--mount", "sh", "-c", script)
		cmd.Env = append(os.Environ(), showVariable+"=1", Variable+"="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Skipf("a mount namespace is not permitted here, TestHidden stands for it: %v: %s", err, out)
		}
		if got := strings.TrimSpace(string(out)) != dir+":"; got != hidden {
			t.Errorf("in the namespace of a unit: %s", out)
		}
	}
}
