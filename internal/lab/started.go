package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/campaignd/campaignd/internal/wholefile"
)

// startedFile holds the campaigns that people have started in the lab, and that
// have not ended: those with which it goes on when it is opened again.
const startedFile = "started.json"

// readStarted reads the file; none are started where it is not there.
func readStarted(path string) (map[string]bool, error) {
	started := make(map[string]bool)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return started, nil
	}
	var keys []string
	if err == nil {
		err = json.Unmarshal(text, &keys)
	}
	if err != nil {
		return nil, fmt.Errorf("which campaigns to go on with: %w", err)
	}
	for _, key := range keys {
		started[key] = true
	}
	return started, nil
}

// setStarted has a campaign gone on with after a restart, or not any more.
func (l *Lab) setStarted(key string, started bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started[key] == started {
		return nil
	}
	if started {
		l.started[key] = true
	} else {
		delete(l.started, key)
	}
	text, err := json.Marshal(slices.Sorted(maps.Keys(l.started)))
	if err != nil {
		return err
	}
	path := l.private(startedFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return wholefile.Replace(path, append(text, '\n'), 0o600)
}

func (l *Lab) isStarted(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.started[key]
}
