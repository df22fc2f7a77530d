//go:build unix

package bridges

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/cmd/campaignd/app"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// asProgram has this test binary be the program campaignd.
const asProgram = "CAMPAIGND_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		app.Main(builtin.Registry())
		return
	}
	var err error
	if compiled, err = os.MkdirTemp("", "bridges"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(compiled)
	os.Exit(code)
}

// compiled is where Python keeps what it has compiled: many programs start here.
var compiled string

// furnished names a Python with the packages of .ci/bridges.
const furnished = "CAMPAIGND_BRIDGES"

// bridge is an example with what it speaks to.
type bridge struct {
	name string // of examples/bridges/NAME.py and NAME.yaml
	// peer is the device's program, with its arguments; ADDRESS stands for its port. Each begin of
	// an act is a line "ID begin" in the file acts. Empty where the bridge begins it.
	peer []string
	// python is the environment of the peer, in that of the bridges, where their packages do not go together.
	python string
	// edit is made in the campaign file, in pairs, besides the port.
	edit []string
	// address is the port in the campaign file.
	address string
	// forgets: what was under way when the peer was killed is unknown, and not asked for again.
	forgets bool
	// fails is how many acts the device lets fail.
	fails int
	// handle: the device cannot be asked by our ID. So who is killed has learned its own name of the run
	// before; the ledger goes with the first kill, and the run is found by what the log has of it.
	handle bool
	// tells: the device can be asked by our ID. So the ledger goes with the first kill, whether or not a handle
	// is known, and nothing is put off that has begun.
	tells bool
	// value is what a composition gives, within the tolerance.
	value func(folder string, row map[string]float64) (want, tolerance float64)
	// result is the column of the value.
	result string
}

// trial is a campaign through a bridge in a folder of its own.
type trial struct {
	*testing.T
	bridge
	folder string
	env    []string
	device *exec.Cmd
	began  []string // the acts, in their order
}

func (t *trial) path(name string) string { return filepath.Join(t.folder, name) }

// begin puts the files of the example into a folder, with a port that is free.
func begin(t *testing.T, b bridge) *trial {
	interpreter := os.Getenv(furnished)
	if interpreter == "" {
		t.Skip(furnished + " names no Python: the packages of .ci/bridges are not installed")
	}
	if _, err := os.Stat(peers(b)); len(b.peer) > 0 && err != nil {
		t.Skipf("%s is not installed: see .ci/bridges", b.python)
	}
	tr := &trial{T: t, bridge: b, folder: t.TempDir()}
	examples := must.Get(filepath.Glob(filepath.Join("..", "..", "..", "examples", "bridges", b.name+"*")))(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	must.Do(t, listener.Close())
	for i, argument := range tr.peer {
		tr.peer[i] = strings.ReplaceAll(argument, "ADDRESS", port)
	}
	for _, file := range examples {
		text := string(must.Get(os.ReadFile(file))(t))
		if filepath.Base(file) == b.name+".yaml" {
			edit := b.edit
			if b.address != "" {
				edit = append([]string{b.address, port}, edit...)
			}
			for old, now := range pairs(edit) {
				if !strings.Contains(text, old) {
					t.Fatalf("%s has no %q", file, old)
				}
				text = strings.ReplaceAll(text, old, now)
			}
		}
		must.Do(t, os.WriteFile(tr.path(filepath.Base(file)), []byte(text), 0o666))
	}
	must.Do(t, os.WriteFile(tr.path("acts"), nil, 0o666))
	tr.env = append(os.Environ(), asProgram+"=1", "XDG_STATE_HOME="+t.TempDir(), lock.Variable+"="+t.TempDir(),
		"PATH="+filepath.Dir(interpreter)+":"+os.Getenv("PATH"), "PYTHONPYCACHEPREFIX="+compiled, "PYTHONDONTWRITEBYTECODE=", "CAMPAIGND_ACTS="+tr.path("acts"),
		"PYTHONPATH="+must.Get(filepath.Abs("../../python"))(t))
	if len(tr.peer) > 0 {
		tr.switchOn()
		t.Cleanup(tr.switchOff)
	}
	return tr
}

// peers is the Python of the peer.
func peers(b bridge) string {
	return filepath.Join(filepath.Dir(filepath.Dir(os.Getenv(furnished))), b.python, "bin", "python3")
}

func pairs(list []string) func(func(a, b string) bool) {
	return func(yield func(a, b string) bool) {
		for ; len(list) > 1 && yield(list[0], list[1]); list = list[2:] {
		}
	}
}

// switchOn starts the peer, and waits until it says that it is ready.
func (t *trial) switchOn() {
	t.Helper()
	t.device = exec.Command(peers(t.bridge), t.peer...)
	t.device.Dir, t.device.Env = t.folder, t.env
	t.device.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a peer of several programs is killed as one
	stderr := must.Get(os.Create(t.path("peer.stderr")))(t.T)
	defer stderr.Close()
	t.device.Stderr = stderr
	out := must.Get(t.device.StdoutPipe())(t.T)
	must.Do(t.T, t.device.Start())
	if n, err := out.Read(make([]byte, 64)); err != nil || n == 0 {
		t.Fatalf("the peer: %v\n%s", err, must.Get(os.ReadFile(t.path("peer.stderr")))(t.T))
	}
}

func (t *trial) switchOff() {
	_ = syscall.Kill(-t.device.Process.Pid, syscall.SIGKILL)
	_ = t.device.Wait()
}

// run starts campaignd.
func (t *trial) run() *exec.Cmd {
	t.Helper()
	cmd := t.campaignd("run", t.name+".yaml", "--store", "store")
	log := must.Get(os.OpenFile(t.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666))(t.T)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	must.Do(t.T, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

func (t *trial) campaignd(arguments ...string) *exec.Cmd {
	cmd := exec.Command(must.Get(os.Executable())(t.T), arguments...)
	cmd.Dir, cmd.Env = t.folder, t.env
	return cmd
}

// until waits until something is so.
func (t *trial) until(what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			log, _ := os.ReadFile(t.path("log"))
			t.Fatalf("%s: waited in vain; the acts are\n%s\nit said\n%s", what, must.Get(os.ReadFile(t.path("acts")))(t.T), log)
		}
	}
}

// acts are the identifiers of the acts that have begun, in their order.
func (t *trial) acts() (began []string) {
	for line := range strings.Lines(string(must.Get(os.ReadFile(t.path("acts")))(t.T))) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == "begin" {
			began = append(began, fields[0])
		}
	}
	return began
}

