package console

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/input"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/web/server/send"
	"github.com/campaignd/campaignd/projections/campaign"
)

const (
	// maxFormFiles is how many files a form may bring.
	maxFormFiles = 20
	// maxFormText is how much text a form with files may hold, in bytes.
	maxFormText = 1 << 20
	// maxShownTable is the size up to which a page shows the beginning of a table, in bytes: the
	// whole table is read for that, and compared with its digest.
	maxShownTable = 2 << 20
	// previewRows and previewColumns are the size of the shown part.
	previewRows, previewColumns = 12, 12
	// shownFiles is how many files the page of an experiment shows, and
	// shownTables of how many of them the beginning.
	shownFiles, shownTables = 50, 10
	// filesPerPage is how many files the list of a campaign shows at once.
	filesPerPage = 100
)

// Uploads reports whether a request is a form with files, whose body is read
// piece by piece by the page alone.
func Uploads(r *http.Request) bool {
	path, ok := strings.CutPrefix(r.URL.Path, "/campaigns/")
	_, what, _ := strings.Cut(path, "/")
	return ok && r.Method == http.MethodPost && (what == "attach" || what == "tell") && isMultipart(r)
}

func isMultipart(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data")
}

// fileView is a file as a page shows it. A picture is shown, and the beginning
// of a table; everything else is a link by which it is saved.
type fileView struct {
	campaign.File
	Of, OfPath  string // the experiment and its page
	Who, What   string
	Link        string // where its bytes are; its URI where it is a web address
	Picture     bool
	Header      []string
	Rows        [][]string
	More        bool   // the table goes on
	Unshown     string // why nothing is shown of a file that could be
	NeverLinked bool   // it stays where no browser goes
}

// filesOf returns the files of an experiment, or of the campaign where it is
// empty.
func filesOf(s *campaign.State, experiment, path string) (views []fileView) {
	for _, f := range s.FilesOf(experiment) {
		views = append(views, fileViewOf(f, path))
	}
	return views
}

// fileViewOf is a file, without the parts that must be read from it.
func fileViewOf(f campaign.File, path string) fileView {
	v := fileView{
		File: f, Of: f.Experiment, Who: events.ActorName(f.Actor),
		Link: path + "/files/" + f.ID, Picture: f.Kept() && send.IsPicture(f.MediaType),
	}
	if v.Of != "" {
		v.OfPath = path + "/experiments/" + v.Of
	}
	what := []string{f.MediaType}
	if f.Size > 0 {
		what = append(what, format.Bytes(f.Size))
	}
	v.What = strings.Trim(strings.Join(what, ", "), ", ")
	if !f.Kept() {
		v.Link = f.URI
		u, err := url.Parse(f.URI)
		v.NeverLinked = err != nil || u.Scheme != "https" && u.Scheme != "http"
	}
	return v
}

// showTables reads the beginning of the first tables among files.
func showTables(ctx context.Context, of *lab.Campaign, files []fileView) {
	shown := 0
	for i := range files {
		if files[i].showTable(ctx, of); files[i].Header != nil {
			shown++
		}
		if shown == shownTables {
			return
		}
	}
}

