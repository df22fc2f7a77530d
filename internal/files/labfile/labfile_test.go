package labfile

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var update = flag.Bool("update", false, "write the golden files")

// Law: the example is read without a fault, with every default written out.
func TestExample(t *testing.T) {
	f := must.Get(Read(builtin.Registry(), "../../../examples/lab.yaml"))(t)
	if f.URL != "https://lab.example.org" || f.People["bo"].Name != "bo" || f.People["ada"].PerHour != DefaultPerHour ||
		f.People["ada"].RemindEvery != definition.Duration(4*time.Hour) || f.Instruments["pump"].Capacity != 1 ||
		f.Instruments["pump"].Driver.Name != "process" || f.Experts["ada"].Channel.Name != "terminal" ||
		f.OIDC.Roles["lab"] != "expert" || f.Passkeys.Name != "Electrolyte lab" ||
		!cmp.Equal(f.Passkeys.Origins, []string{"https://lab.example.org"}) {
		t.Errorf("%+v", f.Lab)
	}
}

// Law: whatever is wrong with a lab file is reported at once, each with its line, its field
// and mostly a remedy, and no line shows an address in which a token may stand. Between
// them the files of testdata break every rule there is; read what changes in the golden
// files before keeping it (-update).
func TestFaults(t *testing.T) {
	for _, name := range []string{"testdata/people", "testdata/rest"} {
		data, err := os.ReadFile(name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		_, err = Parse(builtin.Registry(), "lab.yaml", data)
		var faults *yamltree.Error
		if !errors.As(err, &faults) {
			t.Fatalf("%v", err)
		}
		for _, f := range faults.Faults {
			if f.Line == 0 || len(f.Path) == 0 {
				t.Errorf("%+v lacks its line or its field", f)
			}
		}
		got := err.Error() + "\n"
		if strings.Contains(got, "s3cr3t") {
			t.Error("a fault shows a secret")
		}
		if *update {
			must.Do(t, os.WriteFile(name+".txt", []byte(got), 0o644))
		}
		want := must.Get(os.ReadFile(name + ".txt"))(t)
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Error(diff)
		}
	}
}

// Law: an instrument of the lab can say all that one of a campaign file can, but for what
// follows from the driver, and an expert all that does not depend on the campaign.
func TestKeysAreThoseOfCampaignFiles(t *testing.T) {
	for _, c := range []struct {
		lab, campaign []string
		own, not      map[string]bool
	}{
		{fieldNames[Instrument](), fieldNames[definition.Instrument](), map[string]bool{"capacity": true}, map[string]bool{"by_hand": true}},
		{fieldNames[Expert](), fieldNames[definition.Expert](), nil,
			map[string]bool{"name": true, "anchors": true, "belief": true, "person": true, "program": true, "quantities": true}},
	} {
		var lab, campaign []string
		for _, name := range c.lab {
			if !c.own[name] {
				lab = append(lab, name)
			}
		}
		for _, name := range c.campaign {
			if !c.not[name] {
				campaign = append(campaign, name)
			}
		}
		if diff := cmp.Diff(campaign, lab); diff != "" {
			t.Error(diff)
		}
	}
}

// Law: the instrument that a campaign uses is found by what its definition records, with
// the defaults of its driver written out; another command is another instrument.
func TestUsing(t *testing.T) {
	f := must.Get(Parse(builtin.Registry(), "lab.yaml", []byte(`
instruments:
  pump: {process: [./pump], capacity: 3}
  spare: {process: {command: [./pump, --spare]}}
`)))(t)
	for command, want := range map[string]string{"./pump": "pump 3", "./pump --spare": "spare 1", "./other": " 0"} {
		driver, _ := builtin.Registry().Driver("process")
		settings := driver.Settings()
		if err := definition.NewChoice("process", map[string]any{"command": strings.Fields(command)}).Decode(settings); err != nil {
			t.Fatal(err)
		}
		var def definition.Campaign
		settings.Complete(&def)
		def.Instrument.Driver = definition.NewChoice("process", settings)
		name, in, _ := f.Using(builtin.Registry(), &def)
		if got := fmt.Sprint(name, " ", in.Capacity); got != want {
			t.Errorf("%s is %q, want %q", command, got, want)
		}
	}
}

