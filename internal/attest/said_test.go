package attest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/checkpoint"
	"github.com/campaignd/campaignd/events/filestore"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/forgery"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var update = flag.Bool("update", false, "write down what is said of stores")

// saying is what is said of stores, a block for each case.
type saying struct{ text bytes.Buffer }

// add adds what is said of a case, as JSON, and the error.
func (s *saying) add(of string, said any, err error) {
	fmt.Fprintf(&s.text, "== %s\n", of)
	if err != nil {
		fmt.Fprintf(&s.text, "error %s: %v\n", problem.CodeOf(err), err)
		return
	}
	out := json.NewEncoder(&s.text)
	out.SetEscapeHTML(false)
	out.SetIndent("", " ")
	_ = out.Encode(said)
}

// same compares what is said with a file.
func (s *saying) same(t *testing.T, file string) {
	t.Helper()
	if *update {
		must.Do(t, os.WriteFile(file, s.text.Bytes(), 0o644))
	}
	kept := must.Get(os.ReadFile(file))(t)
	if string(kept) == s.text.String() {
		return
	}
	said, before := append(strings.Split(s.text.String(), "\n"), ""), append(strings.Split(string(kept), "\n"), "")
	i := 0
	for said[i] == before[i] {
		i++
	}
	t.Errorf("%s, line %d: said before: %q, and now: %q", file, i+1, before[i], said[i])
}

// golden is a log that this release has written, of 2024, so that no clock is behind it.
func golden(t *testing.T, name string) []events.Event {
	t.Helper()
	all := must.Get(forgery.Read("../engine/drive/testdata/golden/0.4.0/" + name + ".jsonl"))(t)
	for i := range all {
		all[i].Time = all[i].Time.AddDate(-2, 0, 0)
	}
	return all
}

// stored is a store with the events of several logs.
func stored(t *testing.T, logs ...[]events.Event) (events.Store, string) {
	t.Helper()
	folder := t.TempDir()
	log := must.Get(store.Open(folder, store.Options{}))(t)
	t.Cleanup(func() { log.Close() })
	for _, all := range logs {
		must.Get(log.Append(t.Context(), all[0].Campaign, 0, all...))(t)
	}
	return log, folder
}

// decided is a log with something else in it, wherever it stands.
func decided(all []events.Event, old, new string) []events.Event {
	all = append([]events.Event(nil), all...)
	for i := range all {
		all[i].Data = bytes.ReplaceAll(all[i].Data, []byte(old), []byte(new))
	}
	return all
}

// damaged is a store in which a check finds faults.
type damaged struct {
	events.Store
	report events.Report
}

func (d damaged) Verify(context.Context) (events.Report, error) { return d.report, nil }

