//go:build unix

package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/testinstrument"
)

// parentVariable makes the test binary a campaignd of one command: it starts
// command 1 on the instrument whose settings the variable holds, says so, and
// awaits the outcome.
const parentVariable = "CAMPAIGND_TEST_PARENT"

func driveIfAsked() {
	value := os.Getenv(parentVariable)
	if value == "" {
		return
	}
	var cfg process.Settings
	if err := json.Unmarshal([]byte(value), &cfg); err != nil {
		panic(err)
	}
	inst, err := process.New(cfg, campaign, ".", nil)
	if err != nil {
		panic(err)
	}
	err = inst.Start(context.Background(), command(1))
	fmt.Println("started", inst.Program().Pid, err)
	_, err = inst.Await(context.Background(), command(1))
	fmt.Println("over", err)
	time.Sleep(time.Hour)
}

// state returns the state letter of a process where the system tells.
func state(pid int) string {
	data, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return rest[:1]
}

// When campaignd is killed, the program sees the end of its input, finishes the
// experiment, keeps the result and ends; the next campaignd finds the command
// running or finished and gets the outcome, with one action.
func TestCampaigndIsKilled(t *testing.T) {
	for _, latency := range []time.Duration{0, 50 * time.Millisecond, 500 * time.Millisecond} {
		t.Run(latency.String(), func(t *testing.T) {
			t.Parallel()
			cfg, acts := sound(t, testinstrument.Options{Latency: definition.Duration(latency)})
			value := must.Get(json.Marshal(cfg))(t)
			parent := exec.Command(cfg.Command[0])
			parent.Env = append(os.Environ(), parentVariable+"="+string(value))
			out := must.Get(parent.StdoutPipe())(t)
			must.Do(t, parent.Start())
			line, _ := bufio.NewReader(out).ReadString('\n')
			var pid int
			if _, err := fmt.Sscanf(line, "started %d <nil>", &pid); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			must.Do(t, parent.Process.Kill())
			_ = parent.Wait()

			inst, _ := open(t, cfg)
			ctx := within(t, 20*time.Second)
			fate, err := inst.Recover(ctx, command(1))
			if err != nil || fate != instruments.FateRunning && fate != instruments.FateFinished {
				t.Fatalf("Recover: %q, %v", fate, err)
			}
			if err := inst.Start(ctx, command(1)); err != nil {
				t.Errorf("Start: %v", err)
			}
			if o, err := inst.Await(ctx, command(1)); err != nil || o.Status != instruments.Measured {
				t.Errorf("Await: %+v, %v", o, err)
			}
			counts, err := acts()
			if err != nil || counts["test/e1"] != 1 || len(counts) != 1 {
				t.Errorf("actions: %v, %v; want one", counts, err)
			}
			if !vanishes(pid) {
				t.Error("the first instance of the program is still there")
			}
		})
	}
}

// However often the program is killed, and whenever, it acts at most once, and
// every command has one final outcome.
func TestProgramIsKilled(t *testing.T) {
	for _, resume := range []bool{false, true} {
		t.Run(fmt.Sprintf("resume %v", resume), func(t *testing.T) {
			t.Parallel()
			cfg, acts := sound(t, testinstrument.Options{
				Latency:  definition.Duration(15 * time.Millisecond),
				Resume:   resume,
				Capacity: 2,
			})
			inst, _ := open(t, cfg)
			inst.Hurry()
			ctx := within(t, 60*time.Second)
			must.Get(inst.Describe(ctx))(t)
			unknown := 0
			for n := 1; n <= 20; n++ {
				cmd := command(n)
				done := make(chan struct{})
				go func() {
					defer close(done)
					time.Sleep(time.Duration(n) * 2 * time.Millisecond)
					if p := inst.Program(); p != nil {
						_ = p.Kill()
					}
				}()
				for inst.Start(ctx, cmd) != nil && ctx.Err() == nil {
				}
				first, err := inst.Await(ctx, cmd)
				if err != nil {
					t.Fatalf("Await of command %d: %v", n, err)
				}
				<-done
				if err := inst.Start(ctx, cmd); err != nil {
					t.Errorf("Start of command %d after its outcome: %v", n, err)
				}
				if second, err := inst.Await(ctx, cmd); err != nil || second.Status != first.Status {
					t.Errorf("Await of command %d again: %+v, %v; was %+v", n, second, err, first)
				}
				switch first.Status {
				case instruments.Measured:
				case instruments.Unknown:
					unknown++
				default:
					t.Errorf("command %d ended as %+v", n, first)
				}
			}
			counts := must.Get(acts())(t)
			for id, n := range counts {
				if n > 1 {
					t.Errorf("command %s was acted on %d times", id, n)
				}
			}
			t.Logf("%d commands, %d of them left to a person", 20, unknown)
		})
	}
}