// another waits until the device begins an act that it had not begun at the last call.
func (t *trial) another() {
	t.Helper()
	t.until("another act", func() bool {
		acts := t.acts()
		seen := len(t.began)
		t.began = acts
		return len(acts) > seen
	})
	if !t.handle {
		return
	}
	t.until("its handle", func() bool {
		x, ok := t.latest()
		return ok && (x.Handle != "" || x.Status == "")
	})
}

// killBridge kills the bridge that campaignd has started last.
func (t *trial) killBridge() {
	t.Helper()
	var programs []struct{ PID int }
	text := must.Get(os.ReadFile(t.path("store/instrument.json")))(t.T)
	if err := json.Unmarshal(text, &programs); err != nil || len(programs) == 0 {
		t.Fatalf("%s: %v", text, err)
	}
	must.Do(t.T, syscall.Kill(programs[len(programs)-1].PID, syscall.SIGKILL))
}

// experiment is one that has not ended; one without a status has.
type experiment struct{ ID, Status, Handle string }

// latest is the experiment of the act that began last. On a machine that is busy it may have ended.
func (t *trial) latest() (x experiment, ok bool) {
	time.Sleep(200 * time.Millisecond) // each look is a program that computes
	var status struct{ Open []experiment }
	out, err := t.campaignd("status", "store", "--json").Output()
	if err != nil || json.Unmarshal(out, &status) != nil {
		return x, false // it starts
	}
	for _, x := range status.Open {
		if strings.HasSuffix(t.began[len(t.began)-1], "/"+x.ID) {
			return x, true
		}
	}
	return x, true
}

// killed is the law of every bridge: whoever is killed in the middle of an act, nothing is done
// twice, each value belongs to its composition, and the campaign comes to its end.
func killed(t *testing.T, b bridge) *trial {
	t.Parallel()
	tr := begin(t, b)
	run := tr.run()
	tr.another()
	must.Do(t, run.Process.Kill())
	_ = run.Wait()
	if b.handle || b.tells {
		tr.killBridge()
		must.Do(t, os.RemoveAll(tr.path(b.name+".ledger")))
	}
	run = tr.run()
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	tr.another()
	tr.killBridge()
	tr.another()
	if len(tr.peer) > 0 {
		tr.switchOff()
		tr.switchOn()
	}
	if b.forgets {
		var x experiment
		tr.until("an unknown fate", func() (ok bool) {
			x, ok = tr.latest()
			return ok && (x.Status == "unresolved" || x.Status == "")
		})
		if x.Status != "" {
			out, err := tr.campaignd("resolve", "store", x.ID, "failed", "--reason", "it was switched off").CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	select {
	case err := <-ended:
		must.Do(t, err)
	case <-time.After(2 * time.Minute):
		t.Errorf("the campaign does not end\n%s", must.Get(os.ReadFile(tr.path("log")))(t))
	}
	tr.judge()
	return tr
}

// judge compares the peer's record with the campaign's.
func (t *trial) judge() {
	t.Helper()
	log := must.Get(os.ReadFile(t.path("log")))(t.T)
	acts := t.acts()
	slices.Sort(acts)
	if once := slices.Compact(slices.Clone(acts)); len(once) != len(acts) {
		t.Errorf("something was done twice: %q\n%s", acts, log)
	}
	out := must.Get(t.campaignd("export", "store").Output())(t.T)
	rows := must.Get(csv.NewReader(bytes.NewReader(out)).ReadAll())(t.T)
	states := map[string]int{}
	for _, cells := range rows[1:] {
		row, state := map[string]float64{}, ""
		for i, name := range rows[0] {
			row[name], _ = strconv.ParseFloat(cells[i], 64)
			if name == "status" {
				state = cells[i]
			}
		}
		id := cells[slices.Index(rows[0], "experiment")]
		acted := slices.ContainsFunc(acts, func(act string) bool { return strings.HasSuffix(act, "/"+id) })
		if states[state]++; state == "deferred" && acted && t.tells {
			t.Errorf("%s was put off, and the device has acted on it: %q\n%s", id, acts, log)
		}
		if state != "measured" {
			continue
		}
		if want, within := t.value(t.folder, row); row[t.result] < want-within || row[t.result] > want+within {
			t.Errorf("%s = %g, and its composition gives %g\n%s", t.result, row[t.result], want, out)
		}
		if !acted {
			t.Errorf("%s was measured, and the device has not acted on it: %q", id, acts)
		}
	}
	lost := len(rows) - 1 - states["measured"] - states["deferred"]
	if allowed := t.fails + map[bool]int{true: 1}[t.forgets]; states["measured"] == 0 || lost > allowed {
		t.Errorf("they ended so: %v\n%s\n%s", states, out, log)
	}
	t.Logf("%d acts; the experiments: %v", len(acts), states)
}
