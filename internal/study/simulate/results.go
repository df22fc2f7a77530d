package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/campaignd/campaignd/events"
)

// Result is the result of one campaign. It holds the data of the comparison and not the log: a
// study of thousands of campaigns stays a file of megabytes.
type Result struct {
	Key  string `json:"key"`
	Task string `json:"task"`
	Arm  string `json:"arm"`
	Seed uint64 `json:"seed"`
	// Build is the program that ran it.
	Build events.Build `json:"build"`
	// Ended says why the campaign ended.
	Ended      string     `json:"ended"`
	Trajectory Trajectory `json:"course"`
	// Seconds are the times of suggesting each experiment, by the clock of the machine. Nothing
	// else depends on them.
	Seconds []float64 `json:"seconds"`

	line int // in the file that it was read from
}

// resultsFile is the name of the file of results in a study's folder, peersFile
// that of results of other programs from the same starts, whose keys are those
// of [Start] behind the arm's name and a space.
const (
	resultsFile = "results.jsonl"
	peersFile   = "peers.jsonl"
)

// Results is the append-only file of a study's results: a line of JSON for each finished campaign,
// on disk before it counts. Its methods may be called by several goroutines. Key identifies a
// campaign; of two lines with one key the later one holds.
type Results struct {
	mu   sync.Mutex
	file *os.File
	lock io.Closer
	all  map[string]*Result
	// peers are those of other programs, in their order.
	peers []*Result
}

// ErrInUse means that another process runs the study, or the same shard of the study.
var ErrInUse = errors.New("another process is running this study")

// lockError explains why a folder could not be locked. Some file systems that machines share have
// no locks at all: that does not mean another process.
func lockError(folder string, err error) error {
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK) {
		return fmt.Errorf("%s cannot be locked on this file system (%w): choose a folder on another one with --out",
			folder, err)
	}
	return fmt.Errorf("%w in %s: %w", ErrInUse, folder, err)
}

// OpenResults opens the results in a folder, which it creates if need be. A
// last line that was cut off by a crash or power failure is removed, and its
// campaign is run again. Any other line that cannot be read is an error.
//
// The lock keeps two processes from adding lines to one file; it is released by
// Close, and by the end of the process.
func OpenResults(folder string) (r *Results, err error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	lock, err := vfs.Default.Lock(filepath.Join(folder, "LOCK"))
	if err != nil {
		return nil, lockError(folder, err)
	}
	r = &Results{lock: lock, all: map[string]*Result{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	path := filepath.Join(folder, resultsFile)
	ours, whole, size, err := readResults(path)
	if err != nil {
		return r, err
	}
	for _, result := range ours {
		r.all[result.Key] = result
	}
	if r.peers, _, _, err = readResults(filepath.Join(folder, peersFile)); err != nil {
		return r, err
	}
	if r.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666); err != nil {
		return r, err
	}
	if whole < size {
		err = r.file.Truncate(int64(whole))
	}
	return r, err
}

// readResults reads the lines of a file; a missing file has none. The first whole bytes of size are
// complete lines. Only the last line can be incomplete after a crash, since each is synced before
// the next is written.
func readResults(path string) (results []*Result, whole, size int, err error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, 0, err
	}
	whole = bytes.LastIndexByte(data, '\n') + 1
	for i, line := range bytes.Split(bytes.TrimSuffix(data[:whole], []byte("\n")), []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		result := new(Result)
		if err := json.Unmarshal(line, result); err != nil || result.Key == "" {
			return nil, 0, 0, fmt.Errorf("%s:%d: this is not a result; remove the line and run the study again: "+
				"its campaign is run anew",
				path, i+1)
		}
		result.line = i + 1
		results = append(results, result)
	}
	return results, whole, len(data), nil
}

// Get returns the result of a key, or nil.
func (r *Results) Get(key string) *Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[key]
}

// Add writes results, and returns once they are on disk.
//
// A write that fails may have left half a line, on which the next one would be
// written: the caller ends the run, and the next OpenResults cuts it off.
func (r *Results) Add(results ...*Result) error {
	var lines bytes.Buffer
	for _, result := range results {
		line, err := json.Marshal(result)
		if err != nil {
			return err
		}
		lines.Write(append(line, '\n'))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.file.Write(lines.Bytes()); err != nil {
		return err
	}
	if err := r.file.Sync(); err != nil {
		return err
	}
	for _, result := range results {
		r.all[result.Key] = result
	}
	return nil
}

// Close closes the file. It may be called twice, and after an incomplete opening: OpenResults does
// so. The lock is given up last.
func (r *Results) Close() error {
	var err error
	if r.file != nil {
		err = r.file.Close()
		r.file = nil
	}
	if r.lock != nil {
		err = errors.Join(err, r.lock.Close())
		r.lock = nil
	}
	return err
}
