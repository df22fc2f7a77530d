//go:build unix

package process_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// The misbehaving programs. Each is a function that the test binary becomes
// when faultVariable names it; dirVariable is a folder in which it can leave a
// trace for the test and for its next life.
const (
	faultVariable = "CAMPAIGND_TEST_FAULT"
	dirVariable   = "CAMPAIGND_TEST_DIR"
)

func misbehaveIfAsked() {
	name := os.Getenv(faultVariable)
	if name == "" {
		return
	}
	f, ok := faulty[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "there is no fault %q\n", name)
		os.Exit(2)
	}
	p := &program{dir: os.Getenv(dirVariable), recovers: true}
	p.note("life", "begun")
	p.life = len(p.noted("life"))
	f(p)
	os.Exit(0)
}

// misbehaving returns the settings of a program with a fault, and the folder in
// which it leaves its traces.
func misbehaving(t *testing.T, fault string) (process.Settings, string) {
	t.Helper()
	binary := must.Get(os.Executable())(t)
	dir := t.TempDir()
	return process.Settings{
		Command: []string{binary},
		Env:     map[string]string{faultVariable: fault, dirVariable: dir, "GORACE": "atexit_sleep_ms=0"},
	}, dir
}

// program is a scripted program.
type program struct {
	dir      string
	life     int // from 1
	recovers bool
}

type message map[string]any

// note leaves a line in the file name; noted reads them.
func (p *program) note(name string, what ...any) {
	f, err := os.OpenFile(filepath.Join(p.dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, what...)
	f.Close()
}

func (p *program) noted(name string) []string { return noted(p.dir, name) }

func noted(dir, name string) []string {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || len(data) == 0 { // opened, and not yet written to
		return nil
	}
	return strings.Split(strings.TrimRight(string(data), "\n"), "\n")
}

func (p *program) say(m message) {
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	p.raw(string(data))
}

func (p *program) raw(line string) { fmt.Println(line) }

// serve answers as a sound program would, except where on answers itself by
// returning true. It notes every start.
func (p *program) serve(on func(op string, id any, command string) bool) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var q struct {
			ID      json.Number
			Op      string
			Command struct{ ID string }
		}
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			panic(err)
		}
		if q.Op == "start" {
			p.note("starts", q.Command.ID)
		}
		if on(q.Op, q.ID, q.Command.ID) {
			continue
		}
		switch q.Op {
		case "handshake":
			p.say(message{"id": q.ID, "protocol": 1, "recover": p.recovers})
		case "describe":
			p.say(message{"id": q.ID, "description": message{"name": "test/faulty", "simulated": true}})
		case "start", "cancel":
			p.say(message{"id": q.ID, "ok": true})
		case "await":
			p.say(message{"id": q.ID, "outcome": result(10)})
		case "recover":
			p.say(message{"id": q.ID, "fate": "not started"})
		}
	}
}

func result(value float64) message {
	return message{"status": "measured", "measurement": message{
		"objective": message{"name": "conductivity", "value": value, "unit": "mS/cm"},
	}}
}

// awaitText answers await with an outcome written as it stands.
func awaitText(outcome string) func(*program) {
	return func(p *program) {
		p.serve(func(op string, id any, _ string) bool {
			if op == "await" {
				p.raw(fmt.Sprintf(`{"id":%v,"outcome":%s}`, id, outcome))
			}
			return op == "await"
		})
	}
}

// dies exits when op is asked in the first life; later lives answer recover with
// fate.
func dies(op, fate string) func(*program) {
	return func(p *program) {
		p.serve(func(asked string, id any, _ string) bool {
			if asked == op && p.life == 1 {
				fmt.Fprintln(os.Stderr, "out of smoke")
				os.Exit(3)
			}
			if asked == "recover" {
				p.say(message{"id": id, "fate": fate})
				return true
			}
			return false
		})
	}
}

