// Package labfile reads lab.yaml, the one file for a lab: its people and how they are reached, the
// instruments and experts that campaign files name, and the settings of the server. It is read as
// strictly as a campaign file, and all its faults are reported at once.
//
// Decoding is that of package yamltree, with the settings of an instrument or a channel decoded
// into their owner's struct. Settings that only make sense within a campaign are checked where a
// campaign refers to them.
package labfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/campaignd/campaignd/adapters/notifications"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/input"
)

// Name is the file's name, next to the served stores and the campaign files that refer to it.
const Name = "lab.yaml"

// Lab is the content of the file.
type Lab struct {
	// Title of the lab, as pages show it.
	Title string `json:"title,omitempty" jsonschema:"maxLength=200"`
	// URL is the address at which people reach the server, for links in
	// messages: "https://lab.example.org". Without one, messages have no links.
	URL string `json:"url,omitempty"`
	// People by the name under which they log in and answer.
	People map[string]Person `json:"people,omitempty"`
	// Alarms lists who gets messages about what needs a person: unknown outcomes,
	// doubts, silent instruments, campaigns that campaignd paused.
	Alarms []string `json:"alarms,omitempty" jsonschema:"uniqueItems=true"`
	// Finished lists who gets messages about campaigns that have ended.
	Finished []string `json:"finished,omitempty" jsonschema:"uniqueItems=true"`
	// Instruments are those that campaign files can name: instrument: {lab:
	// NAME}.
	Instruments map[string]Instrument `json:"instruments,omitempty"`
	// Experts are those that campaign files can name: experts: [NAME].
	Experts map[string]Expert `json:"experts,omitempty"`
	// Stocks are used up by all campaigns together: stocks: {tips: {lab: NAME}} in a campaign file.
	Stocks map[string]Stock `json:"stocks,omitempty"`
	// Places are what only so many batches of all campaigns can occupy at once, an oven or a press, in
	// the order in which a batch may hold them: places: [{lab: NAME}] in a campaign file.
	Places []Place `json:"places,omitempty" jsonschema:"maxItems=64"`
	// Forward lists, by name, where the events of campaigns are sent.
	Forward map[string]Forward `json:"forward,omitempty"`
	// Accounts says what asks for a password again.
	Accounts Accounts `json:"accounts,omitzero"`
	// OIDC lets people log in through another service.
	OIDC *OIDC `json:"oidc,omitempty"`
	// Passkeys lets people log in by a passkey.
	Passkeys *Passkeys `json:"passkeys,omitempty"`
}

// Instrument is an instrument of the lab. Its keys are those of instrument in a
// campaign file, the driver among them, and its capacity.
type Instrument struct {
	// Driver is the kind of instrument with its settings.
	Driver definition.Choice `json:"-"`
	// Capacity is how many campaigns use it at a time, their commands in turn.
	// Default 1.
	Capacity int `json:"capacity,omitempty" jsonschema:"minimum=1,maximum=1000"`
	// Steps is the resolution the instrument can dose in, by parameter, in the
	// parameter's unit.
	Steps map[string]float64 `json:"steps,omitempty"`
	// StallAfter is how long the instrument may be silent before the campaign
	// says so.
	StallAfter definition.Duration `json:"stall_after,omitempty"`
	// GiveUpAfter is how long a silent experiment is waited for before its fate
	// counts as unknown.
	GiveUpAfter definition.Duration `json:"give_up_after,omitempty"`
	// Draws says how much each command uses up of the stocks that the campaign declares.
	Draws map[string]definition.Draw `json:"draws,omitempty"`
}

// Expert is an expert whom campaign files can name. Their keys are those of an
// expert in a campaign file that hold for every campaign, the channel among
// them.
type Expert struct {
	// Channel is how the expert is asked.
	Channel definition.Choice `json:"-"`
	// AnswerWithin is how long a question waits before the campaign goes on
	// without it.
	AnswerWithin definition.Duration `json:"answer_within,omitempty"`
	// Meanwhile is how many experiments a campaign may choose by itself while
	// the expert is asked.
	Meanwhile *int `json:"meanwhile,omitempty" jsonschema:"minimum=0,maximum=100000"`
	// Time is how much of the expert's time each campaign may ask for.
	Time definition.Duration `json:"time,omitempty"`
	// AnswerTakes is how long judging one composition takes.
	AnswerTakes definition.Duration `json:"answer_takes,omitempty"`
}

// Accounts says what accounts are asked for.
type Accounts struct {
	// Reauthenticate lists the requests for which people prove again who they
	// are.
	Reauthenticate []string `json:"reauthenticate,omitempty" jsonschema:"enum=stop,enum=resolve,enum=override,uniqueItems=true"`
}

