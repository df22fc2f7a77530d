package drive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: whatever a run works out says which program it was. Where a run has an epoch this is
// recorded first, also of a campaign that begins with it, and each of its commands carries it;
// a run that has none and begins a campaign records nothing of the kind.
func TestRunIsNamed(t *testing.T) {
	for _, epoch := range []string{"", "w2"} {
		def := electrolyte(t, 5, 6)
		log := memlog.New()
		runner := must.Get(studytest.Runner(t.Context(), log, def, nil))(t)
		begun := must.Get(log.LastSequence(t.Context(), def.Name))(t)
		runner.Build = events.Build{Version: "v7.8.9"}
		runner.Epoch = epoch
		runner.Eager = true
		must.Do(t, runner.Run(t.Context()))
		builds, commands, epochs := make(map[events.Kind]int), 0, 0
		for _, e := range history(t, log)[begun:] {
			var payload struct {
				Build   *events.Build
				Epoch   string
				Command string
			}
			must.Do(t, json.Unmarshal(e.Data, &payload))
			if payload.Build != nil {
				builds[e.Kind]++
				if *payload.Build != runner.Build {
					t.Errorf("%s says that the program is %+v", e.Kind, *payload.Build)
				}
			}
			if payload.Epoch != "" {
				if epochs++; e.Sequence != begun+1 || payload.Epoch != epoch {
					t.Errorf("the epoch %q is recorded at %d", payload.Epoch, e.Sequence)
				}
			}
			if bytes.Contains(e.Data, []byte(`"command"`)) && payload.Command != "" {
				if commands++; epoch != "" && !strings.Contains(payload.Command, epoch) {
					t.Errorf("of the epoch %q is the command %s", epoch, payload.Command)
				}
			}
		}
		for _, kind := range []events.Kind{events.KindModelFitted, events.KindDecisionMade} {
			if builds[kind] == 0 {
				t.Errorf("no event of the kind %s names a program: %v", kind, builds)
			}
		}
		if commands < 6 || (epochs == 1) != (epoch != "") || epochs > 1 {
			t.Errorf("with the epoch %q there are %d commands, and it is recorded %d times", epoch, commands, epochs)
		}
	}
}

// unreadable is a log that can be written and not be read any more.
type unreadable struct {
	events.Log
	err error
}

func (u *unreadable) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	if u.err == nil {
		return u.Log.Read(ctx, after)
	}
	return func(yield func(events.Event, error) bool) { yield(events.Event{}, u.err) }
}

// Law: what cannot be worked out, as the log cannot be read for it, ends the run with the reason;
// nothing is recorded in its place.
func TestRunEndsWithWhatCannotBeWorkedOut(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	log := &unreadable{Log: memlog.New()}
	def := electrolyte(t, 5, 6)
	runner := must.Get(studytest.Runner(ctx, log, def, nil))(t)
	runner.Eager = true
	log.err = errors.New("the disk does not answer")
	if err := runner.Run(ctx); !errors.Is(err, log.err) {
		t.Errorf("the run ended with %v", err)
	}
	for _, e := range history(t, log.Log) {
		if e.Kind == events.KindDecisionMade || e.Kind == events.KindModelFitted {
			t.Errorf("%s was recorded", e.Kind)
		}
	}
}
