package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/filestore"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/server"
	"github.com/campaignd/campaignd/internal/web/server/gate"
	"github.com/campaignd/campaignd/projections/campaign"
)

const someFiles = "/api/v1/campaigns/bench/files"

// attach uploads a file.
func (c *client) attach(query, content string, headers ...string) (int, http.Header, []byte) {
	c.t.Helper()
	return c.do("POST", someFiles+"?"+query, "application/octet-stream", content, headers...)
}

// files lists those of the campaign bench.
func (c *client) files() []campaign.File {
	c.t.Helper()
	var list struct{ Files []campaign.File }
	c.get(someFiles, &list)
	return list.Files
}

// Law: a file that was uploaded is listed, with the digest of its bytes, and comes back byte by
// byte, to be saved and never run: whatever it is called, and whatever it says that it is.
func TestFilesOverHTTP(t *testing.T) {
	c := serve(t)
	c.begin(bench)
	c.do("POST", "/api/v1/campaigns/bench/suggest", "application/json", "", "Idempotency-Key", "s")
	page := "<script>alert(1)</script>"
	for i, f := range []struct {
		name, mediaType, content, served string
	}{
		{"spectrum.csv", "", "1,2\n", "application/octet-stream"},
		{"page.html", "text/html", page, "application/octet-stream"},
		{"drawing.svg", "image/svg+xml", page, "application/octet-stream"},
		{"photo.png", "", page, "image/png"},
		{`a "quoted"; name.txt`, "", "x", "application/octet-stream"},
		{"Spektrum für Zoë 25 °C.csv", "", "1;2\n", "application/octet-stream"},
		{"CON", "", "x", "application/octet-stream"},
	} {
		query := url.Values{"name": {f.name}, "comment": {"as seen"}}
		if f.mediaType != "" {
			query.Set("media_type", f.mediaType)
		}
		status, _, text := c.attach(query.Encode(), f.content)
		if status != http.StatusOK || !strings.Contains(string(text), "campaignd.file.attached") {
			t.Fatalf("%s: %d %s", f.name, status, text)
		}
		id := events.FileID(i + 1)
		status, header, got := c.do("GET", someFiles+"/"+id, "", "")
		kind, said, err := mime.ParseMediaType(header.Get("Content-Disposition"))
		if status != http.StatusOK || string(got) != f.content || err != nil || kind != "attachment" || said["filename"] != f.name {
			t.Errorf("%s: %d %q, %q, %v", f.name, status, got, header.Get("Content-Disposition"), err)
		}
		if header.Get("Content-Type") != f.served || header.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s is sent with %v", f.name, header)
		}
	}
	listed := c.files()
	if len(listed) != 7 || listed[0].MediaType != "text/csv" || listed[0].Size != 4 || listed[3].MediaType != "image/png" {
		t.Errorf("the list is %+v", listed)
	}
	var part struct {
		Files []campaign.File
		Next  string
	}
	c.get(someFiles+"?limit=2&cursor=f3", &part)
	if len(part.Files) != 2 || part.Files[0].ID != "f4" || part.Next != "f5" {
		t.Errorf("a page of the list is %+v", part)
	}
}

// Law: what cannot be attached is refused, and nothing of it is kept.
func TestRefusedFiles(t *testing.T) {
	c, folder, _ := restartable(t)
	c.begin(bench)
	for query, want := range map[string]int{
		"":                                 422,
		"name=":                            422,
		"name=a.csv&nmae=b":                422,
		"name=../a.csv":                    400,
		"name=a%5Cb.csv":                   400,
		"name=a%0Ab.csv":                   400,
		"name=%E2%80%AEgpj.exe":            400,
		"name=a&experiment=e9":             404,
		"name=a&media_type=text":           400,
		"name=" + strings.Repeat("a", 256): 422,
	} {
		if status, _, text := c.attach(query, "1,2\n"); status != want {
			t.Errorf("%.60s: %d, want %d: %s", query, status, want, text)
		}
	}
	if status, _, text := c.attach("name=a.csv", ""); status != 400 {
		t.Errorf("an empty file: %d %s", status, text)
	}
	if status, _, text := c.do("POST", strings.TrimSuffix(someFiles, "/files")+"/attach-uri", "application/json", `{"name": "a", "uri": "/data/a"}`); status != 400 {
		t.Errorf("a path as URI: %d %s", status, text)
	}
	for _, f := range []string{"f1", "FORMAT", "%2e%2e%2fFORMAT"} {
		if status, _, text := c.do("GET", someFiles+"/"+f, "", ""); status != 404 {
			t.Errorf("%s: %d %s", f, status, text)
		}
	}
	if files := c.files(); len(files) > 0 {
		t.Errorf("there are %+v", files)
	}
	stores, _ := filepath.Glob(filepath.Join(folder, "*.campaign"))
	left, err := filestore.Of(stores[0]).Unnamed(t.Context(), func(string) bool { return false })
	if err != nil || len(left) > 1 { // one whose experiment there is not
		t.Errorf("of %d stores are left %v, %v", len(stores), left, err)
	}
}