// OIDC is a service of OpenID Connect at which people log in.
type OIDC struct {
	// Issuer is the address of the service.
	Issuer string `json:"issuer" jsonschema:"required"`
	// ClientID is this server's identifier at the service.
	ClientID string `json:"client_id" jsonschema:"required,minLength=1"`
	// ClientSecretFile names the file that holds the client's secret; relative
	// paths start from the folder of lab.yaml.
	ClientSecretFile string `json:"client_secret_file,omitempty"`
	// ClientSecretEnv names the environment variable that holds it.
	ClientSecretEnv string `json:"client_secret_env,omitempty" jsonschema:"pattern=^[A-Za-z_][A-Za-z0-9_]*$"`
	// Scopes are asked for besides openid. Default profile and email; some
	// services say groups only where a scope of their own is among them.
	Scopes []string `json:"scopes,omitempty" jsonschema:"uniqueItems=true,minLength=1"`
	// Claim is the claim whose values Roles names. Default "groups". Where the
	// ID token does not have it, UserInfo is asked.
	Claim string `json:"claim,omitempty"`
	// Roles is the role that each value of the claim gives.
	Roles map[string]string `json:"roles,omitempty" jsonschema:"enum=viewer,enum=expert,enum=scientist,enum=integrator,enum=auditor,enum=admin"`
}

// Passkeys says for which site passkeys are made.
type Passkeys struct {
	// Domain is the domain that passkeys are bound to. Default: that of url.
	Domain string `json:"domain,omitempty"`
	// Name is the name that devices show. Default: the title.
	Name string `json:"name,omitempty" jsonschema:"maxLength=200"`
	// Origins are the addresses from which passkeys are used. Default: url.
	Origins []string `json:"origins,omitempty" jsonschema:"uniqueItems=true"`
}

// Roles of accounts.
var Roles = []string{"viewer", "expert", "scientist", "integrator", "auditor", "admin"}

// File is a lab file that was read without a fault. The zero File, and nil, are empty.
type File struct {
	Lab
	// Path is the path it was read from.
	Path string
	// Named is the part that campaign files can refer to.
	Named Named
}

var format = yamltree.Format{
	Name:    "a lab file",
	Subject: "lab",
	Begin:   "begin with title:, url:, people: or instruments:; examples/lab.yaml shows how",
}

// consequence ends the message of a file with faults.
const consequence = "nothing was changed"

// Read reads a lab file. A file that cannot be read gives the error of the operating system; one
// with faults gives an *[yamltree.Error]. The parts of URLs from the environment and from files are
// not checked; see [Lab.CheckSecrets].
func Read(reg registry.Registry, path string) (*File, error) {
	data, err := input.ReadText(path, yamltree.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("the lab file cannot be read: %w", err)
	}
	return Parse(reg, path, data)
}

