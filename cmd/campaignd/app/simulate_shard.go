package app

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/study/simulate"
)

// Variables from which a task of an array learns its number in a batch system.
const (
	slurmNumber      = "SLURM_ARRAY_TASK_ID"
	slurmLeast       = "SLURM_ARRAY_TASK_MIN"
	slurmGreatest    = "SLURM_ARRAY_TASK_MAX"
	slurmCount       = "SLURM_ARRAY_TASK_COUNT"
	kubernetesNumber = "JOB_COMPLETION_INDEX"
)

// shardOf reads --shard: "2/4", or "/4" with the number from the environment; nil where it is
// empty. Nothing but the flag divides a study: a job that is given to an array for another reason
// runs the whole of it, and one outside an array runs nothing by chance.
func shardOf(text string, getenv func(string) string) (*simulate.Shard, error) {
	if text == "" {
		return nil, nil
	}
	number, of, cut := strings.Cut(text, "/")
	n, err := strconv.ParseUint(of, 10, 31)
	if !cut || err != nil || n < 1 {
		return nil, badInput("--shard %s: write the shard and how many there are, as in 2/4, "+
			"or /4 in an array that numbers its tasks", text)
	}
	from := "--shard " + text
	if number == "" {
		variable, err := numberedBy(text, n, getenv)
		if err != nil {
			return nil, err
		}
		number = getenv(variable)
		from = fmt.Sprintf("--shard %s with %s=%s", text, variable, number)
	}
	i, err := strconv.ParseUint(number, 10, 31)
	if err == nil {
		if sh, ok := simulate.NewShard(int(i), int(n)); ok {
			return &sh, nil
		}
	}
	return nil, badInput("%s: the shards are 1/%d to %d/%d; the last is also 0/%d", from, n, n, n, n)
}

// numberedBy is the variable that holds this task's number among n shards. An
// array of Slurm in which two tasks would run the same shard is refused by each
// of its tasks. A smaller one is well: single shards are run again.
func numberedBy(text string, n uint64, getenv func(string) string) (string, error) {
	slurm, kubernetes := getenv(slurmNumber) != "", getenv(kubernetesNumber) != ""
	switch {
	case slurm && kubernetes:
		return "", badInput("--shard %s: both %s and %s number this task; write which counts, as in --shard \"$%s/%d\"",
			text, slurmNumber, kubernetesNumber, slurmNumber, n)
	case kubernetes:
		return kubernetesNumber, nil
	case !slurm:
		return "", badInput("--shard %s: neither %s nor %s is set: this is not a task of an array; write the number, "+
			"as in --shard 1/%d", text, slurmNumber, kubernetesNumber, n)
	}
	least, err := strconv.ParseUint(getenv(slurmLeast), 10, 31)
	greatest, err2 := strconv.ParseUint(getenv(slurmGreatest), 10, 31)
	if err == nil && err2 == nil && (greatest > n || least == 0 && greatest == n) {
		return "", badInput("--shard %s: this array's numbers go from %d to %d, for %s; submit it with --array=1-%d, "+
			"or write the number yourself", text, least, greatest, format.Count(int(n), "shard"), n)
	}
	return slurmNumber, nil
}

// inArray warns a whole study that runs in a task of an array, and is empty elsewhere: each task
// would run the whole study.
func inArray(getenv func(string) string) string {
	count, variable := getenv(slurmCount), slurmNumber
	if n, err := strconv.Atoi(count); err != nil || n < 2 {
		if variable = kubernetesNumber; getenv(variable) == "" {
			return ""
		}
		count = "N"
	}
	return fmt.Sprintf("This task of an array (%s=%s) runs the whole study; with --shard /%s it would run a part.",
		variable, getenv(variable), count)
}

// ranShard is the document of `simulate --shard --json`.
type ranShard struct {
	Study     string `json:"study"`
	Shard     int    `json:"shard"`
	Of        int    `json:"of"`
	Folder    string `json:"folder"`
	Campaigns int    `json:"campaigns"`
	Ran       int    `json:"ran"` // by this command; the others had been run, or failed
}

// sharded prints the result of a shard, as a number and in words, and the next step after the last
// shard.
func (s *simulation) sharded(sh simulate.Shard, part *simulate.Study, ran int, did string) error {
	folder := sh.Folder(s.out)
	if s.json {
		return s.printJSON(ranShard{part.File.Name, sh.Index, sh.Of, folder, len(part.Units), ran})
	}
	if len(part.Units) == 0 {
		did = "no campaign of the study falls into it"
	}
	s.printf("Shard %s: %s. Wrote %s\n", sh, did, folder)
	s.remark("Once every shard has run: %s", s.into("campaignd simulate merge"))
	return nil
}

// into is a command about the study as it was chosen, and its folder where that
// was chosen, too.
func (s *simulation) into(command string) string {
	if !s.outGiven {
		return s.words(command)
	}
	return s.words(command) + " --out " + shellArg(s.out)
}
