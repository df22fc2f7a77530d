package app

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/attest"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// folderAudited is the document of `audit FOLDER --json`.
type folderAudited struct {
	Folder string `json:"folder"`
	// Passed says that nothing speaks against any of the logs.
	Passed bool `json:"passed"`
	// Stores are the audits of the stores in the order of their names, that of
	// the lab's log last where there is one.
	Stores []*audited `json:"stores"`
}

// storesIn returns the stores of a folder in the order of their names, and the lab's log last;
// empty where the folder is a store itself.
//
// A store inside of a store is not looked for: a store's folder is its own.
func storesIn(folder string) []string {
	if lablog.Exists(folder) {
		return nil
	}
	var stores []string
	// An unreadable folder is reported by its audit as a store.
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), store.Ending) {
			stores = append(stores, filepath.Join(folder, e.Name()))
		}
	}
	if log := lablog.Dir(folder); lablog.Exists(log) {
		stores = append(stores, log)
	}
	return stores
}

// auditFolder audits every log of a folder, one after the other, and fails
// where any of them does. A checkpoint is one log's, so that --since asks for
// the store that it belongs to.
//
// One that cannot be audited ends the command with its error; one that fails the
// audit does not keep the others from theirs.
func (a *auditing) auditFolder(folder string, stores []string) error {
	if len(a.since) > 0 {
		return badInput("a checkpoint is that of one log: name the store to be compared with it, one of %s",
			format.List(stores...))
	}
	if a.campaign != "" {
		return badInput("%s holds several stores: name the one with the campaign %s", folder, a.campaign)
	}
	a.draws = new(attest.Draws)
	all := folderAudited{Folder: folder, Passed: true}
	for i, store := range stores {
		report, err := a.audit(target{store: store}, nil)
		if err != nil {
			return err
		}
		all.Stores = append(all.Stores, report)
		all.Passed = all.Passed && report.Passed()
		if a.json {
			continue
		}
		if i > 0 {
			a.printf("\n")
		}
		a.printf("%s\n", filepath.ToSlash(store))
		report.print(a.app)
	}
	if a.json {
		if err := a.printJSON(all); err != nil {
			return err
		}
	}
	if !all.Passed {
		return errReported
	}
	return nil
}
