package labfile

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// Forward is a system to which the events of the lab's campaigns are sent, as
// CloudEvents.
type Forward struct {
	// To is the address: kafka://…, nats://…, amqp://… or https://…. ${VAR}
	// takes a part from the environment, file:PATH the whole address from a
	// file.
	To Secret `json:"to" jsonschema:"required"`
	// Topic is the topic of Kafka, the subject of NATS, or the exchange of
	// AMQP. Default: campaignd.
	Topic string `json:"topic,omitempty" jsonschema:"pattern=^[A-Za-z0-9._-]+$,maxLength=200"`
	// Token is sent to an HTTP address as a bearer token: ${VAR} or file:PATH.
	Token Token `json:"token,omitzero"`
	// Campaigns are the names of those whose events are sent; * stands for any
	// part of a name. Default: all.
	Campaigns []string `json:"campaigns,omitempty" jsonschema:"uniqueItems=true"`
	// Kinds are the kinds of events that are sent; * stands for any part of
	// one. Default: all.
	Kinds []string `json:"kinds,omitempty" jsonschema:"uniqueItems=true"`
}

// DefaultTopic is where events are sent in a broker.
const DefaultTopic = "campaignd"

// Takes reports whether an event is sent there.
func (f *Forward) Takes(e *events.Event) bool {
	return matches(f.Campaigns, e.Campaign) && matches(f.Kinds, string(e.Kind))
}

// matches reports whether a name fits one of the patterns; without any, all
// names do.
func matches(patterns []string, name string) bool {
	fits := func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	return len(patterns) == 0 || slices.ContainsFunc(patterns, fits)
}

// Token is a secret other than an address. Like [Secret] it is never printed.
type Token struct{ s *secret }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Token) UnmarshalText(text []byte) error {
	t.s = &secret{written: string(text)}
	return nil
}

// MarshalText implements encoding.TextMarshaler: it shows nothing.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// String is "" for no token, and otherwise only says that there is one.
func (t Token) String() string {
	if t.IsZero() {
		return ""
	}
	return withheld
}

// GoString implements fmt.GoStringer: it is [Token.String].
func (t Token) GoString() string { return t.String() }

// IsZero reports whether the token is missing.
func (t Token) IsZero() bool { return t.s == nil }

// Reveal returns the token itself, with the present values of the environment and files. The error
// does not hold any part of it. It is sent as the value of a header, which has no line breaks.
func (t Token) Reveal() (string, error) {
	if t.IsZero() {
		return "", nil
	}
	text, err := t.s.reveal("token")
	if err == nil && strings.ContainsAny(text, "\r\n") {
		return "", errors.New("the token has more than one line")
	}
	return text, err
}

// Schemes of the addresses to which events are sent.
var forwardSchemes = []string{
	"http", "https", "kafka", "kafka+tls", "nats", "tls", "amqp", "amqps",
}

// overHTTP reports whether a scheme is one of the web.
func overHTTP(scheme string) bool { return scheme == "http" || scheme == "https" }

// forward checks the rules that the types of an entry do not express.
func (c *checker) forward(n *yamltree.Node, f Forward) {
	scheme := c.forwardAddress(n.Field("to"), f.To)
	if node := n.Field("topic"); node != nil && overHTTP(scheme) {
		c.fault(node, "an HTTP address has no topic", "write it into the address, or remove topic")
	}
	if node := n.Field("token"); node != nil && !node.Faulty {
		switch {
		case scheme != "" && !overHTTP(scheme):
			c.fault(node, "only an HTTP address takes a token",
				"write user and password into the address: "+scheme+"://USER:PASSWORD@HOST")
		case f.Token.s == nil || !tokenForm.MatchString(f.Token.s.written):
			c.fault(node, "a token does not stand in the file itself", "write ${VARIABLE} or file:PATH")
		}
	}
	c.patterns(n.Field("campaigns"), f.Campaigns, nil)
	var kinds []string
	for _, k := range events.Kinds() {
		kinds = append(kinds, string(k.Kind))
	}
	c.patterns(n.Field("kinds"), f.Kinds, kinds)
}

// Scrub removes the token from a text by others.
func (t Token) Scrub(text string) string {
	token, err := t.Reveal()
	if err != nil || token == "" {
		return text
	}
	return strings.ReplaceAll(text, token, withheld)
}

// tokenForm is the form of a token.
var tokenForm = regexp.MustCompile(`^(\$\{[A-Za-z_][A-Za-z0-9_]*\}|file:.+)$`)

// patterns checks names that may hold *; each must match one of known, if any are given.
func (c *checker) patterns(n *yamltree.Node, patterns, known []string) {
	for i, pattern := range patterns {
		if n == nil || i >= len(n.Items) || n.Items[i].Faulty {
			continue
		}
		item := n.Items[i]
		_, err := path.Match(pattern, "")
		fits := func(name string) bool { return matches([]string{pattern}, name) }
		switch {
		case err != nil || pattern == "":
			c.fault(item, "this is neither a name nor one with * in it", `write a name, or "experiment.*"`)
		case known != nil && !slices.ContainsFunc(known, fits):
			c.fault(item, fmt.Sprintf("no kind of event is called %q", pattern),
				yamltree.Suggest(pattern, known))
		}
	}
}

// forwardAddress checks an address, and returns its scheme if that is known without the
// environment.
func (c *checker) forwardAddress(n *yamltree.Node, s Secret) (scheme string) {
	if n == nil || n.Faulty {
		return ""
	}
	const begin = "write kafka://HOST:9092, nats://HOST:4222, amqp://HOST:5672 or https://HOST/PATH, " +
		"${VARIABLE} or file:PATH"
	if s.s == nil || s.s.written == "" {
		c.fault(n, "the address is empty", begin)
		return ""
	}
	text := s.s.written
	if path, ok := strings.CutPrefix(text, "file:"); ok && !strings.HasPrefix(path, "//") {
		if path == "" {
			c.fault(n, "no file is named", "write file:PATH")
		}
		return ""
	}
	for _, part := range variable.FindAllStringSubmatch(text, -1) {
		if !name.MatchString(part[1]) {
			c.fault(n, "${…} does not name a variable",
				"a name has letters, digits and underscores: ${KAFKA_PASSWORD}")
			return ""
		}
	}
	plain := variable.ReplaceAllString(text, "1") // a digit may stand in a port, too
	scheme, _, found := strings.Cut(plain, "://")
	switch {
	case !found && plain != text, strings.HasPrefix(text, "${"):
		return "" // the variable may hold all of it
	case !found:
		c.fault(n, "this is not an address", begin)
		return ""
	case !slices.Contains(forwardSchemes, scheme):
		c.fault(n, fmt.Sprintf("events cannot be sent to %s://", scheme), begin)
		return ""
	}
	u, err := url.Parse(plain)
	switch {
	case err != nil:
		c.fault(n, "this is not an address",
			"special characters in a password are written as in a URL: %40 for @")
	case u.Hostname() == "":
		c.fault(n, "the address names no host", begin)
	case (scheme == "kafka" || scheme == "kafka+tls") && u.Port() == "":
		c.fault(n, "the address of a Kafka broker has a port", "write "+scheme+"://"+u.Hostname()+":9092")
	}
	return scheme
}
