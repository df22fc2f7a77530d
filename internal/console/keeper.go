package console

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/wholefile"
)

// keeper keeps texts under names, so that they outlive a process.
type keeper interface {
	// list returns all of them. unread hears of what cannot be read.
	list(unread func(name string, err error)) (map[string][]byte, error)
	// swap makes a text another one, nil where there is none, and reports
	// whether it still was what it is taken for.
	swap(name string, before, after []byte) (bool, error)
}

// folderKeeper keeps texts in files of a folder, which is this process's alone:
// whole or not at all, and readable by the server's user alone, since they say
// who answered what. Files that begin with a dot are half-written ones.
type folderKeeper string

func (f folderKeeper) list(unread func(string, error)) (map[string][]byte, error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	all := make(map[string][]byte)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(string(f), e.Name()))
		if err != nil {
			unread(e.Name(), err)
			continue
		}
		all[e.Name()] = text
	}
	return all, err
}

func (f folderKeeper) swap(name string, _, after []byte) (bool, error) {
	path := filepath.Join(string(f), name)
	if after == nil {
		err := os.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err == nil, err
	}
	err := os.MkdirAll(string(f), 0o700)
	if err == nil {
		err = wholefile.Replace(path, after, 0o600)
	}
	return err == nil, err
}

// logKeeper keeps texts as values of the lab's log, where other processes keep
// theirs as well.
type logKeeper func() (events.Store, error)

// answerKey begins the keys of those values.
const answerKey = "console/answer/"

// keepTime is how long the database may take.
const keepTime = 3 * time.Second

func (l logKeeper) list(func(string, error)) (map[string][]byte, error) {
	log, err := l()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), keepTime)
	defer cancel()
	all := make(map[string][]byte)
	for kv, err := range log.Values(ctx, answerKey) {
		if err != nil {
			return nil, err
		}
		all[strings.TrimPrefix(kv.Key, answerKey)] = kv.Value
	}
	return all, nil
}

func (l logKeeper) swap(name string, before, after []byte) (bool, error) {
	log, err := l()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), keepTime)
	defer cancel()
	return log.SwapValue(ctx, answerKey+name, before, after)
}
