package app

import (
	"errors"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/events/transfer"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// storeExported is the document of `export --to --json`.
type storeExported struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Moved is whether the store at From is only to be read from now on.
	Moved bool `json:"moved"`
	// Events and Root are those of both stores; Copied of the events were copied,
	// the others were there.
	Events int64  `json:"events"`
	Copied int64  `json:"copied"`
	Root   string `json:"root"`
	// Files counts the attached files that are there, FilesCopied those of them
	// that were copied, with FilesSize bytes. FilesFaulty have no bytes in the
	// copy, since the store has none, or others.
	Files       int            `json:"files"`
	FilesCopied int            `json:"files_copied"`
	FilesSize   int64          `json:"files_size"`
	FilesFaulty []exportedFile `json:"files_faulty,omitempty"`
}

// exportedFile is a file that is missing or altered.
type exportedFile struct {
	Campaign string `json:"campaign"`
	File     string `json:"file"`
	Name     string `json:"name"`
	State    string `json:"state"`
}

// exportStore moves a store to another address, or copies it.
func (a *exporting) exportStore(t target) error {
	to := a.to
	if t.remote {
		return badInput("--to takes a store that this machine reaches, and --server names the server %s", a.server)
	}
	if store.InDatabase(to) {
		database, name, err := store.Split(to)
		if err != nil {
			return inputError{err}
		}
		if name == "" {
			to = store.In(database, store.Name(t.store))
		}
	}
	do := transfer.Move
	if a.backup {
		do = transfer.Backup
	}
	m, err := do(a.ctx, t.store, to)
	switch {
	case errors.Is(err, transfer.ErrDiffers) && a.backup:
		return badStore("%w; the store or the backup is not what it was: `campaignd audit` looks at each, and a backup "+
			"into an empty place keeps both", err)
	case err != nil && (errors.Is(err, events.ErrMoved) || errors.Is(err, transfer.ErrDiffers)):
		return storeError{err}
	case err != nil:
		return openingFailed(t, err)
	}
	done := storeExported{
		From: t.store, To: to, Moved: !a.backup, Events: m.Head.N, Copied: m.Copied, Root: m.Head.Hash.String(),
		Files: m.Files.Copied + m.Files.Already, FilesCopied: m.Files.Copied, FilesSize: m.Files.Bytes,
	}
	for _, f := range m.Files.Faulty {
		done.FilesFaulty = append(done.FilesFaulty, exportedFile{f.Campaign, f.File, f.Name, string(f.State)})
	}
	return a.present(done, func() { a.printExported(done, m.Again) })
}

// printExported prints the places of the files now, and the next step.
func (a *exporting) printExported(done storeExported, again bool) {
	was, where := shellArg(done.From), shellArg(done.To)
	switch {
	case again:
		a.printf("%s had been moved to %s before: its %s are there.\n", done.From, done.To,
			format.Count(int(done.Events), "event"))
	case a.backup:
		a.printf("Copied %s to %s: %s; new: %d.\n", done.From, done.To, format.Count(int(done.Events), "event"), done.Copied)
	default:
		a.printf("Moved %s to %s: %s.\n", done.From, done.To, format.Count(int(done.Events), "event"))
	}
	if done.Files > 0 {
		a.printf("Attached files: %d; copied: %d, %s.\n", done.Files, done.FilesCopied, format.Bytes(done.FilesSize))
	}
	for _, f := range done.FilesFaulty {
		a.printf("NOT COPIED: %s of %s (%s) is %s in %s, too.\n", f.File, f.Campaign, f.Name, f.State, done.From)
	}
	a.printf("Both have the root hash %s; the copy was read and verified.\n", done.Root)
	if a.backup {
		a.printf("Next: `campaignd audit %s --files` makes every decision again; the same command tomorrow adds the new events.\n",
			where)
		return
	}
	a.printf("%s can still be read, and takes nothing more. Next: `campaignd status %s`.\n", was, where)
}
