package campaignfile

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
)

const cells = `
name: cells
parameters: [{name: salt, unit: mol/kg, min: 0.2, max: 2}]
quantities:
  - {name: capacity_1, unit: mAh}
  - {name: capacity_100, unit: mAh, arrives: later, answer_within: 3d}
  - {name: photo, record: true, arrives: later}
objective: {maximize: OBJECTIVE}
budget: {experiments: 25}
instrument: manual
`

// Law: an explanation says of each quantity that it arrives later and until when, and what the
// campaign does meanwhile; also where it is what is sought. An amendment may change it.
func TestArrivesLaterInWords(t *testing.T) {
	parse := func(text string) File {
		t.Helper()
		file := must.Get(Parse(builtin.Registry(), "cells.yaml", []byte(text)))(t)
		return *file
	}
	first := parse(strings.Replace(cells, "OBJECTIVE", "capacity_1", 1))
	second := parse(strings.Replace(cells, "OBJECTIVE", "capacity_100", 1))
	for file, lines := range map[*File][]string{
		&first: {
			"capacity_100 (mAh): modelled; arrives later, within 3d, else it is missing",
			"photo: recorded, and not modelled; arrives later, however long that takes",
			"meanwhile    experiments go on while capacity_100 and photo of others are still to arrive",
		},
		&second: {"objective    measurement noise is inferred from the results; arrives later, within 3d, else it is missing"},
	} {
		text := Explain(t.Context(), builtin.Registry(), file.Definition)
		for _, line := range lines {
			if !strings.Contains(text, line) {
				t.Errorf("%q is not in\n%s", line, text)
			}
		}
	}
	longer := parse(strings.NewReplacer("OBJECTIVE", "capacity_1", "within: 3d", "within: 1w", ", record: true, arrives: later", ", record: true").Replace(cells))
	changes, err := Amend(builtin.Registry(), first.Definition, longer.Definition)
	if err != nil || len(changes) != 2 {
		t.Errorf("the changes are %v, %v", changes, err)
	}
}
