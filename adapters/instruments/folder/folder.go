// Package folder is an instrument behind files: a request is written whole into one folder, and its
// result is looked for, by the identifier of its command, in another. Both may lie on a network drive:
// nothing but names, whole files and renames is relied on, and the folders are looked at again and
// again.
package folder

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/remote"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/input"
	"github.com/campaignd/campaignd/internal/ground/wholefile"
)

// New returns the instrument of a campaign. Nothing is written yet.
func New(s Settings, def definition.Campaign, env instruments.Environment) (*remote.Instrument, error) {
	d := &device{Settings: s, def: def, root: input.Path(env.Folder, s.Folder), seen: make(map[string]seen)}
	return remote.New(d, remote.Options{
		Ledger: input.Path(d.root, cmp.Or(s.Ledger, "ledger")), Durable: s.Durable, Every: time.Duration(s.Every),
		Folder: d.in(s.Results), Store: env.Store, Logf: env.Logf,
	})
}

// device is the other side of the folders.
type device struct {
	Settings
	def  definition.Campaign
	root string

	mu   sync.Mutex
	seen map[string]seen // results that are not known to be whole, by path
}

// seen is a file as it was when its last change was noticed.
type seen struct {
	size    int64
	changed time.Time // by its own clock
	since   time.Time // by ours
}

// in is a path in the folder of both sides.
func (d *device) in(parts ...string) string {
	return filepath.Join(append([]string{d.root}, parts...)...)
}

func (d *device) request(cmd instruments.Command) string {
	return d.in(d.Requests, remote.FileName(cmd.ID)+d.Request.Ending)
}

func (d *device) result(cmd instruments.Command) string {
	return d.in(d.Results, remote.FileName(cmd.ID)+d.Result.Ending)
}

// there says which folder is missing. None is made: a network drive that is not mounted would become
// a folder on this machine's disk, into which requests are written for no one.
func (d *device) there() error {
	for _, dir := range []string{d.in(d.Requests), d.in(d.Results)} {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("the folder %s is missing: mount the drive, or make the folder", dir)
		}
	}
	return nil
}

// Describe implements remote.Device.
func (d *device) Describe(context.Context) (instruments.Description, error) {
	description := d.Device.Description()
	description.Outputs = d.Result.Outputs(&d.def)
	if err := d.there(); err != nil {
		return description, fmt.Errorf("%w: %w", instruments.ErrLater, err)
	}
	return description, nil
}

// ready is where a request lies until it is handed over.
func (d *device) ready(cmd instruments.Command) string {
	return d.in(d.Requests, "."+remote.FileName(cmd.ID)+d.Request.Ending+".ready")
}

// withdrawn is where a request lies that was called off.
func (d *device) withdrawn(cmd instruments.Command) string {
	return d.in(d.Requests, "."+remote.FileName(cmd.ID)+d.Request.Ending+".withdrawn")
}

// Prepare implements remote.Device: the request is on the disk, under a name that the device does not read.
func (d *device) Prepare(_ context.Context, cmd instruments.Command) error {
	content, err := d.content(cmd)
	if err == nil {
		err = errors.Join(wholefile.Replace(d.ready(cmd), content, 0o644), remote.SyncFolder(d.in(d.Requests)))
	}
	if err != nil {
		return fmt.Errorf("the request cannot be written: %w", err)
	}
	return nil
}

// Submit implements remote.Device by one rename: a crash leaves the request ready, or handed over.
func (d *device) Submit(_ context.Context, cmd instruments.Command) (string, error) {
	if err := os.Rename(d.ready(cmd), d.request(cmd)); err != nil {
		return "", err
	}
	return "", remote.SyncFolder(d.in(d.Requests))
}

// content returns the text of a request.
func (d *device) content(cmd instruments.Command) ([]byte, error) {
	if d.Request.Columns == nil {
		text, err := json.MarshalIndent(remote.Fill(d.Request.Body, cmd), "", "  ")
		return append(text, '\n'), err
	}
	var header, row []string
	for _, c := range d.Request.Columns {
		header, row = append(header, c.Name), append(row, remote.Text(c.Value, cmd, nil))
	}
	var b bytes.Buffer
	err := csv.NewWriter(&b).WriteAll([][]string{header, row})
	return b.Bytes(), err
}

// Ask implements remote.Device. The request is looked for first: a device that takes it away after
// its result is written has written the result by then.
func (d *device) Ask(_ context.Context, cmd instruments.Command, confirmed bool) (remote.Report, error) {
	if err := d.there(); err != nil { // nothing is known of what lies there
		return remote.Report{}, err
	}
	_, err := os.Stat(d.request(cmd))
	waits := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return remote.Report{}, err
	}
	outcome, begun, err := d.read(cmd)
	report := remote.Report{Known: waits || begun || d.TakesAway && confirmed, Outcome: outcome}
	if !report.Known && err == nil {
		_, missing := os.Stat(d.ready(cmd))
		report.Ready = missing == nil
	}
	return report, err
}

