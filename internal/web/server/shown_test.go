package server_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	xhtml "golang.org/x/net/html"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/lab/whatif"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/forgery"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// shownVariable names a folder into which the test below writes what is shown, to be compared with
// what another commit shows: `diff -r` says what has moved.
const shownVariable = "CAMPAIGND_SHOWN"

var updateShown = flag.Bool("update", false, "write down what is shown of the golden logs, and what comes of their forms")

// Law: what is shown of a log stays as it is until a commit changes it on purpose. Every page that a
// reader reaches from the list of campaigns by its links and forms, and every operation of the API
// that reads, of every golden log and of campaigns that are made as examples are, has the digest that
// testdata/shown.txt holds; and no link leads nowhere, but to files, whose bytes are not in a log.
//
// The models' figures are those of amd64: other processors round a product and a sum at once.
func TestShown(t *testing.T) {
	alone(t, "a store lies in a folder")
	if runtime.GOARCH != "amd64" {
		t.Skip("the digests are those of figures on amd64")
	}
	inMarch(t)
	logs := make(map[string][]events.Event)
	golden, err := filepath.Glob("../../engine/drive/testdata/golden/*/*.jsonl")
	if err != nil || len(golden) == 0 {
		t.Fatalf("there are no golden logs: %v", err)
	}
	for _, path := range golden {
		name := filepath.Base(filepath.Dir(path)) + "/" + strings.TrimSuffix(filepath.Base(path), ".jsonl")
		logs[name] = must.Get(forgery.Read(path))(t)
	}
	for _, name := range []string{
		"coupling", "electrolyte-figure", "electrolyte-tradeoff", "fidelity", "formulation", "mixture", "taste",
	} {
		logs["examples/"+name] = begun(t, name)
	}
	var now strings.Builder
	for i, name := range slices.Sorted(maps.Keys(logs)) {
		if !allShown() && i%4 != 0 {
			continue
		}
		all := logs[name]
		serveLog(t, all, func(c *client, folder string) {
			same := strings.NewReplacer(c.url, "URL", folder, "FOLDER")
			if strings.HasPrefix(name, "examples/") && name != "examples/taste" { // it measures nothing
				imagine(t, c, all[0].Campaign)
			}
			for _, line := range digests(t, name, same, crawl(t, c, all[0].Campaign)) {
				fmt.Fprintln(&now, line)
			}
		})
	}
	compareDigests(t, "testdata/shown.txt", now.String())
}

// allShown reports whether all is looked at, and not a share that is the same each time.
func allShown() bool { return draws.Whole() || *updateShown || os.Getenv(shownVariable) != "" }

// compareDigests compares lines of digests with those of a file, which it writes with -update.
func compareDigests(t *testing.T, kept, now string) {
	t.Helper()
	if *updateShown {
		must.Do(t, os.WriteFile(kept, []byte(now), 0o644))
	}
	text := must.Get(os.ReadFile(kept))(t)
	before, after := strings.Split(string(text), "\n"), strings.Split(now, "\n")
	for _, line := range after {
		if !slices.Contains(before, line) {
			t.Errorf("it was not so before: %s", line)
		}
	}
	looked := func(before string) bool { // at what the line is of
		of, _, _ := strings.Cut(before, " ")
		return allShown() || slices.ContainsFunc(after, func(line string) bool { return strings.HasPrefix(line, of+" ") })
	}
	for _, line := range before {
		if !slices.Contains(after, line) && looked(line) {
			t.Errorf("it is not so any more: %s", line)
		}
	}
	if t.Failed() {
		t.Logf("%s=FOLDER writes the pages, here and at the commit before; where all is meant: -update", shownVariable)
	}
}

// keepShown writes what is shown into the folder of shownVariable, if it is set.
func keepShown(t *testing.T, name, path, text string) {
	t.Helper()
	folder := os.Getenv(shownVariable)
	if folder == "" {
		return
	}
	file := filepath.Join(folder, name, strings.ReplaceAll(path, "/", "_"))
	must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must.Do(t, os.WriteFile(file, []byte(text), 0o644))
}

// inMarch has a test take place on a day of its own, in UTC.
func inMarch(t *testing.T) {
	t.Helper()
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
	by := time.Until(time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))
	t.Cleanup(clock.Skew(func() time.Duration { return by }, time.Minute))
}

// begun is the log of an example with a few experiments after its initial design.
func begun(t *testing.T, name string) (all []events.Event) {
	t.Helper()
	text := must.Get(os.ReadFile("../../../examples/" + name + ".yaml"))(t)
	file := must.Get(campaignfile.Parse(builtin.Registry(), name+".yaml", text))(t)
	def := file.Definition
	if def.Budget.Experiments > 0 {
		def.Budget.Experiments = min(def.Budget.Experiments, 10)
	} else {
		def.Budget.Comparisons = 8
	}
	log := memlog.New()
	must.Get(studytest.Simulate(t.Context(), log, def))(t)
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		// How often the loop looks at the clock goes with its goroutines.
		e.Time = study.Epoch.Add(time.Duration(len(all)) * time.Second)
		all = append(all, e)
	}
	return all
}

// imagine has a campaign go on otherwise from its first decision, so that this is shown, too.
func imagine(t *testing.T, c *client, campaign string) {
	t.Helper()
	var run struct{ ID, State string }
	c.post("/api/v1/campaigns/"+campaign+"/decisions/d1/what-if", `{"method": "sobol", "experiments": 2}`, http.StatusAccepted, &run)
	for run.State == whatif.Waiting || run.State == whatif.Running {
		c.get("/api/v1/campaigns/"+campaign+"/what-ifs/"+run.ID+"?wait=60", &run)
	}
}

