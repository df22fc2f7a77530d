package console

import (
	"bytes"
	"context"
	"net/http"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/files/guess"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// Fields of a new campaign that takes along the measurements of another one.
const (
	fieldFrom  = "from"
	fieldAlong = "along"
)

// fates are the fates of the rows of a table that a new campaign takes along.
type fates struct {
	New  int
	Left []leftRows
	// Wrong are the first rows that cannot be taken, More counts the others. Skipped is set
	// where they are left out.
	Wrong   []broughtRow
	More    int
	Skipped bool
	// Lacking are the quantities that decisions rest on and some of the rows do not have.
	Lacking []lacking
}

// leftRows are rows that are left out for one reason.
type leftRows struct{ Why, Rows string }

// mostWrong is how many rows that cannot be taken are shown.
const mostWrong = 20

// fatesOf sorts the rows of a preview.
func fatesOf(def *definition.Campaign, seen *exchange.Preview, skip bool) *fates {
	f := &fates{New: seen.Count(exchange.FateNew), Skipped: skip, Lacking: lackingIn(def, seen)}
	lines := make(map[string][]int)
	var order []string
	for _, row := range seen.Rows {
		switch row.Fate {
		case exchange.FateLeft:
			if lines[row.Why] == nil {
				order = append(order, row.Why)
			}
			lines[row.Why] = append(lines[row.Why], row.Line)
		case exchange.FateWrong:
			if len(f.Wrong) == mostWrong {
				f.More++
				continue
			}
			f.Wrong = append(f.Wrong, broughtRowOf(seen.Header, row))
		}
	}
	for _, why := range order {
		f.Left = append(f.Left, leftRows{why, format.RowsAt(lines[why])})
	}
	return f
}

// takenAlong reads the data that a new campaign takes along by its form: the rows of a table, or
// the measurements of another campaign. It returns the requests' rows, nil without any, and the
// table as the form holds it, also where it cannot be taken.
//
// The file is nil where it has faults. The files that it names are opened, as beginning the
// campaign does: the visitor's rights are looked at before.
func (c *Console) takenAlong(
	r *http.Request, v Visitor, file *campaignfile.File,
) (rows []engine.Tell, b *brought, err error) {
	g, b, err := c.broughtOf(r)
	if err != nil || file == nil {
		return nil, b, err
	}
	if b == nil && text(r, fieldAlong) == "" {
		return nil, nil, nil
	}
	if err := v.mayDefine(&file.Definition, nil); err != nil {
		return nil, b, err
	}
	if b != nil {
		rows, b.Fates, err = c.rowsOf(v, g, b, file)
		return rows, b, err
	}
	rows, err = c.along(r.Context(), v, text(r, fieldFrom), file)
	return rows, nil, err
}

// rowsOf are the rows of a table as the campaign of a file imports them, and the fate of each. The
// campaign is rehearsed in memory for this: a form that is refused leaves no campaign behind. Each
// fault has its line and column in the table.
func (c *Console) rowsOf(
	v Visitor, g *guess.Guess, b *brought, file *campaignfile.File,
) ([]engine.Tell, *fates, error) {
	rehearsal, err := c.rehearse(v, file)
	if err != nil {
		return nil, nil, err
	}
	im := &exchange.Import{
		Registry: c.lab.Registry(), Core: rehearsal, Actor: v.Actor(), MaxRows: maxTableRows,
		Anyway: b.WithAnyway, Words: bringWords,
	}
	table := g.Import(im, b.TableAsText)
	seen, err := im.Preview(g.Origin, strings.NewReader(table))
	if err != nil {
		return nil, nil, err
	}
	if seen.Missing != nil || len(seen.Unknown) > 0 { // the file has other columns
		return nil, nil, im.Read(g.Origin, strings.NewReader(table))
	}
	f := fatesOf(rehearsal.State().Definition, seen, b.Skip)
	if b.Skip {
		table = withoutWrong(table, seen)
	}
	if err := im.Read(g.Origin, strings.NewReader(table)); err != nil {
		return nil, f, err
	}
	return im.Rows, f, nil
}

// withoutWrong is the table without the rows that cannot be taken.
func withoutWrong(table string, seen *exchange.Preview) string {
	rows, wrong := make([]int, len(seen.Rows)), make([]bool, len(seen.Rows))
	for i, row := range seen.Rows {
		rows[i], wrong[i] = row.Line, row.Fate == exchange.FateWrong
	}
	return exchange.WithoutRows(table, rows, wrong)
}

// rehearse returns the campaign of a file as it would be once it has begun.
func (c *Console) rehearse(v Visitor, file *campaignfile.File) (*engine.Core, error) {
	defined := events.CampaignDefined{Definition: file.Definition, Source: file.Source}
	return engine.Rehearse(c.lab.Registry(), defined, v.Actor(), clock.Now())
}

// along returns the measurements of a campaign as the rows that another
// campaign imports: it exports a table and reads it as an import does, so that
// both follow the same rules. Each row gets a note that says where it comes
// from. Rows that the new campaign could not take are faults, and not left out:
// the box on the form promises all of them.
//
// The new campaign is rehearsed in memory for this, since nothing is written
// yet: a form that is refused leaves no campaign behind.
func (c *Console) along(
	ctx context.Context, v Visitor, from string, file *campaignfile.File,
) ([]engine.Tell, error) {
	of, err := c.lab.Campaign(from)
	if err == nil {
		err = v.may(See, of.Name())
	}
	if err != nil {
		return nil, err
	}
	core, err := of.Load(ctx)
	if err != nil {
		return nil, err
	}
	var table bytes.Buffer
	if err := exchange.TableOf(core.State()).WriteCSV(&table); err != nil {
		return nil, err
	}
	rehearsal, err := c.rehearse(v, file)
	if err != nil {
		return nil, err
	}
	const column = "experiment"
	im := &exchange.Import{
		Registry: c.lab.Registry(), Core: rehearsal, Actor: v.Actor(), Notes: []string{column},
		Words: bringWords,
	}
	if err := im.Read("the measurements of "+of.Name(), &table); err != nil {
		return nil, err
	}
	for i := range im.Rows {
		for k, note := range im.Rows[i].Notes {
			if id, ok := strings.CutPrefix(note, column+": "); ok {
				im.Rows[i].Notes[k] = "taken over from " + id + " of " + of.Name()
			}
		}
	}
	return im.Rows, nil
}