// Law: what an audit of a store finds is what testdata/audits.txt has, of stores that pass and of
// those that do not: with several campaigns, their files, earlier checkpoints, logs of other
// builds and of other versions of methods, the log of a lab, and damage.
func TestAudits(t *testing.T) {
	s, this := new(saying), events.Build{Version: "v2.0.0", Revision: "aaaa"}
	audit := func(of string, log events.Store, o Options) {
		t.Helper()
		o.Registry, o.Build = builtin.Registry(), this
		r, err := Run(t.Context(), log, o)
		s.add(of, struct {
			*Audit
			Passed bool
		}{r, err == nil && r.Passed()}, err)
	}
	files, contest, duel := golden(t, "files"), golden(t, "contest"), golden(t, "duel")
	const nobody = `"build":{"version":"","go":"","arch":""}`
	made := decided(files, nobody, `"build":{"version":"v2.0.0","revision":"aaaa","go":"","arch":""}`)
	earlier := decided(files, nobody, `"build":{"version":"v1.0.0","revision":"bbbb","go":"","arch":""}`)
	log, folder := stored(t, files, contest, duel)
	several := filestore.Of(folder)
	for _, text := range []string{"1,2\n", "picture", "steps", "label", "nobody names it", "nor this one"} {
		must.Get(several.Put(t.Context(), strings.NewReader(text)))(t)
	}
	audit("several campaigns, and all files", log, Options{Files: several})
	audit("one of them", log, Options{Files: several, Campaign: "contest"})
	audit("without its files", log, Options{})
	audit("one that there is not", log, Options{Campaign: "another"})
	change := func(content string, change func(file string) error) {
		t.Helper()
		must.Do(t, filepath.WalkDir(folder, func(file string, _ os.DirEntry, err error) error {
			if text, _ := os.ReadFile(file); err == nil && string(text) == content {
				return change(file)
			}
			return err
		}))
	}
	change("picture", os.Remove)
	audit("one file is missing", log, Options{Files: several, Campaign: "electrolyte"})
	change("label", func(file string) error {
		_ = os.Chmod(file, 0o600)
		return os.WriteFile(file, []byte("libel"), 0o600)
	})
	audit("one is missing, and one altered", log, Options{Files: several})
	audit("the files of another campaign", log, Options{Files: several, Campaign: "contest"})

	audit("by this program", storeOf(stored(t, made)), Options{})
	audit("forged, by this program", storeOf(stored(t, decided(made, `"reason":"budget"`, `"reason":"target"`))), Options{})
	other := storeOf(stored(t, decided(made, `"version":4`, `"version":99`), contest))
	audit("of another version", other, Options{})
	audit("of another version, and excepted", other, Options{Except: []string{"aaaa"}})
	mixed := storeOf(stored(t, append(decided(earlier, `"version":4`, `"version":99`)[:17], made[17:]...)))
	for _, except := range [][]string{nil, {"v2.0.0"}, {"another", "bb", "v1.0.0"}} {
		audit(fmt.Sprint("of two builds, except ", except), mixed, Options{Except: except})
	}

	audit("empty", storeOf(stored(t)), Options{})
	begun := must.Get(events.Lab.New("lab", events.KindLabBegun, &events.LabBegun{Instance: "LAB"}))(t)
	begun.Time, begun.Actor = files[0].Time, "engine"
	audit("of a lab", storeOf(stored(t, []events.Event{begun})), Options{Files: several})

	head := func(log events.Store) tlog.Tree {
		return must.Get(log.Head(t.Context()))(t)
	}
	since := func(file, origin string, tree tlog.Tree) Earlier {
		return Earlier{File: file, Checkpoint: checkpoint.Checkpoint{
			Origin: origin, Tree: tree, Signed: []string{"lab.example"}, Unchecked: []string{"stranger.example"},
		}}
	}
	const id = "electrolyte/FILES"
	before, forged := head(storeOf(stored(t, files[:10]))), head(storeOf(stored(t, made[:20])))
	whole := head(storeOf(stored(t, files)))
	all := []Earlier{
		since("another", "contest/CONTEST", before), since("changed.0", id, forged), since("1", id, before),
		since("changed", "lab.example/"+id, forged), since("another again", "contest/CONTEST", before),
		since("longer", id, tlog.Tree{N: int64(len(files)) + 1, Hash: whole.Hash}), since("2", "lab.example/"+id, whole),
	}
	audit("earlier checkpoints", storeOf(stored(t, files)), Options{Since: all})
	audit("earlier checkpoints that hold", storeOf(stored(t, files)), Options{Since: []Earlier{all[2], all[6]}})
	audit("earlier checkpoints of an empty store", storeOf(stored(t)), Options{Since: all})

	for _, report := range []events.Report{
		{Events: 3, Read: 2, Faults: []events.Fault{{From: 2, To: 2, What: "it is gone"}}, More: 7, Notes: []string{"one copy"}},
		{Events: 3, Read: 3, Faults: []events.Fault{{From: 2, To: 2, What: "it is gone"}}},
		{Events: 29, Read: 29, More: 1},
		{Events: 29, Read: 29, Notes: []string{"one copy"}},
	} {
		audit("damaged", damaged{storeOf(stored(t, files)), report}, Options{Since: all})
	}
	s.same(t, "testdata/audits.txt")
}

// storeOf is a store without its folder.
func storeOf(log events.Store, _ string) events.Store { return log }

// Law: a log whose last event lies ahead of the clock by more than a minute is remarked on.
func TestDatedAhead(t *testing.T) {
	for by, noted := range map[time.Duration]bool{30 * time.Second: false, time.Hour: true, -time.Hour: false} {
		all := golden(t, "contest")
		shift := time.Until(all[len(all)-1].Time.Add(-by))
		for i := range all {
			all[i].Time = all[i].Time.Add(-shift)
		}
		r, err := Run(t.Context(), storeOf(stored(t, all)), Options{Registry: builtin.Registry()})
		if err != nil || (len(r.Notes) > 0) != noted || len(r.Mismatches) > 0 {
			t.Fatalf("dated ahead by %v: %+v %v", by, r, err)
		}
		if noted && !strings.Contains(r.Notes[0], "the last event of contest is dated 20") {
			t.Error(r.Notes)
		}
	}
}

