package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/adapters/notifications"
	"github.com/campaignd/campaignd/cmd/campaignd/app"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"

	"example.org/lab/hotfolder"
	"example.org/lab/webhook"
)

// expert answers over HTTP: at first with nonsense, then by taste.
func expert(t *testing.T) (address string, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q webhook.Question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		reply := humans.Reply{Answer: events.Answer{Label: "maybe"}}
		if asked.Add(1) > 1 {
			reply.Answer.Label = events.LabelAccept
			if ph, _ := q.Options[0].Parameters["ph"].Float(); ph < 6 {
				reply.Answer.Label = events.LabelReject
			}
		}
		if asked.Load() == 2 && q.Problem == "" {
			t.Error("the expert was not told what was wrong with the first reply")
		}
		if err := json.NewEncoder(w).Encode(reply); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// work is the robot: it performs each order in a folder once, until the test ends.
func work(t *testing.T, folder string) {
	done, gone := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(done); <-gone })
	go func() {
		defer close(gone)
		for {
			orders, _ := filepath.Glob(filepath.Join(folder, "*.order"))
			for _, order := range orders {
				perform(t, order)
			}
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
}

// perform writes the result of an order, beside it.
func perform(t *testing.T, order string) {
	result := strings.TrimSuffix(order, ".order") + ".result"
	if _, err := os.Stat(result); err == nil {
		return
	}
	text, err := os.ReadFile(order)
	if err != nil {
		t.Error(err)
		return
	}
	var cmd instruments.Command
	if err := json.Unmarshal(text, &cmd); err != nil {
		t.Error(err)
		return
	}
	ph, _ := cmd.Parameters["ph"].Float()
	salt, _ := cmd.Parameters["salt"].Float()
	outcome := instruments.Outcome{
		Status: instruments.Measured,
		Measurement: &events.Measurement{
			Actual: cmd.Parameters,
			Objective: definition.Quantity{
				Name: "activity", Unit: "U/mL", Value: 10 - (ph-7.2)*(ph-7.2) - salt/100,
			},
		},
	}
	text, err = json.Marshal(outcome)
	if err == nil {
		err = os.WriteFile(result+".new", text, 0o644)
	}
	if err == nil {
		err = os.Rename(result+".new", result)
	}
	if err != nil {
		t.Error(err)
	}
}

// laboratory is a folder with the campaign file, in which the robot works.
func laboratory(t *testing.T, address string) (file string) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("CAMPAIGND_LOCKS", t.TempDir())
	folder := t.TempDir()
	text, err := os.ReadFile("campaign.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("http://127.0.0.1:8080/ask"), []byte(address), 1)
	file = filepath.Join(folder, "campaign.yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	work(t, filepath.Join(folder, "orders"))
	return file
}

// lab runs the program as a person would.
func lab(t *testing.T, args ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	if code := app.Run(t.Context(), table(), args, strings.NewReader(""), &out, &problems); code != 0 {
		t.Fatalf("lab %v: exit code %d\n%s%s", args, code, out.String(), problems.String())
	}
	return out.String()
}

// A whole campaign: the robot measures, the expert is asked, the method decides, and the
// audit makes every decision again.
func TestCampaign(t *testing.T) {
	address, asked := expert(t)
	file := laboratory(t, address)
	lab(t, "run", file)
	if asked.Load() < 9 {
		t.Errorf("the expert was asked %d times, want at least once for each step", asked.Load())
	}
	if text := lab(t, "audit", file); !strings.Contains(text, "decisions and 1 of 1 fit came out the same") {
		t.Errorf("the audit says:\n%s", text)
	}
	orders, err := filepath.Glob(filepath.Join(filepath.Dir(file), "orders", "*.order"))
	if err != nil || len(orders) != 12 {
		t.Errorf("%d orders were written, want 12 (%v)", len(orders), err)
	}
}

// The campaign file's schema, its faults and the list of methods know what is ours.
func TestTable(t *testing.T) {
	for _, name := range []string{"hillclimb", "hotfolder", "webhook"} {
		if !strings.Contains(lab(t, "schema"), `"`+name+`"`) {
			t.Errorf("the schema of the campaign file has no %s", name)
		}
	}
	if !strings.Contains(lab(t, "methods"), "hillclimb") {
		t.Error("`lab methods` does not list hillclimb")
	}
	address, _ := expert(t)
	file := laboratory(t, address)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bad := strings.Replace(string(text), "step: 0.15", "stride: 0.15", 1)
	if err := os.WriteFile(file, []byte(bad), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code := app.Run(t.Context(), table(), []string{"validate", file}, strings.NewReader(""), &out, &out)
	if code != 2 || !strings.Contains(out.String(), "campaign.yaml:10:") || !strings.Contains(out.String(), "step") {
		t.Errorf("a wrong setting of ours: exit code %d\n%s", code, out.String())
	}
}

// A message goes to our folder, once, however often it is sent; a lab file with an address that is
// none of ours is refused in our words, and ours needs no campaignd-forward.
func TestMessages(t *testing.T) {
	folder := t.TempDir()
	address := "spool://" + filepath.ToSlash(folder)
	for range 2 {
		message := notifications.Message{ID: "7f", Title: "Question q1", Text: "Is it red?"}
		if err := table().Notifications.Send(t.Context(), address, message); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := os.ReadDir(folder)
	text, err := os.ReadFile(filepath.Join(folder, "7f.txt"))
	if err != nil || len(files) != 1 || string(text) != "Question q1\nIs it red?" {
		t.Errorf("%d files, %q, %v", len(files), text, err)
	}
	doctor := func(address string) string {
		served := t.TempDir()
		lab := "url: https://lab.example.org\npeople: {ada: {notify: [\"" + address + "\"]}}\n"
		if err := os.WriteFile(filepath.Join(served, "lab.yaml"), []byte(lab), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		app.Run(t.Context(), table(), []string{"doctor", served}, strings.NewReader(""), &out, &out)
		return out.String()
	}
	if says := doctor("spool://messages"); !strings.Contains(says, "a folder for messages has an absolute path") {
		t.Errorf("a wrong address:\n%s", says)
	}
	t.Setenv("CAMPAIGND_FORWARD", filepath.Join(folder, "none"))
	if says := doctor("smtp://mail.example.org"); !strings.Contains(says, "CAMPAIGND_FORWARD") {
		t.Errorf("e-mail without campaignd-forward:\n%s", says)
	}
	if says := doctor(address); strings.Contains(says, "CAMPAIGND_FORWARD") {
		t.Errorf("a folder without campaignd-forward:\n%s", says)
	}
}

// The robot keeps the obligations of an instrument.
func TestRobot(t *testing.T) {
	folder := t.TempDir()
	work(t, folder)
	def := definition.Campaign{
		Name: "buffer",
		Parameters: []definition.Parameter{
			{Name: "ph", Min: new(float64(5)), Max: new(float64(9))},
			{Name: "salt", Min: new(float64(0)), Max: new(float64(200))},
		},
		Objective:  definition.Objective{Name: "activity", Unit: "U/mL", Goal: definition.Maximize},
		Instrument: definition.Instrument{Driver: definition.NewChoice("hotfolder", hotfolder.Settings{Folder: folder})},
	}
	instrumenttest.Run(t, instrumenttest.Env{
		Open: func(ctx context.Context) (instruments.Instrument, error) {
			return hotfolder.Driver.Open(ctx, def, instruments.Environment{})
		},
		Definition: def,
		Points: []definition.Point{
			{"ph": definition.Number(7), "salt": definition.Number(10)},
			{"ph": definition.Number(8), "salt": definition.Number(20)},
		},
		AllowRuns: true,
	})
}