// ReadFolder reads the lab file of a folder, nil if it is missing.
func ReadFolder(reg registry.Registry, folder string) (*File, error) {
	f, err := Read(reg, filepath.Join(folder, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// Parse reads a lab file from memory. path is its name in messages; relative paths in it start from
// that path's folder.
func Parse(reg registry.Registry, path string, data []byte) (*File, error) {
	data = input.Text(data)
	root, faults := yamltree.Read(data, format)
	if root == nil {
		return nil, yamltree.NewError(path, masked(data, nil), consequence, faults)
	}
	f := &File{Path: path}
	c := checker{reg: reg, faults: faults}
	rest := root
	for _, key := range []string{"people", "instruments", "experts", "stocks", "places", "forward", "oidc", "passkeys"} {
		rest = rest.Without(key) // read separately, so that one fault hides no other
	}
	c.faults = append(c.faults, rest.Decode(&f.Lab)...)
	f.People = named[Person](&c, root.Field("people"))
	f.Forward = named[Forward](&c, root.Field("forward"))
	f.OIDC = section[OIDC](&c, root.Field("oidc"))
	f.Passkeys = section[Passkeys](&c, root.Field("passkeys"))
	f.Instruments = instruments(&c, root.Field("instruments"))
	f.Experts = experts(&c, root.Field("experts"))
	f.Stocks = stocks(&c, root.Field("stocks"))
	f.Places = places(&c, root.Field("places"))
	f.Named = namedIn(root)
	for _, p := range f.People {
		for i := range p.Notify {
			p.Notify[i].startFrom(filepath.Dir(path))
		}
	}
	for _, forward := range f.Forward {
		forward.To.startFrom(filepath.Dir(path))
		if !forward.Token.IsZero() {
			forward.Token.s.folder = filepath.Dir(path)
		}
	}
	c.check(root, &f.Lab)
	if len(c.faults) > 0 {
		return nil, yamltree.NewError(path, masked(data, root), consequence, c.faults)
	}
	f.complete()
	return f, nil
}

// Relays reports whether messages or events leave by campaignd-forward (package relay). An address
// that cannot be read now may be one of them.
func (f *File) Relays(channels notifications.Channels) bool {
	for _, p := range f.People {
		for _, address := range p.Notify {
			text, err := address.Reveal()
			if row, _ := channels.Of(text); err != nil || row.Forwarded {
				return true
			}
		}
	}
	for _, to := range f.Forward {
		if scheme, _, known := strings.Cut(to.To.String(), "://"); known && !overHTTP(scheme) {
			return true
		}
	}
	return false
}

// complete writes out the defaults.
func (f *File) complete() {
	f.URL = strings.TrimRight(f.URL, "/")
	for name, p := range f.People {
		if p.PerHour == 0 {
			p.PerHour = DefaultPerHour
		}
		if p.Name == "" {
			p.Name = name
		}
		f.People[name] = p
	}
	for name, to := range f.Forward {
		definition.Default(&to.Topic, DefaultTopic)
		f.Forward[name] = to
	}
	for name, in := range f.Instruments {
		in.Capacity = max(in.Capacity, 1)
		f.Instruments[name] = in
	}
	if f.OIDC != nil {
		definition.Default(&f.OIDC.Claim, "groups")
		if file := f.OIDC.ClientSecretFile; file != "" && !filepath.IsAbs(file) {
			f.OIDC.ClientSecretFile = filepath.Join(filepath.Dir(f.Path), file)
		}
	}
	if p := f.Passkeys; p != nil {
		definition.Default(&p.Domain, hostOf(f.URL))
		definition.Default(&p.Name, f.Title)
		if p.Origins == nil && f.URL != "" {
			p.Origins = []string{f.URL}
		}
	}
}

// Using returns the instrument of the lab that a completed campaign uses, judged by the driver in
// its definition.
func (f *File) Using(reg registry.Registry, def *definition.Campaign) (name string, in Instrument, ok bool) {
	if f == nil || def.Driver().IsZero() {
		return "", Instrument{}, false
	}
	for _, name := range sortedKeys(f.Instruments) {
		in := f.Instruments[name]
		driver, known := reg.Driver(in.Driver.Name)
		if known && same(in.Driver, driver.Settings(), def, def.Driver()) {
			return name, in, true
		}
	}
	return "", Instrument{}, false
}

// Offers reports whether a completed campaign reaches exactly an instrument, or an expert, of the
// lab file. The author of the lab file has decided that campaigns may reach it.
func (f *File) Offers(reg registry.Registry, def *definition.Campaign, reach registry.Reach) bool {
	if f == nil || reach.Method { // the file offers no methods
		return false
	}
	if !reach.Expert {
		_, _, ok := f.Using(reg, def.For(reach.Resource))
		return ok
	}
	for _, e := range f.Experts {
		channel, known := reg.Channel(e.Channel.Name)
		if known && same(e.Channel, channel.Settings(), def, reach.Choice) {
			return true
		}
	}
	return false
}

// same reports whether a choice of the lab, completed for a campaign, equals that in its
// definition. settings are empty ones of the choice. Complete works on a copy, since it may fill in
// the definition.
func same(lab definition.Choice, settings definition.Settings, def *definition.Campaign,
	recorded definition.Choice) bool {
	if lab.Name != recorded.Name || lab.Decode(settings) != nil {
		return false
	}
	completed := *def
	settings.Complete(&completed)
	return definition.NewChoice(lab.Name, settings).Equal(recorded)
}

// address matches an address in a line of a file, up to its end.
var address = regexp.MustCompile(`://(\$\{[^}]*\}|[^\s"',\]}])+`)

// open matches the lines whose addresses are not secret.
var open = regexp.MustCompile(`^\s*(url|issuer|origins)\s*:`)

// masked returns a file as its faults show it: addresses hold tokens, and are covered character by
// character, so that columns stay. root is its tree, or nil.
func masked(data []byte, root *yamltree.Node) []byte {
	lines := strings.SplitAfter(string(data), "\n")
	var secrets []*yamltree.Node
	for _, name := range root.Field("people").Keys() {
		if notify := root.Field("people").Field(name).Field("notify"); notify != nil {
			secrets = append(append(secrets, notify), notify.Items...)
		}
	}
	for _, name := range root.Field("forward").Keys() {
		entry := root.Field("forward").Field(name)
		secrets = append(secrets, entry.Field("to"), entry.Field("token"))
	}
	for _, node := range secrets {
		if node == nil {
			continue
		}
		text, ok := node.Value.(string)
		if line := node.Place.Line - 1; ok && text != "" && line >= 0 && line < len(lines) {
			lines[line] = strings.Replace(lines[line], text, covered(text), 1)
		}
	}
	for i, line := range lines {
		if !open.MatchString(line) {
			lines[i] = address.ReplaceAllStringFunc(line, covered)
		}
	}
	return []byte(strings.Join(lines, ""))
}

// covered covers an address except its service.
func covered(text string) string {
	service, rest, found := strings.Cut(text, "://")
	if !found {
		return strings.Repeat("•", len([]rune(text)))
	}
	return service + "://" + strings.Repeat("•", len([]rune(rest)))
}