// Law: the largest file passes, in memory that does not grow with it, and one that is larger
// does not.
func TestLargestFile(t *testing.T) {
	alone(t, "what is in memory of a file is bounded in a database as well, and not how often")
	c := serve(t)
	c.begin(bench)
	send := func(size int64) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", c.url+someFiles+"?name=large.bin", io.LimitReader(zeros{}, size))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/octet-stream")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0 // it was cut off while it was sent
		}
		defer answer.Body.Close()
		return answer.StatusCode
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if status := send(filestore.MaxSize); status != http.StatusOK {
		t.Errorf("the largest file: %d", status)
	}
	answer := must.Get(http.Get(c.url + someFiles + "/f1"))(t)
	n, err := io.Copy(struct{ io.Writer }{io.Discard}, answer.Body)
	answer.Body.Close()
	if err != nil || n != filestore.MaxSize {
		t.Errorf("of the largest file %d bytes come back: %v", n, err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes of memory were used", used)
	}
	for _, size := range []int64{filestore.MaxSize + 1, gate.MaxUpload + 1} {
		if status := send(size); status/100 == 2 {
			t.Errorf("%d bytes: %d", size, status)
		}
	}
	if files := c.files(); len(files) != 1 {
		t.Errorf("there are %d files", len(files))
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Law: an upload with a key is recorded once; the same key with other bytes, another name or
// another experiment is refused.
func TestUploadedOnce(t *testing.T) {
	c, _, restart := restartable(t)
	c.begin(bench)
	first, _, text := c.attach("name=a.csv", "1,2\n", "Idempotency-Key", "one")
	restart()
	again, header, same := c.attach("name=a.csv", "1,2\n", "Idempotency-Key", "one")
	if first != 200 || again != 200 || string(text) != string(same) || header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%d %s, and again %d %s", first, text, again, same)
	}
	for query, content := range map[string]string{"name=a.csv": "3,4\n", "name=b.csv": "1,2\n"} {
		if status, _, text := c.attach(query, content, "Idempotency-Key", "one"); status != 422 {
			t.Errorf("%s with %q: %d %s", query, content, status, text)
		}
	}
	if files := c.files(); len(files) != 1 {
		t.Errorf("there are %+v", files)
	}
}

// Law: an answer that gives an altered file is cut off before its end, so that no client takes
// it for the file.
func TestAlteredDownload(t *testing.T) {
	c, folder, _ := restartable(t)
	c.begin(bench)
	c.attach("name=a.csv", strings.Repeat("1,2\n", 100_000))
	stores, _ := filepath.Glob(filepath.Join(folder, "*.campaign", filestore.Folder, "??", "*"))
	if len(stores) != 1 {
		t.Fatal(stores)
	}
	content := must.Get(os.ReadFile(stores[0]))(t)
	content[len(content)/2] ^= 1
	must.Do(t, os.WriteFile(stores[0], content, 0o600))
	answer := must.Get(http.Get(c.url + someFiles + "/f1"))(t)
	defer answer.Body.Close()
	if got, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("%d bytes were read to their end", len(got))
	}
	must.Do(t, os.Remove(stores[0]))
	if status, _, text := c.do("GET", someFiles+"/f1", "", ""); status != 500 || !strings.Contains(string(text), "missing") {
		t.Errorf("a missing file: %d %s", status, text)
	}
}

