package app

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// saidVariable has the files of this test written anew.
const saidVariable = "CAMPAIGND_SAID"

// Law: what the program says to a command line, right or wrong, stays: help, output, messages and
// exit codes are what people have learned and scripts read. testdata/said holds it.
func TestSaid(t *testing.T) {
	files, err := filepath.Glob("testdata/said/*.txt")
	if err != nil || files == nil {
		t.Fatal("there is nothing to be said", err)
	}
	given := must.Get(filepath.Abs("testdata/said/files"))(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		path, err := filepath.Abs(file)
		if err != nil || name == "help" {
			continue // TestSaidOfEachCommand
		}
		t.Run(name, func(t *testing.T) {
			want := must.Get(os.ReadFile(path))(t)
			place(t)
			must.Do(t, os.CopyFS(".", os.DirFS(given)))
			compareSaid(t, path, string(want), transcript(t, string(want)))
		})
	}
}

// Law: as above, of each command's help, and of what it says with no argument where there is
// nothing, with too many, and with a flag that there is not.
func TestSaidOfEachCommand(t *testing.T) {
	path := must.Get(filepath.Abs("testdata/said/help.txt"))(t)
	place(t)
	var text strings.Builder
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		words := strings.TrimPrefix(c.CommandPath()+" ", "campaignd ")
		lines := []string{"--help", "--nope", "1 2 3 4 5 6 7 8 9"}
		switch c.Name() {
		case "docs": // nine words are looked for in documents, whose text may change
			lines = lines[:2]
		case "serve", "doctor", "schema", "methods": // of their own texts, or without an end
		default:
			lines = append(lines, "")
		}
		for _, more := range lines {
			line := strings.TrimSpace("campaignd " + words + more)
			text.WriteString("$ " + line + "\n" + spoken(t, strings.Fields(line)[1:], ""))
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(&app{registry: Builtin()}))
	want, _ := os.ReadFile(path)
	compareSaid(t, path, string(want), text.String())
}

// place is an empty folder without the user's settings, which is the working directory then.
func place(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, variable := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME", lock.Variable} {
		t.Setenv(variable, filepath.Join(dir, "user"))
	}
	for _, variable := range []string{storeVariable, serverVariable, tokenVariable, checkpointCommandVariable} {
		t.Setenv(variable, "")
	}
	t.Setenv("TZ", "UTC")
	work := filepath.Join(dir, "work")
	must.Do(t, os.Mkdir(work, 0o700))
	t.Chdir(work)
}

func compareSaid(t *testing.T, path, want, got string) {
	t.Helper()
	if os.Getenv(saidVariable) != "" {
		must.Do(t, os.WriteFile(path, []byte(got), 0o600))
		return
	}
	if got != want {
		t.Errorf("it is said otherwise (%s=1 writes %s anew):\n%s", saidVariable, path, cmp.Diff(want, got))
	}
}

// transcript carries out the lines that begin with $, and returns them with what is said. A line
// may end with > and a file that takes the output, or < and one that is the input; serve FOLDER
// begins a server that further commands ask. After # a line is a remark.
func transcript(t *testing.T, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		words, ok := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		if !ok {
			continue
		}
		out.WriteString("$ " + words + "\n")
		args := wordsOf(words)
		switch n := len(args); {
		case args[0] == "#":
		case args[0] == "serve":
			serveSaid(t, args[1])
		case n > 2 && args[n-2] == ">":
			file := must.Get(os.Create(args[n-1]))(t)
			var stderr strings.Builder
			code := Run(t.Context(), Builtin(), args[1:n-2], strings.NewReader(""), file, &stderr)
			if err := file.Close(); err != nil || code != 0 {
				t.Fatal(words, code, stderr.String(), err)
			}
		case n > 2 && args[n-2] == "<":
			input := must.Get(os.ReadFile(args[n-1]))(t)
			out.WriteString(spoken(t, args[1:n-2], string(input)))
		default:
			out.WriteString(spoken(t, args[1:], ""))
		}
	}
	return out.String()
}

