package console

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/server/gate"
)

// auditLogRoutes are those of who may read everything.
func (c *Console) auditLogRoutes() []Route {
	return []Route{{"GET /trail", c.auditLog}, {"POST /trail/verify", c.verifyAuditLog}}
}

// auditLogPage is the page of the audit log.
type auditLogPage struct {
	*shell
	Entries  []accounts.Entry
	Before   uint64
	Verified string
}

// entriesAPage is how many entries of the audit log a page shows.
const entriesAPage = 100

func (c *Console) showAuditLog(w http.ResponseWriter, r *http.Request, verified string, failure error) {
	before, _ := strconv.ParseUint(r.URL.Query().Get("before"), 10, 64)
	entries, err := c.gate.Accounts().AuditLog(gate.IdentityOf(r.Context()),
		accounts.Page{Before: before, Limit: entriesAPage})
	if err != nil {
		c.Fail(w, r, err)
		return
	}
	s, status := c.after(w, r, "Audit trail", failure, "")
	page := auditLogPage{shell: s, Entries: entries, Verified: verified}
	if len(entries) == entriesAPage {
		page.Before = entries[len(entries)-1].Number
	}
	c.write(w, status, "trail", page)
}

func (c *Console) auditLog(w http.ResponseWriter, r *http.Request) { c.showAuditLog(w, r, "", nil) }

func (c *Console) verifyAuditLog(w http.ResponseWriter, r *http.Request) {
	proof, err := c.gate.Accounts().Verify(gate.IdentityOf(r.Context()))
	verified := ""
	if err == nil {
		verified = fmt.Sprintf("Each of the %d events of the lab's log is there, as it was written. Their root hash is %s.",
			proof.Entries, proof.Head)
	}
	c.showAuditLog(w, r, verified, err)
}
