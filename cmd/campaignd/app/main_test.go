package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/tests/draws"
)

func TestMain(m *testing.M) {
	draws.Waiting(4, 2)
	testscript.Main(m, map[string]func(){
		"campaignd":  onTestClock,
		"robot":      robot,
		"holder":     holder,
		"forger":     forger,
		"spoiler":    spoiler,
		"rememberer": rememberer,
		"asked":      asked,
		"keeper":     keeper,
		"fill":       fill,
	})
}

// onTestClock is the program. Where a file is named in whose text is how far the clock of the machine
// is off, its clock is: a script so sets the clock of a program that runs.
func onTestClock() {
	if file := os.Getenv("CAMPAIGND_TEST_CLOCK"); file != "" {
		var last atomic.Int64
		clock.Skew(func() time.Duration {
			text, err := os.ReadFile(file)
			if by, bad := time.ParseDuration(strings.TrimSpace(string(text))); err == nil && bad == nil {
				last.Store(int64(by)) // else the file is just being written
			}
			return time.Duration(last.Load())
		}, 20*time.Millisecond)
	}
	Main(Builtin())
}

// TestScript runs the command line as people and scripts do: each file under
// testdata/script is a session with commented steps. Each finds the campaign
// file tiny.yaml.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("GORACE", "atexit_sleep_ms=0") // not the race detector's second of rest at every exit
			env.Setenv(lock.Variable, filepath.Join(env.WorkDir, "locks"))
			tiny, err := os.ReadFile("testdata/tiny.yaml")
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(env.WorkDir, "tiny.yaml"), tiny, 0o600)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code":  scriptCode,
			"until": scriptUntil,
			"count": scriptCount,
			"field": scriptField,
			"flip":  scriptFlip,
			"port":  scriptPort,
		},
	})
}

// scriptCode runs a command that must end with an exit code, and never with a
// stack trace:
//
//	code 2 campaignd run bad.yaml
func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if strings.Contains(ts.ReadFile("stderr"), "goroutine ") {
		ts.Fatalf("a stack trace")
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// scriptUntil repeats a command until its output matches:
//
//	until 'waiting for' campaignd status x.campaign
func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	want := regexp.MustCompile("(?m)" + args[0])
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(20 * time.Millisecond) {
		if ts.Exec(args[1], args[2:]...) == nil && want.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%q did not come", args[0])
}

// scriptCount counts the lines of the last output, or of a file, that match:
//
//	count 4 stdout 'measured'
func scriptCount(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := len(regexp.MustCompile("(?m)"+args[2]).FindAllString(ts.ReadFile(args[1]), -1)); got != want {
		ts.Fatalf("%d matches of %q, want %d", got, args[2], want)
	}
}

// scriptFlip damages a byte in the middle of the greatest file of a store's tables:
//
//	flip x.campaign
func scriptFlip(ts *testscript.TestScript, neg bool, args []string) {
	files, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "pebble", "*.sst"))
	ts.Check(err)
	var greatest []byte
	var path string
	for _, file := range files {
		data, err := os.ReadFile(file)
		ts.Check(err)
		if len(data) > len(greatest) {
			greatest, path = data, file
		}
	}
	if path == "" {
		ts.Fatalf("%s has no tables", args[0])
	}
	greatest[len(greatest)/2] ^= 0xff
	ts.Check(os.WriteFile(path, greatest, 0o600))
}

// scriptPort sets a variable to a port that nobody listens on:
//
//	port PORT
func scriptPort(ts *testscript.TestScript, neg bool, args []string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	ts.Check(errors.Join(err, listener.Close()))
	ts.Setenv(args[0], port)
}

// scriptField checks a value of the JSON document in the last output, or in a
// file, by its path; without a value, that it is there:
//
//	field stdout best.experiment '"e3"'
func scriptField(ts *testscript.TestScript, neg bool, args []string) {
	var value any
	decoder := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(decoder.Decode(&value))
	if decoder.More() {
		ts.Fatalf("more than one JSON document")
	}
	for _, step := range strings.Split(args[1], ".") {
		switch v := value.(type) {
		case map[string]any:
			var ok bool
			if value, ok = v[step]; !ok {
				ts.Fatalf("there is no %s in %v", args[1], v)
			}
		case []any:
			if step == "len" {
				value = len(v)
				continue
			}
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				ts.Fatalf("there is no %s", args[1])
			}
			value = v[i]
		default:
			ts.Fatalf("there is no %s", args[1])
		}
	}
	if len(args) == 2 {
		return
	}
	got, err := json.Marshal(value)
	ts.Check(err)
	if equal := string(got) == args[2]; equal == neg {
		ts.Fatalf("%s is %s, want %s", args[1], got, args[2])
	}
}

