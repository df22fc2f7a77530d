//go:build unix

package app

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/ground/relay"
	"github.com/campaignd/campaignd/internal/ground/relay/relaytest"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

const (
	// down is an address at which nothing answers.
	down = "127.0.0.1:1"
	// long is more than the address of a socket holds.
	long = "a-folder-whose-name-is-longer-than-the-address-of-a-socket-may-be-which-is-some-hundred-bytes-on-every-system"
)

// oidc is a lab file with OpenID Connect at an issuer, and what else its section says.
func oidc(issuer, more string) string {
	return fmt.Sprintf("url: https://lab.example.org\noidc: {issuer: %q, client_id: lab, roles: {chemists: scientist}, %s}", issuer, more)
}

// optional are what a program can do without, each as it is where it is missing or broken.
var optional = []struct {
	name string
	lab  string            // lab.yaml
	env  map[string]string // DIR stands for the folder of the test
	long bool              // the folder that is served has too long a name for sockets
	sent bool              // campaignd-forward is needed
	says string            // a regular expression: what stands in one line
}{
	{name: "passkeys at an address", lab: "url: https://192.168.1.20:8443",
		says: `^Passkeys are off: .*"192.168.1.20" is not one. To change that: `},
	{name: "passkeys at a short name", lab: "url: https://labpc",
		says: `^Passkeys are off: .*"labpc" is not one. To change that: `},
	{name: "OIDC without the variable of its secret", lab: oidc("https://login.example.org", "client_secret_env: NO_SUCH_SECRET"),
		says: `^Logins with OpenID Connect are off: .*the variable NO_SUCH_SECRET holds nothing. To change that: `},
	{name: "OIDC without the file of its secret", lab: oidc("https://login.example.org", "client_secret_file: no-such-file"),
		says: `^Logins with OpenID Connect are off: .*no-such-file.* To change that: `},
	{name: "OIDC with an address that is not https", lab: oidc("http://login.example.org", "client_secret_env: HOME"),
		says: `^Logins with OpenID Connect are off: .*issuer: .*is not https.* To change that: `},
	{name: "OIDC that lets everybody in", lab: strings.Replace(oidc("https://login.example.org", "client_secret_env: HOME"), "roles: {chemists: scientist}, ", "", 1),
		says: `^Logins with OpenID Connect are off: .*everybody whom the issuer knows would be let in.* To change that: `},
	{name: "OIDC at an issuer that is down", lab: oidc("http://"+down, "client_secret_env: HOME"),
		says: `logins with OpenID Connect fail now: 127.0.0.1:1 does not answer as it should`},
	{name: "messages without a variable", lab: "people: {ada: {notify: ['ntfy://ntfy.sh/${NO_SUCH_TOPIC}']}}",
		says: `people.ada.notify\[0\]: .*NO_SUCH_TOPIC`},
	{name: "messages without a file", lab: "people: {ada: {notify: ['file:no-such-file']}}",
		says: `people.ada.notify\[0\]: .*no-such-file`},
	{name: "Kafka that is down", sent: true, lab: "forward: {bus: {to: kafka://" + down + "}}",
		says: `bus \(kafka://127.0.0.1:1\) does not take events of tiny.*connect`},
	{name: "NATS that is down", sent: true, lab: "forward: {bus: {to: nats://" + down + "}}",
		says: `bus \(nats://127.0.0.1:1\) does not take events of tiny.*server`},
	{name: "brokers without campaignd-forward", lab: "forward: {bus: {to: kafka://" + down + "}}",
		env:  map[string]string{relay.Variable: "DIR/campaignd-forward"},
		says: `bus \(kafka://127.0.0.1:1\) does not take events of tiny.*campaignd-forward`},
	{name: "messages without campaignd-forward", lab: "people: {ada: {notify: ['ntfy://ntfy.sh/x']}}",
		env:  map[string]string{relay.Variable: "DIR/campaignd-forward"},
		says: `^Messages and brokers are off: CAMPAIGND_FORWARD names no program: .*campaignd-forward`},
	{name: "AMQP that is down", sent: true, lab: "forward: {bus: {to: amqp://" + down + "}}",
		says: `bus \(amqp://127.0.0.1:1\) does not take events of tiny.*connect`},
	{name: "a web hook that is down", lab: "forward: {hook: {to: http://" + down + "/events}}",
		says: `hook \(http://127.0.0.1:1\) does not take events of tiny.*connect`},
	{name: "a web hook without its token", lab: "forward: {hook: {to: 'http://" + down + "/events', token: '${NO_SUCH_TOKEN}'}}",
		says: `forward.hook.token: .*NO_SUCH_TOKEN`},
	{name: "telemetry in a way that is not spoken", env: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"},
		says: `^Telemetry is off: telemetry: OTEL_TRACES_EXPORTER is "zipkin"`},
	{name: "telemetry without a collector",
		env:  map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + down, "OTEL_METRIC_EXPORT_INTERVAL": "50"},
		says: `telemetry is not exported: .*connect`},
	{name: "no sockets", long: true, env: map[string]string{"TMPDIR": "DIR/" + long},
		says: "^`campaignd account` cannot change anything while this server runs: .* To change that: "},
}