// crawl returns what a reader reaches from the list of campaigns by its links and forms, and what
// the API says of a campaign, by their paths. Left out are the program's documents, which are of no
// campaign, and the log itself.
func crawl(t *testing.T, c *client, campaign string) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	waiting := slices.DeleteFunc(shown(t, c, campaign), func(path string) bool {
		return strings.HasSuffix(path, "/events") || strings.HasSuffix(path, ".jsonl")
	})
	asked := make(map[string]bool)
	linked, submitted := make(map[string]bool), make(map[string]bool)
	for len(waiting) > 0 {
		path := waiting[0]
		waiting = waiting[1:]
		if asked[path] {
			continue
		}
		asked[path] = true
		status, header, text := c.do("GET", path, "", "")
		if linked[path] && status != http.StatusOK && !strings.Contains(path, "/files/") {
			t.Errorf("a link leads to %s: %d %.200s", path, status, text)
		}
		texts[path] = string(text)
		if !strings.HasPrefix(header.Get("Content-Type"), "text/html") || strings.HasPrefix(path, "/api/") {
			continue
		}
		for _, found := range links.FindAllStringSubmatch(string(text), -1) {
			next, _, _ := strings.Cut(html.UnescapeString(found[1]), "#")
			if next != "" && !aside.MatchString(next) {
				linked[next] = true
				waiting = append(waiting, next)
			}
		}
		if !submitted[path] {
			for _, next := range submits(t, text) {
				submitted[next] = true
				waiting = append(waiting, next)
			}
		}
	}
	return texts
}

// submits are the addresses to which the forms of a page that only look lead: as they stand, and
// with each of their choices, and the ends of what may be filled in, for what stands.
func submits(t *testing.T, page []byte) (paths []string) {
	t.Helper()
	document := must.Get(xhtml.Parse(bytes.NewReader(page)))(t)
	for form := range document.Descendants() {
		if form.Data != "form" || attribute(form, "method") != "get" || aside.MatchString(attribute(form, "action")) {
			continue
		}
		action, _, _ := strings.Cut(attribute(form, "action"), "#")
		fields := make(url.Values)
		others := make(map[string][]string)
		for n := range form.Descendants() {
			name := attribute(n, "name")
			switch {
			case name == "":
			case n.Data == "select":
				for option := range n.Descendants() {
					if option.Data == "option" {
						others[name] = append(others[name], attribute(option, "value"))
					}
				}
			case attribute(n, "type") == "checkbox":
				others[name] = append(others[name], cmp.Or(attribute(n, "value"), "on"))
			case n.Data == "input":
				fields.Set(name, attribute(n, "value"))
				for _, end := range []string{"min", "max"} {
					if value := attribute(n, end); value != "" {
						others[name] = append(others[name], value)
					}
				}
			}
		}
		paths = append(paths, action+"?"+fields.Encode())
		for _, name := range slices.Sorted(maps.Keys(others)) {
			for _, value := range others[name] {
				chosen := maps.Clone(fields)
				chosen.Set(name, value)
				paths = append(paths, action+"?"+chosen.Encode())
			}
		}
	}
	return paths
}

func attribute(n *xhtml.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

var (
	links = regexp.MustCompile(` href="(/[^"]*)"`)
	aside = regexp.MustCompile(`^/(docs|static|api)(/|$)|\.jsonl$|/events$`)
	// changing is what differs each time that the same is shown: identifiers of forms, when a question
	// was opened, the time of the test, ages, how long an answer can be taken back, pictures of addresses, and the digests of static files.
	changing = regexp.MustCompile(
		`[A-Z2-7]{26}|name="opened" value="\d+"|data-age="[^"]*">[^<]*|data-seconds="\d+">\d+|<svg class="scan".*?</svg>|\?v=[0-9a-f]+|2027-03-01[T ]12:[\d:.]+Z?`)
	numbers = regexp.MustCompile(`\d+`)
)

// ofUser is where a page or an answer names who asks, who is the user of the system here.
func ofUser(t *testing.T) *regexp.Regexp {
	t.Helper()
	u := must.Get(user.Current())(t)
	return regexp.MustCompile(`(class="name">|name, |by |done, |failed, |"by":")` + regexp.QuoteMeta(u.Username) + `\b`)
}

// digests are lines of the digest of each kind of page, with how many there are.
func digests(t *testing.T, name string, same *strings.Replacer, texts map[string]string) (lines []string) {
	t.Helper()
	asker := ofUser(t)
	kinds := make(map[string][]string)
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		page, _, chosen := strings.Cut(path, "?")
		kind := numbers.ReplaceAllString(page, "#")
		if chosen {
			kind += "?"
		}
		kinds[kind] = append(kinds[kind], path)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		all := sha256.New()
		for _, path := range kinds[kind] {
			text := changing.ReplaceAllString(same.Replace(texts[path]), "…")
			text = asker.ReplaceAllString(text, "${1}…")
			fmt.Fprintln(all, path, text)
			keepShown(t, name, path, text)
		}
		lines = append(lines, fmt.Sprintf("%s %s %d %s", name, hex.EncodeToString(all.Sum(nil)[:6]), len(kinds[kind]), kind))
	}
	return lines
}
