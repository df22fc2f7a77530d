package console

import (
	"bytes"
	"fmt"
	"html/template"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/boombuler/barcode/qr"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/lab"
)

// runSheetPage is the run sheet of a campaign: all experiments that wait to be
// measured by hand, for the screen and for paper. Which and how it shows is in
// its address, so that a sheet can be kept as a link.
type runSheetPage struct {
	*shell
	Sheet   *exchange.RunSheet
	Options sheetOptions
	Heads   []sheetHead
	Weighed []string // parameters with an amount to weigh in
	Asked   []string // columns to be written in
	Rows    []sheetLine
	Plates  []template.HTML
	Codes   bool
	// Here is set where codes lead to this machine alone, so that no phone can
	// follow them.
	Here    bool
	Wide    bool         // it needs the paper's long side
	Query   template.URL // the options, as an address has them
	CanTell bool
	Sizes   []int
}

// sheetOptions are the options of a run sheet as they were typed.
type sheetOptions struct {
	Wells                  int
	Down, Falling, Plain   bool
	First, Batch, Sort, Of string
}

// sheetHead is the heading of a parameter, with the address of the sheet in its
// order.
type sheetHead struct{ Name, Unit, Link, Sorted string }

type sheetLine struct {
	exchange.RunSheetRow
	Place   string
	Amounts []string
	Code    template.HTML
}

// Names in the address of a run sheet.
const (
	sheetWells   = "wells"
	sheetDown    = "down"
	sheetFirst   = "first"
	sheetBatch   = "batch"
	sheetSort    = "sort"
	sheetFalling = "falling"
	sheetPlain   = "plain" // without codes
	sheetOfThese = "of"    // the experiments that are laid out
)

// sheetOptionsOf reads the options for a run sheet from an address.
func sheetOptionsOf(q url.Values) (o exchange.SheetOptions, typed sheetOptions, err error) {
	typed = sheetOptions{
		Down: q.Get(sheetDown) != "", Falling: q.Get(sheetFalling) != "", Plain: q.Get(sheetPlain) != "",
		First: strings.TrimSpace(q.Get(sheetFirst)), Batch: strings.TrimSpace(q.Get(sheetBatch)), Sort: q.Get(sheetSort),
		Of: strings.TrimSpace(q.Get(sheetOfThese)),
	}
	typed.Wells, _ = strconv.Atoi(q.Get(sheetWells))
	o = exchange.SheetOptions{
		Wells: typed.Wells, Down: typed.Down, First: typed.First, Sort: typed.Sort, Falling: typed.Falling, Of: typed.Of,
	}
	o.Batch, err = exchange.BatchSize(typed.Batch)
	return o, typed, err
}

// query writes the options for an address; defaults are left out.
func (o sheetOptions) query() url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	on := func(name string, is bool) {
		if is {
			q.Set(name, "on")
		}
	}
	if o.Wells > 0 {
		set(sheetWells, strconv.Itoa(o.Wells))
		set(sheetFirst, o.First)
		on(sheetDown, o.Down)
	}
	set(sheetBatch, o.Batch)
	set(sheetSort, o.Sort)
	on(sheetFalling, o.Falling)
	on(sheetPlain, o.Plain)
	set(sheetOfThese, o.Of)
	return q
}

// sheetOf returns the run sheet that an address asks for; where the address makes no sense, the
// sheet without options, and the error.
func sheetOf(of *lab.Campaign, q url.Values) (sheet *exchange.RunSheet, typed sheetOptions, err error) {
	o, typed, err := sheetOptionsOf(q)
	of.Read(func(core *engine.Core) {
		if err == nil {
			sheet, err = exchange.RunSheetOf(core.State(), o)
		}
		if err != nil {
			sheet, _ = exchange.RunSheetOf(core.State(), exchange.SheetOptions{}) // which has no fault
		}
	})
	return sheet, typed, err
}

// showRunSheet serves the page, and its table as a file.
func showRunSheet(v *visit) error {
	sheet, typed, err := sheetOf(v.of, v.r.URL.Query())
	if err == nil && typed.Wells > 0 && typed.Of == "" && sheet.Rows != nil {
		// What is on the plate is in its address from here on.
		typed.Of = laidOut(sheet.Rows)
		return v.redirect(address(v.of)+"/sheet?"+typed.query().Encode(), "")
	}
	p := &runSheetPage{
		shell: v.shell("Run sheet of " + v.of.Name()), Sheet: sheet, Options: typed,
		Codes: !typed.Plain, Sizes: exchange.PlateSizes(),
	}
	p.in(v.of, pageResults)
	p.CanTell = p.May(Run)
	if err != nil {
		v.refuseAnew(p.shell, err, "sheet")
	}
	p.Query = template.URL(typed.query().Encode())
	p.fill(v.home())
	return v.write(drawSheet(p))
}

// laidOut names the experiments of a sheet, as its address does.
func laidOut(rows []exchange.RunSheetRow) string {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	return events.ExperimentList(ids)
}

