package app

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// Law: the compose file is sound: each command is one of ours with flags that it has, and
// each file that is mounted is there.
func TestComposeExample(t *testing.T) {
	folder := "../../../examples/deploy"
	text, err := os.ReadFile(filepath.Join(folder, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Entrypoint, Command []string
			Volumes             []string
			Environment         map[string]string
		}
		Volumes map[string]any
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	ours := 0
	for name, s := range file.Services {
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if _, named := file.Volumes[source]; named {
				continue
			}
			if _, err := os.Stat(filepath.Join(folder, source)); err != nil {
				t.Errorf("%s mounts %s: %v", name, source, err)
			}
		}
		if s.Environment["CAMPAIGND_STORE"] == "" {
			continue
		}
		ours++
		args := s.Command
		if len(s.Entrypoint) > 0 {
			args = append(s.Entrypoint[1:], args...)
		}
		root := newRoot(&app{registry: Builtin(), stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard})
		cmd, rest, err := root.Find(args)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil || cmd == root {
			t.Errorf("%s: %v: %v", name, args, err)
		}
	}
	if ours != 6 {
		t.Errorf("%d services of ours, want two servers, two workers and two commands", ours)
	}
}
