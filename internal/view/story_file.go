package view

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// In this file are the events of files.

func fileAttached(e events.Event, p *events.FileAttached) Entry {
	text := "attached " + AttachmentText(p.File, p.Attachment)
	if p.Experiment != "" {
		text += " to " + p.Experiment
	}
	return Entry{Who: doer(e), Text: text, Reason: p.Comment}
}

func fileWithdrawn(e events.Event, p *events.FileWithdrawn) Entry {
	text := "withdrew the file " + p.File
	if p.Experiment != "" {
		text += " of " + p.Experiment
	}
	return Entry{Who: doer(e), Text: text, Reason: p.Reason}
}

// AttachmentText names a file in a line: "f3, spectrum.csv (text/csv, 1.2 MB)".
func AttachmentText(id string, a events.Attachment) string {
	what := a.MediaType
	if a.Size > 0 {
		if what != "" {
			what += ", "
		}
		what += format.Bytes(a.Size)
	}
	text := fmt.Sprintf("%s, %s", id, a.Name)
	if what != "" {
		text += " (" + what + ")"
	}
	if !a.Kept() {
		text += ", which stays at " + a.URI
	}
	return text
}
