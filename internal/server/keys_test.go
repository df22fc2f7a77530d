package server

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/wholefile"
)

// Law: while the disk takes no keys, a request with one is refused and not carried out; with room
// again it is, with the same key and without a restart. An answer that found no room is given again, and once
// the server has ended nobody claims to know it.
func TestKeysOnAFullDisk(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "idempotency")
	full := false
	opened := func() *keys {
		k := openKeys(folder, t.Logf)
		k.replace = func(path string, content []byte, mode fs.FileMode) error {
			return wholefile.Write(path, mode, func(w io.Writer) error {
				if full { // after a part of it, as disks do
					_, err := w.Write(content[:len(content)/2])
					return errors.Join(err, &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC})
				}
				_, err := w.Write(content)
				return err
			})
		}
		return k
	}
	k := opened()
	take := func(key string) (*taken, error) { return k.take(t.Context(), "ada", "person:ada", key, "a request") }
	answer := &recorder{header: make(http.Header), status: http.StatusOK, whole: true}

	full = true
	if _, err := take("one"); problem.CodeOf(err) != problem.Unavailable {
		t.Errorf("a full disk: %v", err)
	}
	full = false
	for _, key := range []string{"one", "two"} {
		first, err := take(key)
		if err != nil || first.answer != nil {
			t.Fatalf("%s, with room again: %+v %v", key, first, err)
		}
		if key == "two" {
			full = true
		}
		if err := first.keep(answer); (err == nil) != (key == "one") {
			t.Errorf("%s: the answer: %v", key, err)
		}
		first.release(answer)
		if key == "two" {
			full = false
		}
	}
	for _, key := range []string{"one", "two"} {
		if again, err := take(key); err != nil || again.answer == nil || again.answer.Status != http.StatusOK {
			t.Errorf("%s, again: %+v %v", key, again, err)
		}
	}
	k = opened()
	if again, err := take("one"); err != nil || again.answer == nil {
		t.Errorf("one, after a restart: %+v %v", again, err)
	}
	var p *Problem
	if _, err := take("two"); !errors.As(err, &p) || p.Code != problem.Uncertain {
		t.Errorf("two, after a restart: %v", err)
	}
}
