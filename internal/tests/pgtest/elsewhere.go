//go:build !unix

package pgtest

import "testing"

// URL returns the address of an empty database.
func URL(t testing.TB) string {
	t.Helper()
	t.Skip("it needs Unix, to end the processes of a server")
	return ""
}