// sendRunSheet sends the run sheet as a table, to be filled in and brought back.
func sendRunSheet(v *visit) error {
	sheet, _, err := sheetOf(v.of, v.r.URL.Query())
	var table bytes.Buffer
	if err == nil {
		err = sheet.Table().WriteCSV(&table)
	}
	if err != nil {
		return err
	}
	v.named(v.of.Name() + "-run-sheet.csv")
	return v.send("text/csv; charset=utf-8", table.Bytes())
}

// home is the address at which people reach this server: the lab's, as its file
// says, or the one by which this visitor has come.
func (v *visit) home() string {
	if v.options.URL != "" {
		return v.options.URL
	}
	scheme := "http"
	if v.r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + v.r.Host
}

// loopback reports whether an address leads to the machine that follows it.
func loopback(home string) bool {
	u, err := url.Parse(home)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// fill writes the sheet. home is the address that codes begin with.
func (p *runSheetPage) fill(home string) {
	def := p.Sheet.Definition
	p.Here = loopback(home)
	for _, par := range def.Parameters {
		o := p.Options
		h := sheetHead{Name: par.Name, Unit: par.Unit}
		switch {
		case o.Sort == par.Name && o.Falling:
			h.Sorted = "descending"
			o.Sort = ""
			o.Falling = false
		case o.Sort == par.Name:
			h.Sorted, o.Falling = "ascending", true
		default:
			o.Sort, o.Falling = par.Name, false
		}
		h.Link = p.Path + "/sheet?" + o.query().Encode()
		p.Heads = append(p.Heads, h)
	}
	weighed := func(k int) bool { return len(p.Sheet.Rows) > 0 && p.Sheet.Rows[0].Amounts[k] != "" }
	for k, par := range def.Parameters {
		if weighed(k) {
			p.Weighed = append(p.Weighed, par.Name)
		}
	}
	for _, q := range def.Declared() {
		p.Asked = append(p.Asked, format.Heading(q.Name, q.Unit))
	}
	for _, row := range p.Sheet.Rows {
		line := sheetLine{RunSheetRow: row}
		if p.Sheet.Plate != nil {
			line.Place = p.Sheet.Place(row)
		}
		for k, text := range row.Amounts {
			if weighed(k) {
				line.Amounts = append(line.Amounts, text)
			}
		}
		if p.Codes {
			line.Code = codeOf(home+p.Path+"/results?experiment="+row.ID, "Code of "+row.ID)
		}
		p.Rows = append(p.Rows, line)
	}
	p.Wide = len(p.Heads)+len(p.Weighed)+len(p.Asked) > 6
	if p.Sheet.Plate != nil {
		for n := range p.Sheet.Plates {
			p.Plates = append(p.Plates, plateOf(p.Sheet, n+1, p.Path))
		}
	}
}

// quiet is the white around a code, in modules, as ISO/IEC 18004 requires.
const quiet = 4

// codeOf draws an address as a QR code, black on white in every theme. An address that does not fit
// has no code.
func codeOf(address, title string) template.HTML {
	code, err := qr.Encode(address, qr.M, qr.Auto)
	if err != nil {
		return ""
	}
	size := code.Bounds().Dx()
	var d strings.Builder
	dark := func(x, y int) bool {
		if x >= size {
			return false
		}
		grey, _, _, _ := code.At(x, y).RGBA()
		return grey == 0
	}
	for y := range size {
		for x := 0; x < size; x++ {
			from := x
			for dark(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&d, "M%d %dh%dv1h-%dz", from+quiet, y+quiet, x-from, x-from)
			}
		}
	}
	side := size + 2*quiet
	return template.HTML(fmt.Sprintf(
		`<svg class="scan" viewBox="0 0 %d %d" role="img" aria-label="%s" shape-rendering="crispEdges">`+
			`<path fill="#fff" d="M0 0h%dv%dh-%dz"/><path fill="#000" d="%s"/></svg>`,
		side, side, template.HTMLEscapeString(title), side, side, side, d.String()))
}

// plateOf draws a plate of a sheet, with its experiments in their wells.
func plateOf(sheet *exchange.RunSheet, number int, path string) template.HTML {
	p := sheet.Plate
	in := make(map[string]exchange.RunSheetRow)
	for _, row := range sheet.Rows {
		if row.Plate == number {
			in[row.Well] = row
		}
	}
	var rows, columns []string
	for i := range p.Rows {
		rows = append(rows, p.Row(i))
	}
	for i := range p.Columns {
		columns = append(columns, strconv.Itoa(i+1))
	}
	title := fmt.Sprintf("Plate %d of %d wells, %s", number, p.Wells(), format.Count(len(in), "experiment"))
	return drawWells(title, tray{rows, columns, p.Rows, p.Columns}, func(row, column int) well {
		x, full := in[rows[row]+columns[column]]
		if !full {
			return well{}
		}
		return well{Class: "full", Text: x.ID, Said: x.Well + ": " + x.ID, Link: path + "/experiments/" + x.ID}
	})
}

// Chosen reports whether the plate of so many wells is chosen.
func (p *runSheetPage) Chosen(wells int) bool { return p.Options.Wells == wells }
