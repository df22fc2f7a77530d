package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// ErrNobody means that no process serves the store: it can be opened, or is
// about to be served.
var ErrNobody = problem.New(problem.Unavailable, "no running process serves the store")

// ErrCutOff means that the owner of the store ended before it answered.
var ErrCutOff = problem.New(problem.Uncertain, "the process that runs the campaign ended before it answered").
	With(problem.Remedy{Text: "look whether it was recorded, and ask again if not", Action: problem.Review})

// ErrCutOffEarlier is [ErrCutOff] of an owner of an earlier version, which would take a repetition
// for another request: it is not asked again.
var ErrCutOffEarlier = problem.New(problem.Uncertain,
	"the process that runs the campaign, of an earlier version, ended before it answered").
	With(problem.Remedy{Text: "look whether it was recorded, and ask again if not", Action: problem.Review})

// ErrReadOnly is returned by Append of a Client: only the owner of a store
// writes; others submit requests.
var ErrReadOnly = errors.New("the store belongs to another process: submit a request to it")

// Client reads the log of a store that another process holds, and submits
// requests to it. It implements [events.Log], except that Append always fails,
// and [events.CampaignReader].
type Client struct {
	http   http.Client
	base   string // prefix of the protocol's paths
	token  string // may be empty
	who    string // the owner's name in messages
	status Status
	// trusted is set if the owner believes the account given.
	trusted bool
	// release, if set, closes the connection to the owner.
	release func() error
}

var (
	_ events.Log            = (*Client)(nil)
	_ events.CampaignReader = (*Client)(nil)
	_ events.KindReader     = (*Client)(nil)
)

// dialTimeout is the owner's time limit for a first answer.
const dialTimeout = 5 * time.Second

// Dial connects to the process that serves the store. The error wraps [ErrNobody] if none does.
func Dial(ctx context.Context, address string) (*Client, error) {
	if store.InDatabase(address) {
		return dialDatabase(ctx, address)
	}
	client, err := Connect(address)
	if err != nil {
		return nil, err
	}
	c := &Client{base: "http://store", who: "the process that holds the store", http: *client}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	err = c.call(ctx, http.MethodGet, "/v1/status", nil, &c.status)
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, syscall.ECONNREFUSED),
		errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, fs.ErrNotExist),
		errors.Is(err, io.EOF):
		return nil, ErrNobody // left behind by a process that is gone, or ending
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("control: the process that holds %s does not answer within %s; "+
			"look at it, or end it and try again: %w",
			address, dialTimeout, err)
	}
	return nil, fmt.Errorf("control: %w", err)
}

// Connect returns a client whose requests go to the socket of a folder, whatever their address. The
// error wraps [ErrNobody] without a socket.
func Connect(folder string) (*http.Client, error) {
	socket, err := address(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNobody
	}
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}, nil
}

// DialURL connects to a server that offers a campaign by this protocol under an address. The token
// identifies the caller; an empty one is omitted.
func DialURL(ctx context.Context, base, token string) (*Client, error) {
	c := &Client{base: base, token: token, who: "the server"}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	err := c.call(ctx, http.MethodGet, "/v1/status", nil, &c.status)
	var unreached *url.Error
	if errors.As(err, &unreached) || errors.Is(err, context.DeadlineExceeded) {
		return nil, problem.New(problem.Unavailable, "no server answers at %s: %w", base, err)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Status returns the owner's status at the time of dialling.
func (c *Client) Status() Status { return c.status }

// Submit asks the owner to fulfill a request and returns the recorded events. A request with an
// identifier can be sent again after [ErrCutOff], here or to the process that holds the store by
// then. A request without one whose answer was lost is never repeated automatically: it might be
// recorded twice.
func (c *Client) Submit(ctx context.Context, campaign string, r engine.Request) ([]events.Event, error) {
	// An owner of an earlier version misinterprets omitted fields.
	if err := r.Check(); err != nil {
		return nil, err
	}
	cutOff := ErrCutOff
	if !c.status.Identifies && r.ID != "" {
		r.ID = ""
		r.Digest = ""
		cutOff = ErrCutOffEarlier
	}
	var a accepted
	s := submission{Campaign: campaign, Request: r}
	if c.trusted {
		s.Account = r.Account
	}
	err := c.call(ctx, http.MethodPost, "/v1/requests", s, &a)
	if err != nil {
		return nil, unanswered(err, r, cutOff)
	}
	return a.stored()
}

// unanswered is the error of a request without an answer, or cutOff if it may have been recorded.
func unanswered(err error, r engine.Request, cutOff error) error {
	var unreached *url.Error
	switch {
	case IsCut(err):
		return cutOff
	case r.ID != "" && errors.As(err, &unreached): // the owner that answered before is gone
		return cutOff
	}
	return err
}

// stored returns the events of an answer.
func (a accepted) stored() ([]events.Event, error) {
	stored := make([]events.Event, len(a.Events))
	for i, text := range a.Events {
		var err error
		if stored[i], err = events.UnmarshalCloudEvent(text); err != nil {
			return nil, err
		}
	}
	return stored, nil
}

// IsCut reports whether a connection ended before the answer was complete.
func IsCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET)
}

// IsLost reports whether all or part of an answer is missing because its sender has ended or is
// unreachable: it may be back in a moment.
func IsLost(err error) bool {
	var unreached *url.Error
	return IsCut(err) || errors.As(err, &unreached) || problem.CodeOf(err) == problem.Unavailable
}

