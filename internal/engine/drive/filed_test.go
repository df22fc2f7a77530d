package drive_test

import (
	"crypto/sha256"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
)

func keptFile(name, content string) events.Attachment {
	return events.Attachment{
		Name: name, MediaType: events.MediaTypeOf(name),
		Digest: events.DigestOf(sha256.Sum256([]byte(content))), Size: int64(len(content)),
	}
}

// filed is a campaign whose instrument names files, and whose people attach some and
// withdraw two.
func filed(t *testing.T) []events.Event {
	quiet := func(def *definition.Campaign) {
		def.Experts = nil
		def.Policy = definition.Policy{Next: next.Random{}.Choice(), Trust: definition.NewChoice(policies.None, nil)}
		def.Initial = definition.Initial{Experiments: ptr(1)}
	}
	def := electrolyte(t, 2, 3, quiet)
	defined := def
	defined.Instrument.Driver = process.Choose(process.Settings{Command: []string{"./mixer"}})
	defined = campaignfile.Complete(builtin.Registry(), defined)
	log := memlog.New()
	if err := engine.Define(t.Context(), log, events.CampaignDefined{Instance: "FILES", Definition: defined}, "person:eve", time.Now(), ""); err != nil {
		t.Fatal(err)
	}
	elsewhere := events.Attachment{Name: "run.h5", URI: "https://data.example.org/run.h5", Comment: "raw"}
	spectrum := keptFile("spectrum.csv", "1,2\n")
	spectrum.Quantity = "viscosity"
	device := &lab{outcomes: []func(instruments.Command) instruments.Outcome{
		func(cmd instruments.Command) instruments.Outcome {
			o := good(cmd)
			o.Files = []instruments.File{
				{Attachment: spectrum}, {Attachment: elsewhere}, {Attachment: events.Attachment{Name: "../etc/passwd"}},
				{Path: "left.csv"},
			}
			o.Remarks = []string{"trace.csv is not there"}
			return o
		},
		func(instruments.Command) instruments.Outcome {
			return instruments.Outcome{
				Status: instruments.Failed, Cause: "a leak", Files: []instruments.File{{Attachment: keptFile("leak.png", "picture")}},
			}
		},
	}}
	r, _ := start(t, log, def, device)
	r.Now = time.Now
	must.Do(t, r.Run(t.Context()))
	for _, request := range []engine.Request{
		{Attach: &engine.Attach{Attachment: keptFile("protocol.pdf", "steps")}},
		{Attach: &engine.Attach{Experiment: "e3", Attachment: keptFile("bottle.jpg", "label")}},
		{Attach: &engine.Attach{Attachment: elsewhere}},
		{Withdraw: &engine.Withdraw{File: "f5", Reason: "it shows another cell"}},
		{Withdraw: &engine.Withdraw{File: "f4", Reason: "a newer one holds"}},
	} {
		request.Actor = "person:eve"
		if _, err := engine.Submit(t.Context(), log, r.Core(), request.Identified(request.Actor+time.Now().String()), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	return history(t, log)
}

// Law: the files of an instrument's answer are recorded together with what it measured,
// whatever became of the experiment; one that cannot be recorded costs nothing else, and
// is remarked on.
func TestFilesOfAnInstrument(t *testing.T) {
	s := mustLoad(t, refill(t, filed(t))).State()
	var names []string
	for _, f := range s.FilesOf("e1") {
		names = append(names, f.Name)
		if f.Actor != "instrument:acme/mixer" {
			t.Errorf("%s is said to be of %s", f.ID, f.Actor)
		}
	}
	if got := strings.Join(names, " "); got != "spectrum.csv run.h5" || s.Experiment("e1").Measurement == nil {
		t.Errorf("the first experiment is %s with the files %q", s.Experiment("e1").Status, got)
	}
	if files := s.FilesOf("e2"); len(files) != 1 || s.Experiment("e2").Status != "failed" {
		t.Errorf("the failed experiment is %s with the files %v", s.Experiment("e2").Status, files)
	}
	notes := ""
	for _, n := range s.Notes {
		notes += n.About + ": " + n.Text + "\n"
	}
	for _, want := range []string{"e1: ", "etc/passwd", "trace.csv is not there", "left.csv"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
}

// Law: a file is of what there is, and is withdrawn once; what is withdrawn stays on the
// record, and is not listed.
func TestFilesOfPeople(t *testing.T) {
	log := refill(t, filed(t))
	core := mustLoad(t, log)
	if files := core.State().FilesOf("e3"); len(files) != 0 {
		t.Errorf("a withdrawn file is listed: %v", files)
	}
	if f := core.State().File("f5"); f == nil || !f.Withdrawn || f.Reason == "" || f.Digest == "" {
		t.Errorf("the withdrawn file is %+v", f)
	}
	kept := keptFile("a.csv", "1")
	with := func(change func(*events.Attachment)) *engine.Attach {
		a := kept
		change(&a)
		return &engine.Attach{Attachment: a}
	}
	for want, request := range map[string]engine.Request{
		"e9":                      {Attach: &engine.Attach{Experiment: "e9", Attachment: kept}},
		"no name":                 {Attach: with(func(a *events.Attachment) { a.Name = "" })},
		"without folders":         {Attach: with(func(a *events.Attachment) { a.Name = "../a.csv" })},
		`a\\b.csv" is not a name`: {Attach: with(func(a *events.Attachment) { a.Name = `a\b.csv` })},
		"digest":                  {Attach: with(func(a *events.Attachment) { a.Digest = strings.ToUpper(a.Digest) })},
		"neither":                 {Attach: with(func(a *events.Attachment) { a.Digest = "" })},
		"empty":                   {Attach: with(func(a *events.Attachment) { a.Size = 0 })},
		"not a media type":        {Attach: with(func(a *events.Attachment) { a.MediaType = "text/csv; charset=x" })},
		"not a URI":               {Attach: with(func(a *events.Attachment) { a.URI = "/data/run.h5" })},
		"password":                {Attach: with(func(a *events.Attachment) { a.URI = "https://ada:secret@example.org/" })},
		`there is no file "f77"`:  {Withdraw: &engine.Withdraw{File: "f77", Reason: "x"}},
		"f5 was withdrawn before": {Withdraw: &engine.Withdraw{File: "f5", Reason: "x"}},
		"for a reason":            {Withdraw: &engine.Withdraw{File: "f1", Reason: " "}},
	} {
		request.Actor = "person:eve"
		if _, err := core.Handle(request); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want a refusal that says %q, got %v", want, err)
		}
	}
	// Law: an attachment that is sent again under its identifier is attached once.
	request := engine.Request{Actor: "person:eve", Attach: &engine.Attach{Attachment: kept}}.Identified("once")
	var ids []string
	for range 2 {
		stored, err := engine.Submit(t.Context(), log, core, request, time.Now())
		if err != nil || len(stored) != 1 {
			t.Fatal(stored, err)
		}
		ids = append(ids, stored[0].ID)
	}
	if len(slices.Compact(ids)) != 1 {
		t.Errorf("it was recorded as events %v", ids)
	}
}
