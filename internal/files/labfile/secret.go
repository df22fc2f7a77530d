package labfile

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/adapters/notifications"
	"github.com/campaignd/campaignd/internal/ground/input"
)

// Secret is an address that holds tokens or passwords. It is never printed: as text, in JSON and in
// package fmt it shows only its destination.
type Secret struct {
	// behind a pointer, so that fmt does not find it in an unexported field
	s *secret
}

// secret is the text of the file. Its value is not stored: it is looked up each time, so that a
// changed variable or file takes effect.
type secret struct {
	written string // as in the file
	folder  string // relative paths start from it
}

// NewSecret returns the secret with this text in the lab file of a folder.
func NewSecret(written, folder string) Secret { return Secret{&secret{written, folder}} }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text), "")
	return nil
}

// MarshalText implements encoding.TextMarshaler: it is [Secret.String].
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// startFrom sets the folder, which UnmarshalText cannot know.
func (s Secret) startFrom(folder string) {
	if s.s != nil {
		s.s.folder = folder
	}
}

// maxSecret is the greatest size of a file that holds a secret.
const maxSecret = 64 << 10

// variable matches a part from the environment.
var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// name matches the name of a variable.
var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Reveal returns the address itself, with the present values of the environment and files. The
// error does not hold any part of it.
func (s Secret) Reveal() (string, error) {
	if s.s == nil {
		return "", errors.New("the address is missing")
	}
	text, err := s.s.reveal("address")
	if err != nil {
		return "", err
	}
	if _, err := url.Parse(text); err != nil || !strings.Contains(text, "://") {
		return "", errors.New("what the address stands for is not one, such as smtp://… or ntfy://…")
	}
	return text, nil
}

// reveal returns the text with the present values of the environment and files. Errors name it by
// what, and hold no part of it.
func (s *secret) reveal(what string) (string, error) {
	text := s.written
	if path, ok := strings.CutPrefix(text, "file:"); ok {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.folder, path)
		}
		data, err := input.ReadText(path, maxSecret)
		if err != nil {
			return "", fmt.Errorf("the file of the %s cannot be read: %w", what, err)
		}
		text = strings.TrimSpace(string(data))
		if text == "" {
			return "", fmt.Errorf("the file of the %s, %s, is empty", what, path)
		}
	}
	var missing []string
	text = variable.ReplaceAllStringFunc(text, func(part string) string {
		key := part[2 : len(part)-1]
		value := os.Getenv(key)
		if value == "" && !slices.Contains(missing, key) {
			missing = append(missing, key)
		}
		return value
	})
	if missing != nil {
		return "", fmt.Errorf("the %s needs %s, which the environment of campaignd does not hold",
			what, strings.Join(missing, ", "))
	}
	return text, nil
}

// fault returns the fault of the form of an address of messages, "" if it has none.
func (s Secret) fault(channels notifications.Channels) (message, remedy string) {
	const begin = "write SERVICE://…, ${VARIABLE} or file:PATH"
	if s.s == nil || s.s.written == "" {
		return "the address is empty", begin
	}
	text := s.s.written
	if path, ok := strings.CutPrefix(text, "file:"); ok && !strings.HasPrefix(path, "//") {
		if path == "" {
			return "no file is named", "write file:PATH"
		}
		return "", ""
	}
	for _, part := range variable.FindAllStringSubmatch(text, -1) {
		if !name.MatchString(part[1]) {
			return "${…} does not name a variable",
				"a name has letters, digits and underscores: ${SLACK_TOKEN}"
		}
	}
	text = variable.ReplaceAllString(text, "x")
	scheme, _, found := strings.Cut(text, "://")
	row, known := channels.Of(text)
	switch {
	case !found && variable.MatchString(s.s.written):
		return "", "" // the variable may hold all of it
	case !found:
		return "this is not an address", begin
	case !known:
		return fmt.Sprintf("no channel sends messages to %s://", scheme), begin
	case row.Check != nil:
		if fault, remedy := row.Check(text); fault != "" {
			return fault, remedy
		}
	}
	if _, err := url.Parse(text); err != nil {
		return "this is not an address", "special characters in a password are written as in a URL: %40 for @"
	}
	return "", ""
}

// String returns the destination of the address: the service, and the host if that is a server's
// name and not itself a token. It reveals the address to find the host, and shows less if it
// cannot.
func (s Secret) String() string {
	text, err := s.Reveal()
	if err != nil {
		if s.s == nil {
			return ""
		}
		if strings.HasPrefix(s.s.written, "file:") {
			return "file:…"
		}
		scheme, _, found := strings.Cut(s.s.written, "://")
		if !found || strings.Contains(scheme, "$") {
			return "an address from the environment"
		}
		return scheme + "://…"
	}
	return shown(text)
}

// GoString implements fmt.GoStringer: it is [Secret.String].
func (s Secret) GoString() string { return s.String() }

// hosted are the services whose addresses have the name of a server in the usual place. In others a
// token or a user's key stands there.
var hosted = []string{
	"http", "https", "smtp", "ntfy", "gotify", "generic", "matrix", "mattermost", "rocketchat",
	"signal", "zulip", "opsgenie",
	"kafka", "nats", "tls", "amqp", "amqps",
}

// shown returns an address without its secrets. In doubt it leaves the host out.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return "…"
	}
	service, transport, custom := strings.Cut(u.Scheme, "+")
	if u.Host != "" && (slices.Contains(hosted, service) || custom && slices.Contains(hosted, transport)) {
		return u.Scheme + "://" + u.Host
	}
	return u.Scheme + "://…"
}

// anyAddress is an address within a text.
var anyAddress = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>\\]+`)

// withheld stands for a part of a text that could be a secret.
const withheld = "•••"

// Scrub removes all parts of the address from a text by others, such as the error of a service:
// each part of it, however it is escaped, and every address but its scheme and host.
//
// A part of less than three characters would cover half the text, and leaving it would show a
// password: then nothing is shown.
func (s Secret) Scrub(text string) string {
	address, err := s.Reveal()
	if err != nil {
		return anyAddress.ReplaceAllStringFunc(text, shown)
	}
	show := shown(address)
	text = strings.ReplaceAll(text, address, show)
	for _, part := range parts(address) {
		if len(part) < 3 && strings.Contains(text, part) {
			return "it failed; what it said is not shown, since it may hold a part of the address"
		}
		text = strings.ReplaceAll(text, part, withheld)
	}
	return anyAddress.ReplaceAllStringFunc(text, shown)
}

// parts returns the possibly secret parts of an address, the longest first, each as it is and as
// URLs may have it.
func parts(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return []string{address}
	}
	var found []string
	add := func(part string, least int) {
		if len(part) < least || part == "http" || part == "https" {
			return
		}
		for _, form := range []string{part, url.PathEscape(part), url.QueryEscape(part)} {
			if !slices.Contains(found, form) {
				found = append(found, form)
			}
		}
	}
	if password, ok := u.User.Password(); ok {
		add(password, 1)
	}
	// Shorter words are ports, flags and the like, and covering them would leave nothing to read.
	const word = 4
	add(u.User.Username(), word)
	add(u.User.String(), word)
	if !strings.Contains(shown(address), u.Host) {
		add(u.Host, word)
		add(u.Hostname(), word)
	}
	for _, segment := range strings.Split(u.Path, "/") {
		add(segment, word)
	}
	for _, values := range u.Query() {
		for _, value := range values {
			add(value, word)
		}
	}
	add(u.RawQuery, word)
	add(u.Fragment, word)
	slices.SortFunc(found, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return found
}
