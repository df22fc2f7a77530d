//go:build unix

package python

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: what testdata/device_laws.py says of a Device.
func TestDevice(t *testing.T) {
	t.Parallel()
	interpreter := python(t)
	cmd := exec.CommandContext(t.Context(), interpreter, "-W", "error", filepath.Join("testdata", "device_laws.py"))
	cmd.Env = append(cmd.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Law: a Device passes every check of the conformance suite, and none is skipped that applies: one that
// is waited for, which gives no handle to be found by, and one that is followed, two at once, with acts
// counted by the device's own side, and kills.
func TestDeviceConforms(t *testing.T) {
	t.Parallel()
	interpreter := python(t)
	here := must.Get(filepath.Abs("."))(t)
	self := must.Get(os.Executable())(t)
	// "drawn", since nothing is used up; "gave", since neither serves several at once; "handle" of the first;
	// "safe" of the second.
	skipped := map[string]int{"measured": 3, "followed": 3}
	for program, settings := range map[string]string{
		"measured": "ledger: durable", "followed": "ledger: durable, socket: rig.sock",
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			folder := must.Get(os.MkdirTemp("", "device"))(t) // a socket's path is short
			t.Cleanup(func() { os.RemoveAll(folder) })
			devices := filepath.Join(here, "testdata", "devices")
			if program == "followed" {
				rig := exec.Command(interpreter, filepath.Join(devices, "rig.py"), "rig.sock", "acts.txt", "0.2")
				rig.Dir = folder
				out := must.Get(rig.StdoutPipe())(t)
				must.Do(t, rig.Start())
				t.Cleanup(func() { _ = rig.Process.Kill(); _ = rig.Wait() })
				_, err := out.Read(make([]byte, 8)) // it says that it is ready
				must.Do(t, err)
			}
			must.Do(t, os.WriteFile(filepath.Join(folder, "device.yaml"), fmt.Appendf(nil, `name: device
parameters: [{name: x, min: 0, max: 1}]
objective: {name: y, unit: mS/cm, goal: maximize, min: 0, max: 30}
budget: {experiments: 5}
instrument:
  process:
    command: [%s, %s]
    reply_within: 20s
    settings: {%s}
    env: {PYTHONPATH: %s, PYTHONDONTWRITEBYTECODE: "1"}
`, interpreter, filepath.Join(devices, program+".py"), settings, here), 0o666))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, self, "instrument", "check", "device.yaml", "--acts", "acts.txt")
			cmd.Dir = folder
			cmd.Env = append(cmd.Environ(), asProgram+"=1", "XDG_STATE_HOME="+t.TempDir(), lock.Variable+"="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), fmt.Sprintf(" 0 failed, %d skipped;", skipped[program])) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
