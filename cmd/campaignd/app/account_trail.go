package app

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/lab/accounts"
)

// accountTrail prints the audit log, or with --verify proves the whole log of the lab, which holds
// other streams too. The two are one command, since a person who reads the audit log wants to know
// whether it can be believed. Without --last the whole log is printed, the form in which it is
// handed to an auditor.
var accountTrail = command{
	name: "trail",
	args: cobra.NoArgs,
	new: func(flags *pflag.FlagSet) runner {
		last := flags.Int("last", 0, "only the newest `entries`")
		verify := flags.Bool("verify", false, "check all of it instead")
		return func(c *call, _ []string) error {
			if *last < 0 {
				return badInput("--last %d: a number of entries is above 0", *last)
			}
			if *verify {
				r, err := c.accounts(accounts.Request{VerifyTrail: true})
				if err != nil {
					return err
				}
				return c.present(r.Proof, func() {
					c.printf("The lab's log is sound: %s, with the root hash %s.\n",
						format.Count(int(r.Proof.Entries), "event"), r.Proof.Head)
				})
			}
			entries, err := c.trail(*last)
			if err != nil {
				return err
			}
			return c.present(map[string]any{"entries": entries}, func() {
				for _, e := range entries {
					c.printf("%6d  %s  %s\n", e.Number, moment(e.Time), e)
				}
			})
		}
	},
}

// trail reads the audit log, the oldest entry first: the whole of it, or the last entries. It reads
// pages from the newest entry back, so that the last ones of a long log are found without reading
// the others. Entries that come while it reads are not in it, since each page ends before the one
// before.
func (c *call) trail(last int) ([]accounts.Entry, error) {
	const page = 1000
	entries := []accounts.Entry{}
	for before := uint64(0); last == 0 || len(entries) < last; {
		limit := page
		if last > 0 {
			limit = min(page, last-len(entries))
		}
		r, err := c.accounts(accounts.Request{Trail: &accounts.Page{Before: before, Limit: limit}})
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
