package labfile

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// checker collects the faults of a lab file.
type checker struct {
	reg    registry.Registry
	faults []yamltree.Fault
}

// fault adds a fault of a node, with its remedy.
func (c *checker) fault(n *yamltree.Node, message, remedy string) {
	c.faults = append(c.faults, n.Fault(message, remedy))
}

var validName = regexp.MustCompile(namePattern)

// name checks a key that names a person or a thing.
func (c *checker) name(n *yamltree.Node, name string) {
	if len(name) > nameLength || !validName.MatchString(name) {
		c.faults = append(c.faults, n.KeyFault(yamltree.WrongForm(name),
			"a name begins with a letter or digit and goes on with letters, digits, dot, dash and underscore"))
	}
}

// check checks the rules that the types do not express. It skips the parts that decoding could not
// read and has reported, so that one mistake has one message. People who could not be read still
// count as names.
func (c *checker) check(root *yamltree.Node, lab *Lab) {
	c.site(root.Field("url"), lab.URL)
	people := slices.Sorted(slices.Values(root.Field("people").Keys()))
	for _, name := range people {
		if p, read := lab.People[name]; read {
			c.person(root.Field("people").Field(name), name, p, people)
		}
	}
	for key, names := range map[string][]string{"alarms": lab.Alarms, "finished": lab.Finished} {
		for i, name := range names {
			if slices.Contains(people, name) || i >= len(root.Field(key).Items) {
				continue
			}
			c.somebody(root.Field(key).Items[i], name, people)
		}
	}
	for _, name := range sortedKeys(lab.Forward) {
		c.forward(root.Field("forward").Field(name), lab.Forward[name])
	}
	if o := lab.OIDC; o != nil {
		c.oidc(root.Field("oidc"), o)
	}
	if p := lab.Passkeys; p != nil {
		c.passkeys(root.Field("passkeys"), lab)
	}
}

// somebody reports a name without a person.
func (c *checker) somebody(n *yamltree.Node, name string, people []string) {
	remedy := yamltree.Suggest(name, people)
	if len(people) == 0 {
		remedy = fmt.Sprintf("add people: {%s: {notify: [SERVICE://…]}}", name)
	}
	if !n.Faulty && name != "" {
		c.fault(n, fmt.Sprintf("%q is nobody of people", name), remedy)
	}
}

// person checks one of people: addresses, who stands in for whom and when, and quiet hours. A
// stand-in without a time, and a time without a stand-in, would both silently do nothing.
func (c *checker) person(n *yamltree.Node, name string, p Person, people []string) {
	for i, secret := range p.Notify {
		item := n.Field("notify").Items[i]
		if item.Faulty {
			continue
		}
		if message, remedy := secret.fault(c.reg.Notifications); message != "" {
			c.fault(item, message, remedy)
		}
	}
	switch {
	case p.StandIn == name:
		c.fault(n.Field("stand_in"), "nobody stands in for themselves",
			"name somebody else, or remove stand_in")
	case p.StandIn != "" && !slices.Contains(people, p.StandIn):
		c.somebody(
			n.Field("stand_in"),
			p.StandIn,
			slices.DeleteFunc(slices.Clone(people), func(s string) bool { return s == name }),
		)
	}
	switch {
	case p.StandIn != "" && n.Field("escalate_after") == nil:
		c.fault(n.Field("stand_in"), "it does not say when "+p.StandIn+" is told", "add escalate_after: 24h")
	case p.StandIn == "" && n.Field("stand_in") == nil && p.EscalateAfter > 0:
		c.fault(n.Field("escalate_after"), "it does not say who is told then",
			"add stand_in, or remove escalate_after")
	}
	for key, d := range map[string]definition.Duration{"escalate_after": p.EscalateAfter,
		"remind_every": p.RemindEvery} {
		if node := n.Field(key); node != nil && !node.Faulty && time.Duration(d) < time.Minute {
			c.fault(node, "it is less than a minute", `write a time with its unit: "90m" or "4h"`)
		}
	}
	if node := n.Field("quiet"); node.IsMapping() {
		var quiet Quiet
		node.Decode(&quiet) // the valid part; its faults are reported
		c.quiet(node, &quiet)
	}
}

