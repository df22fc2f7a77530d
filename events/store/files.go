package store

import (
	"github.com/campaignd/campaignd/events/filestore"
	"github.com/campaignd/campaignd/events/pglog"
)

// OpenFiles opens the attached files of the store at an address, which need not
// be open. Files.Close releases them.
func OpenFiles(address string) (filestore.Files, error) {
	if !InDatabase(address) {
		return filestore.Of(address), nil
	}
	d, name, err := openDatabaseOf(address)
	if err != nil {
		return nil, err
	}
	return &closingFiles{d.Files(name), d}, nil
}

// closingFiles are files that have their database to themselves.
type closingFiles struct {
	*pglog.Files
	database *Database
}

// Close implements [filestore.Files].
func (c *closingFiles) Close() error { return c.database.Close() }
