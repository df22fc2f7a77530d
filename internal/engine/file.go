package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Attach is a file that belongs to an experiment or to the campaign. Who
// records it has seen to it that the bytes of one that is kept are on the disk:
// the engine knows their digest alone.
type Attach struct {
	Experiment string `json:"experiment,omitempty"`
	events.Attachment
}

// check returns an error for a file that cannot exist.
func (a *Attach) check() error {
	if fault := a.Fault(); fault != "" {
		return invalid("%s", fault)
	}
	// A recorded address stays, and a reader of the log may follow it: `javascript:` and
	// `data:` are not places, and `file:` is a different one for each reader. Earlier versions
	// recorded any scheme.
	scheme, _, _ := strings.Cut(strings.ToLower(a.URI), ":")
	if !a.Kept() && !slices.Contains(schemes, scheme) {
		return invalid("a file elsewhere is at an address of %s, and this one begins with %q", strings.Join(schemes, " or "), scheme+":").
			With(problem.Remedy{Text: "give the address under which others can fetch it, or attach the file itself"})
	}
	return nil
}

// schemes are those of the addresses of files that people attach.
var schemes = []string{"http", "https"}

// Withdraw records that a file does not count.
type Withdraw struct {
	File   string `json:"file" doc:"Its identifier, such as f3."`
	Reason string `json:"reason" minLength:"1" maxLength:"10000"`
}

// check returns an error that names the missing part.
func (w *Withdraw) check() error {
	if strings.TrimSpace(w.Reason) == "" {
		return invalid("a file is withdrawn for a reason").With(giveReason)
	}
	return nil
}

// record attaches a file to its subject. It changes nothing that a decision reads, and is taken
// in every state.
func (a *Attach) record(c Now, _ *Request) ([]events.Payload, error) {
	if a.Experiment != "" && c.Experiment(a.Experiment) == nil {
		return nil, noExperiment(a.Experiment)
	}
	if err := CheckMeasured(c.State, a.Quantity); err != nil {
		return nil, err
	}
	return []events.Payload{&events.FileAttached{
		File: events.FileID(len(c.Files) + 1), Experiment: a.Experiment, Attachment: a.Attachment,
	}}, nil
}

// record hides a file from pages and exports; the file and its bytes stay on the record.
func (w *Withdraw) record(c Now, _ *Request) ([]events.Payload, error) {
	f := c.File(w.File)
	switch {
	case f == nil:
		return nil, notFound(w.File, "there is no file %q", w.File)
	case f.Withdrawn:
		return nil, conflict(w.File, "%s was withdrawn before", w.File)
	}
	return []events.Payload{&events.FileWithdrawn{
		File: f.ID, Experiment: f.Experiment, Reason: w.Reason,
	}}, nil
}

// filesOf returns the events for the files that came with an instrument's answer: an attachment
// for each that can be recorded, and a remark on each of the others. A file never costs a
// result.
//
// An answer can come twice, the second time after a person has settled the
// experiment: a file that the experiment has already is not attached again.
func filesOf(s *campaign.State, experiment string, o instruments.Outcome) (payloads []events.Payload) {
	remark := func(format string, args ...any) {
		text := instruments.Legible(fmt.Sprintf(format, args...), instruments.MaxCause)
		payloads = append(payloads, &events.NoteAdded{About: experiment, Text: text})
	}
	number := len(s.Files)
	had := s.FilesOf(experiment)
	for _, named := range o.Files {
		a := named.Attachment
		fault := a.Fault()
		if _, reported := given(o.Measurement, a.Quantity); !reported && CheckMeasured(s, a.Quantity) != nil {
			remark("%s is said to be a file of %q, which the campaign does not declare", a.Name, a.Quantity)
			a.Quantity = ""
		}
		switch {
		case named.Path != "":
			remark("%s, a file that the instrument named, is not kept", named.Path)
		case fault != "":
			remark("a file that the instrument named is not attached: %s", fault)
		case !slices.ContainsFunc(had, func(f campaign.File) bool { return f.Attachment == a }):
			number++
			payloads = append(payloads, &events.FileAttached{
				File: events.FileID(number), Experiment: experiment, Attachment: a,
			})
		}
	}
	for _, text := range o.Remarks {
		remark("%s", text)
	}
	return payloads
}
