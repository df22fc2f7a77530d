// Package table is an instrument that answers from a file of measured rows: for backtesting a
// campaign on results someone already has.
//
// The rows' compositions are the only ones it can measure, see [Instrument.Candidates]. Rows of the
// same composition are its replicates: a command's Replicate 1 gets the first of them in the file's
// order, 2 the second; a replicate beyond the last is refused.
//
// It describes itself as simulated. The rows may well be real measurements, but they are replayed:
// no physical action takes place when the campaign asks, and a log must not look as if one had.
//
// Its answer is a function of the file and the command. A command of another process was certainly
// never acted on, so that its fate is "not started" and Start is safe: the answer will be the same.
package table

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/input"
)

// Instrument answers from a table. It is also an [instruments.Recoverer] and an
// [instruments.Candidates]. Its methods are safe for concurrent use. def, points
// and rows are not changed after [New].
type Instrument struct {
	def      definition.Campaign
	sought   definition.Objective
	measured []definition.QuantityDef // what the rows hold
	name     string                   // of the file, without its folder
	identity string

	points []definition.Point // compositions, in the order of their first row
	rows   map[string][]row   // by composition, see key

	mu      sync.Mutex
	started map[string]row  // what each command of this process is answered with
	off     map[string]bool // commands that were called off before they were started
}

// row is one measured row. line is where the row begins in the file, from 1,
// which its measurement names as its source.
type row struct {
	line int
	// values are those of the quantities that are there, in the order of the
	// definition.
	values []definition.Quantity
}

// value is that of the objective; ok is false where it is missing.
func (i *Instrument) value(p definition.Point, r row) (value float64, ok bool) {
	m := i.measurement(p, r)
	q, ok := computed.Value(&i.def, &m)
	return q.Value, ok
}

// measurement is the answer from a row, as the campaign reads it.
func (i *Instrument) measurement(p definition.Point, r row) events.Measurement {
	return instruments.Arranged(&i.def, events.Measurement{Actual: p, Quantities: r.values})
}

// keeps reports whether a row is known to keep the constraints on outcomes. A constraint relative
// to a reference never counts as kept: the expected value there comes from a model.
func (i *Instrument) keeps(p definition.Point, r row) bool {
	m := i.measurement(p, r)
	broken := func(c definition.OutcomeConstraint) bool {
		kept, known := computed.Kept(&i.def, c, &m, nil)
		return !kept || !known
	}
	return !slices.ContainsFunc(i.def.ConstraintsOnOutcomes, broken)
}

// MaxSize is how large a table may be, in bytes. Far more rows than a list of
// candidates can be searched through for each decision; it bounds the memory of
// a mistyped path.
const MaxSize = 64 << 20

// New reads the file that cfg names; a relative path is taken from baseDir, the
// folder of the campaign file. Reading is strict: a row that is not understood
// is an error, with file and line, and never left out. identity holds the first
// six bytes of the file's hash: a log then shows whether two runs replayed the
// same rows.
func New(cfg Settings, def definition.Campaign, baseDir string) (*Instrument, error) {
	path := input.Path(baseDir, cfg.File)
	data, err := input.Read(path, MaxSize)
	if err != nil {
		return nil, fmt.Errorf("the table: %w", err)
	}
	i := &Instrument{
		def:      def,
		sought:   def.Sought(),
		measured: def.Declared(),
		name:     filepath.Base(path),
		identity: fmt.Sprintf("%s, SHA-256 %.6x…", filepath.Base(path), sha256.Sum256(data)),
		rows:     make(map[string][]row),
		started:  make(map[string]row),
		off:      make(map[string]bool),
	}
	if err := i.read(path, string(input.Text(data)), cfg.Columns); err != nil {
		return nil, fmt.Errorf("the table: %w", err)
	}
	return i, nil
}

// Candidates implements instruments.Candidates: every composition of the table
// once, in the file's order. Copies, which the caller may change.
func (i *Instrument) Candidates(ctx context.Context) ([]definition.Point, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	points := make([]definition.Point, len(i.points))
	for k, p := range i.points {
		points[k] = maps.Clone(p)
	}
	return points, nil
}

// Replicates returns how often the table holds the composition p.
func (i *Instrument) Replicates(p definition.Point) int {
	k, err := i.key(p)
	if err != nil {
		return 0
	}
	return len(i.rows[k])
}

