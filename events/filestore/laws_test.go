package filestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/filestore"
	"github.com/campaignd/campaignd/events/filestore/filestoretest"
)

// The files in a folder keep the laws.
func TestLaws(t *testing.T) {
	filestoretest.Run(t, func(t testing.TB) filestoretest.Subject {
		folder := t.TempDir()
		return filestoretest.Subject{
			Files:   filestore.Of(folder),
			Another: func() filestore.Files { return filestore.Of(folder) },
			Overwrite: func(digest string, content []byte) {
				t.Helper()
				hash := events.HashIn(digest)
				path := filepath.Join(folder, filestore.Folder, hash[:2], hash)
				err := os.Remove(path)
				if content != nil {
					err = errors.Join(err, os.WriteFile(path, content, 0o600))
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			Pieces: 256 << 10,
		}
	})
}