var faulty = map[string]func(*program){
	"hangs on start": func(p *program) {
		p.recovers = false
		p.serve(func(op string, _ any, _ string) bool { return op == "start" })
	},
	"confirms late": func(p *program) {
		p.serve(func(op string, id any, _ string) bool {
			if op == "start" {
				go func() {
					time.Sleep(700 * time.Millisecond)
					p.say(message{"id": id, "ok": true})
				}()
			}
			return op == "start"
		})
	},
	"says neither ok nor no": func(p *program) {
		p.serve(func(op string, id any, _ string) bool {
			if op == "start" {
				p.say(message{"id": id})
			}
			return op == "start"
		})
	},
	"refuses": func(p *program) {
		p.serve(func(op string, id any, _ string) bool {
			if op == "start" {
				p.say(message{"id": id, "refused": "the door is open"})
			}
			return op == "start"
		})
	},

	"dies before confirming, and disowns":     dies("start", "not started"),
	"dies before confirming, and lost memory": dies("start", "unknown"),
	"dies while measuring, and finished":      dies("await", "finished"),
	"dies while measuring, and disowns":       dies("await", "not started"),
	"dies while measuring, and lost memory":   dies("await", "unknown"),
	"dies while measuring, and cannot say": func(p *program) {
		p.recovers = false
		dies("await", "")(p)
	},
	"dies again when it is asked": func(p *program) {
		p.serve(func(op string, id any, _ string) bool {
			switch {
			case p.life == 1 && op == "await", p.life == 2 && op == "recover":
				os.Exit(3)
			case op == "recover":
				p.say(message{"id": id, "fate": "finished"})
				return true
			}
			return false
		})
	},
	"dies with a result on its lips": func(p *program) {
		p.recovers = false
		p.serve(func(op string, id any, _ string) bool {
			if op == "await" {
				p.say(message{"id": id, "outcome": result(10)})
				os.Exit(3)
			}
			return false
		})
	},
	"dies at once": func(*program) {
		fmt.Fprintln(os.Stderr, "ModuleNotFoundError: No module named 'pump'")
		os.Exit(1)
	},

	"gives two results": func(p *program) {
		p.serve(func(op string, id any, command string) bool {
			if op == "await" {
				p.say(message{"command": command, "outcome": result(10)})
				p.say(message{"command": command, "outcome": result(11)})
				p.say(message{"id": id, "outcome": result(12)})
				p.say(message{"id": id, "outcome": result(13)})
			}
			return op == "await"
		})
	},
	"talks nonsense": func(p *program) {
		p.serve(func(op string, id any, command string) bool {
			if op == "start" {
				p.raw("Initializing pump 1…")
				p.raw("[1, 2]")
				p.raw("{}")
				p.raw(`{"id": 4711, "ok": true}`)
				p.raw(`{"id": 4712, "outcome": tru`)
				p.raw(`{"command": "other/e1", "outcome": {"status": "measured"}}`)
				p.raw(`{"id": ` + fmt.Sprint(id) + `, "ok": tru`)
				p.raw(strings.Repeat("x", 3<<20))
				p.raw("\xff\xfe\x00")
				p.say(message{"id": id, "ok": true, "okay": true})
				p.say(message{"id": id, "ok": true})
				fmt.Fprintln(os.Stderr, "pump 1 is warm")
			}
			return op == "start"
		})
	},

	"measures NaN":           awaitText(`{"status": "measured", "measurement": {"objective": {"name": "conductivity", "value": NaN, "unit": "mS/cm"}}}`),
	"measures null":          awaitText(`{"status": "measured", "measurement": {"objective": {"name": "conductivity", "value": null, "unit": "mS/cm"}}}`),
	"measures nothing":       awaitText(`{"status": "measured"}`),
	"measures words":         awaitText(`{"status": "measured", "measurement": {"objective": {"name": "conductivity", "value": "12.9", "unit": "mS/cm"}}}`),
	"measures too much":      awaitText(`{"status": "measured", "measurement": {"objective": {"name": "conductivity", "value": 1e999, "unit": "mS/cm"}}}`),
	"measures without a sum": awaitText(`{"status": "done"}`),
	"measures in S/m":        awaitText(`{"status": "measured", "measurement": {"objective": {"name": "conductivity", "value": 1.29, "unit": "S/m"}}}`),
	"measures out of range":  awaitText(`{"status": "measured", "measurement": {"objective": {"name": "conductivity", "value": 12900, "unit": "mS/cm"}}}`),
	"fails":                  awaitText(`{"status": "failed", "cause": "a bubble"}`),

	"answers out of order": func(p *program) {
		var first []message
		p.serve(func(op string, id any, command string) bool {
			if op != "await" {
				return false
			}
			value := map[string]float64{"test/e1": 1, "test/e2": 2}[command]
			first = append(first, message{"id": id, "outcome": result(value)})
			if len(first) == 2 {
				p.say(first[1])
				p.say(first[0])
			}
			return true
		})
	},
	"speaks another version": func(p *program) {
		p.serve(func(op string, id any, _ string) bool {
			if op == "handshake" {
				p.say(message{"id": id, "protocol": 2})
			}
			return op == "handshake"
		})
	},
	"says nothing": func(p *program) {
		p.serve(func(string, any, string) bool { return true })
	},
	"dies in its introduction": func(p *program) { // in its second life
		p.serve(func(op string, id any, _ string) bool {
			if op == "describe" && p.life > 1 {
				p.say(message{"id": id, "description": message{"name": "test/faulty", "identity": "mended"}})
			}
			if op == "describe" && p.life == 2 {
				os.Exit(3)
			}
			return op == "describe" && p.life > 1
		})
	},
	"becomes another device": func(p *program) { // in its second life
		p.serve(func(op string, id any, _ string) bool {
			if op == "describe" && p.life > 1 {
				p.say(message{"id": id, "description": message{"name": "test/faulty", "identity": "another"}})
			}
			return op == "describe" && p.life > 1
		})
	},
	"leaves when it is told": func(p *program) {
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		p.serve(func(string, any, string) bool { return false })
		p.note("told", "its input ended")
		<-told
		p.note("told", "terminate")
	},
	"reads nothing": func(p *program) {
		time.Sleep(time.Hour)
	},
	"does not leave": func(p *program) {
		helper := exec.Command("sleep", "3600")
		helper.Stdout = os.Stdout // holds the output open
		if err := helper.Start(); err != nil {
			panic(err)
		}
		p.note("helper", helper.Process.Pid)
		p.serve(func(string, any, string) bool { return false })
		time.Sleep(time.Hour)
	},
}