// read reads a result; outcome is nil where it is not whole yet, and there says that a part of it is.
func (d *device) read(cmd instruments.Command) (outcome *instruments.Outcome, there bool, err error) {
	path := d.result(cmd)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if whole, err := d.whole(path, info); err != nil || !whole {
		return nil, true, err
	}
	const most = 16 << 20
	text, err := input.ReadText(path, most)
	if err != nil {
		return nil, true, err
	}
	doc, err := d.parse(text)
	if err != nil && d.Result.Marker == "" && d.Result.UnchangedFor == 0 {
		return nil, true, nil // it is being written
	}
	if err != nil {
		return unusable(string(text), err), true, nil
	}
	if d.Result.ID != "" {
		if id := remote.TextAt(doc, d.Result.ID); id != cmd.ID && id != remote.FileName(cmd.ID) {
			return unusable(doc.String(), fmt.Errorf("at %q it is of %q", d.Result.ID, id)), true, nil
		}
	}
	o := &instruments.Outcome{Status: instruments.Measured}
	if s := d.Result.State; s != nil {
		word, listed := "", false
		if o, word, listed = s.Of(doc); o == nil && !listed {
			return unusable(doc.String(), fmt.Errorf("its state %q is listed nowhere", word)), true, nil
		}
		if o == nil {
			return nil, true, nil
		}
	}
	if o.Status == instruments.Measured {
		measured := d.Result.Outcome(&d.def, doc, cmd.Parameters)
		o = &measured
	}
	o.Files, err = d.attached(cmd)
	return o, true, err
}

// unusable is the outcome of a result that cannot be read: whether anything was measured, a person
// has to find out.
func unusable(text string, why error) *instruments.Outcome {
	return &instruments.Outcome{Status: instruments.Unknown,
		Cause: instruments.Legible(fmt.Sprintf("the result cannot be used: %v; it holds %s", why, text), instruments.MaxCause/2)}
}

// whole reports whether a result is written to its end, as far as that shows without reading it.
func (d *device) whole(path string, info fs.FileInfo) (bool, error) {
	if marker := strings.TrimSuffix(path, d.Result.Ending) + d.Result.Marker; d.Result.Marker != "" {
		_, err := os.Stat(marker)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.seen[path]
	if was.size != info.Size() || !was.changed.Equal(info.ModTime()) {
		was = seen{size: info.Size(), changed: info.ModTime(), since: time.Now()}
		d.seen[path] = was
	}
	return time.Since(was.since) >= time.Duration(d.Result.UnchangedFor), nil
}

// parse reads the text of a result.
func (d *device) parse(text []byte) (remote.Document, error) {
	if !d.Result.table() {
		return remote.ParseTree(text)
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\uFEFF"))))
	r.Comma, r.TrimLeadingSpace = format.Separator(string(text)), true
	rows, err := r.ReadAll()
	if err == nil && len(rows) != 2 {
		err = fmt.Errorf("it has %d lines, and should have a header and one row", len(rows))
	}
	if err != nil {
		return nil, err
	}
	t := table{string(text), make(map[string]string)}
	for k, name := range rows[0] {
		if _, twice := t.cells[strings.TrimSpace(name)]; twice {
			return nil, fmt.Errorf("it has two columns %q", name)
		}
		t.cells[strings.TrimSpace(name)] = strings.TrimSpace(rows[1][k])
	}
	return t, nil
}

// table is a result with a header and one row.
type table struct {
	text  string
	cells map[string]string
}

func (t table) String() string { return t.text }

// At implements remote.Document. An empty cell holds nothing.
func (t table) At(column string) any {
	if cell := t.cells[column]; cell != "" {
		return cell
	}
	return nil
}

// attached are the files that belong to a result.
func (d *device) attached(cmd instruments.Command) (files []instruments.File, err error) {
	for _, pattern := range d.Result.Files {
		names, err := fs.Glob(os.DirFS(d.in(d.Results)), remote.Text(filepath.ToSlash(pattern), cmd, nil))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			// The names of e10 begin like those of e1.
			_, rest, _ := strings.Cut(name, remote.FileName(cmd.ID))
			another := rest != "" && rest[0] >= '0' && rest[0] <= '9'
			if !another && name != filepath.Base(d.result(cmd)) {
				files = append(files, instruments.File{Path: name})
			}
		}
	}
	return files, nil
}

// Stop implements remote.Device: a request that the device has not taken away is renamed, so that it
// never does. The rename fails where it has. A network drive may carry it out and say that the file is
// not there: what counts is the new name.
func (d *device) Stop(_ context.Context, cmd instruments.Command) (withdrawn bool, err error) {
	off := d.withdrawn(cmd)
	if os.Rename(d.ready(cmd), off) == nil {
		return true, nil
	}
	if !d.TakesAway {
		return false, fmt.Errorf("%w: the device does not take requests away, and may be at work on it", instruments.ErrUnstoppable)
	}
	err = os.Rename(d.request(cmd), off)
	if _, missing := os.Stat(off); missing == nil {
		return true, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("%w: the device has taken it", instruments.ErrUnstoppable)
	}
	return false, err
}