// Law: checkpoints of a store, proofs from it and what they prove are what testdata/proofs.txt has:
// a proof holds, and with anything changed does not; a log that was changed, cut or begun anew
// extends no checkpoint of before.
func TestProofs(t *testing.T) {
	s := new(saying)
	files, contest := golden(t, "files"), golden(t, "contest")
	log, folder := stored(t, files, contest)
	early := storeOf(stored(t, files))
	changed := storeOf(stored(t, decided(files, "spectrum.csv", "spektrum.csv"), contest))
	keys := make(map[string]note.Signer)
	verifiers := make(map[string]note.Verifier)
	for _, name := range []string{"lab.example", "stranger.example"} {
		private, public := must.Get2(note.GenerateKey(rand.Reader, name))(t)
		keys[name], _ = note.NewSigner(private)
		verifiers[name], _ = note.NewVerifier(public)
	}
	var texts []Text
	keep := func(file string, c *Checkpoint) {
		texts = append(texts, Text{file, []byte(c.Text)})
		said := *c
		said.Text = ""
		s.add("checkpoint "+file, said, nil)
	}
	take := func(log events.Store, key string) *Checkpoint {
		return must.Get(TakeCheckpoint(t.Context(), log, keys[key]))(t)
	}
	keep("unsigned", take(log, ""))
	keep("signed", take(log, "lab.example"))
	keep("stranger's", take(log, "stranger.example"))
	keep("early", take(early, "lab.example"))
	keep("changed", take(changed, "lab.example"))
	keep("another", take(storeOf(stored(t, contest)), "lab.example"))
	proved := take(log, "lab.example")
	must.Do(t, proved.Prove(t.Context(), log, 5))
	keep("inclusion", proved)
	texts = append(texts, Text{"tampered", bytes.Replace([]byte(proved.Text), []byte("index 4"), []byte("index 5"), 1)})
	texts = append(texts, Text{"none", []byte("none")})
	read := func(file string) checkpoint.Checkpoint {
		for _, text := range texts {
			if text.File == file {
				return must.Get(ReadCheckpoint(text.Bytes, verifiers["lab.example"]))(t)
			}
		}
		t.Fatal(file)
		return checkpoint.Checkpoint{}
	}
	for _, old := range []string{"early", "signed", "changed", "another"} {
		c := take(log, "lab.example")
		problem, err := c.Extend(t.Context(), log, read(old))
		s.add("extends "+old, problem, err)
		if problem == "" {
			keep("growth from "+old, c)
		}
		c = take(early, "")
		problem, err = c.Extend(t.Context(), early, read(old))
		s.add("early extends "+old, problem, err)
	}
	growth := string(texts[len(texts)-1].Bytes)
	texts = append(texts, Text{"another growth", []byte(strings.Replace(growth, "old 36", "old 29", 1))})
	for _, text := range texts {
		c, err := ReadCheckpoint(text.Bytes, verifiers["lab.example"])
		c.Tree.Hash = tlog.Hash{}
		s.add("reads "+text.File, c, err)
	}
	for n := 1; n <= len(texts); n++ {
		for _, mustSign := range []bool{false, true} {
			v := VerifyFiles(texts[n-1:n], []note.Verifier{verifiers["lab.example"]}, mustSign)
			s.add(fmt.Sprintf("verifies %s, signed: %t, hold: %t", texts[n-1].File, mustSign, v.Hold()), v, nil)
		}
	}
	for _, some := range [][]string{
		{"signed", "growth from early", "early"}, {"early", "growth from early"}, {"changed", "growth from early"},
		{"another", "growth from early"}, {"signed", "changed"}, {"another growth", "early"}, {"tampered", "early", "growth from early"},
		{"signed", "unsigned"}, {"changed", "another"}, {"signed", "another"}, {"unsigned", "changed"},
	} {
		var of []Text
		for _, text := range texts {
			for _, file := range some {
				if text.File == file {
					of = append(of, text)
				}
			}
		}
		v := VerifyFiles(of, []note.Verifier{verifiers["lab.example"]}, false)
		var problems []string
		for _, f := range v.Files {
			problems = append(problems, f.File+": "+f.Problem)
		}
		s.add(fmt.Sprintf("together %q, hold: %t", some, v.Hold()), []any{problems, v.Forks}, nil)
	}

	for _, of := range []string{"electrolyte", "contest"} {
		for _, what := range []string{"0", "1", "5", "36", "37", "e1", "e2", "e3", "f4", "d1", "q1", "x"} {
			e, err := Find(t.Context(), log, of, what)
			s.add("find "+what+" of "+of, fmt.Sprint(e.Position, " ", e.Kind), err)
			c, err := ProveIn(t.Context(), folder, of, what, nil)
			if err == nil {
				v := VerifyFiles([]Text{{"it", []byte(c.Text)}}, nil, false)
				s.add("prove "+what+" of "+of, []any{v.Hold(), v.Files[0].Position, c.Proved}, nil)
				continue
			}
			s.add("prove "+what+" of "+of, nil, err)
		}
	}
	if err := take(log, "").Prove(t.Context(), log, 99); err == nil {
		t.Error("an event that there is not is proved")
	}
	_, err := ProveIn(t.Context(), filepath.Join(folder, "none"), "contest", "1", nil)
	s.add("no store", nil, errors.New(strings.ReplaceAll(err.Error(), folder, "")))
	_, err = Identity(t.Context(), storeOf(stored(t)))
	s.add("an empty store", nil, err)
	_, err = TakeCheckpoint(t.Context(), damaged{log, events.Report{Faults: []events.Fault{{From: 2, To: 2, What: "it is gone"}}}}, nil)
	s.add("a damaged store", nil, err)
	s.same(t, "testdata/proofs.txt")
}

