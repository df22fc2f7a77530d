package lab

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/lab/board"
)

// custodian decides which process holds the stores of a lab. In a folder that is
// the process that has its lock ([folder]); in a database it is one of several that
// share the campaigns, by a lease ([cluster]).
type custodian interface {
	// join adds the stores that there are, and run those that come, until the lab
	// is closed.
	join(ctx context.Context) error
	run()
	// leave announces that this process drives nothing any more, and close lets go of
	// everything once all runs have ended.
	leave()
	close()
	// refuses returns the error that keeps events from being recorded now, and ready the one
	// that keeps this process from serving at all.
	refuses() error
	ready() error

	// address is that of a new campaign's store.
	address(campaign string) string
	// take takes a store, or connects to the process that holds it.
	take(ctx context.Context, s *member) (Store, error)
	// reading opens a log that stays open while its store changes hands; nil where
	// who holds the store is asked.
	reading(address string) (events.Store, error)
	// forwards reports whether this process forwards the events of the lab.
	forwards() bool
	// gone reports whether a store, which the lab does not know, was removed.
	gone(place string) bool

	// start has a campaign driven, and returns once it is under way, or says why it cannot be;
	// ended is called at the end of a campaign's run in a store.
	start(ctx context.Context, c *Campaign) error
	ended(store string, failed bool)
	// driver completes where a campaign stands that this process does not run.
	driver(c *Campaign, run *Running, s *Standing)
	// current waits until this process shows the events that others have recorded: of a
	// campaign, or of all if none has the name.
	current(ctx context.Context, campaign string)
	// board shows runs of a kind at all servers, nil for a single server.
	board(prefix, letter string) *board.Board
}

// folder holds the stores of a folder, each by its lock.
type folder struct{ lab *Lab }

func (f folder) join(context.Context) error {
	paths, err := f.find()
	for _, path := range paths {
		f.lab.add(path)
	}
	return err
}

// find returns the paths of the stores that there are, none with an error.
func (f folder) find() (paths []string, err error) {
	for _, path := range f.lab.options.Stores {
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	if paths != nil {
		return paths, nil
	}
	entries, err := os.ReadDir(f.lab.options.Folder)
	for _, e := range entries {
		path := filepath.Join(f.lab.options.Folder, e.Name())
		if err == nil && e.IsDir() && strings.HasSuffix(e.Name(), store.Ending) && !empty(path) {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// empty reports whether a folder holds nothing and so is not a store yet.
func empty(path string) bool {
	entries, err := os.ReadDir(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0
}

// watchEvery is the interval at which the lab looks for stores that other commands have made.
const watchEvery = 2 * time.Second

// run adds stores that appear in the folder. Stores that disappear stay members.
func (f folder) run() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-f.lab.ctx.Done():
			return
		case <-tick.C:
			_ = f.join(f.lab.ctx) // the folder may be away for a moment
		}
	}
}

func (folder) leave()                                {}
func (folder) close()                                {}
func (folder) refuses() error                        { return nil }
func (folder) ready() error                          { return nil }
func (folder) reading(string) (events.Store, error)  { return nil, nil }
func (folder) forwards() bool                        { return true }
func (folder) ended(string, bool)                    {}
func (folder) driver(*Campaign, *Running, *Standing) {}
func (folder) current(context.Context, string)       {}
func (folder) board(string, string) *board.Board     { return nil }

func (f folder) address(campaign string) string {
	if stores := f.lab.options.Stores; len(stores) > 0 {
		path, _ := filepath.Abs(stores[0])
		return path
	}
	return filepath.Join(f.lab.options.Folder, campaign+store.Ending)
}

func (folder) take(ctx context.Context, s *member) (Store, error) {
	return Take(ctx, s.path, s.localOptions())
}

// gone leaves stores of other folders, which may only be away.
func (f folder) gone(place string) bool {
	_, err := os.Lstat(filepath.Join(f.lab.options.Folder, place))
	return filepath.Base(place) == place && errors.Is(err, fs.ErrNotExist)
}

func (folder) start(ctx context.Context, c *Campaign) error {
	select {
	case err := <-c.start():
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
