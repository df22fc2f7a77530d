package app

import (
	"cmp"
	"io"
	"net/http"
	"net/url"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/attest"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/ground/wholefile"
	"github.com/campaignd/campaignd/internal/web/server/api"
)

// auditWait is how many seconds the server may hold one request for the result
// of an audit; then it is asked again. Proxies cut connections that are idle
// for longer, often after a minute.
const auditWait = "30"

// auditRemote has the server audit the store of a campaign, and waits for the
// result. The checkpoints and keys are sent along: the server has no access to
// the user's files.
//
// An audit takes minutes, so it is begun with one request and asked for with
// others; a connection that is cut in between loses nothing but the waiting.
// Its verdict is the server's own word about its store, which the remark at the
// end says: only checkpoints that were kept elsewhere bind the server.
func (a *auditing) auditRemote(t target) (*audited, error) {
	t, err := a.named(a.ctx, t)
	if err != nil {
		return nil, err
	}
	wanted := api.AuditWanted{Except: a.except, Files: a.files}
	for _, file := range a.since {
		text, err := readAll(file)
		if err != nil {
			return nil, inputError{err}
		}
		wanted.Since = append(wanted.Since, api.Kept{File: file, Text: string(text)})
	}
	for _, key := range a.keys {
		wanted.Keys = append(wanted.Keys, keyText(key))
	}
	var run api.AuditRun
	if err := a.api().Post(a.ctx, onServer(t, "/audits"), wanted, &run); err != nil {
		return nil, err
	}
	path := "/audits/" + url.PathEscape(run.ID) + "?wait=" + auditWait
	for run.State == "running" {
		if err := a.api().Get(a.ctx, path, &run); err != nil {
			return nil, err
		}
	}
	if run.Problem != nil {
		return nil, problem.New(run.Problem.Code, "%s", run.Problem.Detail)
	}
	var version struct {
		Build events.Build `json:"build"`
	}
	if err := a.api().Get(a.ctx, "/version", &version); err != nil {
		return nil, err
	}
	a.remark("The server audited its own store. To check it independently, keep checkpoints elsewhere " +
		"(--since), or audit a copy of the store.")
	return &audited{Audit: run.Audit, Build: build{version.Build}.String(), Store: a.where(t)}, nil
}

// checkpointRemote has the server make a checkpoint of the store of a campaign,
// or a proof with one. It is signed with the server's key, if it has one.
func (a *checkpointing) checkpointRemote(t target) (*attest.Checkpoint, error) {
	t, err := a.named(a.ctx, t)
	if err != nil {
		return nil, err
	}
	c := new(attest.Checkpoint)
	switch {
	case a.prove != "":
		err = a.api().Get(a.ctx, onServer(t, "/proofs/"+url.PathEscape(a.prove)), c)
	case a.from != "":
		var text []byte
		if text, err = readAll(a.from); err != nil {
			return nil, inputError{err}
		}
		err = a.api().Post(a.ctx, onServer(t, "/growth"), struct {
			From string `json:"from"`
		}{string(text)}, c)
	default:
		err = a.api().Get(a.ctx, onServer(t, "/checkpoint"), c)
	}
	return c, err
}

// reportRemote writes the report of a campaign of a server, and returns the
// campaign's name. It is held in memory and written as a whole, so that a broken
// connection leaves no half report.
func reportRemote(c *call, t target, output *string) (name string, err error) {
	if t, err = c.named(c.ctx, t); err != nil {
		return "", err
	}
	response, err := c.api().Ask(c.ctx, http.MethodGet, onServer(t, "/report"), nil)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	*output = cmp.Or(*output, t.campaign+".report.html")
	return t.campaign, wholefile.Replace(*output, page, 0o644)
}
