package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/web/server/problems"
	"github.com/campaignd/campaignd/internal/web/server/send"
	"github.com/campaignd/campaignd/projections/campaign"
)

// attachInput holds a file's metadata, in the address; the body is the file. The library does not
// read it: [attachInput.Resolve] keeps the stream.
type attachInput struct {
	InCampaign
	Name       string `query:"name" required:"true" minLength:"1" maxLength:"255" doc:"What the file is called, without folders."`
	Experiment string `query:"experiment" maxLength:"40" doc:"The experiment that it belongs to; the campaign where it is absent."`
	MediaType  string `query:"media_type" maxLength:"100" doc:"What is in it, as in text/csv; by default as the ending of its name says."`
	Quantity   string `query:"quantity" maxLength:"1000" doc:"The measured quantity that it belongs to."`
	Comment    string `query:"comment" maxLength:"10000" doc:"What is said of it."`

	body io.Reader
}

// Resolve implements huma.Resolver: it takes the body as a stream.
func (in *attachInput) Resolve(hc huma.Context) []error {
	in.body = hc.BodyReader()
	return nil
}

// filesInput selects the files of a list.
type filesInput struct {
	InCampaign
	Page
	Experiment string `query:"experiment" maxLength:"40" doc:"Only those of this experiment."`
}

type filesOutput struct {
	Body struct {
		Files []campaign.File `json:"files"`
		Next  string          `json:"next,omitempty" doc:"The cursor of the next page; absent on the last one."`
	}
}

// attachedInput names a file.
type attachedInput struct {
	InCampaign
	File string `path:"file" maxLength:"40" doc:"Its identifier, such as f3."`
}

// elsewhere is a file that stays in its place.
type elsewhere struct {
	Experiment string `json:"experiment,omitempty"`
	Name       string `json:"name" minLength:"1" maxLength:"255" doc:"What it is called, without folders."`
	MediaType  string `json:"media_type,omitempty" maxLength:"100"`
	URI        string `json:"uri" minLength:"1" maxLength:"4096" doc:"Where it is."`
	Digest     string `json:"digest,omitempty" maxLength:"100" doc:"The hash of its bytes: sha256: and 64 hexadecimal digits."`
	Size       int64  `json:"size,omitempty" minimum:"0" maximum:"9007199254740991" doc:"How many bytes it has."`
	Quantity   string `json:"quantity,omitempty" maxLength:"1000"`
	Comment    string `json:"comment,omitempty" maxLength:"10000"`
}

// attachment returns the file as the log describes it.
func (e *elsewhere) attachment() events.Attachment {
	return events.Attachment{
		Name: e.Name, MediaType: cmp.Or(e.MediaType, events.MediaTypeOf(e.Name)), Digest: e.Digest, Size: e.Size,
		URI: e.URI, Quantity: e.Quantity, Comment: e.Comment,
	}
}

