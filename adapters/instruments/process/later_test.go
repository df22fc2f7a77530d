package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a program that speaks the protocol and cannot describe its device yet, because it says so,
// answers with an error or ends, can be asked again later, and describes itself once the device
// is on. One that cannot be started or does not speak the protocol is refused at once.
func TestDeviceIsOff(t *testing.T) {
	const handshake = `read line; echo '{"id":1,"protocol":1}'; read line; `
	const description = `echo '{"id":2,"description":{"name":"off/sh","capacity":1,"simulated":true}}'; cat > /dev/null`
	for name, c := range map[string]struct {
		script, says string
		later        bool
	}{
		"it says so":           {handshake + `[ -e on ] || { echo '{"id":2,"later":"the server is down"}'; cat > /dev/null; exit; }; `, "the server is down", true},
		"an error":             {handshake + `[ -e on ] || { echo '{"id":2,"error":"no route to host"}'; cat > /dev/null; exit; }; `, "no route to host", true},
		"it ends":              {handshake + `[ -e on ] || { echo "no route" >&2; exit 1; }; `, "no route", true},
		"it cannot be started": {`exit 2; `, "handshake", false},
		"nonsense":             {`read line; echo '{"id":1,"protocol":7}'; `, "version 7", false},
		"no description":       {handshake + `echo '{"id":2,"ok":true}'; `, "no description", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cfg := process.Settings{
				Command: []string{"sh", "-c", c.script + description}, Dir: dir, ReplyWithin: definition.Duration(20 * time.Second),
			}
			inst, err := openFor(t, cfg, pythonCampaign)
			if err != nil {
				t.Fatal(err)
			}
			ctx := within(t, 60*time.Second)
			_, err = inst.Describe(ctx)
			if err == nil || errors.Is(err, instruments.ErrLater) != c.later || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("it is described with %v; want %q, later %v", err, c.says, c.later)
			}
			if !c.later {
				return
			}
			must.Do(t, os.WriteFile(filepath.Join(dir, "on"), nil, 0o600))
			if d, err := inst.Describe(ctx); err != nil || d.Name != "off/sh" {
				t.Errorf("switched on it is %+v, %v", d, err)
			}
		})
	}
}

// Law: a ledger counts as durable and complete where the program says so, knows the commands of its
// earlier runs, and voids what is called off; anything else is told, and counts for nothing.
func TestDeclaredLedger(t *testing.T) {
	for said, want := range map[string]bool{
		`"recover":true,"voids":true,"ledger":"durable"`: true,
		`"recover":true,"voids":true`:                    false,
		`"recover":true,"ledger":"durable"`:              false,
		`"voids":true,"ledger":"durable"`:                false,
		`"recover":true,"voids":true,"ledger":"memory"`:  false,
	} {
		inst, book := open(t, process.Settings{Command: []string{"sh", "-c",
			`read line; echo '{"id":1,"protocol":1,` + said + `}'; read line; echo '{"id":2,"description":{"name":"m"}}'; read line`}})
		if _, err := inst.Describe(within(t, 20*time.Second)); err != nil || inst.Keeps() != want {
			t.Errorf("%s: it keeps %t, %v", said, inst.Keeps(), err)
		}
		if told := strings.Contains(book.String(), "counts for nothing"); told != (!want && strings.Contains(said, "ledger")) {
			t.Errorf("%s: told %t:\n%s", said, told, book)
		}
	}
}

// Law: a stage that is done for several experiments together is refused before anything is sent to a
// program that does not say that it serves them: it would read that there are no parameters.
func TestTogetherIsDeclared(t *testing.T) {
	def := pythonCampaign
	def.Procedure = []definition.Stage{{Name: "dose", Together: true}}
	for said, want := range map[string]bool{``: false, `,"batches":true`: true} {
		inst, err := openFor(t, process.Settings{Command: []string{"sh", "-c",
			`read line; echo '{"id":1,"protocol":1` + said + `}'; read line; echo '{"id":2,"description":{"name":"m"}}'; read line`}}, def)
		if err != nil {
			t.Fatal(err)
		}
		_, err = inst.Describe(within(t, 20*time.Second))
		switch {
		case (err == nil) != want || inst.(instruments.Batcher).Batches() != want:
			t.Errorf("%q: it is described with %v, batches %t", said, err, inst.(instruments.Batcher).Batches())
		case err != nil && (errors.Is(err, instruments.ErrLater) || !strings.Contains(err.Error(), "stage dose")):
			t.Errorf("%q: it says %v", said, err)
		}
	}
}