// Row is a row of the table: a composition with its measured value, in the
// objective's unit.
type Row struct {
	Point definition.Point
	Value float64
	// Keeps says that the row is known to keep the constraints on outcomes.
	Keeps bool
}

// Rows returns every row: the compositions in the order of [Instrument.Candidates], the rows of
// each in the file's order. A row without the objective is left out.
func (i *Instrument) Rows() []Row {
	var list []Row
	for _, p := range i.points {
		k, _ := i.key(p) // it was read with one
		for _, r := range i.rows[k] {
			if value, ok := i.value(p, r); ok {
				list = append(list, Row{Point: maps.Clone(p), Value: value, Keeps: i.keeps(p, r)})
			}
		}
	}
	return list
}

// Measurements returns every row as the campaign reads it, in the order of
// [Instrument.Rows], none left out.
func (i *Instrument) Measurements() []events.Measurement {
	var list []events.Measurement
	for _, p := range i.points {
		k, _ := i.key(p) // it was read with one
		for _, r := range i.rows[k] {
			list = append(list, i.measurement(maps.Clone(p), r))
		}
	}
	return list
}

// Means returns the mean of each quantity over the rows that hold the composition p, as one
// measurement; a quantity that none of them has is not in it. A composition that the table does not
// hold is an error. Like [Instrument.Mean] it stands for the truth.
func (i *Instrument) Means(p definition.Point) (events.Measurement, error) {
	k, err := i.key(p)
	if err != nil {
		return events.Measurement{}, err
	}
	rows := i.rows[k]
	if len(rows) == 0 {
		return events.Measurement{}, fmt.Errorf("%s holds no row with %s", i.name, i.format(p))
	}
	means := row{}
	for _, q := range i.measured {
		sum, n := 0.0, 0
		for _, r := range rows {
			m := i.measurement(p, r)
			if value, ok := m.Of(q.Name); ok {
				sum += value.Value
				n++
			}
		}
		if n > 0 {
			means.values = append(means.values,
				definition.Quantity{Name: q.Name, Value: sum / float64(n), Unit: q.Unit})
		}
	}
	return i.measurement(p, means), nil
}

// Mean returns the mean of the rows that hold the composition p, in the
// objective's unit. A composition that the table does not hold is an error. A
// study takes it for the true value. Added up in the order of the file, so that
// its bits are the same in each run.
func (i *Instrument) Mean(p definition.Point) (float64, error) {
	k, err := i.key(p)
	if err != nil {
		return math.NaN(), err
	}
	rows := i.rows[k]
	if len(rows) == 0 {
		return math.NaN(), fmt.Errorf("%s holds no row with %s", i.name, i.format(p))
	}
	sum, n := 0.0, 0
	for _, r := range rows {
		if value, ok := i.value(p, r); ok {
			sum += value
			n++
		}
	}
	if n == 0 {
		return math.NaN(), fmt.Errorf("%s holds no %s of %s", i.name, i.sought.Name, i.format(p))
	}
	return sum / float64(n), nil
}

// Describe implements instruments.Instrument. Units are the campaign's: a CSV
// file has none. No limits are given: the rows are the limits.
func (i *Instrument) Describe(ctx context.Context) (instruments.Description, error) {
	if err := ctx.Err(); err != nil {
		return instruments.Description{}, err
	}
	d := instruments.Description{
		Name:      "table/" + i.name,
		Identity:  i.identity,
		Capacity:  1,
		Simulated: true,
	}
	for _, q := range i.measured {
		d.Outputs = append(d.Outputs, instruments.OutputSpec{Name: q.Name, Unit: q.Unit})
	}
	for _, p := range i.def.Parameters {
		s := instruments.ParameterSpec{Name: p.Name, Unit: p.Unit}
		for _, c := range p.Categories {
			s.Categories = append(s.Categories, c.Name)
		}
		d.Parameters = append(d.Parameters, s)
	}
	return d, nil
}

// Start implements instruments.Instrument. It refuses a composition or a
// replicate that the table does not hold. The same command again is accepted,
// and not answered with another row.
func (i *Instrument) Start(ctx context.Context, cmd instruments.Command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r, err := i.find(cmd)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if before, ok := i.started[cmd.ID]; ok && before.line != r.line {
		return fmt.Errorf("%w: command %s was started with another composition",
			instruments.ErrRefused, cmd.ID)
	}
	if !i.off[cmd.ID] {
		i.started[cmd.ID] = r
	}
	return nil
}

