// Package built is campaignd as a program for tests that start and kill it, built once for a
// package: linking takes longer than most of these tests. Its TestMain ends with [Remove].
package built

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var build = sync.OnceValues(func() (program string, err error) {
	folder, err := os.MkdirTemp("", "campaignd-built")
	if err != nil {
		return "", err
	}
	remove = func() { _ = os.RemoveAll(folder) }
	program = filepath.Join(folder, "campaignd")
	out, err := exec.Command("go", "build", "-o", program, "github.com/campaignd/campaignd/cmd/campaignd").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
})

var remove = func() {}

// Program returns the path of campaignd.
func Program(t testing.TB) string {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Remove removes the program, where it was built. It is for TestMain.
func Remove() { remove() }
