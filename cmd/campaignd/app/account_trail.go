package app

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/format"
)

// accountTrail is `campaignd account trail`. --verify proves the whole log of
// the lab, which holds other streams too.
//
// The two are one command, since a person who reads the audit log wants to know
// whether it can be believed. Without --last all of it is printed: it is the
// form in which it is handed to an auditor.
func (a *app) accountTrail(ask asker) *cobra.Command {
	var last int
	var verify bool
	cmd := &cobra.Command{
		Use:   "trail",
		Short: "The audit log: every login, failure, refusal, grant and change, and proof that none was altered",
		Long: `The audit log: the accounts' events in the lab's log, .campaignd/lab. They are the
leaves of a Merkle tree, as those of a campaign are, so that --verify finds whatever
was changed. It prints the number of events and their root hash: kept elsewhere, as
` + "`campaignd checkpoint`" + ` of the lab's log does, they also show whether all of it was
replaced.`,
		Example: `  campaignd account trail --last 20
  campaignd account trail --json > trail.json
  campaignd account trail --verify`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if last < 0 {
				return badInput("--last %d: a number of entries is above 0", last)
			}
			if verify {
				r, err := ask(cmd, accounts.Request{VerifyTrail: true})
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(r.Proof)
				}
				a.printf("The lab's log is sound: %s, with the root hash %s.\n",
					format.Count(int(r.Proof.Entries), "event"), r.Proof.Head)
				return nil
			}
			entries, err := a.trail(cmd, ask, last)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"entries": entries})
			}
			for _, e := range entries {
				a.printf("%6d  %s  %s\n", e.Number, e.Time.Local().Format(time.DateTime), e)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&last, "last", 0, "only the newest `entries`")
	cmd.Flags().BoolVar(&verify, "verify", false, "check all of it instead")
	return cmd
}

// trail reads the audit log, the oldest entry first: all of it, or the last
// entries. It reads pages from the newest entry back, so that the last ones of
// a long log are found without reading the others. Entries that come while it
// reads are not in it, since each page ends before the one before.
func (a *app) trail(cmd *cobra.Command, ask asker, last int) ([]accounts.Entry, error) {
	const page = 1000
	entries := []accounts.Entry{}
	for before := uint64(0); last == 0 || len(entries) < last; {
		limit := page
		if last > 0 {
			limit = min(page, last-len(entries))
		}
		r, err := ask(cmd, accounts.Request{Trail: &accounts.Page{Before: before, Limit: limit}})
		if err != nil {
			return nil, err
		}
		entries = append(entries, r.Entries...)
		// A page that is not full is the last one.
		if len(r.Entries) < limit {
			break
		}
		before = r.Entries[len(r.Entries)-1].Number
	}
	slices.Reverse(entries)
	return entries, nil
}
