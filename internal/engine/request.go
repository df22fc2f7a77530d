package engine

import (
	"reflect"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Request is what a person asks of a campaign. It travels as JSON over the
// control socket; exactly one of its parts is set.
type Request struct {
	// Actor is who asks, for example "person:ada".
	Actor string `json:"actor"`
	// Account is the system's user who asks, as in [events.Event]. It does not
	// travel: who receives the request knows whom from.
	Account string `json:"-"`
	// ID identifies the request among those of its actor in the campaign, as
	// the caller chose it: however often it is sent, it counts once. Empty:
	// each time counts.
	ID string `json:"id,omitempty"`
	// Digest is a digest of what the caller sent: another request under the
	// same ID is refused. Default that of the parts below. Where those follow
	// from how the campaign stands, as with an amendment, a repeat can be
	// recognized only by what was sent.
	Digest string `json:"digest,omitempty"`

	Pause   *events.CampaignPaused  `json:"pause,omitempty"`
	Resume  *events.CampaignResumed `json:"resume,omitempty"`
	Stop    *events.CampaignStopped `json:"stop,omitempty"`
	Amend   *events.CampaignAmended `json:"amend,omitempty"`
	Note    *Note                   `json:"note,omitempty"`
	Tell    *Tell                   `json:"tell,omitempty"`
	Answer  *Answer                 `json:"answer,omitempty"`
	Correct *Correct                `json:"correct,omitempty"`
	Resolve *Resolve                `json:"resolve,omitempty"`
	// Resolves are what Resolve is, of each something else: all or none.
	Resolves []Resolve `json:"resolves,omitempty"`
	Cancel   *Cancel   `json:"cancel,omitempty"`
	Abort    *Abort    `json:"abort,omitempty"`
	Exclude  *Exclude  `json:"exclude,omitempty"`
	Allow    *Allow    `json:"allow,omitempty"`
	Anchors  *Anchors  `json:"anchors,omitempty"`
	Import   []Tell    `json:"import,omitempty"`
	// Results are those of many experiments: what Tell is of each, all or none.
	Results []Tell `json:"results,omitempty"`
	// Attach and Withdraw are about a file.
	Attach   *Attach   `json:"attach,omitempty"`
	Withdraw *Withdraw `json:"withdraw,omitempty"`
	Count    *Count    `json:"count,omitempty"`
	// ImportOnce leaves out those rows of Import that the campaign has measured
	// already, so that what is sent twice is recorded once.
	ImportOnce bool `json:"import_once,omitempty"`
}

// The parts of a request are what it is in every channel: the body of the API,
// which takes the description of each field from here, a row of a table, what
// the flags of a command say, and what a form of the console says.

// part is one thing that a request asks for.
type part interface {
	// record returns the events that fulfill it, or why it cannot be fulfilled.
	record(c Now, r *Request) ([]events.Payload, error)
}

// parts returns the parts of a request that are set.
func (r *Request) parts() (asked []part) {
	for _, p := range []part{
		(*pause)(r.Pause), (*resume)(r.Resume), (*stop)(r.Stop), (*amend)(r.Amend), r.Note, r.Tell, r.Answer,
		r.Correct, r.Resolve, resolves(r.Resolves), r.Cancel, r.Abort, r.Exclude, r.Allow, r.Anchors,
		imports(r.Import), results(r.Results), r.Attach, r.Withdraw, r.Count,
	} {
		if !reflect.ValueOf(p).IsNil() {
			asked = append(asked, p)
		}
	}
	return asked
}

// Check validates a request without the campaign: it must not contradict itself or leave out
// its subject. Handle calls it first, and so does a client of another process before it sends,
// so that all channels refuse the same requests in the same words.
func (r *Request) Check() error {
	for _, p := range r.parts() {
		if p, ok := p.(interface{ check() error }); ok {
			return p.check()
		}
	}
	return nil
}

// Received makes of a request that was read from JSON the one that was sent.
func (r *Request) Received() {
	if r.Tell != nil {
		r.Tell.received()
	}
	for _, rows := range [][]Tell{r.Import, r.Results} {
		for i := range rows {
			rows[i].received()
		}
	}
}

// invalid is the error of a request that contradicts itself.
func invalid(format string, args ...any) *problem.Error {
	return problem.New(problem.Invalid, format, args...)
}

// CheckComposition refuses a composition that is given in a field, and empty.
func CheckComposition(field string, point definition.Point) error {
	if point != nil && len(point) == 0 {
		return invalid("%s is empty: give a value for each parameter", field)
	}
	return nil
}

// Handle returns the events that fulfill a request. It changes nothing. If the request cannot
// be fulfilled the error wraps a [problem.Error] with its remedies: errors.Is finds
// [problem.ErrInvalidRequest], or [ErrNoCampaign] before there is one.
//
// Each kind of request is a type in the file of its noun: those of the campaign in
// steer.go, of results in tell.go, resolve.go and correct.go, of commands in
// calloff.go, of the space in exclude.go, of experts in question.go, of files in
// file.go, of stocks in stock.go.
func (c *Core) Handle(r Request) ([]events.Payload, error) {
	if c.State().Status == campaign.Undefined {
		return nil, problem.New(problem.NoCampaign, "the store holds no campaign yet").
			With(problem.Remedy{Text: "start one", Action: problem.Start})
	}
	now := c.At(World{})
	if err := guard(now, r); err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	asked := r.parts()
	if asked == nil {
		return nil, notPossible("the request asks for nothing")
	}
	payloads, err := asked[0].record(now, &r)
	if err != nil {
		return nil, err
	}
	return payloads, nil
}