// Law: quiet hours go by the clock on the wall, over midnight, over weekends and over the
// nights in which clocks change; they end at the first time that they do not cover.
func TestQuiet(t *testing.T) {
	night := &Quiet{From: "19:00", To: "08:00", Zone: "Europe/Berlin"}
	weekend := &Quiet{From: "19:00", To: "08:00", Zone: "Europe/Berlin", Weekends: true}
	noon := &Quiet{From: "12:00", To: "13:30", Zone: "America/St_Johns"}
	for _, c := range []struct {
		q         *Quiet
		at, until string // UTC
	}{
		{nil, "2026-03-02T23:00:00Z", "2026-03-02T23:00:00Z"},
		{night, "2026-03-02T17:59:59Z", "2026-03-02T17:59:59Z"},
		{night, "2026-03-02T18:00:00Z", "2026-03-03T07:00:00Z"},
		{night, "2026-03-03T06:59:59Z", "2026-03-03T07:00:00Z"},
		{night, "2026-03-03T07:00:00Z", "2026-03-03T07:00:00Z"},
		{night, "2026-03-28T20:00:00Z", "2026-03-29T06:00:00Z"}, // an hour less
		{night, "2026-10-24T20:00:00Z", "2026-10-25T07:00:00Z"}, // an hour more
		{weekend, "2026-03-06T20:00:00Z", "2026-03-09T07:00:00Z"},
		{weekend, "2026-03-07T11:00:00Z", "2026-03-09T07:00:00Z"},
		{&Quiet{Zone: "UTC", Weekends: true}, "2026-03-07T00:00:00Z", "2026-03-09T00:00:00Z"},
		{&Quiet{Zone: "UTC", Weekends: true}, "2026-03-06T23:59:59Z", "2026-03-06T23:59:59Z"},
		{noon, "2026-01-05T15:29:00Z", "2026-01-05T15:29:00Z"}, // half past three less three and a half hours
		{noon, "2026-01-05T15:30:30Z", "2026-01-05T17:00:00Z"},
	} {
		at := must.Get(time.Parse(time.RFC3339, c.at))(t)
		if got := c.q.Until(at).UTC().Format(time.RFC3339); got != c.until || c.q.Covers(at) != (c.until != c.at) {
			t.Errorf("%+v at %s: until %s, want %s", c.q, c.at, got, c.until)
		}
	}
}

// Law: an address is taken from the environment and from files when it is used, and no way
// of printing it shows more than where it leads to.
func TestSecrets(t *testing.T) {
	folder := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(folder, "bo"), []byte("slack://hook:s3cr3t@webhook\n"), 0o600))
	t.Setenv("NAME", "ada")
	t.Setenv("PASSWORD", "s3cr3t")
	t.Setenv("ALL", "telegram://1:s3cr3t@telegram?chats=1")
	for _, c := range []struct{ written, reveals, shows string }{
		{"smtp://${NAME}:${PASSWORD}@mail.example.org:587/?to=a@b.c", "smtp://ada:s3cr3t@mail.example.org:587/?to=a@b.c", "smtp://mail.example.org:587"},
		{"generic+https://h.example.org/s3cr3t", "generic+https://h.example.org/s3cr3t", "generic+https://h.example.org"},
		{"file:bo", "slack://hook:s3cr3t@webhook", "slack://…"},
		{"file:" + filepath.Join(folder, "bo"), "slack://hook:s3cr3t@webhook", "slack://…"},
		{"${ALL}", "telegram://1:s3cr3t@telegram?chats=1", "telegram://…"},
		{"pushbullet://s3cr3t", "pushbullet://s3cr3t", "pushbullet://…"}, // the host is the token
		{"ntfy://s3cr3t:${ABSENT}@h", "", "ntfy://…"},
		{"${ABSENT}", "", "an address from the environment"},
		{"file:absent", "", "file:…"},
	} {
		s := NewSecret(c.written, folder)
		got, err := s.Reveal()
		if got != c.reveals || (err == nil) != (c.reveals != "") {
			t.Errorf("%s reveals %q, %v", c.written, got, err)
		}
		text := must.Get(json.Marshal(map[string]any{"s": s}))(t)
		type holder struct{ hidden []Secret }
		all := fmt.Sprintf("%s %v %+v %#v %s %v %+v %#v", s, s, s, s, text, holder{[]Secret{s}}, holder{[]Secret{s}}, []Secret{s})
		if s.String() != c.shows || strings.Contains(all, "s3cr3t") {
			t.Errorf("%s shows %q: %s", c.written, s, all)
		}
	}
}