// files registers the operations on files. Bytes are streamed in both directions: no file is held
// in memory.
func (a *API) files() {
	attach := operation("attach-file", http.MethodPost, "/campaigns/{campaign}/files",
		"Attach a file to an experiment, or to the campaign",
		"The body is the file, of at most 50 MiB. It is kept with the campaign before it is recorded.")
	attach.RequestBody = &huma.RequestBody{
		Required: true, Description: "The bytes of the file.",
		Content: map[string]*huma.MediaType{
			"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		},
	}
	inCampaign(a, a.recording(attach), a.attachFile)
	record(a, operation("attach-uri", http.MethodPost, "/campaigns/{campaign}/attach-uri",
		"Attach a file that stays where it is",
		"It is recorded where the file is, and nothing is copied or looked at."),
		func(e *elsewhere) engine.Request {
			return engine.Request{Attach: &engine.Attach{Experiment: e.Experiment, Attachment: e.attachment()}}
		})
	record(a, operation("withdraw-file", http.MethodPost, "/campaigns/{campaign}/withdraw-file",
		"Take out a file that was attached by mistake", "That it was attached stays on the record."),
		func(w *engine.Withdraw) engine.Request { return engine.Request{Withdraw: w} })
	inCampaign(a, operation("list-files", http.MethodGet, "/campaigns/{campaign}/files", "The files of a campaign",
		"In the order in which they were attached, those that were withdrawn marked."), listFiles)
	inCampaign(a, answering(operation("get-file", http.MethodGet, "/campaigns/{campaign}/files/{file}",
		"The bytes of a file", "An answer that breaks off is of a file that was altered."),
		"application/octet-stream", "The file."), a.getFile)
}

// Uploads reports whether a request uploads a file; only the operation reads such a body, piece by
// piece.
func Uploads(r *http.Request) bool {
	path, ok := strings.CutPrefix(r.URL.Path, Base)
	return ok && uploadsTo(r.Method, path)
}

// uploadsTo is [Uploads] below the root of the API.
func uploadsTo(method, path string) bool {
	path, ok := strings.CutPrefix(path, "/campaigns/")
	_, what, _ := strings.Cut(path, "/")
	return ok && method == http.MethodPost && (what == "files" || what == "control/v1/files")
}

// attachFile stores the body and records it.
func (a *API) attachFile(ctx context.Context, c *lab.Campaign, in *attachInput) (*recordedOutput, error) {
	r := engine.Request{Attach: &engine.Attach{Experiment: in.Experiment, Attachment: events.Attachment{
		Name: in.Name, MediaType: cmp.Or(in.MediaType, events.MediaTypeOf(in.Name)),
		Quantity: in.Quantity, Comment: in.Comment,
	}}}
	r, err := a.keep(ctx, c, r, in.body)
	if err != nil {
		return nil, err
	}
	digested(ctx, r.Attach.Digest)
	return a.fulfill(ctx, c, r, nil)
}

// keep stores the bytes of a file, the body of a request, and completes the request. The permission
// is checked again at their end.
func (a *API) keep(
	ctx context.Context, c *lab.Campaign, r engine.Request, body io.Reader,
) (engine.Request, error) {
	arriving := &failingBody{Reader: a.Arriving(ctx, body, accounts.Run, c.Name())}
	r, err := c.Keep(ctx, r, arriving)
	switch {
	case arriving.err == nil || problem.CodeOf(arriving.err) != problem.Internal:
		return r, err // the fault is in the metadata, not in the body
	case err != nil:
		return r, problems.UnreadBody(arriving.err)
	}
	return r, nil
}

// failingBody remembers a read error of a body, to tell it from an error of the disk that it is
// written to.
type failingBody struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (f *failingBody) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// listFiles lists the files of a campaign.
func listFiles(_ context.Context, c *lab.Campaign, in *filesInput) (out *filesOutput, err error) {
	out = new(filesOutput)
	out.Body.Files = []campaign.File{}
	c.Read(func(core *engine.Core) {
		all := core.State().Files
		var from int
		if from, err = afterID(in.Cursor, events.FileNumber, len(all)); err != nil {
			return
		}
		for _, f := range all[from:] {
			if in.Experiment != "" && f.Experiment != in.Experiment {
				continue
			}
			if len(out.Body.Files) == in.Limit {
				out.Body.Next = out.Body.Files[in.Limit-1].ID
				return
			}
			out.Body.Files = append(out.Body.Files, f)
		}
	})
	return out, err
}

// fileOf opens a stored file of a campaign.
func fileOf(
	ctx context.Context, c *lab.Campaign, id string,
) (f *campaign.File, content io.ReadCloser, err error) {
	c.Read(func(core *engine.Core) {
		if found := core.State().File(id); found != nil {
			copied := *found
			f = &copied
		}
	})
	switch {
	case f == nil:
		return nil, nil, problem.New(problem.NotFound, "there is no file %q", id).About(id)
	case !f.Kept():
		return nil, nil, problem.New(problem.NotPossible, "%s is not kept here: it stays at %s", id, f.URI).About(id)
	}
	content, err = c.OpenFile(ctx, f)
	return f, content, err
}

// getFile sends a file. An altered file is cut off before its end, since the status has been sent
// by then.
func (a *API) getFile(ctx context.Context, c *lab.Campaign, in *attachedInput) (*huma.StreamResponse, error) {
	f, content, err := fileOf(ctx, c, in.File)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer content.Close()
		_, w := humago.Unwrap(hc)
		if h, ok := w.(*holder); ok {
			h.stream()
		}
		if err := send.File(w, f, content, false); err != nil {
			a.options.Log("the file %s of %s: %v", f.ID, c.Name(), err)
			panic(http.ErrAbortHandler) // the client sees that it was cut off
		}
	}}, nil
}
