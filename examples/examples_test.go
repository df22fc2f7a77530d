package examples_test

import (
	"bytes"
	"testing"

	"github.com/campaignd/campaignd/examples"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
)

// Law: each example of the gallery begins anywhere, under any name: its file has no fault, it
// reaches nothing beyond the campaign, what it does is simulated, and what is watched of it
// takes a while.
func TestGallery(t *testing.T) {
	reg := builtin.Registry()
	for _, e := range examples.Gallery() {
		source := e.Source("another-7")
		file, err := campaignfile.Parse(reg, e.Name, []byte(source))
		if err != nil {
			t.Errorf("%s: %v\n%s", e.Name, err, source)
			continue
		}
		def := file.Definition
		watched := def.Driver()
		if !def.Measures() {
			watched = def.Experts[0].Channel
		}
		if def.Name != "another-7" || watched.Name != "simulated" {
			t.Errorf("%s: it is called %s, and what is watched is %s", e.Name, def.Name, watched.Name)
		}
		if reaches := reg.Reaches(&def); len(reaches) > 0 {
			t.Errorf("%s reaches %v", e.Name, reaches)
		}
		if settings, err := watched.MarshalJSON(); err != nil || !bytes.Contains(settings, []byte(`"latency"`)) {
			t.Errorf("%s: %s has no latency", e.Name, settings)
		}
	}
}
