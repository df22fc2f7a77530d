package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// understood fails unless arguments are a command of ours with flags that it has.
func understood(t *testing.T, of string, args []string) {
	t.Helper()
	root := newRoot(&app{registry: Builtin(), stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard})
	cmd, rest, err := root.Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil || cmd == root {
		t.Errorf("%s: %v: %v", of, args, err)
	}
}

// Law: the compose file is sound: each command is one of ours with flags that it has, and
// each file that is mounted is there.
func TestComposeExample(t *testing.T) {
	folder := "../../../examples/deploy"
	text := must.Get(os.ReadFile(filepath.Join(folder, "compose.yaml")))(t)
	var file struct {
		Services map[string]struct {
			Entrypoint, Command []string
			Volumes             []string
			Environment         map[string]string
		}
		Volumes map[string]any
	}
	must.Do(t, yaml.Unmarshal(text, &file))
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
		understood(t, name, args)
	}
	if ours != 6 {
		t.Errorf("%d services of ours, want two servers, two workers and two commands", ours)
	}
}

// deployed is what the example for CloudNativePG says, as far as it is checked.
type deployed struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		Instances  int
		Replicas   int
		Postgresql struct{ Synchronous map[string]any }
		Template   struct {
			Spec struct {
				Containers []struct {
					Args                                        []string
					Env                                         []struct{ Name string }
					Ports                                       []struct{ Name string }
					StartupProbe, LivenessProbe, ReadinessProbe struct{ HTTPGet struct{ Path, Port string } }
					VolumeMounts                                []struct{ Name, MountPath string }
				}
				Volumes []struct {
					Name      string
					ConfigMap struct{ Name string }
				}
			}
		}
	}
}

// Law: the example for CloudNativePG has the database wait for a standby as
// docs/machines.md says it must; its two servers and two workers are commands of ours
// with flags that they have, asked under the paths at which they answer how they are, and
// have a lab file that can be read.
func TestCloudNativePGExample(t *testing.T) {
	text := must.Get(os.ReadFile("../../../examples/deploy/cloudnativepg.yaml"))(t)
	objects := make(map[string]deployed)
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var (
			read any
			o    deployed
		)
		err := decoder.Decode(&read)
		if errors.Is(err, io.EOF) {
			break
		}
		object, err2 := json.Marshal(read)
		if err := errors.Join(err, err2, json.Unmarshal(object, &o)); err != nil { // which takes names in any case
			t.Fatal(err)
		}
		objects[o.Kind+" "+o.Metadata.Name] = o
	}
	cluster := objects["Cluster lab-database"]
	promised := map[string]any{"method": "any", "number": 1.0, "dataDurability": "required", "failoverQuorum": true}
	if got := cluster.Spec.Postgresql.Synchronous; !maps.Equal(got, promised) || cluster.Spec.Instances != 3 {
		t.Errorf("%d servers with %v, want 3 with %v", cluster.Spec.Instances, got, promised)
	}
	manual, err := os.ReadFile("../../../docs/machines.md")
	if want := "synchronous: {method: any, number: 1, dataDurability: required, failoverQuorum: true}"; err != nil ||
		!strings.Contains(string(manual), want) {
		t.Errorf("docs/machines.md does not say %s: %v", want, err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "lab.yaml"), []byte(objects["ConfigMap lab"].Data["lab.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if named, err := labfile.ReadFolder(Builtin(), folder); err != nil || named == nil || named.Title == "" {
		t.Errorf("its lab.yaml: %+v, %v", named, err)
	}
	for name, command := range map[string]string{"lab-serve": "serve", "lab-work": "work"} {
		o := objects["Deployment "+name]
		if len(o.Spec.Template.Spec.Containers) != 1 || o.Spec.Replicas != 2 {
			t.Errorf("%s: %+v", name, o.Spec)
			continue
		}
		c := o.Spec.Template.Spec.Containers[0]
		if understood(t, name, c.Args); c.Args[0] != command || c.Env[0].Name != "CAMPAIGND_STORE" {
			t.Errorf("%s: %v with %v", name, c.Args, c.Env)
		}
		for path, of := range map[string]struct{ Path, Port string }{
			"/livez": c.LivenessProbe.HTTPGet, "/readyz": c.ReadinessProbe.HTTPGet,
		} {
			if of.Path != path || of.Port != c.Ports[0].Name {
				t.Errorf("%s: it is asked under %+v, want %s at %s", name, of, path, c.Ports[0].Name)
			}
		}
		mounted := false
		for _, v := range o.Spec.Template.Spec.Volumes {
			mounted = mounted || v.Name == c.VolumeMounts[0].Name && objects["ConfigMap "+v.ConfigMap.Name].Kind != ""
		}
		if !mounted || !slices.Contains(c.Args, c.VolumeMounts[0].MountPath) {
			t.Errorf("%s: lab.yaml is not where %v looks for it", name, c.Args)
		}
	}
}
