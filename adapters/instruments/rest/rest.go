// Package rest is an instrument behind HTTP: a device with a REST interface, described by settings
// alone. A command is handed over by one request with its identifier, and asked about by others.
//
// # Once
//
// The request that starts a command is written once: not again by Go's transport, which repeats what
// has an Idempotency-Key, and not at another address, by a redirection. Where its answer does not say
// for certain that nothing begins, the device is asked for the identifier; where it cannot be asked, or
// does not know it, the command's fate is unknown, since the request may still arrive.
package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/remote"
	"github.com/campaignd/campaignd/adapters/internal/program"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/input"
)

// maxBody is how large an answer may be.
const maxBody = 1 << 20

// New returns the instrument of a campaign. Nothing is sent yet.
func New(s Settings, def definition.Campaign, env instruments.Environment) (*remote.Instrument, error) {
	roots, err := s.roots(env.Folder)
	if err != nil {
		return nil, err
	}
	d := &device{Settings: s, def: def, headers: make(http.Header)}
	for name, value := range s.Headers {
		d.headers.Set(name, value)
	}
	for name, variable := range s.HeadersFrom {
		value := os.Getenv(variable)
		if value == "" {
			return nil, fmt.Errorf("the header %s is the value of the variable %s, which is not set", name, variable)
		}
		d.headers.Set(name, value)
		d.secrets = append(d.secrets, value)
	}
	client := func(fresh bool) *http.Client {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
		transport.DisableKeepAlives = fresh
		return &http.Client{
			Transport: transport,
			// A redirection would carry the headers with their secrets elsewhere, and start a command twice.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	d.client, d.starter = client(false), client(true)
	return remote.New(d, remote.Options{
		Ledger: input.Path(env.Folder, s.Ledger), Durable: s.Durable, Every: time.Duration(s.Poll.Every),
		Signals: s.Start.Handle != "", Logf: env.Logf,
	})
}

// roots are the certificates that are trusted, nil for those of the system.
func (s *Settings) roots(folder string) (*x509.CertPool, error) {
	if s.CA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(input.Path(folder, s.CA))
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate", s.CA)
	}
	return pool, nil
}

// device is the other end.
type device struct {
	Settings
	def    definition.Campaign
	client *http.Client
	// starter has a connection for each start. On one that was used before Go's transport sends again
	// what has an Idempotency-Key, and whether a start arrived would be open where it is closed.
	starter *http.Client
	headers http.Header
	secrets []string
}

// reply is an answer that came whole.
type reply struct {
	status int
	body   []byte
}

func (r reply) good() bool { return r.status >= 200 && r.status < 300 }

// String is an answer in a message.
func (r reply) String() string {
	text := fmt.Sprintf("the device answered %d %s", r.status, http.StatusText(r.status))
	if body := strings.TrimSpace(string(r.body)); body != "" {
		text += ": " + program.Clip([]byte(body))
	}
	return text
}

// known reports whether the device knows what it was asked for.
func (r reply) known() bool { return r.status != http.StatusNotFound && r.status != http.StatusGone }

// send sends a request about a command. connected is false where no part of it can have reached the
// device.
func (d *device) send(ctx context.Context, r Request, cmd instruments.Command, start bool) (answer reply, connected bool, err error) {
	ctx, stop := context.WithTimeout(ctx, time.Duration(d.ReplyWithin))
	defer stop()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	var body []byte
	if r.Body != nil {
		body, err = json.Marshal(remote.Fill(r.Body, cmd))
	}
	request, fault := http.NewRequestWithContext(ctx, r.Method, remote.Text(r.URL, cmd, escape), bytes.NewReader(body))
	if err := errors.Join(err, fault); err != nil {
		return reply{}, false, err
	}
	request.Header = d.headers.Clone()
	request.Header.Set("Accept", "application/json")
	if r.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	client := d.client
	if start {
		client = d.starter
		request.Header.Set("Idempotency-Key", cmd.ID)
	}
	response, err := client.Do(request)
	if err != nil {
		return reply{}, connected, errors.New(d.redacted(err.Error()))
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err == nil && len(text) > maxBody {
		err = fmt.Errorf("the device's answer is longer than %d bytes", maxBody)
	}
	return reply{response.StatusCode, []byte(d.redacted(string(text)))}, true, err
}

// escape writes a part of a command for an address, in its path or its query.
func escape(part string) string { return strings.ReplaceAll(url.QueryEscape(part), "+", "%20") }

// redacted is a text without the secrets, which a device may repeat: it becomes part of the log.
func (d *device) redacted(text string) string {
	for _, secret := range d.secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

// get asks for JSON; known is false where the device answers that it does not exist.
func (d *device) get(ctx context.Context, address string, cmd instruments.Command) (doc remote.Tree, known bool, err error) {
	answer, _, err := d.send(ctx, Request{Method: http.MethodGet, URL: address}, cmd, false)
	switch {
	case err != nil:
		return doc, false, err
	case !answer.known():
		return doc, false, nil
	case !answer.good():
		return doc, false, errors.New(answer.String())
	}
	doc, err = remote.ParseTree(answer.body)
	if err != nil {
		err = fmt.Errorf("the answer of %s is not JSON: %w", address, err)
	}
	return doc, true, err
}

// Describe implements remote.Device.
func (d *device) Describe(ctx context.Context) (instruments.Description, error) {
	description := d.Device.Description()
	description.Outputs = d.Result.Outputs(&d.def)
	if d.Settings.Describe == nil {
		return description, nil
	}
	doc, known, err := d.get(ctx, d.Settings.Describe.URL, instruments.Command{})
	if err == nil && !known {
		err = errors.New("it does not know itself")
	}
	if err != nil {
		return description, fmt.Errorf("%w: %w", instruments.ErrLater, err)
	}
	if at := d.Settings.Describe.Identity; at != "" {
		if description.Identity = remote.TextAt(doc, at); description.Identity == "" {
			return description, fmt.Errorf("at %q its answer has no identity", at)
		}
	}
	if at := d.Settings.Describe.Parameters; at != "" {
		text, _ := json.Marshal(doc.At(at)) // it was JSON
		if err := json.Unmarshal(text, &description.Parameters); err != nil {
			return description, fmt.Errorf("at %q its answer has no parameters: %w", at, err)
		}
	}
	return description, nil
}

// Prepare implements remote.Device.
func (d *device) Prepare(context.Context, instruments.Command) error { return nil }

// Submit implements remote.Device. A refusal is an answer from 400 to 499, which says that the request
// was not carried out; 408 and 425 may come from what stands before the device, and 409 says that
// there is a run already.
func (d *device) Submit(ctx context.Context, cmd instruments.Command) (handle string, err error) {
	answer, connected, err := d.send(ctx, d.Start.Request, cmd, true)
	switch open := []int{http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly}; {
	case err != nil && !connected:
		return "", fmt.Errorf("%w: the device cannot be reached: %w", instruments.ErrRefused, err)
	case err != nil:
		return "", err
	case slices.Contains(d.Start.Infeasible, answer.status):
		return "", fmt.Errorf("%w: %s", remote.ErrInfeasible, answer)
	case answer.status >= 400 && answer.status < 500 && !slices.Contains(open, answer.status):
		return "", fmt.Errorf("%w: %s", instruments.ErrRefused, answer)
	case !answer.good():
		return "", errors.New(answer.String())
	case d.Start.Handle == "":
		return "", nil
	}
	doc, err := remote.ParseTree(answer.body)
	if handle = remote.TextAt(doc, d.Start.Handle); err == nil && handle == "" {
		err = fmt.Errorf("the handle is missing at %q: %s", d.Start.Handle, answer)
	}
	return handle, err
}

// Ask implements remote.Device.
func (d *device) Ask(ctx context.Context, cmd instruments.Command, _ bool) (report remote.Report, err error) {
	if strings.Contains(d.Poll.URL, "{handle}") && cmd.Handle == "" {
		if d.Find == nil {
			return report, nil // it cannot be asked
		}
		doc, known, err := d.get(ctx, d.Find.URL, cmd)
		if err != nil || !known {
			return report, err
		}
		if cmd.Handle = remote.TextAt(doc, d.Find.Handle); cmd.Handle == "" {
			return report, nil
		}
	}
	doc, known, err := d.get(ctx, d.Poll.URL, cmd)
	if err != nil || !known {
		return report, err
	}
	report = remote.Report{Known: true, Handle: cmd.Handle}
	outcome, _, listed := d.Poll.State.Of(doc)
	switch {
	case outcome == nil && listed:
		report.Sign = &events.Sign{Handle: cmd.Handle, Text: remote.TextAt(doc, d.Poll.Text)}
		if fraction, err := remote.Number(doc.At(d.Poll.Fraction)); d.Poll.Fraction != "" && err == nil {
			report.Sign.Fraction = &fraction
		}
	case outcome != nil && outcome.Status == instruments.Measured:
		if d.Result.URL != "" {
			if doc, known, err = d.get(ctx, d.Result.URL, cmd); err != nil {
				return report, err
			} else if !known {
				return report, fmt.Errorf("the device does not know the result of %s, which it says is there", cmd.ID)
			}
		}
		measured := d.Result.Outcome(&d.def, doc, cmd.Parameters)
		outcome = &measured
	}
	report.Outcome = outcome
	return report, nil
}

// Stop implements remote.Device. A device that does not know the command has called nothing off: the
// request may still arrive.
func (d *device) Stop(ctx context.Context, cmd instruments.Command) (withdrawn bool, err error) {
	if d.Cancel == nil {
		return false, fmt.Errorf("%w: the settings name no request for it", instruments.ErrUnstoppable)
	}
	if cmd.Handle == "" && strings.Contains(d.Cancel.URL, "{handle}") {
		return false, errors.New("the device cannot be asked to stop a run whose handle is not known")
	}
	answer, _, err := d.send(ctx, *d.Cancel, cmd, false)
	switch {
	case err != nil:
		return false, err
	case answer.good():
		return false, nil
	case answer.status == http.StatusConflict || answer.status == http.StatusMethodNotAllowed:
		return false, fmt.Errorf("%w: %s", instruments.ErrUnstoppable, answer)
	}
	return false, errors.New(answer.String())
}
