package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/chromedp/chromedp"
)

// Law: where a proxy, nginx with the settings that it has by itself, does not pass on a file, the page
// stays, says that it is the proxy and how it is set, and keeps what was typed; what the proxy passes
// on arrives as without one, also where it is sent by the page itself.
func TestBrowserProxyRefusesFiles(t *testing.T) {
	t.Parallel()
	v := browse(t, "http://"+nginx(t, house(t).url).at)
	v.open("/login")
	v.logIn("ada")
	v.define("bench", bench)
	file := func(name string, size int) string {
		path := filepath.Join(t.TempDir(), name)
		must.Do(t, os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o600))
		return path
	}
	for _, c := range []struct{ page, field, form string }{
		{"/begin/table", "#file", `form[action="/begin/table"]`},
		{"/campaigns/bench/bring", "#file", `form[action$="/bring"]`},
		{"/campaigns/bench/files", "#file", "form.attach"},
	} {
		v.open(c.page)
		v.do("unfold", chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach((d) => { d.open = true; })`))
		v.do("choose a file", chromedp.SetUploadFiles(css(c.field), []string{file("large.csv", 2_000_000)}))
		v.do("send it", chromedp.Evaluate[chromedp.Void](`document.querySelector('`+c.form+`').requestSubmit(document.querySelector('`+c.form+` button'))`))
		v.sees("A proxy before the server")
		v.sees("client_max_body_size 64m")
		if at := ask[string](v, `location.pathname`); !strings.HasPrefix(c.page, at) {
			t.Errorf("%s: the page is %s now", c.page, at)
		}
	}
	v.open("/campaigns/bench/files")
	v.do("choose a file", chromedp.SetUploadFiles(css("#file"), []string{file("passes.txt", 700_000)}))
	v.do("send it", chromedp.Evaluate[chromedp.Void](`document.querySelector("form.attach").requestSubmit()`))
	v.sees("passes.txt")
	var table strings.Builder
	table.WriteString("salt,flow,remark\n")
	for i := range 4000 {
		fmt.Fprintf(&table, "%d,%d,%s\n", i%7, i, strings.Repeat("r", 150))
	}
	path := filepath.Join(t.TempDir(), "table.csv")
	must.Do(t, os.WriteFile(path, []byte(table.String()), 0o600))
	v.open("/begin/table")
	v.do("choose a table", chromedp.SetUploadFiles(css("#file"), []string{path}))
	v.do("look at it", chromedp.Evaluate[chromedp.Void](`document.querySelector("button[value=look]").click()`))
	v.until("its columns are shown", `!!document.querySelector("#role-2")`)
}
