package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a handle in the answer to start, and what a program says while it works, are signs of life, in
// their order. One that cannot be read is reported, and the program lives.
// Each request about the command carries the handle from then on, also from a campaign that has it
// from its log.
func TestSigns(t *testing.T) {
	const script = `
		read line; echo '{"id":1,"protocol":1,"recover":true,"signs":true}'
		read line; echo '{"id":2,"description":{"name":"sh","capacity":1}}'
		read line; echo '{"id":3,"ok":true,"handle":"run 7"}'
		echo '{"command":"c/e1","sign":{"fraction":0.25,"text":"cycle 1 of 4"}}'
		echo '{"command":"c/e1","sign":{"fraction":0.5,"next_by":"2d"}}'
		echo '{"command":"c/e9","sign":{"fraction":0.5}}'
		echo '{"id":0,"error":"all is said"}'
		read line; echo "$line" > asked; echo '{"id":4,"fate":"running"}'
		echo '{"command":"c/e1","sign":{"fraction":"half"}}'
		cat > /dev/null`
	dir := t.TempDir()
	inst, book := open(t, process.Settings{Command: []string{"sh", "-c", script}, Dir: dir, ReplyWithin: definition.Duration(20 * time.Second)})
	ctx := within(t, 60*time.Second)
	cmd := instruments.Command{ID: "c/e1", Experiment: "e1", Parameters: definition.Point{}}
	must.Get(inst.Describe(ctx))(t)
	must.Do(t, inst.Start(ctx, cmd))
	for !strings.Contains(book.String(), "request 0") { // it has been heard
		time.Sleep(time.Millisecond)
	}
	for _, want := range []string{
		`{"handle":"run 7"}`, `{"fraction":0.25,"text":"cycle 1 of 4"}`, `{"fraction":0.5,"next_by":172800}`,
	} {
		if s := must.Get(json.Marshal(must.Get(inst.Sign(ctx, cmd))(t)))(t); string(s) != want {
			t.Errorf("the sign is %s, want %s", s, want)
		}
	}
	if !strings.Contains(book.String(), `a sign of command "c/e9", which was not started, is dropped`) {
		t.Errorf("reported:\n%s", book)
	}
	must.Get(inst.Recover(ctx, cmd))(t)
	asked := must.Get(os.ReadFile(filepath.Join(dir, "asked")))(t)
	if !strings.Contains(string(asked), `"handle":"run 7"`) {
		t.Errorf("it was asked %s", asked)
	}
	if s := must.Get(inst.Sign(ctx, cmd))(t); s != (events.Sign{}) || !strings.Contains(book.String(), "cannot be read") {
		t.Errorf("the sign is %+v; reported:\n%s", s, book)
	}
	brief, stop := context.WithCancel(ctx)
	stop()
	if _, err := inst.Sign(brief, cmd); !errors.Is(err, context.Canceled) {
		t.Errorf("without a further sign: %v", err)
	}

	const later = `
		read line; echo '{"id":1,"protocol":1,"recover":true}'
		read line; echo '{"id":2,"description":{"name":"sh","capacity":1}}'
		read line; echo "$line" > asked; echo '{"id":3,"fate":"running"}'
		cat > /dev/null`
	next, _ := open(t, process.Settings{Command: []string{"sh", "-c", later}, Dir: dir, ReplyWithin: definition.Duration(20 * time.Second)})
	cmd.Handle = "run 7"
	must.Get(next.Recover(ctx, cmd))(t)
	if asked := must.Get(os.ReadFile(filepath.Join(dir, "asked")))(t); !strings.Contains(string(asked), `"handle":"run 7"`) {
		t.Errorf("the next run was asked %s", asked)
	}
}