// quiet checks quiet hours. The zone Local is refused: it would mean another
// time on another machine.
func (c *checker) quiet(n *yamltree.Node, q *Quiet) {
	if _, err := time.LoadLocation(q.Zone); q.Zone != "" && (err != nil || q.Zone == "Local") {
		c.fault(n.Field("zone"), fmt.Sprintf("there is no time zone %q", q.Zone),
			"write it as in Europe/Berlin or UTC")
	}
	from, to := n.Field("from"), n.Field("to")
	switch {
	case from == nil && to == nil && !q.Weekends:
		c.fault(n, "it does not say when", `add from: "19:00" and to: "08:00", or weekends: true`)
	case from != nil && to == nil:
		c.fault(from, "it does not say until when", `add to: "08:00"`)
	case from == nil && to != nil:
		c.fault(to, "it does not say from when", `add from: "19:00"`)
	case from != nil && q.From == q.To:
		c.fault(to, "it is the same time as from", "a night is from: \"19:00\", to: \"08:00\"")
	}
}

// web checks the address of a web site.
func (c *checker) web(n *yamltree.Node, address string) {
	if n == nil || n.Faulty || address == "" {
		return
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		c.fault(n, "this is not the address of a web site", "write https://lab.example.org")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		c.fault(n, "it has more than a host and a path", "write https://lab.example.org")
	}
}

// site checks the address of the server: pages are at the root of a host.
func (c *checker) site(n *yamltree.Node, address string) {
	c.web(n, address)
	if u, err := url.Parse(address); n != nil && !n.Faulty && err == nil && strings.Trim(u.Path, "/") != "" {
		c.fault(n, fmt.Sprintf("the server cannot be under %s of a host: its pages begin at /", u.Path),
			"give it a host of its own: https://campaignd.lab.example.org")
	}
}

// oidc checks the login service. Its secret is never in the file itself.
func (c *checker) oidc(n *yamltree.Node, o *OIDC) {
	c.web(n.Field("issuer"), o.Issuer)
	switch {
	case o.ClientSecretFile != "" && o.ClientSecretEnv != "":
		c.fault(n, "the client's secret is in two places", "keep client_secret_file or client_secret_env")
	case n.Field("client_secret_file") == nil && n.Field("client_secret_env") == nil:
		c.fault(n, "it does not say where the client's secret is",
			"add client_secret_file or client_secret_env")
	}
	for i, scope := range o.Scopes {
		if strings.ContainsFunc(scope, unicode.IsSpace) {
			c.fault(n.Field("scopes").Items[i], "a scope is one word", "write a list: [profile, email, groups]")
		}
	}
	for _, value := range sortedKeys(o.Roles) {
		if role := o.Roles[value]; !slices.Contains(Roles, role) {
			message, remedy := yamltree.NotAmong(role, Roles)
			c.fault(n.Field("roles").Field(value), message, remedy)
		}
	}
}

// passkeys checks the site of the passkeys; browsers accept a bare domain only.
func (c *checker) passkeys(n *yamltree.Node, lab *Lab) {
	p := lab.Passkeys
	if p.Domain == "" && lab.URL == "" {
		c.fault(n, "it does not say for which domain", "add domain, or the server's url")
	}
	if strings.ContainsAny(p.Domain, "/:@ ") {
		c.fault(n.Field("domain"), "this is not a domain", "write lab.example.org, without https://")
	}
	for i, origin := range p.Origins {
		c.web(n.Field("origins").Items[i], origin)
	}
}

// hostOf returns the host name of an address, "" without one.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// CheckSecrets lists the addresses that cannot be used now because a variable or a file is missing:
// whose, and why. These are not faults of the file: the same file is also read where the variables
// are not set, for example by check.
func (l *Lab) CheckSecrets() []error {
	var problems []error
	for _, name := range sortedKeys(l.People) {
		for i, secret := range l.People[name].Notify {
			if _, err := secret.Reveal(); err != nil {
				problems = append(problems, fmt.Errorf("people.%s.notify[%d]: %w", name, i, err))
			}
		}
	}
	for _, name := range sortedKeys(l.Forward) {
		forward := l.Forward[name]
		if _, err := forward.To.Reveal(); err != nil {
			problems = append(problems, fmt.Errorf("forward.%s.to: %w", name, err))
		}
		if _, err := forward.Token.Reveal(); err != nil {
			problems = append(problems, fmt.Errorf("forward.%s.token: %w", name, err))
		}
	}
	return problems
}

// fieldNames returns the keys of a struct. They are read from the tags, so that a new field is
// known as a key at once.
func fieldNames[T any]() []string {
	var names []string
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "-" && name != "" {
			names = append(names, name)
		}
	}
	return names
}
