package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/wholefile"
)

// Before they were events of the lab's log, the campaigns to go on with were in
// a file. It is taken over when the lab is opened first: each becomes an event,
// unless it is one already, and the file is kept under another name. A note in
// its place keeps a campaignd of that time from going on with none of them
// without a word.

// startedFile held the campaigns that people had started, as JSON: each the path
// of its store, "#" and its name.
const startedFile = "started.json"

// startedNote is what the file says once it was taken over. It is no JSON.
const startedNote = "Which campaigns go on is in the lab's log, in the folder lab next to this file.\n" +
	"A campaignd from before it does not find them: use a newer one.\n"

// takeOverStarted makes events of the file of an earlier version, if there is
// one. It may be interrupted anywhere: what is an event already is left alone,
// and the file stays until all are.
func (l *Lab) takeOverStarted() error {
	path := l.private(startedFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(text, []byte(startedNote)) {
		return nil
	}
	var keys []string
	if err == nil {
		err = json.Unmarshal(text, &keys)
	}
	if err != nil {
		return fmt.Errorf("which campaigns to go on with: %w", err)
	}
	for _, key := range keys {
		at := strings.LastIndexByte(key, '#')
		if at < 0 {
			return fmt.Errorf("which campaigns to go on with: %s names no store in %q", path, key)
		}
		if err := l.custodian(events.StoreStream(key[:at])).setStarted(key[at+1:], true, ourselves); err != nil {
			return err
		}
	}
	kept := path + ".earlier"
	if err := wholefile.Replace(kept, text, 0o600); err != nil {
		return err
	}
	if err := wholefile.Replace(path, []byte(startedNote), 0o600); err != nil {
		return err
	}
	l.options.Log("The campaigns to go on with, %d, are in the lab's log now. %s is not needed any more.",
		len(keys), kept)
	return nil
}