// An experiment that outlasts campaignd is left to finish, and its result is
// there for the next run.
func TestCloseLeavesExperiments(t *testing.T) {
	cfg, acts := sound(t, testinstrument.Options{Latency: definition.Duration(time.Second)})
	first, book := open(t, cfg)
	first.Hurry()
	ctx := within(t, 20*time.Second)
	must.Do(t, first.Start(ctx, command(1)))
	pid := first.Program().Pid
	must.Do(t, first.Close())
	book.expect("goes on with test/e1 by itself")

	second, _ := open(t, cfg)
	if fate, err := second.Recover(ctx, command(1)); fate != instruments.FateRunning || err != nil {
		t.Errorf("Recover: %q, %v; want running", fate, err)
	}
	if o, err := second.Await(ctx, command(1)); err != nil || o.Status != instruments.Measured {
		t.Errorf("Await: %+v, %v", o, err)
	}
	if counts, err := acts(); err != nil || counts["test/e1"] != 1 {
		t.Errorf("actions: %v, %v; want one", counts, err)
	}
	if !vanishes(pid) {
		t.Error("the first instance of the program is still there")
	}
}

// The next run is told of a program that an earlier one left alive, by its number,
// as long as it lives, and of nothing else.
func TestEarlierInstanceIsTold(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "store") // not there yet when the program is first started
	record := filepath.Join(folder, "instrument.json")
	o := testinstrument.Options{Dir: t.TempDir(), Latency: definition.Duration(3 * time.Second)}
	cfg, _ := sound(t, o)
	run := func() (*process.Instrument, *logbook) {
		inst, book := open(t, cfg)
		inst.Hurry()
		inst.KeepRecord(filepath.Dir(record), "")
		must.Get(inst.Describe(within(t, 20*time.Second)))(t)
		return inst, book
	}
	told := func(book *logbook) bool { return strings.Contains(book.String(), "earlier instance") }

	first, book := run()
	makeStore(t, folder)
	ctx := within(t, 20*time.Second)
	must.Do(t, first.Start(ctx, command(1)))
	pid := first.Program().Pid
	if told(book) {
		t.Errorf("told of nobody:\n%s", book)
	}
	must.Do(t, first.Close())

	second, book := run()
	book.expect(fmt.Sprintf("an earlier instance of the instrument's program is still alive (process %d, ", pid))
	if o, err := second.Await(ctx, command(1)); err != nil || o.Status != instruments.Measured {
		t.Errorf("Await: %+v, %v", o, err)
	}
	if !vanishes(pid) {
		t.Fatal("it is still there")
	}
	must.Do(t, second.Close())
	if text := strings.Join(noted(folder, "instrument.json"), ""); text != "[]" && text != "null" {
		t.Errorf("the record holds %s", text)
	}
}

// Law: a program is on the record as long as it runs, from the first word with it on, and
// not only once it was told to start something: it may hold the device already.
func TestRecordFromTheFirstWord(t *testing.T) {
	cfg, _ := misbehaving(t, "talks nonsense")
	inst, _ := open(t, cfg)
	inst.Hurry()
	folder := filepath.Join(t.TempDir(), "store")
	makeStore(t, folder)
	inst.KeepRecord(folder, "")
	must.Get(inst.Describe(within(t, 20*time.Second)))(t)
	pid := inst.Program().Pid
	if text := strings.Join(noted(folder, "instrument.json"), ""); strings.Count(text, fmt.Sprintf(`"pid":%d,`, pid)) != 1 {
		t.Errorf("process %d runs, and the record holds %s", pid, text)
	}
	must.Do(t, inst.Close())
	if text := strings.Join(noted(folder, "instrument.json"), ""); strings.Contains(text, "pid") {
		t.Errorf("nothing runs, and the record holds %s", text)
	}
}

