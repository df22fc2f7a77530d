package forgery

import (
	"bufio"
	"bytes"
	"os"

	"github.com/campaignd/campaignd/events"
)

// Read returns the events of a history that is kept in a file, in the CloudEvents
// form, one on each line.
func Read(path string) (all []events.Event, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		e, err := events.UnmarshalCloudEvent(lines.Bytes())
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, lines.Err()
}
