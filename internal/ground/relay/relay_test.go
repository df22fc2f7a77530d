package relay_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/ground/relay"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// acted is set where the binary of the tests acts as the program.
const acted = "CAMPAIGND_RELAY_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(acted) == "" {
		os.Exit(m.Run())
	}
	var sent int
	err := relay.Serve(os.Stdin, os.Stdout, func(r relay.Request) error {
		switch {
		case r.Message == nil:
			sent++
			return fmt.Errorf("%d: %s", sent, r.Event.Data)
		case r.Message.Text == "hang":
			time.Sleep(time.Hour)
		case r.Message.Text == "panic":
			panic("a client of somebody else")
		case r.Message.Text == "die":
			os.Exit(3)
		case r.Message.Text == "babble":
			fmt.Println("hello")
		}
		return nil
	})
	if err != nil {
		os.Exit(1)
	}
}

// playing has the binary of the tests be the program.
func playing(t *testing.T) {
	t.Helper()
	t.Setenv(relay.Variable, os.Args[0])
	t.Setenv(acted, "1")
}

// Law: a message is sent once the program says so; one that fails, panics, ends, answers nothing that can be
// read, or does not answer in time, is not, and that is said.
func TestSend(t *testing.T) {
	playing(t)
	for text, want := range map[string]string{
		"hello": "", "panic": "the client failed: a client of somebody else", "die": "does not answer", "babble": "does not answer",
	} {
		err := relay.Send(t.Context(), relay.Message{Address: "ntfy://h/x", Text: text})
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := relay.Send(ctx, relay.Message{Text: "hang"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a service that never answers: %v", err)
	}
}

// Law: a process answers one request after the other, each for itself, whatever is in it.
func TestAsk(t *testing.T) {
	playing(t)
	large := strings.Repeat("x", 1<<20)
	for i, data := range []string{"a", "b\n\x00", large} {
		p := must.Get(relay.Start())(t)
		if err := p.Ask(t.Context(), relay.Request{Event: &relay.Event{Data: []byte(data)}}); fmt.Sprint(err) != "1: "+data {
			t.Errorf("request %d: %.100v", i, err)
		}
	}
	p := must.Get(relay.Start())(t)
	for range 3 {
		if err := p.Ask(t.Context(), relay.Request{Message: new(relay.Message)}); err != nil {
			t.Error(err)
		}
	}
	p.Close(time.Minute)
}

// Law: where the program is missing, that is said with what to do.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(relay.Variable, "")
	if _, err := relay.Start(); err == nil || !strings.Contains(err.Error(), "install it from the same release") {
		t.Errorf("nowhere: %v", err)
	}
	t.Setenv(relay.Variable, filepath.Join(t.TempDir(), "none"))
	if _, err := relay.Start(); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("elsewhere: %v", err)
	}
}
