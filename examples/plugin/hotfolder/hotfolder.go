// Package hotfolder is an instrument behind a folder: an order is a file that
// campaignd writes, its result another that the robot writes. Nothing is
// ordered twice.
package hotfolder

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
)

// Driver is the row of the table.
var Driver = instruments.Driver{
	Name:     "hotfolder",
	Settings: func() definition.Settings { return new(Settings) },
	Open:     open,
}

// Settings are what a campaign file says of the robot.
type Settings struct {
	// Folder that the robot watches. Default: orders, beside the campaign file.
	Folder string `json:"folder,omitempty"`
}

// Complete, Check and Words implement definition.Settings.
func (s *Settings) Complete(*definition.Campaign)                                { s.Folder = cmp.Or(s.Folder, "orders") }
func (*Settings) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }
func (s *Settings) Words(*definition.Campaign) string                            { return "the robot that watches " + s.Folder }

// robot watches a folder. An order is an instruments.Command in the file
// ID.order, its result an instruments.Outcome in ID.result. What was called off
// has a note in ID.cancel, and is not ordered any more.
type robot struct {
	folder string
	mu     *sync.Mutex // of orders and notes: one of them is first
}

func open(
	_ context.Context, def definition.Campaign, env instruments.Environment,
) (instruments.Instrument, error) {
	var s Settings
	err := def.Driver().Decode(&s)
	folder := filepath.Join(env.Folder, s.Folder)
	return robot{folder, new(sync.Mutex)}, errors.Join(err, os.MkdirAll(folder, 0o755))
}

func (r robot) path(cmd instruments.Command, ending string) string {
	return filepath.Join(r.folder, url.PathEscape(cmd.ID)+ending)
}

func (r robot) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "hotfolder", Identity: r.folder, Capacity: 1}, nil
}

// Start writes the order under another name first: the robot never reads half
// of one.
func (r robot) Start(ctx context.Context, cmd instruments.Command) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if fate, err := r.Recover(ctx, cmd); err != nil || fate != instruments.FateNotStarted {
		return err
	}
	if _, err := os.Stat(r.path(cmd, ".cancel")); err == nil {
		return fmt.Errorf("%w: it was called off before it was ordered", instruments.ErrRefused)
	}
	order, _ := json.Marshal(cmd)           // of numbers and texts: it has a JSON
	written := r.path(cmd, "."+rand.Text()) // of this call alone: several may come at once
	if err := os.WriteFile(written, order, 0o644); err != nil {
		return err
	}
	return os.Rename(written, r.path(cmd, ".order"))
}

// Await looks for the result.
func (r robot) Await(ctx context.Context, cmd instruments.Command) (outcome instruments.Outcome, err error) {
	for {
		switch fate, err := r.Recover(ctx, cmd); {
		case err != nil:
			return outcome, err
		case fate == instruments.FateNotStarted:
			return outcome, instruments.ErrNotStarted
		case fate == instruments.FateFinished:
			result, err := os.ReadFile(r.path(cmd, ".result"))
			if err == nil {
				err = json.Unmarshal(result, &outcome)
			}
			return outcome, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Voids implements instruments.Voider: the note outlives the process.
func (robot) Voids() bool { return true }

// Cancel leaves a note that the robot may read, and that Start does.
func (r robot) Cancel(_ context.Context, cmd instruments.Command) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return os.WriteFile(r.path(cmd, ".cancel"), nil, 0o644)
}

// Recover implements instruments.Recoverer: the files say what became of a
// command.
func (r robot) Recover(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
	order, err := os.ReadFile(r.path(cmd, ".order"))
	same, _ := json.Marshal(cmd)
	switch {
	case ctx.Err() != nil:
		return instruments.FateUnknown, ctx.Err()
	case errors.Is(err, fs.ErrNotExist):
		return instruments.FateNotStarted, nil
	case err == nil && !bytes.Equal(order, same):
		return instruments.FateUnknown, fmt.Errorf("%s was ordered otherwise", cmd.ID)
	}
	if _, err := os.Stat(r.path(cmd, ".result")); err == nil {
		return instruments.FateFinished, nil
	}
	return instruments.FateRunning, err
}
