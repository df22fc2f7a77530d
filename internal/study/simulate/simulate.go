// Package simulate runs a study: the campaigns of every arm (a policy with a
// panel of experts) on every task, over common seeds, in memory and in
// parallel.
//
// [New] makes a [Study] of a study's file: it sets up the tasks and composes
// the campaigns. [Study.Run] runs those that a folder's results do not hold
// yet; each finished one is a line in an append-only file. The result of a
// campaign is a [Trajectory]: a step for each experiment, folded from its log. A
// [Truth] judges it: one value by its regret, a trade-off by the hypervolume that
// is missing.
// [Summarize] compares the arms; the tables are written by [WriteExperiments]
// and its neighbors, the page by internal/study/page.
//
// Everything but the measured times is a function of the study's file and its
// seeds, whatever the number of workers and however often the run was
// interrupted.
package simulate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/study/studyfile"
)

// Study is a study that can be run.
type Study struct {
	File  *studyfile.File
	Tasks []*Task
	Arms  []studyfile.Arm
	// Units are the campaigns, grouped by seed: an interrupted study has
	// complete seeds for every arm, which can be compared.
	Units []Unit
}

// Unit is one campaign of a study.
type Unit struct {
	// Task and Arm are indices of the study's.
	Task, Arm int
	Seed      uint64
	// Definition is the campaign, complete.
	Definition definition.Campaign
	// Key identifies everything that the result depends on.
	Key string
}

// resultVersion is raised whenever the same campaign would give a different
// line of results. It is part of each key, so that raising it runs every study
// anew.
const resultVersion = 2

// Environment is the part of the program that a study needs. The program opens stores, since
// another process may hold them.
type Environment struct {
	// OpenStore opens an existing store for reading and returns its log, the name of the campaign
	// (the given one, or the only one there is), and a function that closes it.
	OpenStore func(ctx context.Context, path, campaign string) (events.Log, string, func() error, error)
}

// New sets up the tasks of a file and composes its campaigns. The error is a *[yamltree.Error] for
// a faulty study file; otherwise it names the unreadable table, campaign file or store.
//
// All tasks are set up before any campaign is composed, so that all unreadable inputs are reported
// together.
func New(ctx context.Context, file *studyfile.File, env Environment) (*Study, error) {
	s := &Study{File: file, Arms: file.Arms}
	var failed []error
	for i := range file.Tasks {
		t, err := newTask(ctx, file, &file.Tasks[i], env)
		var faulty *yamltree.Error
		if errors.As(err, &faulty) && faulty.Name == file.Path { // not the task's campaign file
			return nil, faulty
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("task %s: %w", file.Tasks[i].Name, err))
			continue
		}
		if err := t.judged(); err != nil {
			return nil, err
		}
		s.Tasks = append(s.Tasks, t)
	}
	if len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	definitions := make([][]definition.Campaign, len(s.Tasks))
	var faults []yamltree.Fault
	for i, t := range s.Tasks {
		for j := range s.Arms {
			def, found := file.Definition(t.source, &s.Arms[j], t.given)
			faults = append(faults, found...)
			if t.candidates != nil {
				def.Candidates = t.candidates
			}
			definitions[i] = append(definitions[i], def)
		}
	}
	if len(faults) > 0 {
		return nil, file.NewError(faults)
	}
	for i, t := range s.Tasks {
		if t.Kind == Function {
			if err := t.onList(definitions[i]); err != nil {
				return nil, fmt.Errorf("task %s: %w", t.Name, err)
			}
		}
	}
	for k := range file.Seeds.Count {
		seed := file.Seeds.First + uint64(k)
		for i, t := range s.Tasks {
			for j := range s.Arms {
				u := Unit{Task: i, Arm: j, Seed: seed, Definition: definitions[i][j]}
				u.Definition.Seed = seed
				var err error
				if u.Key, err = key(u.Definition,
					file.Registry.Methods.Ref(u.Definition.Policy).Version, t.digest); err != nil {
					return nil, err
				}
				s.Units = append(s.Units, u)
			}
		}
	}
	return s, nil
}

// key identifies a campaign by everything that its result depends on: the definition with its seed,
// the source of the task's answers, and the version of the method. A change of the file that leaves
// a campaign unchanged leaves its key, and it is not run again.
func key(def definition.Campaign, version int, digest string) (string, error) {
	return keyOf(struct {
		Result, Policies int
		Digest           string
		Definition       definition.Campaign
	}{resultVersion, version, digest, def})
}

// keyOf identifies a value by its JSON. JSON writes fields in their order and maps by their keys,
// so that equal values are written alike. 128 bits are enough to distinguish the campaigns of a
// study.
func keyOf(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}
