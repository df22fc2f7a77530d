package app

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
)

// Law: a command waits for nothing that it does not use. What the packages of this module
// make before any command begins is little: templates, of which a page needs one, are 9 MB.
func TestStartIsSmall(t *testing.T) {
	const most = 512 << 10
	cmd := exec.Command("campaignd", "--help")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	must.Do(t, cmd.Run())
	line := regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes, `)
	own := 0
	for _, m := range line.FindAllStringSubmatch(trace.String(), -1) {
		bytes := must.Get(strconv.Atoi(m[2]))(t)
		if !strings.HasPrefix(m[1], policies.Module) {
			continue
		}
		own++
		if bytes > most {
			t.Errorf("%s makes %d bytes when the program starts, at most %d: make them at first use", m[1], bytes, most)
		}
	}
	if own < 5 {
		t.Fatalf("the trace names %d packages of this module:\n%s", own, trace.String())
	}
}

// Law: the build ID of a program is the one that Go's own tool reads, and one without a
// hash of the program is none.
func TestBuildID(t *testing.T) {
	path := must.Get(os.Executable())(t)
	program := must.Get(os.ReadFile(path))(t)
	want := must.Get(exec.Command("go", "tool", "buildid", path).Output())(t)
	if got := string(buildID(program[:headOfProgram])); got != strings.TrimSpace(string(want)) {
		t.Errorf("it is %q, the tool says %q", got, want)
	}
	const id = "pdYek6yrzgNU/RUE7s1SBrlmz/hHXKhqfFiDNM2mTIztCs"
	note := func(length string) string {
		return "\x7fELF\x04\x00\x00\x00" + length + "\x04\x00\x00\x00Go\x00\x00" + id + "\x00\x03"
	}
	for _, c := range []struct{ name, head, want string }{
		{"a mark", "MZ\x00\xff Go build ID: \"" + id + "\"\n \xff\xcc", id},
		{"a mark that does not end", "MZ\x00\xff Go build ID: \"" + id, ""},
		{"no hash of the program", "\xff Go build ID: \"redacted\"\n \xff", ""},
		{"an empty one", "\xff Go build ID: \"\"\n \xff", ""},
		{"a note beyond the head", note("\xff\xff\xff\xff"), ""},
		{"nothing", "#!/bin/sh", ""},
	} {
		if got := string(buildID([]byte(c.head))); got != c.want {
			t.Errorf("%s: it is %q, want %q", c.name, got, c.want)
		}
	}
}
