package console

import (
	"fmt"
	"strconv"

	"github.com/campaignd/campaignd/internal/lab/accounts"
)

// auditLogRoutes are open to people who may read everything: [Console.AccountRoutes] asks for the
// permission to audit the lab.
var auditLogRoutes = []accountRoute{
	{"GET /trail", func(v *visit) error { return showAuditLog(v, "") }},
	{"POST /trail/verify", verifyAuditLog},
}

// auditLogPage is the page of the audit log, the newest entries first. Before is the number of the
// oldest entry shown, where older ones may follow; Verified the result of a check of the whole log.
type auditLogPage struct {
	*shell
	Entries  []accounts.Entry
	Before   uint64
	Verified string
}

// entriesAPage is how many entries of the audit log a page shows.
const entriesAPage = 100

// showAuditLog shows a page of entries, and the result of a check. ?before= goes back in time; a
// number that cannot be read is that of the newest page. Pages go by the numbers of entries and not
// by counting, since further ones come in meanwhile.
func showAuditLog(v *visit, verified string) error {
	before, _ := strconv.ParseUint(v.r.URL.Query().Get("before"), 10, 64)
	entries, err := v.accounts().AuditLog(v.identity(),
		accounts.Page{Before: before, Limit: entriesAPage})
	if err != nil {
		return err
	}
	page := auditLogPage{shell: v.after("Audit trail", ""), Entries: entries, Verified: verified}
	if len(entries) == entriesAPage {
		page.Before = entries[len(entries)-1].Number
	}
	return v.write(drawTrail(page))
}

// verifyAuditLog reads the whole of the lab's log and reports its findings; it changes nothing. It
// is a POST, since it takes time with the length of the log, and a link that is prefetched must not
// cause that.
func verifyAuditLog(v *visit) error {
	proof, err := v.accounts().Verify(v.identity())
	verified := ""
	if err == nil {
		verified = fmt.Sprintf("Each of the %d events of the lab's log is there, as it was written. Their root hash is %s.",
			proof.Entries, proof.Head)
	}
	v.refusal = err
	return showAuditLog(v, verified)
}
