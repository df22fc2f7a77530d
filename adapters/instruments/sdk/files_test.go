package sdk

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// spectrometer leaves a file for each command, or panics.
type spectrometer struct{ panics bool }

func (spectrometer) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "spectrometer"}, nil
}

func (spectrometer) Measure(_ context.Context, cmd instruments.Command) (events.Measurement, error) {
	if cmd.Experiment == "e2" {
		return events.Measurement{}, fmt.Errorf("%w: a bubble", ErrFailed)
	}
	return events.Measurement{Objective: definition.Quantity{Name: "y", Value: 1}}, nil
}

func (s spectrometer) Files(_ context.Context, cmd instruments.Command) []instruments.File {
	if s.panics {
		panic("no disk")
	}
	return []instruments.File{{Path: cmd.Experiment + ".csv", Attachment: events.Attachment{Quantity: "y"}}}
}

// Law: the files that an instrument names are in its answer, whatever came of the command, also
// in that of a later run of the program; a panic there costs the files and not the result.
func TestFilesOfAnInstrument(t *testing.T) {
	ledger := t.TempDir()
	run := func(dir string, panics bool, op, experiment string) (o instruments.Outcome) {
		t.Helper()
		requests, to := io.Pipe()
		from, replies := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- Serve(t.Context(), requests, replies, dir, spectrometer{panics}); replies.Close() }()
		go func() {
			for i, request := range []string{"handshake", "describe", op, "await"} {
				fmt.Fprintf(to, `{"id":%d,"op":%q,"protocol":1,"command":{"id":"c/%s","experiment":%q,"parameters":{"x":1}}}`+"\n",
					i+1, request, experiment, experiment)
			}
		}()
		lines := bufio.NewScanner(from)
		for o.Status == "" && lines.Scan() {
			var reply struct{ Outcome json.RawMessage }
			if err := json.Unmarshal(lines.Bytes(), &reply); err == nil && reply.Outcome != nil {
				must.Do(t, json.Unmarshal(reply.Outcome, &o))
			}
		}
		to.Close()
		_, _ = io.Copy(io.Discard, from)
		must.Do(t, <-ended)
		return o
	}
	for experiment, status := range map[string]instruments.Status{"e1": instruments.Measured, "e2": instruments.Failed} {
		for _, op := range []string{"start", "recover"} { // the second in another run of the program
			o := run(ledger, false, op, experiment)
			if o.Status != status || len(o.Files) != 1 || o.Files[0].Path != experiment+".csv" || o.Files[0].Quantity != "y" {
				t.Errorf("%s after %s: %+v", experiment, op, o)
			}
		}
	}
	if o := run(t.TempDir(), true, "start", "e1"); o.Status != instruments.Measured || o.Files != nil {
		t.Errorf("after a panic: %+v", o)
	}
}
