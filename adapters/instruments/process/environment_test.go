//go:build unix

package process_test

import (
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events/definition"
)

// A program gets of the environment what is harmless and what the campaign file
// names, and no secret of the shell.
func TestEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_SECRET_ACCESS_KEY": "s1", "GITHUB_TOKEN": "s2", "LAB_TOKEN": "wanted", "LD_PRELOAD_": "s3",
		"SSH_AUTH_SOCK": "s4",
		"PYTHONPATH":    "/opt/lab", "LC_TIME": "C", "TZ": "UTC", "CONDA_TOKEN": "s5", "PGPASSWORD": "s6",
		"Path_Secret": "s7", "LC_": "s8", // which names nothing of the language
	} {
		t.Setenv(name, value)
	}
	dir := t.TempDir()
	inst, book := open(t, process.Settings{
		Command: []string{"sh", "-c", "env > " + dir + "/env"}, Dir: dir,
		Env: map[string]string{"MIXER": "quiet", "TZ": "CET"}, Environment: []string{"LAB_TOKEN", "LAB_KEY"},
	})
	inst.Hurry()
	_, _ = inst.Describe(within(t, 20*time.Second)) // it ends at once
	got := map[string]string{}
	for _, line := range noted(dir, "env") {
		name, value, _ := strings.Cut(line, "=")
		got[name] = value
		if len(value) == 2 && value[0] == 's' {
			t.Errorf("%s arrived", name)
		}
	}
	for name, want := range map[string]string{"LAB_TOKEN": "wanted", "MIXER": "quiet",
		"PYTHONPATH": "/opt/lab", "LC_TIME": "C", "TZ": "CET"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if got["PATH"] == "" || got["HOME"] == "" {
		t.Errorf("it has no PATH or HOME: %v", got)
	}
	if strings.Contains(book.String(), "LAB_TOKEN") {
		t.Errorf("it is said to lack what it got:\n%s", book)
	}
	book.expect("gets no LAB_KEY, which the campaign file names under environment: it is not set here")
}

// Law: a campaign file names variables one by one, by what can be a name on some system.
func TestNamesOfVariables(t *testing.T) {
	for name, want := range map[string]bool{
		"LAB_TOKEN": true, "ProgramFiles(x86)": true, "Schlüssel": true,
		"": false, "LAB TOKEN": false, "LAB\tTOKEN": false, "LAB\x7f": false, "LAB_*": false, "LAB=1": false,
	} {
		s := process.Settings{Command: []string{"robot"}, Environment: []string{name}}
		if faults := s.Check(nil, definition.At("process")); (faults == nil) != want {
			t.Errorf("%q: %v", name, faults)
		}
	}
}
