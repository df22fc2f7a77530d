package rest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/remote"
	"github.com/campaignd/campaignd/events/definition"
)

// Name of the driver in a campaign file.
const Name = "http"

// Driver is the program's row for this instrument.
var Driver = remote.Driver(Name, New)

// Settings of a device behind a REST interface (docs/bridges.md). Addresses and bodies may hold parts
// of the command: {id}, {name} (the identifier without slashes), {handle}, {parameters.NAME} and the
// like. Places in answers are JSON Pointers (RFC 6901), as in /data/0/value.
type Settings struct {
	// Device says what it is.
	Device remote.DeviceSettings `json:"device" jsonschema:"required"`
	// Headers of each request.
	Headers map[string]string `json:"headers,omitempty"`
	// HeadersFrom are headers whose values are those of variables of campaignd's environment, by the
	// header's name: {Authorization: ROBOT_TOKEN}. They are never recorded.
	HeadersFrom map[string]string `json:"headers_from,omitempty"`
	// CA is a file with certificates (PEM) that are trusted besides those of the system. Relative to
	// the campaign file.
	CA string `json:"ca,omitempty"`
	// ReplyWithin is how long the device may take to answer a request. Default "10s".
	ReplyWithin definition.Duration `json:"reply_within,omitempty"`
	// Describe asks whether the device is there. Default: it is not asked.
	Describe *DescribeRequest `json:"describe,omitempty"`
	// Start hands a command over.
	Start StartRequest `json:"start" jsonschema:"required"`
	// Find asks for a run by the command's identifier. It is needed where poll asks by {handle}: an
	// answer that was lost has the only handle in it.
	Find *FindRequest `json:"find,omitempty"`
	// Poll asks how far a command is.
	Poll PollRequest `json:"poll" jsonschema:"required"`
	// Result says where a measurement is.
	Result ResultRequest `json:"result" jsonschema:"required"`
	// Cancel calls a run off. Default: the device cannot.
	Cancel *Request `json:"cancel,omitempty"`
	// Ledger is the folder that remembers which commands were handed over, relative to the campaign
	// file. Default "http.ledger".
	Ledger string `json:"ledger,omitempty"`
	// Durable declares that the ledger is durable and complete (docs/process-instrument.md).
	Durable bool `json:"durable,omitempty"`
}

// Request is one to the device.
type Request struct {
	// Method of the request. Default POST to start, DELETE to cancel.
	Method string `json:"method,omitempty"`
	// URL of the request.
	URL string `json:"url" jsonschema:"required"`
	// Body is sent as JSON.
	Body map[string]any `json:"body,omitempty"`
}

// StartRequest is the request that hands a command over. It has the header Idempotency-Key with the command's
// identifier, and is sent once, whatever becomes of its answer.
type StartRequest struct {
	Request
	// Handle is the place of the device's own name of the run, in the answer.
	Handle string `json:"handle,omitempty"`
	// Infeasible are the codes of answers that say that the composition cannot be made: [422].
	Infeasible []int `json:"infeasible,omitempty"`
}

// DescribeRequest is the request for the device's description of itself.
type DescribeRequest struct {
	URL string `json:"url" jsonschema:"required"`
	// Identity is the place of the device's identity.
	Identity string `json:"identity,omitempty"`
	// Parameters is the place of the parameters that it takes, each with name, unit, min and max.
	Parameters string `json:"parameters,omitempty"`
}

// FindRequest is the request for a run of a command. An answer 404, or one without the handle, says that
// it does not exist.
type FindRequest struct {
	URL string `json:"url" jsonschema:"required"`
	// Handle is the place of the run's handle.
	Handle string `json:"handle" jsonschema:"required"`
}

// PollRequest is the request for the state of a command. The answers 404 and 410 say that the device does
// not know it.
type PollRequest struct {
	URL string `json:"url" jsonschema:"required"`
	// Every is how often it is sent. Default "1s".
	Every definition.Duration `json:"every,omitempty"`
	// State says how far it is.
	State remote.State `json:"state" jsonschema:"required"`
	// Fraction is the place of the part that is done, from 0 to 1, and Text that of a word on it.
	Fraction string `json:"fraction,omitempty"`
	Text     string `json:"text,omitempty"`
}

// ResultRequest says where a measurement is.
type ResultRequest struct {
	// URL of the result. Default: it is in the answer to poll.
	URL string `json:"url,omitempty"`
	remote.Values
}

// Choose returns the choice of this driver with its settings.
func Choose(s Settings) definition.Choice { return definition.NewChoice(Name, s) }

// Complete implements definition.Settings.
func (s *Settings) Complete(*definition.Campaign) {
	s.Device.Capacity = cmp.Or(s.Device.Capacity, 1)
	s.ReplyWithin = cmp.Or(s.ReplyWithin, definition.Duration(10*time.Second))
	s.Poll.Every = cmp.Or(s.Poll.Every, definition.Duration(time.Second))
	s.Start.Method = cmp.Or(s.Start.Method, http.MethodPost)
	s.Ledger = cmp.Or(s.Ledger, "http.ledger")
	if s.Cancel != nil {
		s.Cancel.Method = cmp.Or(s.Cancel.Method, http.MethodDelete)
	}
}