// Await implements instruments.Instrument. It answers at once. The composition is the requested
// one; the standard deviation of a single row is not known.
func (i *Instrument) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return instruments.Outcome{}, err
	}
	r, off, ok := i.answer(cmd)
	switch {
	case off:
		cause := "called off before it was started"
		return instruments.Outcome{Status: instruments.Cancelled, Cause: cause}, nil
	case !ok:
		return instruments.Outcome{}, fmt.Errorf("%w: %s", instruments.ErrNotStarted, cmd.ID)
	}
	m := instruments.Arranged(&i.def, events.Measurement{
		Actual:     maps.Clone(cmd.Parameters),
		Identity:   fmt.Sprintf("%s, line %d", i.identity, r.line),
		Quantities: r.values,
	})
	return instruments.Outcome{Status: instruments.Measured, Measurement: &m}, nil
}

// Voids implements instruments.Voider.
func (i *Instrument) Voids() bool { return true }

// Cancel implements instruments.Instrument. A command that was started has ended
// by then; one that was not is answered as cancelled from now on.
func (i *Instrument) Cancel(ctx context.Context, cmd instruments.Command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, ok := i.started[cmd.ID]; !ok {
		i.off[cmd.ID] = true
	}
	return nil
}

// Recover implements instruments.Recoverer. "Not started" is certain of any
// other process's command, since this one answers from a file and keeps
// nothing.
func (i *Instrument) Recover(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if _, off, ok := i.answer(cmd); !ok && !off {
		return instruments.FateNotStarted, nil
	}
	return instruments.FateFinished, nil
}

// answer is the row that a command was started with, or that it was called off
// before.
func (i *Instrument) answer(cmd instruments.Command) (r row, off, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	r, ok = i.started[cmd.ID]
	return r, i.off[cmd.ID], ok
}

// find returns the row that answers cmd. The error wraps ErrRefused. All
// refusals are permanent, for the file does not change; that a further
// replicate is missing is said as ErrOnce, since the composition itself can be
// had.
func (i *Instrument) find(cmd instruments.Command) (row, error) {
	k, err := i.key(cmd.Parameters)
	if err != nil {
		return row{}, fmt.Errorf("%w: %w (%w)", instruments.ErrRefused, err, instruments.ErrPermanent)
	}
	rows := i.rows[k]
	switch {
	case len(rows) == 0:
		return row{}, fmt.Errorf("%w: %s holds no row with %s (%w)",
			instruments.ErrRefused, i.name, i.format(cmd.Parameters), instruments.ErrPermanent)
	case cmd.Replicate > len(rows):
		return row{}, fmt.Errorf("%w: %s holds %d rows with %s and was asked for the one numbered %d: %w (%w)",
			instruments.ErrRefused, i.name, len(rows), i.format(cmd.Parameters), cmd.Replicate,
			instruments.ErrOnce, instruments.ErrPermanent)
	case cmd.Replicate < 1:
		return row{}, fmt.Errorf("%w: %s holds %d rows with %s and was asked for the one numbered %d (%w)",
			instruments.ErrRefused, i.name, len(rows), i.format(cmd.Parameters), cmd.Replicate,
			instruments.ErrPermanent)
	}
	return rows[cmd.Replicate-1], nil
}

// key gives equal compositions equal strings. Compositions come from the table
// itself, through JSON at most, which keeps every bit of a number. Numbers are
// written in hexadecimal, which has one form for each float64. Values are ended
// by a zero byte and not joined by a character that a category may contain.
func (i *Instrument) key(p definition.Point) (string, error) {
	if len(p) != len(i.def.Parameters) {
		return "", fmt.Errorf("the composition has %d values, the campaign %d parameters",
			len(p), len(i.def.Parameters))
	}
	var b strings.Builder
	for _, par := range i.def.Parameters {
		v, ok := p[par.Name]
		if !ok {
			return "", fmt.Errorf("the composition lacks %s", par.Name)
		}
		if x, number := v.Float(); number {
			fmt.Fprintf(&b, "%x\x00", x+0) // + 0 turns −0 into 0
		} else {
			fmt.Fprintf(&b, "%q\x00", v.Name())
		}
	}
	return b.String(), nil
}

// format writes a composition for a message, in the campaign's order.
func (i *Instrument) format(p definition.Point) string {
	var parts []string
	for _, par := range i.def.Parameters {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s = %v %s",
			par.Name, p[par.Name], par.Unit)))
	}
	return strings.Join(parts, ", ")
}