// failing is a store whose operation of some number fails, from 1.
type failing struct {
	events.Store
	filestore.Files
	left *int
}

var errDisk = errors.New("the disk does not answer")

// fails counts an operation.
func (f failing) fails() error {
	if *f.left--; *f.left == 0 {
		return errDisk
	}
	return nil
}

// reads are events, the second of which cannot be read where the operation fails.
func (f failing) reads(all iter.Seq2[events.Event, error]) iter.Seq2[events.Event, error] {
	err := f.fails()
	return func(yield func(events.Event, error) bool) {
		if err != nil {
			yield(events.Event{}, err)
			return
		}
		all(yield)
	}
}

func (f failing) Close() error { return nil }

func (f failing) Verify(ctx context.Context) (events.Report, error) {
	r, err := f.Store.Verify(ctx)
	return r, errors.Join(err, f.fails())
}

func (f failing) Campaigns(ctx context.Context) ([]string, error) {
	names, err := f.Store.Campaigns(ctx)
	return names, errors.Join(err, f.fails())
}

func (f failing) VerifyExtends(ctx context.Context, old tlog.Tree) error {
	return errors.Join(f.Store.VerifyExtends(ctx, old), f.fails())
}

func (f failing) ProveEvent(ctx context.Context, p events.Position, size int64) (tlog.RecordProof, error) {
	proof, err := f.Store.ProveEvent(ctx, p, size)
	return proof, errors.Join(err, f.fails())
}

func (f failing) ProveExtends(ctx context.Context, old, size int64) (tlog.TreeProof, error) {
	proof, err := f.Store.ProveExtends(ctx, old, size)
	return proof, errors.Join(err, f.fails())
}

func (f failing) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return f.reads(f.Store.Read(ctx, after))
}

func (f failing) ReadCampaign(ctx context.Context, name string, after events.Sequence) iter.Seq2[events.Event, error] {
	return f.reads(f.Store.ReadCampaign(ctx, name, after))
}

func (f failing) State(ctx context.Context, digest string, size int64) (filestore.State, error) {
	state, err := f.Files.State(ctx, digest, size)
	return state, errors.Join(err, f.fails())
}

func (f failing) Unnamed(ctx context.Context, named func(string) bool) ([]filestore.Unnamed, error) {
	unnamed, err := f.Files.Unnamed(ctx, named)
	return unnamed, errors.Join(err, f.fails())
}

// Law: where a store does not answer, whatever it was asked, an audit, a checkpoint and a proof
// fail with its words, and say nothing for or against the log.
func TestAStoreThatDoesNotAnswer(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // no one reads ahead
	log, folder := stored(t, golden(t, "files"), golden(t, "contest"))
	head := must.Get(log.Head(t.Context()))(t)
	old := checkpoint.Checkpoint{Origin: "electrolyte/FILES", Tree: head}
	for name, c := range map[string]struct {
		asks int // at least
		do   func(f failing) error
	}{
		"audit": {10, func(f failing) error {
			_, err := Run(t.Context(), f, Options{Registry: builtin.Registry(), Files: f, Since: []Earlier{{Checkpoint: old}}})
			return err
		}},
		"proof": {6, func(f failing) error {
			c, err := TakeCheckpoint(t.Context(), f, nil)
			if err != nil {
				return err
			}
			if _, err := Find(t.Context(), f, "contest", "1"); err != nil {
				return err
			}
			if _, err := Find(t.Context(), f, "contest", "q1"); err != nil {
				return err
			}
			return c.Prove(t.Context(), f, 5)
		}},
		"growth": {4, func(f failing) error {
			c, err := TakeCheckpoint(t.Context(), f, nil)
			if err != nil {
				return err
			}
			_, err = c.Extend(t.Context(), f, old)
			return err
		}},
	} {
		for n := 1; ; n++ {
			left := n
			err := c.do(failing{log, filestore.Of(folder), &left})
			if left > 0 {
				if err != nil || n <= c.asks {
					t.Errorf("%s: with %d answers: %v", name, n-1, err)
				}
				break
			}
			if !errors.Is(err, errDisk) {
				t.Errorf("%s, where answer %d fails: %v", name, n, err)
			}
		}
	}
}
