package simulate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/adapters/instruments/table"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/input"
	"github.com/campaignd/campaignd/internal/study/studyfile"
)

// table is a task given by the rows of a CSV file. The definition of the first arm serves to read
// the rows, since all arms have its parameters and objective.
//
// With a surrogate the instrument's section names a program that does not exist: it only has to
// allow any composition, and the surrogate is opened in its place.
func (t *Task) table(ctx context.Context, file *studyfile.File, source *studyfile.Task) error {
	instrument, faults := source.TableInstrument()
	if faults != nil {
		return file.NewError(faults)
	}
	path, err := filepath.Abs(file.Resolve(source.Table))
	if err != nil {
		return err
	}
	instrument.File = path
	t.given = yamltree.Mapping()
	driver := table.Choose(instrument)
	if source.Surrogate != nil { // takes the place of the table
		driver = process.Choose(process.Settings{Command: []string{fromSurrogate}})
	}
	if err := t.give("instrument", definition.Instrument{Driver: driver}); err != nil {
		return err
	}
	def, faults := file.Definition(source, &file.Arms[0], t.given) // parameters and objective are those of every arm
	if faults != nil {
		return file.NewError(faults)
	}
	if source.Surrogate != nil {
		return t.everywhere(ctx, def, instrument, source)
	}
	return t.rows(ctx, def, instrument, "")
}

// rows makes a table the task's truth: the noiseless value of a composition is
// the mean of its rows.
//
// The path is made absolute, since it becomes part of each campaign's
// definition, and a worker has no folder to start from.
func (t *Task) rows(ctx context.Context, def definition.Campaign, cfg table.Settings, base string) error {
	if !filepath.IsAbs(cfg.File) {
		file, err := filepath.Abs(filepath.Join(base, cfg.File))
		if err != nil {
			return err
		}
		cfg.File = file
		in := def.Instrument
		in.Draws = nil
		in.Driver = table.Choose(cfg)
		if err := t.give("instrument", in); err != nil {
			return err
		}
	}
	rows, err := t.read(def, cfg)
	if err != nil {
		return err
	}
	if t.candidates, err = rows.Candidates(ctx); err != nil {
		return err
	}
	if t.Truth, err = ofRows(ctx, def, rows, t.candidates); err != nil {
		return err
	}
	count := len(rows.Rows())
	if t.Truth.quantities != nil {
		count = len(rows.Measurements())
	}
	t.About = fmt.Sprintf("The %d rows of %s answer, and nothing else can be measured. %s",
		count, filepath.Base(cfg.File), t.Truth.words("the best row"))
	t.Instrument = func(def definition.Campaign) (instruments.Instrument,
		error) {
		return table.New(cfg, def, "")
	}
	t.reviewers = t.Truth.knowing
	return nil
}

// ofRows is the truth of a table. For one value it is the mean of each composition's rows; with
// bounded outcomes or a trade-off, the mean of each quantity.
func ofRows(
	ctx context.Context, def definition.Campaign, rows *table.Instrument, candidates []definition.Point,
) (Truth, error) {
	if def.SeveralMatter() {
		def.Candidates = candidates
		return truthOf(def, rows.Means, 0)
	}
	knows, err := humansim.KnowledgeOf(ctx, rows, def.Sought())
	if err != nil {
		return Truth{}, err
	}
	truth := Truth{Value: knows.Value, Sought: knows.Sought, Best: knows.Best, Worst: knows.Worst}
	for _, p := range candidates {
		if v, err := rows.Mean(p); err == nil && v == knows.Best {
			truth.BestAt = p
			break
		}
	}
	return truth, nil
}

// read reads the table of a task. The digest is that of the file's bytes:
// another file under the same name gives other keys.
func (t *Task) read(def definition.Campaign, cfg table.Settings) (*table.Instrument, error) {
	data, err := input.Read(cfg.File, table.MaxSize)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	t.Kind = Table
	t.digest = "table " + hex.EncodeToString(sum[:])
	return table.New(cfg, def, "")
}
