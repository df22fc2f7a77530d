package lab

import "github.com/cockroachdb/pebble/v2/vfs"

// On returns the options of a lab whose stores are on a file system.
func (o Options) On(files vfs.FS) Options {
	o.files = files
	return o
}
