package app

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// simulateIn runs `campaignd simulate` in this process and returns what it
// prints on both streams.
func simulateIn(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	args = append([]string{"simulate"}, args...)
	if got := Run(context.Background(), Builtin(), args, strings.NewReader(""), &out, &out); got != code {
		t.Fatalf("campaignd %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, &out)
	}
	return out.String()
}

// seconds are the measured times of a result.
var seconds = regexp.MustCompile(`"seconds":\[[^\]]*\]`)

// keptOf is what a study's folder holds apart from its page and the measured
// times: the results and the tables, by their names.
func keptOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"results.jsonl", "experiments.csv", "summary.csv", "ratios.csv"} {
		data := must.Get(os.ReadFile(filepath.Join(folder, name)))(t)
		files[name] = seconds.ReplaceAllString(string(data), "")
	}
	return files
}

const shardedStudy = `name: divided
seeds: 4
experiments: 6
tasks: [branin, holder2]
policies:
  vanilla: {next: lcb}
  cobol: {next: lcb, trust: cobol}
experts:
  expert: [{simulated: {accuracy: 2}}]
`

// Law: whatever the number of shards, more than there are campaigns too, each
// campaign is run by exactly one of them, and a merge gives the bytes of a study
// that one worker has run whole, but for the times.
func TestShardsAreTheWhole(t *testing.T) {
	folder := t.TempDir()
	study := filepath.Join(folder, "study.yaml")
	must.Do(t, os.WriteFile(study, []byte(shardedStudy), 0o600))
	whole := filepath.Join(folder, "whole")
	simulateIn(t, exitOK, study, "--workers", "1", "--out", whole)
	want := keptOf(t, whole)
	for _, n := range []int{1, 2, 3, 20} {
		out := filepath.Join(folder, fmt.Sprint(n))
		for i := n; i > 0; i-- {
			simulateIn(t, exitOK, study, "--out", out, "--shard", fmt.Sprintf("%d/%d", i, n))
		}
		results, err := filepath.Glob(filepath.Join(out, "shards", "*", "results.jsonl"))
		if err != nil || len(results) != n {
			t.Fatalf("%v, %v", results, err)
		}
		lines := 0
		for _, file := range results {
			data := must.Get(os.ReadFile(file))(t)
			lines += bytes.Count(data, []byte("\n"))
		}
		if lines != 16 {
			t.Errorf("%d shards ran %d campaigns, want 16", n, lines)
		}
		simulateIn(t, exitOK, "merge", study, "--out", out)
		for name, got := range keptOf(t, out) {
			if got != want[name] {
				t.Errorf("%d shards give another %s:\n%s\nwant:\n%s", n, name, got, want[name])
			}
		}
	}
}

// Law: a shard is the same whether the numbers of an array begin at 0 or at 1,
// and whether the whole array runs or one task of it again. Its number comes
// from the environment only where the flag leaves it out, and whatever would make
// two tasks run one shard, or none, is refused.
func TestShardFlag(t *testing.T) {
	slurm := func(id, least, greatest string) map[string]string {
		return map[string]string{slurmNumber: id, slurmLeast: least, slurmGreatest: greatest}
	}
	kubernetes := func(id string) map[string]string { return map[string]string{kubernetesNumber: id} }
	for _, c := range []struct {
		flag string
		env  map[string]string
		want string // the shard, or a part of what is said
	}{
		{"", slurm("2", "1", "4"), "<nil>"},
		{"1/1", nil, "1/1"},
		{"2/4", slurm("3", "1", "4"), "2/4"},
		{"0/4", nil, "4/4"},
		{"4/4", nil, "4/4"},
		{"/4", slurm("1", "1", "4"), "1/4"},
		{"/4", slurm("4", "1", "4"), "4/4"},
		{"/4", slurm("0", "0", "3"), "4/4"},
		{"/4", slurm("3", "0", "3"), "3/4"},
		{"/4", slurm("3", "3", "3"), "3/4"}, // run again by itself
		{"/4", slurm("0", "0", "0"), "4/4"},
		{"/4", kubernetes("0"), "4/4"},
		{"/4", kubernetes("3"), "3/4"},

		{"/4", slurm("2", "1", "8"), "numbers go from 1 to 8, for 4 shards; submit it with --array=1-4"},
		{"/4", slurm("2", "0", "4"), "numbers go from 0 to 4, for 4 shards"},
		{"/4", slurm("2", "0", "6"), "numbers go from 0 to 6, for 4 shards"}, // 0-6:2
		{"/4", kubernetes("4"), "4/4"},
		{"/4", kubernetes("5"), "--shard /4 with JOB_COMPLETION_INDEX=5: the shards are 1/4 to 4/4"},
		{"/4", map[string]string{slurmNumber: "1", kubernetesNumber: "1"}, "both SLURM_ARRAY_TASK_ID and"},
		{"/4", nil, "this is not a task of an array"},
		{"5/4", nil, "the shards are 1/4 to 4/4"},
		{"-1/4", nil, "the shards are 1/4 to 4/4"},
		{"1/0", nil, "as in 2/4"},
		{"2", nil, "as in 2/4"},
		{"1/4/2", nil, "as in 2/4"},
		{"x/4", nil, "the shards are 1/4 to 4/4"},
	} {
		sh, err := shardOf(c.flag, func(name string) string { return c.env[name] })
		got := fmt.Sprint(sh)
		if err != nil {
			if got = err.Error(); exitCode(err) != exitInput {
				t.Errorf("--shard %s in %v: exit code %d", c.flag, c.env, exitCode(err))
			}
		}
		if err == nil && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("--shard %s in %v: %s, want %s", c.flag, c.env, got, c.want)
		}
	}
}
