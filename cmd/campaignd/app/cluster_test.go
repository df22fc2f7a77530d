package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/goccy/go-yaml"
)

// clusterStudy writes a study into a folder, runs it whole, and returns its file
// and what the whole gave.
func clusterStudy(t *testing.T, folder string) (study string, want map[string]string) {
	t.Helper()
	study = filepath.Join(folder, "study.yaml")
	must.Do(t, os.WriteFile(study, []byte(shardedStudy), 0o600))
	whole := filepath.Join(folder, "whole")
	simulateIn(t, exitOK, study, "--workers", "1", "--out", whole)
	return study, keptOf(t, whole)
}

// sbatch stands in for Slurm's: it notes how it was called, and runs what it is
// given at once, as each task of the array that is asked for.
const sbatch = `#!/bin/sh
set -eu
echo "$*" >>"$SBATCH_NOTES"
array= parsable=
while [ $# -gt 0 ]; do
	case $1 in
	--array=*) array=${1#*=} ;;
	--parsable) parsable=1 ;;
	-*) ;;
	*) break ;;
	esac
	shift
done
if [ -z "$array" ]; then
	sh "$@"
	exit
fi
for number in $(seq "${array%-*}" "${array#*-}"); do
	SLURM_ARRAY_TASK_ID=$number SLURM_ARRAY_TASK_MIN=${array%-*} SLURM_ARRAY_TASK_MAX=${array#*-} SLURM_CPUS_PER_TASK=2 \
		sh "$@" >&2
done
[ -z "$parsable" ] || echo "17;cluster"
`

// Law: the script for Slurm, as it stands, runs a study in as many shards as it
// is told and merges them to what one machine would have found; the merge waits
// for the array, and one shard is run again as its words say.
func TestSlurmExample(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	script := must.Get(filepath.Abs("../../../examples/cluster/slurm.sh"))(t)
	folder := t.TempDir()
	study, want := clusterStudy(t, folder)
	bin, notes := filepath.Join(folder, "bin"), filepath.Join(folder, "notes")
	must.Do(t, errors.Join(os.Mkdir(bin, 0o700),
		os.WriteFile(filepath.Join(bin, "sbatch"), []byte(sbatch), 0o700)))
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "SBATCH_NOTES="+notes)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run(sh, script, study, "3", "--seeds", "4")
	for name, got := range keptOf(t, filepath.Join(folder, "divided.study")) {
		if got != want[name] {
			t.Errorf("another %s:\n%s\nwant:\n%s", name, got, want[name])
		}
	}
	data := must.Get(os.ReadFile(notes))(t)
	for _, text := range []string{"--array=1-3 ", "--dependency=afterany:17 "} {
		if !strings.Contains(string(data), text) {
			t.Errorf("sbatch was not given %q:\n%s", text, data)
		}
	}
	again := run(filepath.Join(bin, "sbatch"), "--array=3", script, "shard", study, "--seeds", "4", "--shard", "/3")
	if !strings.Contains(again, "Shard 3/3: every campaign had been run before") {
		t.Errorf("the third shard, run again:\n%s", again)
	}
	out, err := exec.Command(sh, script, study).CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("usage: ")) {
		t.Errorf("without a number of shards: %v\n%s", err, out)
	}
}

// kubernetesObject is what the example for Kubernetes says, as far as it is checked.
type kubernetesObject struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		CompletionMode           string
		Completions, Parallelism int
		Suspend                  bool
		PodFailurePolicy         struct {
			Rules []struct {
				Action      string
				OnExitCodes struct {
					ContainerName string
					Values        []int
				}
			}
		}
		Template struct {
			Spec struct {
				Containers []struct {
					Name         string
					Args         []string
					VolumeMounts []struct{ Name, MountPath string }
				}
				Volumes []struct {
					Name                  string
					PersistentVolumeClaim struct{ ClaimName string }
				}
			}
		}
	}
}

// Law: the jobs for Kubernetes, as they stand, run every shard of a study by
// their indices and merge them to what one machine would have found; they share a
// volume that is claimed, and a shard with bad input is not tried again.
func TestKubernetesExample(t *testing.T) {
	data := must.Get(os.ReadFile("../../../examples/cluster/kubernetes.yaml"))(t)
	objects := map[string]kubernetesObject{}
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var (
			read any
			o    kubernetesObject
		)
		err := decoder.Decode(&read)
		if errors.Is(err, io.EOF) {
			break
		}
		text, err2 := json.Marshal(read)
		if err := errors.Join(err, err2, json.Unmarshal(text, &o)); err != nil { // which takes names in any case
			t.Fatal(err)
		}
		objects[o.Kind+" "+o.Metadata.Name] = o
	}
	shards, merge := objects["Job study-shards"], objects["Job study-merge"]
	if shards.Spec.CompletionMode != "Indexed" || shards.Spec.Completions < 2 || !merge.Spec.Suspend {
		t.Fatalf("%+v", objects)
	}
	folder := t.TempDir()
	_, want := clusterStudy(t, folder)
	// run runs a job's container with its volumes, which are folders here.
	run := func(job kubernetesObject) {
		t.Helper()
		pod := job.Spec.Template.Spec
		args := slices.Clone(pod.Containers[0].Args)
		for _, mount := range pod.Containers[0].VolumeMounts {
			claimed := false
			for _, v := range pod.Volumes {
				claim := v.PersistentVolumeClaim.ClaimName
				claimed = claimed || v.Name == mount.Name && (claim == "" || objects["PersistentVolumeClaim "+claim].Kind != "")
			}
			if !claimed {
				t.Errorf("%s mounts %s, which is not a volume", job.Metadata.Name, mount.Name)
			}
			for i := range args {
				args[i] = strings.Replace(args[i], mount.MountPath+"/", folder+"/", 1)
			}
		}
		simulateIn(t, exitOK, args[1:]...)
	}
	for i := range shards.Spec.Completions {
		t.Setenv(kubernetesNumber, fmt.Sprint(i))
		run(shards)
	}
	run(merge)
	for name, got := range keptOf(t, filepath.Join(folder, "study.study")) {
		if got != want[name] {
			t.Errorf("another %s:\n%s\nwant:\n%s", name, got, want[name])
		}
	}
	for _, rule := range shards.Spec.PodFailurePolicy.Rules {
		if rule.Action == "FailIndex" && !slices.Equal(rule.OnExitCodes.Values, []int{exitInput}) {
			t.Errorf("%+v", rule)
		}
		if in := rule.OnExitCodes.ContainerName; in != "" && in != shards.Spec.Template.Spec.Containers[0].Name {
			t.Errorf("there is no container %s", in)
		}
	}
}