// Append implements events.Log; it always fails, with [ErrReadOnly].
func (c *Client) Append(context.Context, string, events.Sequence, ...events.Event) ([]events.Event, error) {
	return nil, ErrReadOnly
}

// Read implements events.Log.
func (c *Client) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return c.stream(ctx, url.Values{"after": {strconv.FormatUint(uint64(after), 10)}})
}

// Follow implements events.Log. It ends with [events.ErrClosed] when the owner releases the store.
func (c *Client) Follow(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return c.stream(ctx, url.Values{"after": {strconv.FormatUint(uint64(after), 10)}, "follow": {"1"}})
}

// ReadCampaign implements events.CampaignReader.
func (c *Client) ReadCampaign(
	ctx context.Context, campaign string, after events.Sequence,
) iter.Seq2[events.Event, error] {
	return c.stream(ctx, url.Values{"after": {strconv.FormatUint(uint64(after), 10)}, "campaign": {campaign}})
}

// Last implements events.Log. It is 0 if the owner does not answer. It asks the owner each time,
// which costs a round trip.
func (c *Client) Last() events.Position {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	var status Status
	if c.call(ctx, http.MethodGet, "/v1/status", nil, &status) != nil {
		return 0
	}
	return status.Last
}

// LastSequence implements events.Log.
func (c *Client) LastSequence(ctx context.Context, campaign string) (s events.Sequence, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/sequence?"+url.Values{"campaign": {campaign}}.Encode(), nil, &s)
	return s, err
}

// Close implements events.Log. The owner is not affected.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	if c.release != nil {
		return c.release()
	}
	return nil
}

// ReadKinds implements [events.KindReader]. The owner filters before it sends,
// so that one fact about a long campaign does not cost sending all of it.
func (c *Client) ReadKinds(
	ctx context.Context, campaign string, kinds ...events.Kind,
) iter.Seq2[events.Event, error] {
	query := url.Values{"after": {"0"}}
	if campaign != "" {
		query.Set("campaign", campaign)
	}
	for _, kind := range kinds {
		query.Add("kind", string(kind))
	}
	return func(yield func(events.Event, error) bool) {
		for e, err := range c.stream(ctx, query) {
			if err == nil && !slices.Contains(kinds, e.Kind) {
				continue // an owner of an earlier version sends everything
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// request sends a request; the caller closes the answer's body.
func (c *Client) request(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, err
	}
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return c.send(r)
}

// send sends a request under the client's token; the caller closes the answer's
// body.
func (c *Client) send(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%s: %w", c.who, err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	return nil, c.refusal(response)
}

// refusal returns the problem in an unsuccessful answer: that of the protocol, or that of the
// server before it.
func (c *Client) refusal(response *http.Response) error {
	var answer struct {
		line
		problem.Error
	}
	err := json.NewDecoder(io.LimitReader(response.Body, maxRefusal)).Decode(&answer)
	switch {
	case err == nil && answer.line.Error != nil:
		return answer.line.Error
	case err == nil && answer.Code != "":
		return &answer.Error
	}
	return Unexpected(c.who, response)
}

// Unexpected is the error of an answer that is not campaignd's: that of a proxy before the server,
// as far as its status tells.
func Unexpected(who string, response *http.Response) error {
	proxy := "a proxy before " + who
	if name := response.Header.Get("Server"); name != "" {
		proxy += fmt.Sprintf(" (%s)", plaintext.Line(name))
	}
	switch response.StatusCode {
	case http.StatusRequestEntityTooLarge:
		return problem.New(problem.Invalid, "%s does not pass on so much: it answered %q", proxy, response.Status).
			With(problem.Remedy{Text: "have it pass on 64 MB, in nginx by client_max_body_size 64m;"})
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return problem.New(problem.Unavailable, "%s does not reach it: it answered %q", proxy, response.Status)
	}
	return fmt.Errorf("%s answered %q: it may be another version of campaignd", who, response.Status)
}

// maxRefusal is the maximum length read of an unsuccessful answer, in bytes.
const maxRefusal = 1 << 20

// call sends a request and decodes the answer.
func (c *Client) call(ctx context.Context, method, path string, body, result any) error {
	response, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(result)
}

// stream reads events line by line. Only a last line that says so ends it well; a cut connection is
// an error, since otherwise half a log would be taken for the whole.
func (c *Client) stream(ctx context.Context, query url.Values) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		follow := query.Has("follow")
		fail := func(err error) {
			if follow && ctx.Err() != nil {
				return // the normal end of following
			}
			yield(events.Event{}, err)
		}
		response, err := c.request(ctx, http.MethodGet, "/v1/events?"+query.Encode(), nil)
		if err != nil {
			fail(err)
			return
		}
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(make([]byte, 64<<10), 2*events.MaxDataSize)
		for lines.Scan() {
			e, err := events.UnmarshalCloudEvent(lines.Bytes())
			if err != nil {
				var l line
				if json.Unmarshal(lines.Bytes(), &l) == nil && l.Error != nil {
					fail(l.Error)
				} else if !l.End {
					fail(err)
				}
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		// A stream without its last line was cut off.
		err = lines.Err()
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		fail(fmt.Errorf("%w: %s has ended: %w", events.ErrClosed, c.who, err))
	}
}