// awaitRaw answers the n-th await, from 1, with the line that answer gives.
func awaitRaw(answer func(n int, id any, command string) string) func(*program) {
	return func(p *program) {
		n := 0
		p.serve(func(op string, id any, command string) bool {
			if op == "await" {
				n++
				p.note("awaits", command)
				if line := answer(n, id, command); line != "" {
					p.raw(line)
				}
			}
			return op == "await"
		})
	}
}

// stammersUnasked tells the result unasked, damaged, when it is first asked op in one of its
// lives; whoever asks gets it sound. It remembers all commands.
func stammersUnasked(op string, life int) func(*program) {
	return func(p *program) {
		told := p.life != life
		p.serve(func(asked string, id any, command string) bool {
			if asked == op && !told {
				told = true
				p.raw(fmt.Sprintf(`{"command":%q,"outcome":{"status":"measured"`, command))
			}
			switch asked {
			case "recover":
				p.say(message{"id": id, "fate": "finished"})
			case "await":
				p.note("awaits", command)
				if p.life == life {
					p.say(message{"id": id, "outcome": result(10)})
				}
			}
			return asked == "recover" || asked == "await"
		})
	}
}

const good = `{"status":"measured","measurement":{"objective":{"name":"conductivity","value":10,"unit":"mS/cm"}}}`

func init() {
	ballast := strings.Repeat("x", 2<<20)
	faulty["answers too much"] = awaitRaw(func(_ int, id any, _ string) string {
		return fmt.Sprintf(`{"id":%v,"outcome":{"status":"measured","trace":%q}}`, id, ballast)
	})
	faulty["answers too much and names the request last"] = awaitRaw(func(_ int, id any, _ string) string {
		return fmt.Sprintf(`{"outcome":{"id":99,"status":"measured","trace":[%q, {"id":98}]}, "id": %v}`, ballast, id)
	})
	faulty["tells too much unasked"] = awaitRaw(func(_ int, _ any, command string) string {
		return fmt.Sprintf(`{"command":%q,"outcome":{"status":"measured","trace":%q}}`, command, ballast)
	})
	faulty["answers too much to nobody"] = awaitRaw(func(int, any, string) string {
		return fmt.Sprintf(`{"outcome":{"status":"measured","trace":%q}}`, ballast)
	})
	faulty["stammers once"] = awaitRaw(func(n int, id any, _ string) string {
		if n == 1 {
			return fmt.Sprintf(`{"id":%v,"outcome":{"status":"measured"`, id)
		}
		return fmt.Sprintf(`{"id":%v,"outcome":%s}`, id, good)
	})
	faulty["stammers"] = awaitRaw(func(_ int, id any, _ string) string {
		return fmt.Sprintf(`{"id":%v,"outcome":{"status":"measured",'value':12.5`, id)
	})
	faulty["stammers with NaN"] = awaitRaw(func(_ int, id any, _ string) string {
		return fmt.Sprintf(`{"id":%v,"outcome":{"status":"measured","value":NaN`, id)
	})
	faulty["stammers while it measures"] = func(p *program) {
		p.serve(func(op string, id any, command string) bool {
			switch op {
			case "await":
				p.note("awaits", command)
				p.raw(fmt.Sprintf(`{"id":%v,"outcome":{"status":"measured"`, id))
			case "recover":
				p.say(message{"id": id, "fate": "running"})
				time.Sleep(50 * time.Millisecond) // to have something to measure
				p.raw(fmt.Sprintf(`{"command":%q,"outcome":%s}`, command, good))
			}
			return op == "await" || op == "recover"
		})
	}
	faulty["confirms with too much"] = func(p *program) {
		p.serve(func(op string, id any, _ string) bool {
			if op == "start" {
				p.raw(fmt.Sprintf(`{"id":%v,"ok":true,"trace":%q}`, id, ballast))
				p.say(message{"id": id, "ok": true})
			}
			return op == "start"
		})
	}
	faulty["stammers unasked"] = stammersUnasked("start", 1)
	faulty["stammers unasked in its second life"] = stammersUnasked("recover", 2)
	faulty["is loud while it measures"] = awaitRaw(func(_ int, id any, _ string) string {
		return ballast + "\n{'temperature': 23.5}\n" + fmt.Sprintf(`{"id":%v,"outcome":%s}`, id, good)
	})
}