// Law: whatever part of an address a text repeats, in whatever escape, is taken out of it,
// and so is every other address but for scheme and host.
func TestScrub(t *testing.T) {
	s := NewSecret("smtp://ada:p%40ss+w@mail.example.org:587/?from=x@y.z&key=k%2Fey", "")
	for text, want := range map[string]string{
		"dial mail.example.org:587: refused":                                                 "dial mail.example.org:587: refused",
		"login ada:p%40ss+w failed: p@ss+w p%40ss%2Bw":                                       "login ••• failed: ••• •••",
		"GET https://h.example.org/bot12:tok?k=v refused":                                    "GET https://h.example.org refused",
		"telegram://1:tok@telegram":                                                          "telegram://…",
		"k/ey and k%2Fey of smtp://ada:p%40ss+w@mail.example.org:587/?from=x@y.z&key=k%2Fey": "••• and ••• of smtp://mail.example.org:587",
	} {
		if got := s.Scrub(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got := NewSecret("smtp://ada:x@h/", "").Scrub("the password x is wrong"); strings.Contains(got, "x is wrong") {
		t.Errorf("a short password shows: %q", got)
	}
}

// Law: what can be referred to is read back as it was from the YAML that is recorded.
func TestNamedYAML(t *testing.T) {
	f := must.Get(Parse(builtin.Registry(), "lab.yaml", []byte(`
instruments: {pump: {process: [./pump, "a: b"], steps: {salt: 0.01}, capacity: 2}, "1": manual}
experts: {"true": {terminal: , answer_within: 8h}}
`)))(t)
	if text := recorded(t, f.Named); strings.Contains(text, "capacity") {
		t.Errorf("what campaign files cannot say is recorded:\n%s", text)
	}
}

// recorded is the YAML that is recorded of what can be referred to, which is read back as it was.
func recorded(t *testing.T, named Named) string {
	t.Helper()
	text := must.Get(named.YAML("  "))(t)
	if text == "" {
		return ""
	}
	root, faults := yamltree.Read([]byte("lab:\n"+text), format)
	if len(faults) > 0 {
		t.Fatalf("%v in\n%s", faults, text)
	}
	again, faults := ReadNamed(builtin.Registry(), root.Field("lab"))
	if len(faults) > 0 || !reflect.DeepEqual(again.Plain(), named.Plain()) {
		t.Errorf("%v\n%s", faults, text)
	}
	return text
}

// Law: no input makes the reader panic or never answer; it is refused whole, with words for every fault, or what it says
// can be referred to is read back as it was from the YAML that is recorded.
func FuzzParse(f *testing.F) {
	for _, path := range []string{"testdata/people.yaml", "testdata/rest.yaml", "../../../examples/lab.yaml"} {
		data := must.Get(os.ReadFile(path))(f)
		f.Add(data)
	}
	for _, data := range draws.LongKeys() {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var read *File
		var err error
		draws.Answers(t, func() { read, err = Parse(builtin.Registry(), "lab.yaml", data) })
		if err == nil {
			recorded(t, read.Named)
			return
		}
		var faults *yamltree.Error
		if !errors.As(err, &faults) || read != nil || len(faults.Faults) == 0 {
			t.Fatalf("error %T, and %v is read", err, read)
		}
		for i := range 100 {
			if faults == nil || i >= len(faults.Faults) {
				break
			}
			if faults.Faults[i].Message == "" {
				t.Errorf("a fault without words: %+v", faults.Faults[i])
			}
		}
	})
}

// Law: a file of an address is found from the lab file's folder, wherever the
// program runs; what is not an address shows nothing.
func TestSecretsBesideTheLabFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "lab.yaml")
	for name, text := range map[string]string{
		path:                          "url: https://lab.example.org\npeople: {ada: {notify: [\"file:hook\"]}}\n",
		filepath.Join(folder, "hook"): "ntfy://ntfy.example.org/ada\n",
	} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	f := must.Get(Read(builtin.Registry(), path))(t)
	if got, err := f.People["ada"].Notify[0].Reveal(); err != nil || got != "ntfy://ntfy.example.org/ada" {
		t.Errorf("the address is %q: %v", got, err)
	}
	t.Setenv("WHAT", "s3cr3t")
	for _, written := range []string{"s3cr3t", "${WHAT}", "%zz://s3cr3t"} {
		if got := NewSecret(written, "").String(); got == "" || strings.Contains(got, "s3cr3t") {
			t.Errorf("%q shows %q", written, got)
		}
	}
}

// Law: a name that cannot be read is one fault, and nobody is looked for by it.
func TestUnreadableNames(t *testing.T) {
	text := "url: https://lab.example.org\npeople: {ada: {notify: [\"ntfy://h/a\"]}}\nalarms: [\"bo\\x1b\"]\n"
	_, err := Parse(builtin.Registry(), "lab.yaml", []byte(text))
	var faults *yamltree.Error
	if !errors.As(err, &faults) || len(faults.Faults) != 1 || strings.Contains(err.Error(), "nobody of people") {
		t.Errorf("it is said: %v", err)
	}
}