// Law: a client of the command line attaches and reads the files of a server's campaign; a
// digest alone attaches nothing, since it would show the bytes of another campaign's file.
func TestFilesOfARemoteStore(t *testing.T) {
	c := serve(t)
	c.begin(bench)
	store := must.Get(lab.Server{URL: c.url, Registry: builtin.Registry()}.Open(t.Context(), "bench"))(t)
	defer store.Close()
	request := func(id string) engine.Request {
		return engine.Request{Actor: "person:ada", ID: id, Attach: &engine.Attach{Attachment: events.Attachment{Name: "a.csv"}}}
	}
	var first []events.Event
	for range 2 {
		stored, err := store.Attach(t.Context(), "bench", request("one"), strings.NewReader("1,2\n"))
		if err != nil || len(stored) != 1 || stored[0].Actor != "person:ada" || first != nil && stored[0].ID != first[0].ID {
			t.Fatalf("%v, %v", stored, err)
		}
		first = stored
	}
	core := must.Get(lab.Load(t.Context(), store, "bench"))(t)
	f := core.State().File("f1")
	content := must.Get(store.OpenFile(t.Context(), "bench", f))(t)
	defer content.Close()
	if text, err := io.ReadAll(content); err != nil || string(text) != "1,2\n" {
		t.Errorf("it reads %q, %v", text, err)
	}
	other := *f
	other.Digest = events.DigestOf([32]byte{1})
	if wrong, err := store.OpenFile(t.Context(), "bench", &other); err == nil {
		if _, err := io.ReadAll(wrong); !errors.Is(err, filestore.ErrAltered) {
			t.Errorf("other bytes than were named are read: %v", err)
		}
		wrong.Close()
	}
	named := request("two")
	named.Attach.Digest, named.Attach.Size = f.Digest, f.Size
	if _, err := store.Submit(t.Context(), "bench", named); !errors.Is(err, problem.Invalid) {
		t.Errorf("a digest without bytes: %v", err)
	}
	if _, err := store.OpenFile(t.Context(), "bench", &campaign.File{ID: "f7"}); !errors.Is(err, problem.NotFound) {
		t.Errorf("a file that there is not: %v", err)
	}
}

// Law: an upload whose sender loses access while the bytes are on their way attaches nothing.
func TestUploadEndsWithAccess(t *testing.T) {
	folder := t.TempDir()
	book := must.Get(accounts.Open(accounts.Dir(folder), accounts.Options{}))(t)
	defer book.Close()
	l, err := lab.Open(t.Context(), lab.Options{Folder: folder, Own: book.Lab(), Registry: builtin.Registry(), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := httptest.NewServer(server.New(server.Options{Lab: l, Gate: gate.Options{Accounts: book}, Log: t.Logf}).Handler())
	defer h.Close()
	system := accounts.SystemIdentity("root")
	token := func(name string) string {
		t.Helper()
		must.Get(book.Add(t.Context(), system, accounts.NewAccount{
			Name: name, Grants: []accounts.Grant{{Role: accounts.Admin}}, Password: accounts.NewSecret(password),
		}))(t)
		token, _, err := book.CreateToken(t.Context(), system, name, accounts.NewToken{Name: "all", Scopes: accounts.Permissions()})
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + token
	}
	admin := token("admin")
	c := &client{t, h.URL}
	if status, _, text := c.do("POST", "/api/v1/campaigns", "application/yaml", bench, "Authorization", admin); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	for i, change := range []func(name string) error{
		func(name string) error { _, err := book.Disable(t.Context(), system, name); return err },
		func(name string) error {
			_, err := book.Revoke(t.Context(), system, name, accounts.Grant{Role: accounts.Admin})
			return err
		},
		nil,
	} {
		name := fmt.Sprintf("eve%d", i)
		eve := token(name)
		in, out := io.Pipe()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := must.Get(http.NewRequestWithContext(ctx, "POST", h.URL+someFiles+"?name=a.csv", in))(t)
		r.Header.Set("Content-Type", "application/octet-stream")
		r.Header.Set("Authorization", eve)
		go func() {
			_, _ = out.Write([]byte("1,2\n"))
			time.Sleep(50 * time.Millisecond) // it has begun by then
			if change != nil {
				if err := change(name); err != nil {
					t.Error(err)
				}
			}
			_, _ = out.Write([]byte("3,4\n"))
			out.Close()
		}()
		answer := must.Get(http.DefaultClient.Do(r))(t)
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		refused := answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden
		if refused != (change != nil) || !refused && answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", name, answer.StatusCode, text)
		}
	}
	_, _, text := c.do("GET", someFiles, "", "", "Authorization", admin)
	var list struct{ Files []campaign.File }
	if err := json.Unmarshal(text, &list); err != nil || len(list.Files) != 1 {
		t.Errorf("there are %s", text)
	}
}
