package console

import (
	"bytes"
	"net/http"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
)

// sendTable sends a campaign as a CSV table, made whole before it is sent:
// the campaign's events wait for it to be made, and not for the visitor to take
// it.
func sendTable(v *visit) error {
	var table bytes.Buffer
	var err error
	v.of.Read(func(core *engine.Core) { err = exchange.TableOf(core.State()).WriteCSV(&table) })
	if err != nil {
		return err
	}
	v.named(v.of.Name() + ".csv")
	return v.send("text/csv; charset=utf-8", table.Bytes())
}

// sendLog sends all events of a campaign as CloudEvents, one a line, as they
// are read: a log may be larger than the memory should hold.
func sendLog(v *visit) error {
	log, err := v.of.Log()
	if err != nil {
		return err
	}
	v.named(v.of.Name() + ".jsonl")
	v.w.Header().Set("Content-Type", "application/x-ndjson")
	all := events.ReadCampaign(v.r.Context(), log, v.of.Name(), 0)
	if err := events.WriteCloudEvents(v.w, all); err != nil {
		// The status is sent already. Cutting the connection is the only way left
		// to say that the file is not whole.
		v.options.Log("the events of %s: %v", v.of.Name(), err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// named makes a browser save the response as a file. A campaign's name holds nothing that would
// need quoting.
func (v *visit) named(file string) {
	v.w.Header().Set("Content-Disposition", `attachment; filename="`+file+`"`)
}