// Check implements definition.Settings.
func (s *Settings) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	f := remote.Faults{Def: def, List: def.OneByOne(here)}
	f.Device(here.To("device"), s.Device, s.Describe != nil && s.Describe.Identity != "", s.Durable)
	for _, h := range []struct {
		field  string
		values map[string]string
	}{{"headers", s.Headers}, {"headers_from", s.HeadersFrom}} {
		for _, name := range slices.Sorted(maps.Keys(h.values)) {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(h.values[name]) {
				f.Add(here.To(h.field, name), fmt.Sprintf("%q is not a header with the value %q", name, h.values[name]), "mend the name or the value")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.HeadersFrom)) {
		if v := s.HeadersFrom[name]; v == "" || strings.ContainsAny(v, " =") {
			f.Add(here.To("headers_from", name), fmt.Sprintf("%q is not the name of a variable", v),
				"write the name alone: what a campaign file says is recorded")
		}
	}
	address := func(at definition.Path, text string, handle bool) {
		f.List = append(f.List, remote.CheckTemplate(text, def, at, handle)...)
		u, err := url.Parse(remote.Text(text, instruments.Command{}, func(string) string { return "x" }))
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			f.Add(at, fmt.Sprintf("%q is not an address of the web", text), "begin it with https:// or http:// and the device's name")
		case u.User != nil:
			f.Add(at, "it holds a password, and what a campaign file says is recorded",
				"write headers_from: {Authorization: VARIABLE}, and the value into that variable of the environment")
		}
	}
	request := func(at definition.Path, r *Request, handle bool) {
		address(at.To("url"), r.URL, handle)
		f.List = append(f.List, remote.CheckTemplate(r.Body, def, at.To("body"), handle)...)
		if !httpguts.ValidHeaderFieldName(r.Method) {
			f.Add(at.To("method"), fmt.Sprintf("%q is not a method", r.Method), "write POST or PUT")
		}
	}
	request(here.To("start"), &s.Start.Request, false)
	if slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE"}, s.Start.Method) {
		f.Add(here.To("start", "method"), s.Start.Method+" has no effect by the rules of HTTP, and caches repeat it", "write POST or PUT")
	}
	f.Pointer(here.To("start", "handle"), s.Start.Handle)
	if s.Describe != nil {
		address(here.To("describe", "url"), s.Describe.URL, false)
		f.Pointer(here.To("describe", "identity"), s.Describe.Identity)
		f.Pointer(here.To("describe", "parameters"), s.Describe.Parameters)
	}
	if s.Find != nil {
		address(here.To("find", "url"), s.Find.URL, false)
		f.Pointer(here.To("find", "handle"), s.Find.Handle)
	}
	poll := here.To("poll")
	address(poll.To("url"), s.Poll.URL, true)
	f.State(poll.To("state"), &s.Poll.State, f.Pointer)
	f.Pointer(poll.To("fraction"), s.Poll.Fraction)
	f.Pointer(poll.To("text"), s.Poll.Text)
	if s.Result.URL != "" {
		address(here.To("result", "url"), s.Result.URL, true)
	}
	f.Values(here.To("result"), &s.Result.Values, f.Pointer)
	if s.Cancel != nil {
		request(here.To("cancel"), s.Cancel, true)
	}
	if strings.Contains(s.Poll.URL, "{handle}") && s.Start.Handle == "" && s.Find == nil {
		f.Add(poll.To("url"), "it asks by the handle, and nothing says where that is", "write start: {handle: …}, with its place in the answer")
	}
	if !strings.Contains(s.Poll.URL, "{") {
		f.Add(poll.To("url"), "it is the same for each command: the state of another run would be taken", "ask by {id} or {handle}")
	}
	return f.List
}

// Words implements definition.Settings.
func (s *Settings) Words(*definition.Campaign) string {
	u, err := url.Parse(s.Start.URL)
	if err != nil {
		return s.Device.Name
	}
	return fmt.Sprintf("%s, at %s", s.Device.Name, u.Host)
}

// Remarks implements definition.Remarkable.
func (s *Settings) Remarks(folder string, here definition.Path) (remarks []string) {
	for _, name := range slices.Sorted(maps.Keys(s.HeadersFrom)) {
		if os.Getenv(s.HeadersFrom[name]) == "" {
			remarks = append(remarks, fmt.Sprintf("%s: the variable %s is not set here", here.To("headers_from", name), s.HeadersFrom[name]))
		}
	}
	if len(s.HeadersFrom) > 0 && strings.HasPrefix(s.Start.URL, "http:") {
		remarks = append(remarks, fmt.Sprintf("%s: a secret goes to an address without encryption, https would encrypt it", here.To("headers_from")))
	}
	if s.Find == nil && !strings.Contains(s.Poll.URL, "{id}") && !strings.Contains(s.Poll.URL, "{name}") {
		remarks = append(remarks, fmt.Sprintf("%s: without find, a run whose start was not answered is unknown, and a person has to look", here))
	}
	return remarks
}

// CheckFiles implements definition.Filed.
func (s *Settings) CheckFiles(folder string, here definition.Path) []definition.Fault {
	if _, err := s.roots(folder); err != nil {
		return []definition.Fault{{At: here.To("ca"), Problem: err.Error(), Remedy: "name a file with certificates in PEM; the path is relative to the campaign file"}}
	}
	return nil
}
