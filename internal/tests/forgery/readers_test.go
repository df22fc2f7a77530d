package forgery_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/forgery"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/report"
)

// goldenLogs are the logs of each release, by their path.
func goldenLogs(t *testing.T) map[string][]events.Event {
	t.Helper()
	paths, err := filepath.Glob("../../engine/drive/testdata/golden/*/*.jsonl")
	if err != nil || len(paths) < 15 {
		t.Fatalf("%d golden logs: %v", len(paths), err)
	}
	logs := make(map[string][]events.Event)
	for _, path := range paths {
		logs[path] = must.Get(forgery.Read(path))(t)
	}
	return logs
}

// found are the changes that a reader panicked at once.
var found = []string{
	"definition/parameters longer", "definition/objective/name another", "definition/objective/tradeoff/#/name another",
	"definition/objective/preference/over/# another", "form removed", "form another", "candidates/#/name removed", "chosen another",
	"attributions/shapley/#/values shorter", "attributions/plane/mean/# shorter", "attributions/plane/ys shorter",
}

// once is one forgery of each of some changes, where a log has them.
func once(list []forgery.Forgery, changes []string) (some []forgery.Forgery) {
	for _, change := range changes {
		i := slices.IndexFunc(list, func(f forgery.Forgery) bool { return f.Path+" "+f.What == change })
		if i >= 0 {
			some = append(some, list[i])
		}
	}
	return some
}

// Law: whatever an event that decodes says, who reads its log gets an answer or an
// error: an audit, the folded state, status, story, explanations, table and report.
// No reader panics. How many forgeries are read CAMPAIGND_FORGERIES says.
func TestReadersSurvive(t *testing.T) {
	draws := rand.New(rand.NewPCG(1, 2))
	for path, all := range goldenLogs(t) {
		list := must.Get(forgery.Of(all))(t)
		list = slices.DeleteFunc(list, func(f forgery.Forgery) bool {
			_, err := events.Decode(f.Event)
			return err != nil
		})
		draws.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		tried := slices.Concat(once(list, found), list[:min(forgeries(t), len(list))])
		t.Run(filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path)), func(t *testing.T) {
			t.Parallel()
			for _, f := range tried {
				if problem := survives(t, f.In(all)); problem != "" {
					t.Errorf("%s, %s, event %d: %s", f.Path, f.What, f.At+1, problem)
				}
			}
		})
	}
}

// Law: the same of every field of the definition that a campaign begins with, of which all
// readers make something: of campaigns that seek one quantity, several and what is preferred.
func TestReadersSurviveDefinitions(t *testing.T) {
	for path, all := range goldenLogs(t) {
		list := must.Get(forgery.Of(all[:1]))(t)
		t.Run(filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path)), func(t *testing.T) {
			t.Parallel()
			list = slices.DeleteFunc(list, func(f forgery.Forgery) bool { return !strings.HasPrefix(f.Path, "definition/") })
			for i, f := range list {
				if every := max(1, len(list)/forgeries(t)); i%every != 0 {
					continue
				}
				if problem := survives(t, f.In(all)); problem != "" {
					t.Errorf("%s, %s: %s", f.Path, f.What, problem)
				}
			}
		})
	}
}

// forgeries is how many of each log are read.
func forgeries(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("CAMPAIGND_FORGERIES"))
	switch {
	case os.Getenv("CAMPAIGND_FORGERIES") == "":
		return 3
	case err != nil:
		t.Fatal(err)
	}
	return n
}

// survives returns where the log of a campaign makes a reader of it panic, or "".
func survives(t *testing.T, all []events.Event) (problem string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log, name, reg := memlog.New(), all[0].Campaign, builtin.Registry()
	for _, e := range all {
		if _, err := log.Append(ctx, e.Campaign, e.Sequence-1, e); err != nil {
			return "" // no log holds it
		}
	}
	step := ""
	defer func() {
		if fault := recover(); fault != nil {
			problem = fmt.Sprintf("%s: %v\n%s", step, fault, debug.Stack())
		}
	}()
	step = "audit"
	_, _ = decisions.Audit(ctx, reg, log, name, events.Build{Version: "another"}, nil)
	step = "report"
	_ = report.Write(ctx, io.Discard, report.Input{Registry: reg, Log: log, Campaign: name})
	step = "fold"
	record, err := view.FoldRecord(ctx, reg, log, name)
	if err != nil {
		return ""
	}
	core, err := record.Now(ctx, log)
	if err != nil {
		return ""
	}
	readAll(ctx, record, core, log, &step)
	return ""
}

// how says what can be done, in words.
func how(r problem.Remedy) string { return r.Text }

// readAll reads all that is shown of a campaign.
func readAll(ctx context.Context, record *view.Record, core *engine.Core, log events.Log, step *string) {
	*step = "status"
	if status, err := view.StatusOf(ctx, core, nil); err == nil {
		_ = status.Document()
		_ = status.Write(io.Discard, view.Around{}, how)
	}
	*step = "story"
	if lines, err := record.Timeline(ctx, log); err == nil {
		for _, l := range lines.Last(1000) {
			_ = l.Words()
		}
	}
	s := core.State()
	for n := range s.Decisions {
		*step = fmt.Sprintf("explain d%d", n+1)
		if d, err := record.Decision(ctx, log, fmt.Sprintf("d%d", n+1)); err == nil {
			_ = d.Write(io.Discard, how)
		}
	}
	*step = "table"
	_ = exchange.TableOf(s).WriteCSV(io.Discard)
}
