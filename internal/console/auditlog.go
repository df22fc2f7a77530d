package console

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/server/gate"
)

// auditLogRoutes are those of who may read everything: [Console.AccountRoutes]
// asks for the permission to audit the lab.
func (c *Console) auditLogRoutes() []Route {
	return []Route{{"GET /trail", c.auditLog}, {"POST /trail/verify", c.verifyAuditLog}}
}

// auditLogPage is the page of the audit log, the newest entries first. Before
// is the number of the oldest entry shown, where older ones may follow;
// Verified what a check of the whole log has found.
type auditLogPage struct {
	*shell
	Entries  []accounts.Entry
	Before   uint64
	Verified string
}

// entriesAPage is how many entries of the audit log a page shows.
const entriesAPage = 100

// showAuditLog shows a page of entries, and what a check has found. ?before=
// goes back in time; a number that cannot be read is that of the newest page.
// Pages go by the numbers of entries and not by counting, since further ones
// come in meanwhile.
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
	c.write(w, status, drawTrail(page))
}

func (c *Console) auditLog(w http.ResponseWriter, r *http.Request) { c.showAuditLog(w, r, "", nil) }

// verifyAuditLog reads the whole of the lab's log and says what it found; it
// changes nothing. It is a POST, since it takes time with the length of the
// log, and a link that is prefetched must not cause that.
func (c *Console) verifyAuditLog(w http.ResponseWriter, r *http.Request) {
	proof, err := c.gate.Accounts().Verify(gate.IdentityOf(r.Context()))
	verified := ""
	if err == nil {
		verified = fmt.Sprintf("Each of the %d events of the lab's log is there, as it was written. Their root hash is %s.",
			proof.Entries, proof.Head)
	}
	c.showAuditLog(w, r, verified, err)
}