// serves begins a campaign at a server and waits until it has ended: the rest is served.
func serves(t *testing.T, base, token string) {
	t.Helper()
	tiny := must.Get(os.ReadFile("testdata/tiny.yaml"))(t)
	ask := func(method, path string, body string) (int, string) {
		t.Helper()
		r := must.Get(http.NewRequest(method, base+path, strings.NewReader(body)))(t)
		r.Header.Set("Content-Type", "application/yaml")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return read(http.DefaultClient.Do(r))
	}
	if status, text := ask("POST", "/api/v1/campaigns", string(tiny)); status != http.StatusCreated {
		t.Fatalf("it takes no campaign: %d %s", status, text)
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		status, text := ask("GET", "/api/v1/campaigns/tiny", "")
		if status == http.StatusOK && strings.Contains(text, `"status":"completed"`) {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("a campaign does not end: %d %s", status, text)
		}
	}
}

// said waits until a command has said something in one line, and finds that it said it once.
func said(t *testing.T, out *heard, pattern string) {
	t.Helper()
	line := regexp.MustCompile("(?m)" + pattern)
	for began := time.Now(); !line.MatchString(out.String()); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("no line says %s:\n%s", pattern, out)
		}
	}
	if found := line.FindAllString(out.String(), -1); len(found) != 1 {
		t.Errorf("%d lines say %s", len(found), pattern)
	}
}

// Law: what is optional ends no start. A server in which it is missing or broken begins, says in
// one line what is off and why, and serves the rest; and where people log in with what is broken,
// nobody is let in who was not before.
func TestOptional(t *testing.T) {
	for _, c := range optional {
		t.Run(c.name, func(t *testing.T) {
			if c.sent {
				relaytest.Need(t)
			}
			dir := t.TempDir()
			folder := filepath.Join(dir, "lab")
			if c.long {
				folder = filepath.Join(dir, long)
			}
			write(t, filepath.Join(folder, "lab.yaml"), cmp.Or(c.lab, "title: Lab"))
			for name, value := range c.env {
				t.Setenv(name, strings.ReplaceAll(value, "DIR", dir))
			}
			token := ""
			if strings.Contains(c.lab, "oidc") {
				token = inhabited(t, folder)
			}
			out, interrupt, ended := runs(t, "serve", folder, "--listen", "127.0.0.1:0")
			var base string
			for began := time.Now(); base == ""; time.Sleep(10 * time.Millisecond) {
				base = regexp.MustCompile(`(?m)^Serving .* on (http://127\.0\.0\.1:\d+)`).FindString(out.String())
				select {
				case err := <-ended:
					t.Fatalf("it has ended: %v\n%s", err, out)
				default:
				}
				if time.Since(began) > time.Minute {
					t.Fatalf("it does not serve:\n%s", out)
				}
			}
			base = base[strings.LastIndex(base, "http://"):]
			answers(t, base+"/readyz", http.StatusOK, "ok")
			serves(t, base, token)
			said(t, out, c.says)
			if token != "" {
				closed(t, base)
			}
			interrupt()
			if err := <-ended; err != nil {
				t.Errorf("it ended with %v\n%s", err, out)
			}
		})
	}
}

