// Package python tests campaignd from Python: the package campaignd in this folder, against a server.
package python

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/cmd/campaignd/app"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/server"
)

// asProgram has this test binary be the program campaignd, which the package starts.
const asProgram = "CAMPAIGND_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		app.Main(builtin.Registry())
		return
	}
	os.Exit(m.Run())
}

// served is a folder that is served at one address, by one server after the other.
type served struct {
	t       *testing.T
	folder  string
	address string
	stop    func()
}

func (s *served) start() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	l, err := lab.Open(ctx, lab.Options{Folder: s.folder, Registry: builtin.Registry(), Log: s.t.Logf})
	if err != nil {
		s.t.Fatal(err)
	}
	listener := must.Get(net.Listen("tcp", s.address))(s.t)
	s.address = listener.Addr().String()
	ended := make(chan error, 1)
	go func() {
		ended <- server.New(server.Options{Lab: l, Version: "test", Log: s.t.Logf}).Serve(ctx, listener)
	}()
	s.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
		l.Close()
	}
}

// answer answers what is asked, until the context is done.
func (s *served) answer(ctx context.Context) {
	url := "http://" + s.address + "/api/v1/questions"
	for ctx.Err() == nil {
		var open struct {
			Questions []struct{ ID, Campaign string }
		}
		response, err := http.Get(url)
		if err != nil {
			s.t.Error(err)
			return
		}
		err = json.NewDecoder(response.Body).Decode(&open)
		response.Body.Close()
		if err != nil {
			s.t.Error(err)
			return
		}
		for _, q := range open.Questions {
			answered, err := http.Post(url+"/"+q.Campaign+"/"+q.ID, "application/json", strings.NewReader(`{"answer": "B"}`))
			if err != nil {
				s.t.Error(err)
				return
			}
			answered.Body.Close()
			if answered.StatusCode != http.StatusOK {
				s.t.Errorf("%s: %s", q.ID, answered.Status)
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// python returns the interpreter.
func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	return path
}

// Law: a script that asks and tells does not notice that the server is restarted under it:
// nothing is lost, nothing is recorded twice, and what it follows it sees once each.
func TestClient(t *testing.T) {
	interpreter := python(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(lock.Variable, t.TempDir())
	here, err := filepath.Abs(".") // the folder of the package
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, folder: t.TempDir(), address: "127.0.0.1:0"}
	s.start()
	defer func() { s.stop() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, interpreter, "-W", "error",
		filepath.Join("testdata", "check.py"), "http://"+s.address, here)
	cmd.Env = append(cmd.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin := must.Get(cmd.StdinPipe())(t)
	stdout := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	done := false
	var people sync.WaitGroup
	answering, noMore := context.WithCancel(ctx)
	defer func() { noMore(); people.Wait() }()
	goOn := func() {
		if _, err := io.WriteString(stdin, "\n"); err != nil {
			t.Error(err)
		}
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		switch lines.Text() {
		case "ASKING":
			s.stop()
			time.Sleep(300 * time.Millisecond) // it asks meanwhile, and nobody is there
			s.start()
			goOn()
			people.Go(func() { s.answer(answering) })
		case "DOWN":
			noMore()
			people.Wait()
			s.stop()
			goOn()
			time.Sleep(300 * time.Millisecond) // it tells meanwhile
			s.start()
		case "DONE":
			done = true
		default:
			t.Log(lines.Text())
		}
	}
	if err := cmd.Wait(); err != nil || !done {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
}

// Law: the example closes its loop.
func TestLoop(t *testing.T) {
	interpreter := python(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(lock.Variable, t.TempDir())
	s := &served{t: t, folder: t.TempDir(), address: "127.0.0.1:0"}
	s.start()
	defer func() { s.stop() }()
	script := "import runpy, campaignd, sys; campaignd.Client.__init__.__defaults__ = (sys.argv[1], None); " +
		"runpy.run_path('../../examples/python/loop.py', run_name='__main__')"
	cmd := exec.CommandContext(t.Context(), interpreter, "-c", script, "http://"+s.address)
	cmd.Env = append(cmd.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("by the model: 2.9")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// furnished names a Python with what the extras of the package need, and with mypy, nbclient and
// Optuna. .ci/run makes one.
const furnished = "CAMPAIGND_PYTHON"

// run runs a script of testdata, or a module, with an interpreter, for which this test binary is
// the program campaignd.
func run(t *testing.T, interpreter string, arguments ...string) []byte {
	t.Helper()
	here := must.Get(filepath.Abs("."))(t)
	self := must.Get(os.Executable())(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, interpreter, arguments...)
	cmd.Env = append(cmd.Environ(), "PYTHONPATH="+here, "PYTHONDONTWRITEBYTECODE=1", "CAMPAIGND="+self, asProgram+"=1",
		"XDG_STATE_HOME="+t.TempDir(), lock.Variable+"="+t.TempDir(), "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	return out
}

// withExtras returns the interpreter that has what the extras need.
func withExtras(t *testing.T) string {
	t.Helper()
	path := os.Getenv(furnished)
	if path == "" {
		t.Skip(furnished + " names no Python: pandas, matplotlib, mypy and nbclient are not installed")
	}
	return path
}

// Law: what testdata/laws.py says of the package, with the standard library alone.
func TestLaws(t *testing.T) {
	run(t, python(t), "-W", "error", filepath.Join("testdata", "laws.py"))
}

// Law: what testdata/tables.py says of tables and charts.
func TestTables(t *testing.T) {
	run(t, withExtras(t), filepath.Join("testdata", "tables.py"))
}

// Law: the package is typed without exceptions.
func TestTypes(t *testing.T) {
	run(t, withExtras(t), "-m", "mypy", "--strict", "--cache-dir", t.TempDir(),
		"campaignd", "../../examples/python/loop.py")
}

// Law: the examples in docstrings and pages run, and print what stands there.
func TestExamples(t *testing.T) {
	interpreter := withExtras(t)
	script := filepath.Join("testdata", "examples.py")
	t.Logf("%s", run(t, interpreter, script))
	pages, err := filepath.Glob("../../docs/coming-from-*.md")
	if err != nil || len(pages) != 3 {
		t.Fatal(pages, err)
	}
	t.Logf("%s", run(t, interpreter, append([]string{script, "../../docs/notebook.md"}, pages...)...))
}

// Law: the notebooks run from their first cell to their last, and none of them holds outputs, which
// would be of another day.
func TestNotebooks(t *testing.T) {
	books, err := filepath.Glob("../../examples/notebooks/*.ipynb")
	if err != nil || len(books) == 0 {
		t.Fatal(books, err)
	}
	for _, book := range books {
		text := must.Get(os.ReadFile(book))(t)
		var read struct {
			Cells []struct {
				Outputs []any
				Count   *int `json:"execution_count"`
			}
		}
		must.Do(t, json.Unmarshal(text, &read))
		for i, cell := range read.Cells {
			if len(cell.Outputs) > 0 || cell.Count != nil {
				t.Errorf("%s: cell %d has an output: clear all of them", book, i+1)
			}
		}
	}
	t.Logf("%s", run(t, withExtras(t), append([]string{filepath.Join("testdata", "notebooks.py")}, books...)...))
}