// showTable reads the beginning of a file that is a table. An error of it is shown, and costs
// nothing else of the page.
func (v *fileView) showTable(ctx context.Context, of *lab.Campaign) {
	comma := map[string]rune{"text/csv": ',', "text/tab-separated-values": '\t'}[v.MediaType]
	switch {
	case !v.Kept() || comma == 0:
		return
	case v.Size > maxShownTable:
		v.Unshown = "It is too large to be shown here."
		return
	}
	content, err := of.OpenFile(ctx, &v.File)
	if err != nil {
		v.Unshown = view.Sentence(err.Error())
		return
	}
	defer content.Close()
	text, err := io.ReadAll(content)
	if err != nil {
		v.Unshown = view.Sentence(err.Error())
		return
	}
	if text = input.Text(text); !utf8.Valid(text) {
		v.Unshown = "It is not text in UTF-8."
		return
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if comma == ',' && bytes.Count(line, []byte(";")) > bytes.Count(line, []byte(",")) {
		comma = ';' // as spreadsheets write it where the comma is the decimal point
	}
	in := csv.NewReader(bytes.NewReader(text))
	in.Comma = comma
	in.FieldsPerRecord = -1
	in.LazyQuotes = true
	for len(v.Rows) <= previewRows {
		row, err := in.Read()
		if err != nil {
			break // its end, or not a table: the rows read so far are shown
		}
		v.More = v.More || len(row) > previewColumns
		v.Rows = append(v.Rows, row[:min(len(row), previewColumns)])
	}
	if len(v.Rows) > previewRows {
		v.Rows, v.More = v.Rows[:previewRows], true
	}
	if len(v.Rows) > 0 {
		v.Header, v.Rows = v.Rows[0], v.Rows[1:]
	}
}

// filesPage is the list of all files of a campaign, or of an experiment.
type filesPage struct {
	*shell
	paged
	Experiment string
	Files      []fileView
}

// showFiles shows the files of a campaign, and why a request about one was
// refused. What was refused of an experiment's file is shown on its page.
func showFiles(v *visit) error {
	if v.refusal != nil && text(v.r, "experiment") != "" {
		return showExperiment(v)
	}
	p := &filesPage{shell: v.shell("Files of " + v.of.Name())}
	if v.refusal == nil {
		p.Experiment = v.r.URL.Query().Get("experiment")
	}
	p.in(v.of, pageFiles)
	var all []fileView
	v.of.Read(func(core *engine.Core) {
		files := core.State().Files
		for i := range files {
			if f := files[len(files)-1-i]; !f.Withdrawn && (p.Experiment == "" || p.Experiment == f.Experiment) {
				all = append(all, fileViewOf(f, p.Path))
			}
		}
	})
	link := func(page int) string {
		q := url.Values{"page": {strconv.Itoa(page)}}
		if p.Experiment != "" {
			q.Set("experiment", p.Experiment)
		}
		return p.Path + "/files?" + q.Encode()
	}
	var first int
	p.paged, first = pagedBy(filesPerPage, len(all), v.r, link)
	p.Files = all[first:p.To]
	return v.write(drawFiles(p))
}

// sendFile sends the bytes of a file. A page shows a picture by the same address.
func sendFile(v *visit) error {
	var f *campaign.File
	v.of.Read(func(core *engine.Core) {
		if found := core.State().File(v.r.PathValue("file")); found != nil {
			copied := *found
			f = &copied
		}
	})
	if f == nil || !f.Kept() {
		return problem.New(problem.NotFound, "%s keeps no file %q", v.of.Name(), v.r.PathValue("file"))
	}
	content, err := v.of.OpenFile(v.r.Context(), f)
	if err != nil {
		return err
	}
	defer content.Close()
	if err := send.File(v.w, f, content, true); err != nil {
		v.options.Log("the file %s of %s: %v", f.ID, v.of.Name(), err)
		panic(http.ErrAbortHandler) // the browser must not take it for the whole
	}
	return nil
}

// bringsKey is the key of the files of a form in its request's context.
type bringsKey struct{}

// brings are the files that a form brings, whose bytes are kept by then.
func brings(ctx context.Context) []engine.Attach {
	files, _ := ctx.Value(bringsKey{}).([]engine.Attach)
	return files
}

// takeForm reads a form, with its files where it has any: their bytes go to the disk as they come.
// The sender of a form with files is checked once more when the whole form has arrived, as the gate
// does with others.
func (v *visit) takeForm(permission string) error {
	if !isMultipart(v.r) {
		if err := v.r.ParseForm(); err != nil {
			return problem.New(problem.Invalid, "the form cannot be read: %w", err)
		}
		return nil
	}
	parts, err := v.r.MultipartReader()
	if err != nil {
		return problem.New(problem.Invalid, "the form cannot be read: %w", err)
	}
	fields, files, err := takeParts(v.r.Context(), v.of, parts)
	v.r.PostForm, v.r.Form = fields, fields
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return problem.New(problem.Invalid, "the files of a form have at most %s together", format.Bytes(large.Limit)).
			With(problem.Remedy{Text: "attach them one by one"})
	case err != nil:
		return err
	}
	for i := range files {
		files[i].Experiment = strings.TrimSpace(fields.Get("experiment"))
		files[i].Comment = strings.TrimSpace(fields.Get("file.comment"))
	}
	now, err := v.visitor().now()
	if err == nil {
		err = now.may(permission, v.of.Name())
	}
	if err != nil {
		return err
	}
	v.r = v.r.WithContext(context.WithValue(v.r.Context(), bringsKey{}, files))
	return nil
}

