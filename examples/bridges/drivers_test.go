//go:build unix

// Package bridges_test runs the examples of devices that are reached by settings alone, with their
// controllers, and kills both sides.
package bridges_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/tests/built"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func TestMain(m *testing.M) {
	code := m.Run()
	built.Remove()
	os.Exit(code)
}

// bench is a folder with an example, its controller and its campaign.
type bench struct {
	t          *testing.T
	folder     string
	campaignd  string
	example    string   // name of the campaign file
	controller []string // command of the controller, in the folder
	device     *exec.Cmd
}

// newBench copies an example, and starts its controller, which says a line when it is ready.
func newBench(t *testing.T, example string, controller ...string) (b *bench, said string) {
	t.Helper()
	if testing.Short() {
		t.Skip("campaigns that are killed take a while")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed: the controllers of the examples are written in it")
	}
	b = &bench{t: t, folder: t.TempDir(), campaignd: built.Program(t), example: example + ".yaml"}
	b.controller = append([]string{must.Get(filepath.Abs(controller[0]))(t)}, controller[1:]...)
	text := string(must.Get(os.ReadFile(filepath.Join("..", b.example)))(t))
	said = b.switchOn()
	text = strings.ReplaceAll(text, "http://127.0.0.1:8732", said)
	text = strings.Replace(text, "experiments: 12", "experiments: 6", 1)
	must.Do(t, os.WriteFile(filepath.Join(b.folder, b.example), []byte(text), 0o600))
	t.Cleanup(func() { b.switchOff() })
	return b, said
}

// switchOn starts the controller.
func (b *bench) switchOn() (said string) {
	b.t.Helper()
	b.device = exec.Command("python3", b.controller...)
	b.device.Dir, b.device.Stderr = b.folder, b.t.Output()
	out := must.Get(b.device.StdoutPipe())(b.t)
	must.Do(b.t, b.device.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.t.Fatalf("the controller does not start: %v", err)
	}
	return strings.TrimSpace(line)
}

// switchOff kills the controller.
func (b *bench) switchOff() {
	_ = b.device.Process.Kill()
	_ = b.device.Wait()
}

// command is campaignd in the folder.
func (b *bench) command(args ...string) *exec.Cmd {
	c := exec.Command(b.campaignd, args...)
	c.Dir = b.folder
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(b.folder, "state"), "CAMPAIGND_LOCKS="+filepath.Join(b.folder, "locks"))
	return c
}

// run runs the campaign to its end, and kills campaignd and the controller in turn on the way. person
// says how often a person had to say what became of a command.
func (b *bench) run() (person int) {
	b.t.Helper()
	const lives = 5
	for life := range lives {
		var out bytes.Buffer
		c := b.command("run", b.example)
		c.Stdout, c.Stderr = &out, &out
		must.Do(b.t, c.Start())
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		after := time.After(time.Duration(500+150*life) * time.Millisecond) // into another part of an experiment each
		if life == lives-1 {
			after = time.After(time.Minute)
		}
	waiting:
		for {
			select {
			case err := <-ended:
				if err != nil {
					b.t.Fatalf("life %d: %v\n%s", life, err, out.String())
				}
				return person
			case <-after:
				break waiting
			case <-time.After(time.Second):
				// Whether anything waits for a person is asked of the log, which another process may read.
				if n := b.settle(); n > 0 {
					person += n
				}
			}
		}
		if life == lives-1 {
			_ = c.Process.Kill()
			b.t.Fatalf("it is stuck:\n%s\n%s", out.String(), b.said("status", b.example))
		}
		if life%2 == 1 { // the controller is killed first, and campaignd finds it away
			b.switchOff()
			time.Sleep(100 * time.Millisecond)
		}
		_ = c.Process.Signal(syscall.SIGKILL)
		<-ended
		if life%2 == 1 {
			b.switchOn()
		}
	}
	return person
}

// settle is a person who looks at the controller's acts, and says of each unknown command what they
// show. It returns how many there were.
func (b *bench) settle() (n int) {
	status := b.said("status", b.example)
	for e := range 30 {
		id := fmt.Sprintf("e%d", e)
		if !strings.Contains(status, "resolve "+id+" ") {
			continue
		}
		n++
		verdict := []string{"resolve", b.example, id, "failed"}
		if !strings.Contains(b.acts(), "/"+id+"\n") {
			verdict = []string{"resolve", b.example, id, "not-performed", "--repeat"}
		}
		b.t.Logf("%v: %s", verdict, b.said(verdict...))
	}
	return n
}

// said is what a command prints.
func (b *bench) said(args ...string) string {
	text, _ := b.command(args...).CombinedOutput()
	return string(text)
}

// acts is the controller's record of what it did.
func (b *bench) acts() string {
	for _, path := range []string{"device/acts", "orders/acts"} {
		if text, err := os.ReadFile(filepath.Join(b.folder, path)); err == nil {
			return string(text)
		}
	}
	return ""
}

// counted checks that the controller acted on no command twice, and on as many as were asked for.
func (b *bench) counted(person int) {
	b.t.Helper()
	acts := strings.Fields(b.acts())
	seen := make(map[string]bool)
	for _, id := range acts {
		if seen[id] {
			b.t.Errorf("it acted twice on %s", id)
		}
		seen[id] = true
	}
	if person == 0 && len(acts) != 6 {
		b.t.Errorf("it acted %d times for 6 experiments:\n%s", len(acts), b.acts())
	}
	if text, err := b.command("audit", b.example).CombinedOutput(); err != nil {
		b.t.Errorf("audit: %v\n%s", err, text)
	}
}

// Law: campaignd and the controller are killed again and again; the campaign is completed, the
// controller, which would act on whatever it is told, acts once for each experiment, and nothing is
// stuck.
func TestFolderKilled(t *testing.T) {
	t.Parallel()
	b, _ := newBench(t, "folder", "folder_device.py", "orders", "--seconds", "0.4")
	// Each moment of a hand-over by files can be told apart afterwards: no person is needed.
	if person := b.run(); person > 0 {
		t.Errorf("a person was needed %d times", person)
	}
	b.counted(0)
	if files := must.Get(filepath.Glob(filepath.Join(b.folder, "orders", "results", "*.trace.csv")))(t); len(files) == 0 {
		t.Error("there are no files to attach")
	}
	if text := b.said("files", b.example); !strings.Contains(text, ".trace.csv") {
		t.Errorf("the files of the results are not attached:\n%s", text)
	}
}

func TestHTTPKilled(t *testing.T) {
	t.Parallel()
	b, address := newBench(t, "http", "http_device.py", "--port", "0", "--state", "device", "--seconds", "0.4")
	b.controller[2] = address[strings.LastIndex(address, ":")+1:] // the same again
	b.counted(b.run())
}
