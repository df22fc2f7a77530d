package console

import (
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// batchPage is the page on which many results are entered at once: a row for each experiment that
// waits to be measured by hand, a column for each quantity.
//
// Valid rows are recorded, in one request; a row that is faulty or not whole stays as it was typed,
// and says why. So a slip in one row holds up none of the others, and none is recorded that a
// person did not mean: a row is one result, and is taken as the single form would take it.
type batchPage struct {
	*shell
	Query      template.URL // which order the rows have, as the address of a run sheet
	Quantities []batchQuantity
	Rows       []batchRow
	Plate      *exchange.Plate
	// Options are those of the run sheet whose order the rows have.
	Options  sheetOptions
	Recorded string       // which results were recorded just now, "" for none
	Stayed   int          // rows that something is typed into
	Gone     []batchFault // of experiments that do not wait any more
	CanTell  bool
	Several  bool // a row can lack some of its quantities
	Awaits   bool // some may come later
	WithSD   bool // standard deviations are typed
	// Expecting is set where the model expected something of a row.
	Expecting bool
	// Waits says why nothing can be entered, and Ways names the remedies.
	Waits string
	Ways  []way
}

// batchQuantity is a column of the page.
type batchQuantity struct {
	Index      int
	Name, Unit string
}

// batchRow is an experiment on the page, with its input.
type batchRow struct {
	ID, Since, Place, Line string
	Expects                string
	Cells                  []batchCell
	Outcome, Why, Remark   string
	verdict
}

// batchCell is a quantity of a row.
type batchCell struct {
	batchQuantity
	Typed, SD  string
	Wrong      bool
	SDWrong    bool
	Experiment string
}

// verdict is the judgement of a row. State is empty where nothing was typed.
type verdict struct {
	State    string       `json:"state"`
	Faults   []batchFault `json:"faults,omitempty"`
	Surprise string       `json:"surprise,omitempty"`
	tell     *engine.Tell // of a row that is right
}

// The states of a row.
const (
	rowReady  = "ready"  // it is right
	rowOpen   = "open"   // a part of it is still to be typed
	rowFaulty = "faulty" // it cannot be recorded
)

// batchFault is a fault of a row; Field is empty where it is about the row as a whole.
type batchFault struct {
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// Names of the form's fields; those of a row end with its experiment, and those
// of a quantity with its name behind that.
const (
	fieldRow      = "row"
	prefixRowIs   = "v."
	prefixRowSD   = "s."
	prefixRowEnd  = "o."
	prefixRowWhy  = "w."
	prefixRowNote = "r."
)

// Ways in which a row can end without a value for each quantity.
const (
	endFailed     = "failed"
	endInfeasible = "infeasible"
	endAgain      = "again"
	endMissing    = "missing" // an empty field has no value
	endLater      = "later"   // everything comes later
)

// recordBatch records the rows that are right, and shows the others again. A form
// that is sent twice records once, and is answered as the first time.
func recordBatch(v *visit) error {
	stored, err := recordedBefore(v.r.Context(), v.of, requested(v.r, engine.Request{}))
	if err == nil && stored == nil {
		stored, err = v.tellRows()
	}
	if err != nil {
		forgetRequest(v.r, err)
		v.refusal = err
		return showBatch(v, nil)
	}
	var taken []string
	for _, e := range stored {
		if id := events.CloudEventAttributes(e)["subject"]; events.ExperimentNumber(id) > 0 && !slices.Contains(taken, id) &&
			slices.Contains(v.r.PostForm[fieldRow], id) {
			taken = append(taken, id)
		}
	}
	v.r.PostForm.Del(fieldRequest) // the remaining rows are another request
	return showBatch(v, taken)
}

// tellRows records the valid rows of a form; without any it records nothing. Between the look at a
// row and its record another person may have taken the same: then the rows are looked at once more.
func (v *visit) tellRows() (stored []events.Event, err error) {
	for range 2 {
		var rows []engine.Tell
		verdicts := judgedRows(v.r, v.of)
		for _, id := range v.r.PostForm[fieldRow] {
			if row := verdicts[id]; row.State == rowReady {
				rows = append(rows, *row.tell)
				delete(verdicts, id)
			}
		}
		if rows == nil {
			return nil, nil
		}
		stored, err = v.of.Submit(v.r.Context(), requested(v.r, engine.Request{Results: rows}))
		if err == nil || problem.CodeOf(err) != problem.Conflict {
			break
		}
	}
	return stored, err
}

// judgedRows validates each row of a form.
func judgedRows(r *http.Request, of *lab.Campaign) map[string]verdict {
	actor := visitorOf(r.Context()).Actor()
	rows := make(map[string]verdict)
	of.Read(func(core *engine.Core) {
		for _, id := range r.PostForm[fieldRow] {
			if _, twice := rows[id]; !twice {
				rows[id] = judged(r, core, id, actor)
			}
		}
	})
	return rows
}

// judged validates a row of a form: the numbers first, then whether it is whole, and then by
// the engine.
func judged(r *http.Request, core *engine.Core, id, actor string) (v verdict) {
	end := text(r, prefixRowEnd+id)
	why := text(r, prefixRowWhy+id)
	remark := text(r, prefixRowNote+id)
	tell, empty, typed := v.numbers(r, core.State().Definition, id)
	switch {
	case !typed && end+why+remark == "":
		return v
	case v.Faults != nil:
		v.State = rowFaulty
		return v
	case end != "" && end != endLater && why == "":
		v.fault(prefixRowWhy+id, "say in a word or two why")
	case end == "" && why != "":
		v.fault(prefixRowEnd+id, "say what became of it: a reason is given, and it counts as measured")
	}
	if end == "" && len(empty) > 0 {
		v.fault("", "still without "+format.List(empty...))
	}
	if v.Faults != nil {
		v.State = rowOpen
		return v
	}
	if remark != "" {
		tell.Notes = []string{remark}
	}
	if finish, known := rowEnds[end]; known {
		finish(tell, why, empty)
		if _, err := core.Handle(engine.Request{Actor: actor, Tell: tell}); err != nil {
			v.fault("", err.Error())
		}
	} else {
		v.fault(prefixRowEnd+id, fmt.Sprintf("%q is not how an experiment ends", end))
	}
	if v.State = rowFaulty; v.Faults == nil {
		v.State, v.tell = rowReady, tell
	}
	return v
}

// rowEnds are the ways in which a row ends, with the effect of each on its result: empty are the
// quantities without a value.
var rowEnds = map[string]func(tell *engine.Tell, why string, empty []string){
	"": func(*engine.Tell, string, []string) {},
	endMissing: func(tell *engine.Tell, why string, empty []string) {
		for _, name := range empty {
			tell.Missing = append(tell.Missing, events.Missing{Name: name, Reason: why})
		}
	},
	endFailed:     func(tell *engine.Tell, why string, _ []string) { tell.Failed = why },
	endInfeasible: func(tell *engine.Tell, why string, _ []string) { tell.Infeasible = why },
	endAgain:      func(tell *engine.Tell, why string, _ []string) { tell.Again = why },
	endLater:      func(tell *engine.Tell, _ string, _ []string) { tell.Later = true },
}

// numbers reads the values of a row, and says which of them are wrong. Empty are the
// quantities that should have one and do not; typed is set where something stands there.
func (v *verdict) numbers(
	r *http.Request, def *definition.Campaign, id string,
) (tell *engine.Tell, empty []string, typed bool) {
	tell = &engine.Tell{Experiment: id}
	failed := text(r, prefixRowEnd+id) == endFailed
	for _, q := range def.Declared() {
		cell := batchCell{batchQuantity: batchQuantity{Name: q.Name}, Experiment: id}
		said, saidSD := text(r, cell.Field()), text(r, cell.FieldSD())
		value, err := exchange.OptionalNumber(q.Name, said)
		v.about(cell.Field(), err)
		sd, err := exchange.OptionalNumber("the standard deviation of "+q.Name, saidSD)
		v.about(cell.FieldSD(), err)
		typed = typed || said+saidSD != ""
		switch {
		case said == "" && saidSD != "":
			v.fault(cell.Field(), "it has a standard deviation and no value")
		case value == nil:
			if !q.Later() {
				empty = append(empty, q.Name)
			}
		case q.Name == def.Sought().Name && !def.Names() && !(def.Several() && failed):
			tell.Value, tell.SD = value, sd
		default:
			tell.Quantities = append(tell.Quantities, definition.Quantity{Name: q.Name, Value: *value, Unit: q.Unit, SD: sd})
		}
	}
	return tell, empty, typed
}

// about adds an error of a field, if there is one. The message does not name the quantity again:
// the column does.
func (v *verdict) about(field string, err error) {
	if err != nil {
		_, name, _ := strings.Cut(strings.TrimPrefix(field, prefixRowIs), ".")
		v.fault(field, strings.TrimPrefix(err.Error(), name+": "))
	}
}

func (v *verdict) fault(field, message string) {
	v.Faults = append(v.Faults, batchFault{field, message})
}

// farOff is how many standard deviations a value must be from the prediction for the page to ask
// whether it is right: a slipped decimal point is further off, and of valid values some one in ten
// thousand.
const farOff = 4

// surprise names the values of a valid row that the model had not expected.
func surprise(t *engine.Tell, def *definition.Campaign, made view.Decided) string {
	expected := made.Outcomes
	if expected == nil && made.Prediction != nil {
		expected = []events.QuantityPrediction{{Quantity: def.Sought().Name, Prediction: *made.Prediction}}
	}
	values := t.Quantities
	if t.Value != nil {
		values = append([]definition.Quantity{def.Sought().Quantity(*t.Value, nil)}, values...)
	}
	for _, q := range expected {
		for _, value := range values {
			noise := 0.0
			if declared := def.Quantity(q.Quantity); declared != nil && declared.Noise != nil {
				noise = *declared.Noise
			}
			if sd := math.Hypot(q.SD, noise); value.Name == q.Quantity && sd > 0 && math.Abs(value.Value-q.Mean) > farOff*sd {
				return fmt.Sprintf("is it %s? The model expects %s", format.Quantity(value.Value, value.Unit),
					format.PlusMinus(q.Mean, q.SD, q.Unit))
			}
		}
	}
	return ""
}

// checkBatch judges each row that something is typed into as sending it would: the page calls it
// while a person types, and it records nothing.
func checkBatch(v *visit) error {
	rows := make(map[string]verdict)
	if v.r.ParseForm() == nil {
		rows = judgedRows(v.r, v.of)
		v.surprises(rows)
	}
	return v.answer(map[string]any{"rows": rows})
}

// surprises marks the valid rows whose values were not expected.
func (v *visit) surprises(rows map[string]verdict) {
	log, err := v.of.Timeline(v.r.Context())
	if err != nil {
		return // it is a hint
	}
	v.of.Read(func(core *engine.Core) {
		for id, row := range rows {
			x := core.State().Experiment(id)
			if row.State != rowReady || x == nil {
				continue
			}
			if made, ok := log.Decision(x.Decision); ok {
				row.Surprise = surprise(row.tell, core.State().Definition, made)
				rows[id] = row
			}
		}
	})
}

// showBatch shows the page: the waiting experiments, with the input that was not recorded, and why
// not. taken are the experiments whose results were recorded just now; where no row remains, the
// visitor is sent on, so that reloading sends nothing twice.
func showBatch(v *visit, taken []string) error {
	v.action = "batch"
	p := &batchPage{shell: v.shell("Results of " + v.of.Name())}
	p.in(v.of, pageResults)
	p.CanTell = p.May(Run)
	sheet, options, err := sheetOf(v.of, v.r.URL.Query())
	p.Options = options
	p.Query = template.URL(options.query().Encode())
	p.Plate = sheet.Plate
	if err != nil && v.refusal == nil {
		v.refuse(p.shell, err, v.action)
	}
	log, err := v.of.Timeline(v.r.Context())
	if err != nil {
		return err
	}
	rows := judgedRows(v.r, v.of)
	v.surprises(rows)
	v.of.Read(func(core *engine.Core) { p.list(v.r.PostForm, core.State(), sheet, rows, log) })
	for _, id := range v.r.PostForm[fieldRow] {
		waits := slices.ContainsFunc(p.Rows, func(row batchRow) bool { return row.ID == id })
		if row := rows[id]; row.State != "" && !waits && !slices.Contains(taken, id) {
			p.Gone = append(p.Gone, batchFault{id, row.says()})
		}
	}
	status := http.StatusOK
	switch posted := v.r.Method == http.MethodPost && v.refusal == nil; {
	case posted && p.Stayed == 0 && p.Gone == nil && taken != nil:
		back := p.Path + "/batch"
		if p.Query != "" {
			back += "?" + string(p.Query)
		}
		return v.redirect(back, "toldall")
	case posted && p.Stayed == 0 && p.Gone == nil:
		v.refuse(p.shell, problem.New(problem.Invalid, "nothing is typed into the table"), v.action)
	case posted:
		status = http.StatusUnprocessableEntity
	}
	if taken != nil {
		p.Recorded = format.Count(len(taken), "result") + " recorded: " + format.List(taken...) + "."
	}
	if p.Rows == nil {
		p.Waits, p.Ways = waitsOf(v.of.Standing())
	}
	if v.refusal != nil {
		status = statusOf(v.refusal)
	}
	return v.writeAs(status, drawBatch(p))
}

// says describes the faults of a row in a line.
func (v verdict) says() string {
	texts := make([]string, len(v.Faults))
	for i, f := range v.Faults {
		texts[i] = f.Message
	}
	return strings.Join(texts, "; ")
}

// list writes the rows, in the order of a run sheet.
func (p *batchPage) list(
	form url.Values, s *campaign.State, sheet *exchange.RunSheet, rows map[string]verdict, log *view.Timeline,
) {
	def := s.Definition
	asked := def.Declared()
	p.Several, p.Awaits = len(asked) > 1, def.Awaits()
	for i, q := range asked {
		p.Quantities = append(p.Quantities, batchQuantity{i, q.Name, q.Unit})
	}
	write := format.CompositionsToMake(def)
	for _, of := range sheet.Rows {
		x := s.Experiment(of.ID)
		row := batchRow{
			ID: x.ID, Since: x.RequestedAt.UTC().Format(time.RFC3339), Line: write.LineWithUnits(x.Parameters), verdict: rows[x.ID],
			Outcome: form.Get(prefixRowEnd + x.ID), Why: form.Get(prefixRowWhy + x.ID), Remark: form.Get(prefixRowNote + x.ID),
		}
		if sheet.Plate != nil {
			row.Place = sheet.Place(of)
		}
		if made, ok := log.Decision(x.Decision); ok {
			row.Expects = foreseen(made)
		}
		p.Expecting = p.Expecting || row.Expects != ""
		for _, q := range p.Quantities {
			cell := batchCell{batchQuantity: q, Experiment: x.ID}
			cell.Typed, cell.SD = form.Get(cell.Field()), form.Get(cell.FieldSD())
			cell.Wrong, cell.SDWrong = row.wrong(cell.Field()), row.wrong(cell.FieldSD())
			p.WithSD = p.WithSD || cell.SD != ""
			row.Cells = append(row.Cells, cell)
		}
		if row.State != "" {
			p.Stayed++
		}
		p.Rows = append(p.Rows, row)
	}
}

// wrong reports whether a fault is about a field.
func (v verdict) wrong(field string) bool {
	return v.State == rowFaulty && slices.ContainsFunc(v.Faults, func(f batchFault) bool { return f.Field == field })
}

// Field and FieldSD are the names of a cell's fields.
func (c batchCell) Field() string   { return prefixRowIs + c.Experiment + "." + c.Name }
func (c batchCell) FieldSD() string { return prefixRowSD + c.Experiment + "." + c.Name }