// inhabited makes an account in a lab, and returns its token.
func inhabited(t *testing.T, folder string) string {
	t.Helper()
	book := must.Get(accounts.Open(lablog.Address(folder), accounts.Options{}))(t)
	defer book.Close()
	root := accounts.SystemIdentity("root")
	must.Get(book.Add(t.Context(), root, accounts.NewAccount{
		Name: "ada", Grants: []accounts.Grant{{Role: accounts.Admin}}, Password: accounts.NewSecret("a long pass word of ada"),
	}))(t)
	token, _, err := book.CreateToken(t.Context(), root, "ada", accounts.NewToken{Name: "script", Scopes: accounts.Permissions()})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// closed finds that nobody is let in without an account, and that a login with OpenID Connect
// comes to nothing.
func closed(t *testing.T, base string) {
	t.Helper()
	stays := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for path, want := range map[string]bool{
		"/api/v1/campaigns": false, "/": false, "/login/oidc": false, "/oidc/callback?code=a&state=b": false, "/login": true,
	} {
		response := must.Get(stays.Get(base + path))(t)
		_ = response.Body.Close()
		to := response.Header.Get("Location")
		if let := response.StatusCode == http.StatusOK; let != want || strings.HasPrefix(to, "http") || response.Header.Get("Set-Cookie") != "" && !strings.HasPrefix(path, "/oidc/") {
			t.Errorf("%s is answered %d, %s", path, response.StatusCode, to)
		}
	}
}

// Law: nor does it end the start of a worker, or of a run.
func TestOptionalElsewhere(t *testing.T) {
	var lab, names []string
	for _, c := range optional { // all of it at once; of a section that there is twice the first
		section, _, _ := strings.Cut(c.lab, ":")
		for line := range strings.Lines(c.lab + "\n") {
			section, _, _ = strings.Cut(line, ":")
			if !strings.Contains(strings.Join(names, " "), section) {
				lab, names = append(lab, line), append(names, section)
			}
		}
	}
	t.Setenv("OTEL_TRACES_EXPORTER", "zipkin")
	const off = `^Telemetry is off: telemetry: OTEL_TRACES_EXPORTER is "zipkin"`
	t.Run("run", func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), long)
		write(t, filepath.Join(folder, "lab.yaml"), strings.Join(lab, ""))
		tiny := must.Get(os.ReadFile("testdata/tiny.yaml"))(t)
		write(t, filepath.Join(folder, "tiny.yaml"), string(tiny))
		t.Setenv("TMPDIR", folder)
		out, _, ended := runs(t, "run", filepath.Join(folder, "tiny.yaml"))
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v\n%s", err, out)
		}
		said(t, out, off)
		said(t, out, `^other commands cannot reach this run: `)
		said(t, out, `^Campaign tiny: completed`)
	})
	t.Run("work", func(t *testing.T) {
		folder := t.TempDir()
		write(t, filepath.Join(folder, "lab.yaml"), strings.Join(lab, ""))
		out, interrupt, ended := runs(t, "work", pgtest.URL(t), "--folder", folder)
		said(t, out, `^Working for `)
		said(t, out, off)
		interrupt()
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v\n%s", err, out)
		}
	})
}

// write writes a file, and makes its folder.
func write(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
