package console

import (
	"bytes"
	"net/http"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/exchange"
)

// exportTable sends a campaign as a CSV table, made whole before it is sent:
// the campaign's events wait for it to be made, and not for the visitor to take
// it.
func (c *Console) exportTable(w http.ResponseWriter, r *http.Request) {
	of := c.find(w, r, See)
	if of == nil {
		return
	}
	var table bytes.Buffer
	var err error
	of.Read(func(core *engine.Core) { err = exchange.TableOf(core.State()).WriteCSV(&table) })
	if err != nil {
		c.fail(w, r, err)
		return
	}
	download(w, "text/csv; charset=utf-8", of.Name()+".csv")
	_, _ = w.Write(table.Bytes()) // the visitor may have gone
}

// exportLog sends all events of a campaign as CloudEvents, one a line, as they
// are read: a log may be larger than the memory should hold.
func (c *Console) exportLog(w http.ResponseWriter, r *http.Request) {
	of := c.find(w, r, See)
	if of == nil {
		return
	}
	log, err := of.Log()
	if err != nil {
		c.fail(w, r, err)
		return
	}
	download(w, "application/x-ndjson", of.Name()+".jsonl")
	all := events.ReadCampaign(r.Context(), log, of.Name(), 0)
	if err := events.WriteCloudEvents(w, all); err != nil {
		// The status is sent already. Cutting the connection is the only way left
		// to say that the file is not whole.
		c.options.Log("the events of %s: %v", of.Name(), err)
		panic(http.ErrAbortHandler)
	}
}

// download makes a browser save what follows as a file. A campaign's name holds
// nothing that would need quoting.
func download(w http.ResponseWriter, contentType, name string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}