// takeParts reads the parts of a form: its fields, and its files, whose bytes are kept. An empty
// field for a file does not count as a file.
func takeParts(
	ctx context.Context, of *lab.Campaign, parts *multipart.Reader,
) (fields url.Values, files []engine.Attach, err error) {
	fields = make(url.Values)
	size := 0
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return fields, files, nil
		}
		if err != nil {
			return fields, nil, problem.New(problem.Invalid, "the form did not come whole: %w", err)
		}
		if part.FileName() == "" {
			text, err := io.ReadAll(io.LimitReader(part, maxFormText+1))
			if err != nil {
				return fields, nil, problem.New(problem.Invalid, "the form did not come whole: %w", err)
			}
			if size += len(text); size > maxFormText {
				return fields, nil, problem.New(problem.Invalid, "the form holds more text than is read")
			}
			fields.Add(part.FormName(), string(text))
			continue
		}
		if len(files) == maxFormFiles {
			return fields, nil, problem.New(problem.Invalid, "a form brings at most %d files", maxFormFiles)
		}
		name := events.FileName(part.FileName())
		kept, err := of.Keep(ctx, engine.Request{Attach: &engine.Attach{
			Attachment: events.Attachment{Name: name, MediaType: events.MediaTypeOf(name)},
		}}, part)
		if err != nil {
			return fields, nil, err
		}
		files = append(files, *kept.Attach)
	}
}

// attachBrought attaches the files that a form brings, each under an identifier
// that follows from that of the form. Those of a result belong to the
// experiment that the result is of.
func attachBrought(ctx context.Context, of *lab.Campaign, by engine.Request) error {
	for i, file := range brings(ctx) {
		r := engine.Request{Actor: by.Actor, Account: by.Account, Attach: &file}
		if by.ID != "" {
			r.ID = fmt.Sprintf("%s file %d", by.ID, i+1)
		}
		if _, err := of.Submit(ctx, r); err != nil {
			return problem.New(problem.CodeOf(err), "%s is not attached: %w", file.Name, err).
				With(problem.RemediesOf(err)...)
		}
	}
	return nil
}

// attaching makes the requests of the form that attaches files.
func attaching(r *http.Request, of *lab.Campaign, by engine.Request) error {
	if len(brings(r.Context())) == 0 {
		return problem.New(problem.Invalid, "there is no file").With(problem.Remedy{Text: "choose one"})
	}
	return attachBrought(r.Context(), of, by)
}

// toldWith attaches the files that came with a result, once that is recorded.
func toldWith(ctx context.Context, of *lab.Campaign, by engine.Request) error {
	files := brings(ctx)
	if len(files) == 0 {
		return nil
	}
	if files[0].Experiment == "" { // one's own: its identifier is in the recorded events
		stored, err := of.Recorded(ctx, by)
		if err != nil || len(stored) == 0 {
			return errors.Join(err, problem.New(problem.Internal, "the result is recorded, and its files are not attached").
				With(problem.Remedy{Text: "attach them on the page of the experiment"}))
		}
		for i := range files {
			files[i].Experiment = events.CloudEventAttributes(stored[0])["subject"]
		}
	}
	if err := attachBrought(ctx, of, by); err != nil {
		return problem.New(problem.CodeOf(err), "the result is recorded; %w", err).With(problem.RemediesOf(err)...)
	}
	return nil
}

// withdrawing reads the form that takes out a file.
func withdrawing(r *http.Request, _ *lab.Campaign) (engine.Request, error) {
	return engine.Request{Withdraw: &engine.Withdraw{File: text(r, "file"), Reason: text(r, "reason")}}, nil
}

// fileOnPage is the data that the template of a file's form needs of its page.
type fileOnPage struct {
	*shell
	Path, FilesOf string
	File          fileView
}

func fileOn(s *shell, path, of string, f fileView) fileOnPage { return fileOnPage{s, path, of, f} }

// FilesOf is the experiment whose files the page shows; empty for the
// campaign's.
func (p *filesPage) FilesOf() string { return "" }

// FilesOf is the experiment whose files the page shows.
func (p *experimentPage) FilesOf() string { return p.ID }
