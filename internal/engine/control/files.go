package control

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// requestHeader holds the request that attaches a file, as JSON in base64: the
// body is the file.
const requestHeader = "Campaignd-Request"

// attach takes a file and the request that attaches it. The store of the file reads the body, piece
// by piece.
func (h handler) attach(w http.ResponseWriter, r *http.Request) {
	var s submission
	text, err := base64.StdEncoding.DecodeString(r.Header.Get(requestHeader))
	if err == nil {
		body := json.NewDecoder(bytes.NewReader(text))
		body.DisallowUnknownFields() // as in submit
		err = body.Decode(&s)
	}
	if err != nil || s.Request.Attach == nil || h.service.Attach == nil {
		answer(w, nil, problem.New(problem.Invalid,
			"the process that runs the campaign does not understand the attachment"))
		return
	}
	s.Request.Account = peerOf(r.Context())
	stored, err := h.service.Attach(r.Context(), s.Campaign, s.Request, r.Body)
	answerStored(w, stored, err)
}

// file sends a file. An altered file is cut off before its end, which the client sees.
func (h handler) file(w http.ResponseWriter, r *http.Request) {
	if h.service.OpenFile == nil {
		answer(w, nil, problem.New(problem.Unsupported, "files are not sent here: they are in the store"))
		return
	}
	content, err := h.service.OpenFile(r.Context(), r.URL.Query().Get("campaign"), r.PathValue("file"))
	if err != nil {
		answer(w, nil, err)
		return
	}
	defer content.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := io.Copy(w, content); err != nil {
		panic(http.ErrAbortHandler) // the client must not take it for the whole
	}
}

// Attach asks the owner to record a file with its bytes. Like Submit it is sent once.
func (c *Client) Attach(
	ctx context.Context, campaign string, r engine.Request, content io.Reader,
) ([]events.Event, error) {
	text, err := json.Marshal(submission{Campaign: campaign, Request: r})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/files", content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set(requestHeader, base64.StdEncoding.EncodeToString(text))
	response, err := c.send(request)
	if err != nil {
		return nil, unanswered(err, r, ErrCutOff)
	}
	defer response.Body.Close()
	var a accepted
	if err := json.NewDecoder(response.Body).Decode(&a); err != nil {
		return nil, unanswered(err, r, ErrCutOff)
	}
	return a.stored()
}

// OpenFile opens a stored file of a campaign.
func (c *Client) OpenFile(ctx context.Context, campaign, file string) (io.ReadCloser, error) {
	path := "/v1/files/" + url.PathEscape(file) + "?" + url.Values{"campaign": {campaign}}.Encode()
	response, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}
