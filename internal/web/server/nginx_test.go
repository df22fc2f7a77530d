package server_test

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// proxied is a server behind nginx, with the settings that nginx has by itself.
type proxied struct {
	t      *testing.T
	folder string
	at     string // where nginx listens
	cmd    *exec.Cmd
}

func nginx(t *testing.T, upstream string) *proxied {
	t.Helper()
	if _, err := exec.LookPath("nginx"); err != nil {
		t.Skip("nginx is not installed")
	}
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := &proxied{t: t, folder: t.TempDir(), at: listener.Addr().String()}
	must.Do(t, listener.Close())
	// Where files are is said, and who runs it; nothing of how it passes on.
	var paths strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&paths, "  %s_temp_path %s;\n", kind, filepath.Join(p.folder, kind))
	}
	config := fmt.Sprintf("daemon off;\nmaster_process off;\npid %s;\nerror_log stderr;\nevents {}\nhttp {\n  access_log off;\n%s"+
		"  server {\n    listen %s;\n    location / { proxy_pass %s; }\n  }\n}\n",
		filepath.Join(p.folder, "pid"), &paths, p.at, upstream)
	must.Do(t, os.WriteFile(filepath.Join(p.folder, "nginx.conf"), []byte(config), 0o600))
	t.Cleanup(p.kill)
	p.start()
	return p
}

// start returns once nginx listens.
func (p *proxied) start() {
	p.t.Helper()
	p.cmd = exec.Command("nginx", "-p", p.folder, "-c", filepath.Join(p.folder, "nginx.conf"), "-e", "stderr")
	p.cmd.Stderr = p.t.Output()
	must.Do(p.t, p.cmd.Start())
	for range 3000 {
		if conn, err := net.Dial("tcp", p.at); err == nil {
			_ = conn.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatal("nginx does not listen")
}

// kill ends nginx as the machine would: every connection through it is cut.
func (p *proxied) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// Law: every stream of events comes through a proxy as it is sent, also through nginx as it is
// installed, which keeps an answer back until it has a page of it.
func TestStreamsBehindNginx(t *testing.T) {
	c := serve(t)
	p := nginx(t, c.url)
	c.begin(bench)
	for what, x := range map[string]struct{ path, accept, greeting string }{
		"a page":    {"/live?campaign=bench", "text/event-stream", "retry:"},
		"the API":   {"/api/v1/campaigns/bench/events", "text/event-stream", "campaign.defined"},
		"a command": {"/api/v1/campaigns/bench/control/v1/events?after=0&follow=1", "", "campaign.defined"},
	} {
		t.Run(what, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			r, _ := http.NewRequestWithContext(ctx, "GET", "http://"+p.at+x.path, nil)
			if x.accept != "" {
				r.Header.Set("Accept", x.accept)
			}
			answer := must.Get(http.DefaultClient.Do(r))(t)
			defer answer.Body.Close()
			lines := bufio.NewScanner(answer.Body)
			lines.Buffer(nil, 1<<20)
			awaits := func(text string) {
				t.Helper()
				for lines.Scan() {
					if strings.Contains(lines.Text(), text) {
						return
					}
				}
				t.Fatalf("%q does not come: %v", text, lines.Err())
			}
			awaits(x.greeting)
			c.post("/api/v1/campaigns/bench/note", `{"text": "hello"}`, http.StatusOK, nil)
			if strings.HasPrefix(x.greeting, "retry") {
				awaits("data: bench")
			} else {
				awaits("note.added")
			}
		})
	}
}

// Law: who follows a campaign misses nothing and gets nothing twice where a proxy cuts the connection,
// and hears that it was cut.
func TestFollowedThroughACut(t *testing.T) {
	c := serve(t)
	p := nginx(t, c.url)
	c.begin(bench)
	remote, err := lab.Server{URL: "http://" + p.at, Registry: builtin.Registry()}.Open(t.Context(), "bench")
	if err != nil {
		t.Fatal(err)
	}
	cuts := make(chan error, 1000)
	remote.Lost = func(err error) { cuts <- err }
	note := func(text string) {
		t.Helper()
		c.post("/api/v1/campaigns/bench/note", fmt.Sprintf(`{"text": %q}`, text), http.StatusOK, nil)
	}
	note("before")
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	next := uint64(1)
	for e := range must.Each(t, remote.Log().Follow(ctx, 0)) {
		if uint64(e.Sequence) != next {
			t.Fatalf("event %d follows event %d", e.Sequence, next-1)
		}
		next++
		switch {
		case strings.Contains(string(e.Data), "before"):
			p.kill()
			note("meanwhile")
			p.start()
		case strings.Contains(string(e.Data), "meanwhile"):
			if len(cuts) == 0 {
				t.Error("nobody hears of the cut")
			}
			return
		}
	}
	t.Error("the note that came meanwhile is not followed")
}

// Law: what a proxy refuses is the proxy's word: too long a body, and a server that it does not reach.
func TestRefusedByNginx(t *testing.T) {
	c := serve(t)
	p := nginx(t, c.url)
	at := lab.Server{URL: "http://" + p.at, Registry: builtin.Registry()}
	_, err := at.Ask(t.Context(), "POST", "/campaigns", lab.YAML(strings.Repeat("#\n", 1<<20)))
	if problem.CodeOf(err) != problem.Invalid || !strings.Contains(err.Error(), "a proxy before the server") ||
		!strings.Contains(err.Error(), "413") || !strings.Contains(err.Error(), "nginx") {
		t.Errorf("too much for nginx: %v", err)
	}
	var remedied *problem.Error
	if !errors.As(err, &remedied) || len(remedied.Remedies) == 0 || !strings.Contains(remedied.Remedies[0].Text, "client_max_body_size") {
		t.Errorf("no remedy: %+v", remedied)
	}
	nowhere := nginx(t, "http://127.0.0.1:1")
	_, err = lab.Server{URL: "http://" + nowhere.at, Registry: builtin.Registry()}.Ask(t.Context(), "GET", "/campaigns", nil)
	if problem.CodeOf(err) != problem.Unavailable || !strings.Contains(err.Error(), "502") {
		t.Errorf("nothing behind nginx: %v", err)
	}
}

// Law: the example for nginx is one that nginx takes.
func TestNginxExample(t *testing.T) {
	if _, err := exec.LookPath("nginx"); err != nil {
		t.Skip("nginx is not installed")
	}
	example := must.Get(os.ReadFile("../../../docs/deploy/nginx.conf"))(t)
	folder := t.TempDir()
	text := "pid " + folder + "/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n" + string(example) + "}\n"
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	secured := httptest.NewTLSServer(nil)
	defer secured.Close()
	pair := secured.TLS.Certificates[0]
	secret := must.Get(x509.MarshalPKCS8PrivateKey(pair.PrivateKey))(t)
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		must.Do(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	text = strings.NewReplacer("/etc/ssl/lab.pem", cert, "/etc/ssl/lab.key", key, "listen 443", "listen 127.0.0.1:8443").Replace(text)
	config := filepath.Join(folder, "nginx.conf")
	must.Do(t, os.WriteFile(config, []byte(text), 0o600))
	if out, err := exec.Command("nginx", "-t", "-p", folder, "-c", config, "-e", "stderr").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
