package console_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// compares is a campaign that measures itself, by a policy, after a design that all of them share.
func compares(name, policy, unit string) string {
	return "name: " + name + `
seed: 3
parameters: [{name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}, {name: ec, unit: kg/kg, min: 0.30, max: 0.52}, {name: dmc, min: 0, max: 1}]
` + unit + `
initial: {experiments: 4}
budget: {experiments: 6}
instrument: {simulated: {task: electrolyte, noise: 0.14}}
policy: ` + policy + "\n"
}

const conducts = "objective: {name: conductivity, unit: mS/cm, goal: maximize}"

// Law: courses are compared in one quantity, those that share their first compositions in pairs,
// and a what-if with what it is imagined from; what seeks something else is refused in words, and
// nobody learns of a campaign that they may not see.
func TestCompare(t *testing.T) {
	s := serve(t, 0)
	ends := func(st *campaign.State) bool { return st.Status.Ended() }
	one := s.begin(compares("one", "logei", conducts))
	two := s.begin(compares("two", "random", conducts))
	less := s.begin(compares("less", "random", "quantities: [{name: viscosity, unit: mPa·s}]\nobjective: {minimize: viscosity}"))
	s.until(one, "ends", ends)
	s.until(two, "ends", ends)
	s.until(less, "ends", ends)
	says := func(path string, status int, texts ...string) string {
		t.Helper()
		got, page := s.get(path)
		if got != status {
			t.Errorf("%s: %d", path, got)
		}
		for _, text := range texts {
			if !strings.Contains(page, text) {
				t.Errorf("%s does not say %q: %s", path, text, page)
			}
		}
		return page
	}
	says("/compare", 200, "maximize conductivity (mS/cm)", "minimize viscosity (mPa·s)", `value="less"`)
	says("/compare?c=one&c=two", 200, "two less one, which share their first 4 experiments", "<svg", `value="one" checked`)
	says("/compare?c=one&c=two&reach=99", 200, "experiments until 99", "not yet")
	says("/compare?c=one&c=less", 400, "one seeks to maximize conductivity (mS/cm), and less to minimize viscosity (mPa·s)")
	says("/compare?c=one&reach=much", 400, "value to be reached", `value="much"`)
	says("/compare/data?c=one&c=two", 200, `"name":"two"`, `"best":`)

	location := s.sent("/campaigns/one/decisions/d1/whatif", url.Values{"method": {"random"}, "experiments": {"2"}})
	page := s.imagined(location)
	run := location[strings.LastIndex(location, "/")+1:]
	if link := "/compare?c=one&amp;w=one/" + run; !strings.Contains(page, link) {
		t.Errorf("the what-if does not lead to %s", link)
	}
	says("/compare?c=one&w=one/"+run, 200, "one, imagined: ", "less one, which share their first")
	says("/compare?c=one&w=one", 400, "is not a what-if run")

	const trades = "quantities: [{name: conductivity, unit: mS/cm}, {name: viscosity, unit: mPa·s}]\n" +
		"objective: {tradeoff: [{maximize: conductivity, worst: 1}, {minimize: viscosity}]}"
	front := s.begin(compares("front", "random", trades))
	s.until(front, "ends", ends)
	s.until(s.begin(compares("second", "sobol", trades)), "ends", ends)
	says("/compare?c=front&c=second", 200, "hypervolume (%)", "beyond conductivity 1 mS/cm, viscosity",
		"second less front, which share their first 4 experiments", "suggested compromise")
	says("/compare?c=front&c=one", 400, "These cannot be compared",
		"front seeks to maximize conductivity (mS/cm), minimize viscosity (mPa·s), and one to maximize conductivity (mS/cm)")
	location = s.sent("/campaigns/front/decisions/d1/whatif", url.Values{"method": {"random"}, "experiments": {"2"}})
	if page := s.imagined(location); !strings.Contains(page, "/compare?c=front&amp;w=front/") {
		t.Error("a what-if of a trade-off does not lead to the comparison")
	}
	run = location[strings.LastIndex(location, "/")+1:]
	says("/compare?c=front&w=front/"+run, 200, "front, imagined: ", "less front, which share their first")
	imagined := says("/compare/data?c=front&w=front/"+run, 200, "front, imagined: ")
	if _, course, _ := strings.Cut(imagined, "front, imagined: "); !regexp.MustCompile(`"best":[1-9]`).MatchString(course) {
		t.Errorf("the imagined front covers nothing: %s", imagined)
	}

	s.visitor.May = func(_, campaign string) error {
		if campaign == "two" {
			return problem.New(problem.Forbidden, "not this one")
		}
		return nil
	}
	if page := says("/compare?c=one", 200, `value="one"`); strings.Contains(page, `value="two"`) {
		t.Error("a campaign is offered to somebody who may not see it")
	}
	hidden, missing := says("/compare?c=one&c=two", 404), says("/compare?c=one&c=2wo", 404)
	if strings.ReplaceAll(hidden, "two", "2wo") != missing {
		t.Error("whether there is a campaign can be told from the refusal")
	}
	says("/compare/data?c=two", 404)
	says("/compare?w=two/w1", 404)
}

// Law: whoever reads gzip gets scripts packed, and whoever does not gets them as they are: the same
// bytes.
func TestStaticFilesArePacked(t *testing.T) {
	s := serve(t, 0)
	want := must.Get(os.ReadFile("static/d3.min.js"))(t)
	for _, accepts := range []string{"gzip, br", "gzip;q=0", "identity"} {
		r, _ := http.NewRequest(http.MethodGet, s.server.URL+"/static/d3.min.js", nil)
		r.Header.Set("Accept-Encoding", accepts)
		answer := must.Get(http.DefaultTransport.RoundTrip(r))(t)
		var body io.Reader = answer.Body
		packed := answer.Header.Get("Content-Encoding") == "gzip"
		if packed != (accepts == "gzip, br") || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/javascript") {
			t.Errorf("to %q: %v", accepts, answer.Header)
		}
		if packed {
			body = must.Get(gzip.NewReader(answer.Body))(t)
		}
		got, err := io.ReadAll(body)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("to %q: %d bytes, %v", accepts, len(got), err)
		}
		answer.Body.Close()
	}
}