// TestHelp defends that every command explains itself, with examples.
func TestHelp(t *testing.T) {
	var out bytes.Buffer
	root := newRoot(&app{registry: Builtin(), stdin: strings.NewReader(""), stdout: &out, stderr: &out})
	for _, exit := range []int{exitOK, exitFailed, exitInput, exitStore, exitInterrupted, exitUncounted} {
		if !strings.Contains(root.Long, fmt.Sprintf("\n  %d  ", exit)) {
			t.Errorf("the exit code %d is not documented", exit)
		}
	}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s: no description or no example", c.CommandPath())
		}
		if c.HasParent() && c.Parent() == root && c.GroupID == "" {
			t.Errorf("%s is in no group", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

// TestCrash defends that a programmer's mistake becomes a line that says where
// to report it, and no stack trace.
func TestCrash(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var stderr bytes.Buffer
	code := func() (code int) {
		defer func() { code = crashed(&stderr, recover()) }()
		panic("matrix of the wrong shape")
	}()
	text := stderr.String()
	if code != exitFailed || strings.Count(text, "\n") != 1 || strings.Contains(text, "goroutine") ||
		!strings.Contains(text, "matrix of the wrong shape") || !strings.Contains(text, "Please report this with the file ") {
		t.Errorf("exit code %d, %q", code, text)
	}
}

// robot is an instrument program with a fault that its argument names. It has
// no memory.
func robot() {
	mode := os.Args[1]
	known := map[string]bool{} // commands, in the modes "counts" and "twice"
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var request struct {
			ID      int    `json:"id"`
			Op      string `json:"op"`
			Command struct {
				ID         string
				Parameters map[string]any
			}
		}
		if json.Unmarshal(lines.Bytes(), &request) != nil {
			continue
		}
		reply := ""
		switch request.Op {
		case "handshake":
			reply = `"protocol":1`
		case "describe":
			reply = `"description":{"name":"acme/robot","identity":"R1","capacity":1}`
			if mode == "steps" {
				reply = `"description":{"name":"acme/robot","parameters":[{"name":"salt","unit":"mol/kg","step":0.001}]}`
			}
			if mode == "name" {
				reply = `"description":{"name":"acme\u0007robot\n","capacity":1}`
			}
		case "start", "cancel":
			reply = `"ok":true`
			if counted := os.Getenv("CAMPAIGND_ACTS"); request.Op == "start" && counted != "" {
				if mode == "twice" || !known[request.Command.ID] {
					f, _ := os.OpenFile(counted, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
					fmt.Fprintln(f, request.Command.ID)
					f.Close()
				}
				known[request.Command.ID] = true
			}
			if f, err := os.OpenFile("acts.txt", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
				fmt.Fprintln(f, request.Op)
				f.Close()
			}
		case "await":
			value, unit, further, outcome := "12.5", "mS/cm", "", ""
			switch mode {
			case "counts", "twice":
				value = fmt.Sprint(5 * (1 + request.Command.Parameters["salt"].(float64)))
			case "nan":
				value = "NaN"
			case "unit":
				unit = "S/m"
			case "range":
				value = "-4"
			case "dies":
				os.Exit(1)
			case "hangs":
				time.Sleep(time.Minute) // nobody may be left to end it
			case "lot":
				unit += `","sd":"?`
				further = `,"further":[{"name":"lot","value":"LOT-7"}]`
			case "env":
				further = fmt.Sprintf(`,"identity":%q`, "token "+os.Getenv("LAB_TOKEN")+", secret "+os.Getenv("LAB_SECRET"))
			case "huge":
				further = `,"trace":"` + strings.Repeat("x", 2<<20) + `"`
			case "cannot":
				x, _ := request.Command.Parameters["salt"].(float64)
				value = fmt.Sprint(12 + x)
				if x < 1 {
					outcome = `"outcome":{"status":"infeasible","cause":"it does not dissolve"}`
				}
			}
			reply = outcome
			if reply == "" {
				reply = fmt.Sprintf(`"outcome":{"status":"measured","measurement":{"objective":{"name":"conductivity","value":%s,"unit":"%s"}%s}}`, value, unit, further)
			}
		}
		fmt.Printf("{\"id\":%d,%s}\n", request.ID, reply)
	}
}

// holder keeps a store open without serving it, until it is killed.
func holder() {
	log, err := store.Open(os.Args[1], store.Options{})
	if err == nil {
		defer log.Close()
		err = os.WriteFile("held.txt", []byte("held\n"), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	time.Sleep(time.Minute)
}

// keeper holds the accounts of a folder, with "serve" such that others can ask it, until it is
// killed.
//
//	keeper lab serve
func keeper() {
	dir := accounts.Dir(os.Args[1])
	book, err := accounts.Open(dir, accounts.Options{})
	if err == nil && len(os.Args) > 2 {
		var stop func()
		if stop, err = serveAccounts(dir, book); err == nil {
			defer stop()
		}
	}
	if err == nil {
		err = os.WriteFile("kept.txt", []byte("kept\n"), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	time.Sleep(time.Minute)
}

// forger copies a store with what the program itself has: records, tree and HEAD are
// right for what it holds. With "cut" the events after a position are left out, with
// "change" the event at a position gets another author.
//
//	forger cut 20 tiny.campaign cut.campaign
func forger() {
	err := func() error {
		at, err := strconv.ParseUint(os.Args[2], 10, 64)
		if err != nil {
			return err
		}
		from, err := store.Open(os.Args[3], store.Options{ReadOnly: true})
		if err != nil {
			return err
		}
		defer from.Close()
		to, err := store.Open(os.Args[4], store.Options{})
		if err != nil {
			return err
		}
		defer to.Close()
		for e, err := range from.Read(context.Background(), 0) {
			if err != nil {
				return err
			}
			if os.Args[1] == "cut" && e.Position > events.Position(at) {
				break
			}
			if os.Args[1] == "change" && e.Position == events.Position(at) {
				e.Actor = "person:mallory"
			}
			if _, err := to.Append(context.Background(), e.Campaign, events.AnySequence, e); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// spoiler changes a byte in the middle of each table of a store.
func spoiler() {
	tables, err := filepath.Glob(filepath.Join(os.Args[1], "pebble", "*.sst"))
	for _, table := range tables {
		content, readErr := os.ReadFile(table)
		if err = errors.Join(err, readErr); err == nil {
			content[len(content)/3] ^= 1
			err = os.WriteFile(table, content, 0o600)
		}
	}
	if err != nil || len(tables) == 0 {
		fmt.Fprintln(os.Stderr, "no table was spoiled", err)
		os.Exit(1)
	}
}

// rememberer is an instrument program with a memory on disk that outlives every store:
// it never acts on a command twice, and answers what it answered then. Each act is a
// line of the file that its argument names, with the command and its outcome.
func rememberer() {
	remembered := map[string]string{}
	if content, err := os.ReadFile(os.Args[1]); err == nil {
		for line := range strings.Lines(string(content)) {
			id, outcome, _ := strings.Cut(strings.TrimSpace(line), " ")
			remembered[id] = outcome
		}
	}
	ledger, err := os.OpenFile(os.Args[1], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var request struct {
			ID      int    `json:"id"`
			Op      string `json:"op"`
			Command struct {
				ID         string             `json:"id"`
				Parameters map[string]float64 `json:"parameters"`
			} `json:"command"`
		}
		if json.Unmarshal(lines.Bytes(), &request) != nil {
			continue
		}
		id, reply := request.Command.ID, `"ok":true`
		switch request.Op {
		case "handshake":
			reply = `"protocol":1,"recover":true,"finishes":true`
		case "describe":
			reply = `"description":{"name":"acme/rememberer","identity":"R2","capacity":1}`
		case "start":
			if remembered[id] == "" {
				actual, _ := json.Marshal(request.Command.Parameters)
				value := 10 + request.Command.Parameters["x"]
				remembered[id] = fmt.Sprintf(`{"status":"measured","measurement":{"actual":%s,"objective":{"name":"y","value":%g,"unit":"V"}}}`, actual, value)
				fmt.Fprintf(ledger, "%s %s\n", id, remembered[id])
			}
		case "recover":
			reply = `"fate":"finished"`
			if remembered[id] == "" {
				reply = `"fate":"not started"`
			}
		case "await":
			reply = `"outcome":` + remembered[id]
		}
		fmt.Printf("{\"id\":%d,%s}\n", request.ID, reply)
	}
}

// asked fails where a measurement of a store is of another composition than was asked for.
func asked() {
	err := func() error {
		log, err := store.Open(os.Args[1], store.Options{ReadOnly: true})
		if err != nil {
			return err
		}
		defer log.Close()
		for e, err := range log.Read(context.Background(), 0) {
			if err != nil {
				return err
			}
			if payload, err := events.Decode(e); err != nil {
				return err
			} else if m, ok := payload.(*events.ExperimentMeasured); ok && !maps.Equal(m.Requested, m.Measurement.Actual) && m.Measurement.Actual != nil {
				return fmt.Errorf("%s: %v was asked for and %v is recorded", m.Experiment, m.Requested, m.Measurement.Actual)
			}
		}
		return nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fill writes a value into a run sheet, in the row of an experiment and the column before
// the last two.
func fill() {
	file, err := os.ReadFile(os.Args[1])
	var rows [][]string
	if err == nil {
		rows, err = csv.NewReader(bytes.NewReader(file)).ReadAll()
	}
	var filled bytes.Buffer
	for _, row := range rows {
		if row[1] == os.Args[2] {
			row[len(row)-3] = os.Args[3]
		}
	}
	if err == nil {
		err = csv.NewWriter(&filled).WriteAll(rows)
	}
	if err == nil {
		err = os.WriteFile(os.Args[1], filled.Bytes(), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
