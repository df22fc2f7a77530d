package pebblelog

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var update = flag.Bool("update", false, "write the golden log and store; never change those of a release")

// goldenBatches are the events of the golden log, in batches: of two campaigns, with and
// without what an envelope may leave out, and with payloads of all sorts. The log does
// not look into payloads, so that their kinds are nobody's.
func goldenBatches() [][]events.Event {
	at := time.Date(2026, 11, 22, 9, 30, 0, 123_456_000, time.UTC)
	event := func(campaign string, data string) events.Event {
		at = at.Add(time.Minute)
		return events.Event{Campaign: campaign, Kind: "golden.recorded", Version: 1, Time: at, Data: []byte(data)}
	}
	full := event("electrolyte", `{"text":"λ = 3,5"}`)
	full.ID = "full"
	full.Version = 300
	full.Actor = "person:ada"
	full.Account = "root (uid 0)"
	full.Cause = "1"
	full.Simulated = true
	full.Trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	first := event("electrolyte", ``)
	first.Time = time.Time{}
	return [][]events.Event{
		{event("electrolyte", `{}`)},
		{full, event("electrolyte", `null`)},
		{event("größer/2", "\x00\xff")},
		{event("electrolyte", strings.Repeat(`{"conductivity": 12.345678}, `, 10)), first, event("electrolyte", `[1]`)},
		{event("größer/2", `{"n":1}`), event("größer/2", `{"n":2}`)},
		{event("electrolyte", `"the end"`)},
	}
}

// goldenText is the golden log as text: the record of each event, and the root hash.
func goldenText(t *testing.T, log *Log) string {
	t.Helper()
	var b strings.Builder
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		record := must.Get(events.AppendRecord(nil, e))(t)
		fmt.Fprintf(&b, "%d %x\n", e.Position, record)
	}
	fmt.Fprintf(&b, "root %v\n", log.durableHead().Hash)
	return b.String()
}

// Law: what a release has written stays what it is. Its events have these records and this
// root hash for ever, which others have written down; and its store opens, holds
// them, and goes on.
func TestGolden(t *testing.T) {
	const logFile, storeFile = "testdata/golden-v1.txt", "testdata/store-v1.txt"
	fsys := vfs.NewMem()
	log := mustOpen(t, fsys, Options{})
	for _, batch := range goldenBatches() {
		must.Get(log.Append(t.Context(), batch[0].Campaign, events.AnySequence, batch...))(t)
	}
	written := goldenText(t, log)
	must.Do(t, log.Close())
	if *update {
		must.Do(t, os.WriteFile(logFile, []byte(written), 0o644))
		must.Do(t, os.WriteFile(storeFile, filesText(readFiles(t, fsys)), 0o644))
	}
	want := must.Get(os.ReadFile(logFile))(t)
	if written != string(want) {
		t.Errorf("written today, the golden log is\n%s\nand was\n%s", written, want)
	}

	// The root hash is that of the records, by others' arithmetic.
	lines := strings.Split(strings.TrimSuffix(string(want), "\n"), "\n")
	records, root := lines[:len(lines)-1], lines[len(lines)-1]
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var out []tlog.Hash
		for _, i := range indexes {
			out = append(out, stored[i])
		}
		return out, nil
	})
	for i, line := range records {
		_, text, _ := strings.Cut(line, " ")
		record := must.Get(hex.DecodeString(text))(t)
		hashes := must.Get(tlog.StoredHashes(int64(i), record, reader))(t)
		stored = append(stored, hashes...)
	}
	hash, err := tlog.TreeHash(int64(len(records)), reader)
	if err != nil || "root "+hash.String() != root {
		t.Errorf("the root hash of the records is %v, %v; the golden log says %s", hash, err, root)
	}

	text := must.Get(os.ReadFile(storeFile))(t)
	log = mustOpen(t, writeFiles(t, parseFiles(t, text)), Options{MustExist: true})
	defer func() { _ = log.Close() }()
	if got := goldenText(t, log); got != string(want) {
		t.Errorf("the golden store holds\n%s\nwant\n%s", got, want)
	}
	report, err := log.Verify(t.Context())
	if err != nil || !report.Sound() {
		t.Errorf("the golden store: %+v, %v", report, err)
	}
	more, err := log.Append(t.Context(), "größer/2", 3, testEvent(1))
	if err != nil || more[0].Position != events.Position(len(records))+1 {
		t.Errorf("the golden store does not go on: %+v, %v", more, err)
	}
}

// filesText is the files of a store as text, one a line: its path, and its content in
// base64.
func filesText(files map[string][]byte) []byte {
	var b bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%s %s\n", path, base64.StdEncoding.EncodeToString(files[path]))
	}
	return b.Bytes()
}

func parseFiles(t *testing.T, text []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for line := range strings.Lines(string(text)) {
		path, content, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		data := must.Get(base64.StdEncoding.DecodeString(content))(t)
		files[path] = data
	}
	return files
}