// wordsOf are the words of a line, as a shell takes them apart.
func wordsOf(line string) (words []string) {
	for _, w := range regexp.MustCompile(`(?:[^\s'"]|'[^']*'|"[^"]*")+`).FindAllString(line, -1) {
		words = append(words, regexp.MustCompile(`'([^']*)'|"([^"]*)"`).ReplaceAllString(w, "$1$2"))
	}
	return words
}

// serveSaid serves a folder until the test ends.
func serveSaid(t *testing.T, folder string) {
	ctx, end := context.WithCancel(context.Background())
	read, write := must.Get2(os.Pipe())(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		Run(ctx, Builtin(), []string{"serve", folder, "--listen", "127.0.0.1:0"}, strings.NewReader(""), write, write)
	}()
	t.Cleanup(func() { end(); <-done; read.Close(); write.Close() })
	head := make([]byte, 1<<12)
	n := must.Get(read.Read(head))(t)
	url := regexp.MustCompile(`http://\S+`).FindString(string(head[:n]))
	if url == "" {
		t.Fatalf("it serves nothing: %s", head[:n])
	}
	go func() { _, _ = bytes.NewBuffer(nil).ReadFrom(read) }()
	t.Setenv(serverVariable, url)
}

// spoken is what the program says to a command line: its output, what it remarks behind !, and the
// exit code where it is not 0.
func spoken(t *testing.T, args []string, input string) string {
	t.Helper()
	if !slices.Contains(args, "--as") {
		args = append([]string{"--as=bea"}, args...)
	}
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	code := Run(ctx, Builtin(), args, strings.NewReader(input), &stdout, &stderr)
	text := stdout.String()
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for line := range strings.Lines(stderr.String()) {
		text += "! " + line
	}
	if code != 0 {
		text += fmt.Sprintf("exit %d\n", code)
	}
	return lasting(text)
}

// lasting is what is said without what differs from one machine, and one moment, to the next.
func lasting(text string) string {
	dir, _ := os.Getwd()
	text = strings.ReplaceAll(text, dir, "DIR")
	if url := os.Getenv(serverVariable); url != "" {
		text = strings.ReplaceAll(text, url, "SERVER")
	}
	text = strings.ReplaceAll(text, filepath.Dir(dir), "TMP")
	text = strings.ReplaceAll(text, fmt.Sprintf("(default %q)", systemUser()), "(default USER)")
	for _, differs := range []struct{ what, by string }{
		{`\baccount [^\]"]+ \(uid \d+\)`, "account USER"},
		{`("account": ?)"[^"]+ \(uid \d+\)"`, `${1}"USER"`},
		{`(campaigns run at once \(default )\d+`, "${1}N"},
		{`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`, "TIME"},
		{`\b\d\d:\d\d(:\d\d)?\b`, "CLOCK"},
		{`until \d{4}-\d\d-\d\d CLOCK`, "until CLOCK"}, // in the evening it is tomorrow
		{`campaignd_[0-9A-Za-z]{43}`, "TOKEN"},
		{`v0\.3\.0-dev\+[0-9A-Za-z.-]+`, "VERSION"},
		{`go1\.\d+(\.\d+)?\b`, "GO"},
		{`(amd64|arm64)/v[\d.]+`, "ARCH"},
		{`unknown:[A-Z2-7]{26}`, "REVISION"},
		{`/[A-Z2-7]{10}\b`, "/STORE"},
		{`\b[\d.]+( a second| GB left)`, "N${1}"},
		{`(0\.0 {5})[\d.e-]+`, "${1}N"},
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "UUID"},
		{`sha256:[0-9a-f]{64}`, "REVISION"},
		{`\b[0-9a-f]{16,}\b`, "HEX"},
		{`\b[0-9a-f]{10,}\b`, "HEX"},
		{`[A-Za-z0-9+/]{40,}={0,2}`, "HASH"},
		{`\b[A-Z2-7]{26}\b`, "ID"},
		{`([Pp]rocess |"pid": ?)\d+`, "${1}PID"},
		{`\b\d+(\.\d+)? (ms|s|min)\b`, "N s"},
	} {
		text = regexp.MustCompile(differs.what).ReplaceAllString(text, differs.by)
	}
	return text
}
