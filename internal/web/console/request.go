package console

import (
	"context"
	"crypto/rand"
	"html/template"
	"net/http"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
)

// fieldRequest is the hidden field with the identifier of a form's request.
const fieldRequest = "request"

// Request is the hidden field of a form with the identifier of its request. It is made with the
// page, so that a double click, a resend and the back button count once. Buttons in a part of a
// page that is kept up to date have none, since it would change the part each time. Without one, a
// second press is refused, or asks for the state that holds already.
func (s *shell) Request(action string) template.HTML {
	id := s.Typed(action, fieldRequest)
	if id == "" {
		id = rand.Text()
	}
	id = template.HTMLEscapeString(id)
	return template.HTML(`<input type="hidden" name="` + fieldRequest + `" value="` + id + `">`)
}

// forgetRequest gives a form that was refused another identifier when it is shown again: a refusal
// is not recorded, and the next input may be another request. Where it is unknown whether the
// request was recorded, the identifier stays, so that sending it again cannot count twice.
func forgetRequest(r *http.Request, err error) {
	switch problem.CodeOf(err) {
	case problem.Uncertain, problem.Interrupted:
	default:
		r.PostForm.Del(fieldRequest)
	}
}

// requested returns a request in the name of the visitor, under the identifier
// of their form. The digest covers path and fields: the same identifier with
// something else in the form is refused. Encode sorts the fields, so that the
// digest does not depend on the browser's order; a file that was sent is not in
// it.
func requested(r *http.Request, request engine.Request) engine.Request {
	v := visitorOf(r.Context())
	request.Actor, request.Account = v.Actor(), v.Account
	if id := r.PostForm.Get(fieldRequest); id != "" {
		request.ID = id
		request.Digest = engine.DigestOf([]byte(r.URL.Path + "?" + r.PostForm.Encode()))
	}
	return request
}

// alreadyRecorded reports whether the form of a request was sent before, and its request was
// recorded: see [recordedBefore].
func alreadyRecorded(ctx context.Context, of *lab.Campaign, request engine.Request) (bool, error) {
	stored, err := recordedBefore(ctx, of, request)
	return stored != nil, err
}

// recordedBefore returns the events that the form of a request recorded when it was sent before;
// nil where it did not. It fails for another form under the same identifier: of a page that a
// person went back to and filled in differently. It is asked before the form is judged: a repeated
// request must not be refused because it is done.
func recordedBefore(ctx context.Context, of *lab.Campaign, request engine.Request) ([]events.Event, error) {
	stored, err := of.Recorded(ctx, request)
	if problem.CodeOf(err) == problem.NotPossible && err != nil {
		err = problem.New(problem.NotPossible, "this page was sent before, with something else in it").
			With(problem.Remedy{
				Text: "look at what stands here now, and send it once more if you mean it",
			})
	}
	return stored, err
}
