package engine

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
)

// Law: what people attach by an address is at one that others can fetch; nothing is recorded
// that a reader's program would run, or look for on its own disk.
func TestAttachedAddresses(t *testing.T) {
	for uri, taken := range map[string]bool{
		"https://data.example.org/run7.h5": true, "http://data.example.org/run7.h5": true, "HTTPS://x.org/a": true,
		"javascript:alert(1)": false, "JavaScript:alert(1)": false, "data:text/html,x": false,
		"file:///etc/passwd": false, "vbscript:x": false, "s3://lab/e1.h5": false, "ftp://x.org/a": false,
	} {
		a := Attach{Attachment: events.Attachment{Name: "run7.h5", URI: uri}}
		if a.Fault() != "" {
			t.Errorf("%s can not be read any more where it is recorded: %s", uri, a.Fault())
		}
		err := a.check()
		if (err == nil) != taken || err != nil && !strings.Contains(err.Error(), "http") {
			t.Errorf("%s: %v", uri, err)
		}
	}
}