// makeStore makes a folder that holds something, as that of a store does.
func makeStore(t *testing.T, folder string) {
	t.Helper()
	must.Do(t, os.MkdirAll(folder, 0o700))
	must.Do(t, os.WriteFile(filepath.Join(folder, "MANIFEST"), nil, 0o600))
}

// Law: the record makes no store of a folder: where campaignd was killed before there was one, the
// next run finds the folder as it was, empty.
func TestRecordMakesNoStore(t *testing.T) {
	cfg, _ := misbehaving(t, "talks nonsense")
	inst, _ := open(t, cfg)
	inst.Hurry()
	folder := t.TempDir()
	inst.KeepRecord(folder, "")
	must.Get(inst.Describe(within(t, 20*time.Second)))(t)
	if exists, err := store.Exists(folder); exists || err != nil {
		t.Errorf("the folder is taken for a store: %v", err)
	}
}

// born returns when a process began, in the words of the system: the 22nd field of
// /proc/PID/stat (proc_pid_stat(5)); empty where the system has none.
func born(pid int) string {
	data, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(data), ") ") // pid (name) state …
	return strings.Fields(rest)[22-3]
}

// Law: of the instances in the record the next run is told of those that are alive, by
// number and birth, and of no other process: not of one that has the number of one long
// gone, nor of one that has ended and only waits for its parent.
func TestEarlierInstanceIsAlive(t *testing.T) {
	ended := exec.Command("true")
	must.Do(t, ended.Start())
	defer func() { _ = ended.Wait() }()
	for range 1000 {
		if state(ended.Process.Pid) == "Z" {
			break
		}
		time.Sleep(time.Millisecond)
	}
	gone := exec.Command("true")
	must.Do(t, gone.Run())
	own := os.Getpid()
	proc := born(own) != "" // else nothing but the number tells processes apart
	for _, c := range []struct {
		name  string
		pid   int
		birth string
		told  bool
	}{
		{"this process", own, born(own), true},
		{"the first of all processes", 1, born(1), true},
		{"another with this one's number", own, "1", false},
		{"one of which the birth was not told", own, "", !proc},
		{"one that is gone", gone.Process.Pid, "", false},
		{"one that has ended", ended.Process.Pid, born(ended.Process.Pid), !proc},
		{"no process", 0, "", false},
		{"all processes", -1, "", false},
		{"a group", -syscall.Getpgrp(), "", false},
	} {
		cfg, _ := misbehaving(t, "dies at once")
		inst, book := open(t, cfg)
		inst.Hurry()
		record := filepath.Join(t.TempDir(), "instrument.json")
		must.Do(t, os.WriteFile(record, []byte(fmt.Sprintf(`[{"pid":%d,"birth":%q}]`, c.pid, c.birth)), 0o600))
		inst.KeepRecord(filepath.Dir(record), "")
		_, _ = inst.Describe(within(t, 20*time.Second)) // it tells, then starts the program
		if told := strings.Contains(book.String(), fmt.Sprintf("still alive (process %d, ", c.pid)); told != c.told {
			t.Errorf("%s, process %d born at %q: told %t, want %t:\n%s", c.name, c.pid, c.birth, told, c.told, book)
		}
		must.Do(t, inst.Close())
	}
}

// Law: where the program does not answer, an earlier instance that is alive is named,
// since it may hold the device; the program itself is none.
func TestEarlierInstanceMayHoldTheDevice(t *testing.T) {
	for name, earlier := range map[string]string{
		"nobody":     `[]`,
		"an earlier": fmt.Sprintf(`[{"pid":%d,"birth":%q,"program":"old"}]`, os.Getpid(), born(os.Getpid())),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inst, _, _ := openImpatient(t, "says nothing")
			record := filepath.Join(t.TempDir(), "instrument.json")
			must.Do(t, os.WriteFile(record, []byte(earlier), 0o600))
			inst.KeepRecord(filepath.Dir(record), "")
			_, err := inst.Describe(within(t, 20*time.Second))
			if err == nil || !strings.Contains(err.Error(), "did not answer") {
				t.Fatal(err)
			}
			text, want := err.Error(), 0
			if name != "nobody" {
				want = 1
				if !strings.Contains(text, fmt.Sprintf("still alive: process %d, old, since", os.Getpid())) {
					t.Errorf("the earlier instance is not named: %s", text)
				}
			}
			if n := strings.Count(text, "process "); n != want {
				t.Errorf("%d instances are named, want %d: %s", n, want, text)
			}
		})
	}
}
