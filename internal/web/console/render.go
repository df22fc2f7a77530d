package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/markup"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/web/manual"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Templates are compiled, so that the compiler looks up the names in them.
//go:generate go run -C ../../tools/pages . ../../web/console templates/*.html

//go:embed static
var staticFolder embed.FS

// edition distinguishes the embedded files of one build from those of another
// in their addresses, so that browsers may keep them for ever.
var edition = sync.OnceValue(func() string {
	h := sha256.New()
	entries, err := staticFolder.ReadDir("static")
	if err != nil {
		panic(err) // embedded
	}
	for _, e := range entries {
		text, err := staticFolder.ReadFile("static/" + e.Name())
		if err != nil {
			panic(err)
		}
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
})

// explainedKeys is where keys of a campaign file are explained, for the script of the editor.
func explainedKeys() (string, error) {
	text, err := json.Marshal(manual.Keys())
	return string(text), err
}

// when writes a time as an element that the script shows in the visitor's own
// time zone; without the script it is in the server's.
func when(t time.Time) template.HTML {
	if t.IsZero() {
		return ""
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`,
		t.UTC().Format(time.RFC3339), t.Local().Format("2006-01-02 15:04:05")))
}

// shell is the part that every page has; page types embed it. It belongs to one request. It is made
// by [Console.shellOf] alone, so that no page lacks the visitor, what waits for them, and the
// messages.
type shell struct {
	Title   string
	Visitor Visitor
	// Campaign is the campaign that the page is about, Path its own page; empty for none.
	Campaign, Path string
	// Bar leads to the other pages of the campaign; empty where the page has none.
	Bar []tab
	// Watch is the campaign whose changes concern the page: a name, "*" for
	// all, "" for none.
	Watch string
	// At is the sequence of the campaign of the page's address when the page was begun: the page
	// has to hear of every later event.
	At events.Sequence
	// Said describes the effect of the last request in words.
	Said string
	// Failure is why a request was refused, Failed which one.
	Failure *failure
	Failed  string
	// Open counts the questions that wait for the visitor.
	Open int
	// News is the fate of the visitor's answers to questions that others have answered too.
	News    []news
	Version string

	form url.Values
}

// May reports whether the visitor may do something in the page's campaign.
func (s *shell) May(permission string) bool { return s.Visitor.may(permission, s.Campaign) == nil }

// Typed returns the input in a field of a request that was refused. A page may have several forms
// with fields of one name: action names the form.
func (s *shell) Typed(action, name string) string {
	if s.Failed != action || s.form == nil {
		return ""
	}
	return s.form.Get(name)
}

// WasTyped reports whether a request of that kind was refused, so that its form
// is shown open.
func (s *shell) WasTyped(action string) bool { return s.Failed == action && action != "" }

// shellOf begins a page: it gathers the frame for this visitor. It looks at all campaigns, and
// therefore at little of each.
func (c *Console) shellOf(r *http.Request, title string) *shell {
	s := &shell{Title: title, Visitor: visitorOf(r.Context()), Version: c.options.Version}
	said := r.URL.Query().Get("said")
	s.Said = saids[said]
	if of, err := c.lab.Campaign(r.PathValue("campaign")); err == nil {
		s.At = of.Sequence()
		if still := saidWhile[said]; still != nil && !still(of.Standing()) {
			s.Said = ""
		}
	}
	s.News = c.newsFor(r.Context(), s.Visitor)
	s.Open = len(c.queueOf(s.Visitor))
	return s
}

// saids are the messages that pages show after a request, by the word in their
// address. Nothing else in an address is shown, so that a link cannot put words
// into the server's mouth.
var saids = map[string]string{
	"begun":   "The campaign has begun.",
	"paused":  "Paused: nothing new begins until it is resumed.",
	"resumed": "Resumed.",
	"stopped": "Stopped for good.",
	"aborted": "Aborted: all that is under way is being called off, and the campaign is paused.",

	"aborted-device": "Every campaign of the device is aborted.",
	"called-off":     "It is called off. Where an instrument had it, this page shows when that has answered.",
	"voided":         "Recorded: the device was without power.",

	"running":   "It is run here now, and after a restart of the server.",
	"halted":    "It is no longer run here. What is under way at the instrument goes on.",
	"noted":     "The note is recorded.",
	"counted":   "Counted: what you said is there.",
	"freed":     "Freed: campaigns that wait for the place go on.",
	"serviced":  "Recorded: what you said of the instrument.",
	"excluded":  "Excluded: nothing there is suggested any more.",
	"allowed":   "The exclusion is taken back.",
	"resolved":  "Settled.",
	"corrected": "The correction is recorded.",
	"told":      "The result is recorded.",
	"toldall":   "The results are recorded.",
	"filed":     "The tags are kept.",
	"shelved":   "It is in the archive: find it under Archived.",
	"unshelved": "It is out of the archive.",
	"attached":  "The file is kept.",
	"withdrawn": "The file is taken out; that it was attached stays on the record.",
	"brought":   "The measurements are taken over.",
	"known":     "The campaign has these measurements already: nothing was changed.",
	"amended":   "The campaign goes on with the changed file.",
	"same":      "The file says what the campaign does already: nothing was changed.",
	"sent":      "Your answer is recorded.",
	"beside":    "Another person has answered meanwhile, and that answer counts. Yours is recorded as contested.",
	"dismissed": "Put away.",
}

// saidWhile says how long a message about a campaign stays true; the others stay true.
var saidWhile = map[string]func(s lab.Standing) bool{
	"begun":   func(s lab.Standing) bool { return !s.Status.Ended() },
	"paused":  func(s lab.Standing) bool { return s.Status == campaign.Paused },
	"aborted": func(s lab.Standing) bool { return s.Status == campaign.Paused },
	"resumed": func(s lab.Standing) bool { return s.Status == campaign.Running },
	"running": func(s lab.Standing) bool { return s.Runs() },
	"halted":  func(s lab.Standing) bool { return !s.Runs() },
	"amended": func(s lab.Standing) bool { return !s.Status.Ended() },
}

// failure is a problem as a page shows it.
type failure struct {
	Title, Text string
	Ways        []way
	Faults      []fault
}

// way is something that can be done about it: a link, a button, or only words.
// A remedy becomes a link where a page offers it (see [wayOf]).
type way struct {
	Text string
	Link string // an address to go to
	Post string // or to send a form to
}

// fault is one thing that is wrong with a text that was sent.
type fault struct {
	Line, Column           int
	Field, Message, Remedy string
	// Path leads to the field: keys are strings, places in lists numbers.
	Path definition.Path
}

// refused shows the page again after a request that failed: why, which of the
// page's actions it was, and the form as it was sent, so that nothing typed is
// lost. campaign is the one that the failure concerns, empty for none.
func (s *shell) refused(err error, campaign, action string, form url.Values) {
	s.Failure = failureOf(err, campaign)
	s.Failed = action
	s.form = form
}

// failureOf returns an error as a page shows it; campaign is the one that it
// concerns, empty for none. Faults of files and tables become a list, all else
// a sentence with its remedies.
func failureOf(err error, campaign string) *failure {
	var faults *yamltree.Error
	if errors.As(err, &faults) {
		f := &failure{Title: "The campaign file has faults", Text: "Nothing was changed."}
		for _, x := range faults.Faults {
			f.Faults = append(f.Faults, fault{x.Line, x.Column, x.Path.String(), x.Message, x.Remedy, x.Path})
		}
		return f
	}
	var amend *campaignfile.AmendError
	if errors.As(err, &amend) {
		f := &failure{Title: "A campaign under way does not allow these changes",
			Text: amend.Consequence()}
		for _, x := range amend.Refused {
			refused := fault{Field: x.Place, Message: x.Text()}
			if len(x.Changes) > 0 {
				refused.Path = pathOf(x.Changes[0].Path)
			}
			f.Faults = append(f.Faults, refused)
		}
		return f
	}
	var rows exchange.Faults
	var row exchange.Fault
	if !errors.As(err, &rows) && errors.As(err, &row) {
		rows = exchange.Faults{row}
	}
	if rows != nil {
		f := &failure{Title: "The table cannot be read", Text: "Nothing was changed."}
		for _, x := range rows {
			f.Faults = append(f.Faults, fault{Line: x.Line, Field: x.Field, Message: x.Message()})
		}
		return f
	}
	known := problem.FromError(err)
	f := &failure{Title: "That did not work: " + known.Code.Error(), Text: view.Sentence(known.Message)}
	if campaign != "" && strings.HasPrefix(known.Message, campaign) {
		f.Text = view.Stop(known.Message) // a name keeps its letters
	}
	for _, r := range known.Remedies {
		f.Ways = append(f.Ways, wayOf(r, campaign))
	}
	return f
}

// pathOf is a JSON pointer (RFC 6901) as a path: a part that looks like a number is one, as no key
// of a campaign file does.
func pathOf(pointer string) (path definition.Path) {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, step := range strings.Split(pointer, "/")[1:] {
		if place, err := strconv.Atoi(step); err == nil {
			path = append(path, place)
		} else {
			path = append(path, unescape.Replace(step))
		}
	}
	return path
}

// remedyPages are the pages of a campaign that offer a remedy.
var remedyPages = map[problem.Action]string{
	problem.Tell: "/results", problem.Suggest: "/results", problem.Note: "#note", problem.Allow: "#exclusions",
	problem.Amend: "/definition", problem.Export: "/export.csv", problem.TakeOver: "/export.csv",
	problem.Review: "/log", problem.Diagnose: "/charts",
}

// wayOf turns a remedy into a link or a button, where a page offers it; otherwise it stays words.
// Remedies are data, by an action and its subject; their text, where they have one, is meant for
// all who read it.
func wayOf(r problem.Remedy, campaign string) way {
	base := "/campaigns/" + url.PathEscape(campaign)
	w := way{Text: r.Text}
	if w.Text == "" {
		w.Text = strings.TrimSpace(strings.ReplaceAll(string(r.Action), "_", " ") + " " + r.Subject)
	}
	subject := url.PathEscape(r.Subject)
	switch r.Action {
	case problem.LogIn:
		w.Link = "/login"
		return w
	case problem.CountLab:
		w.Link = "/stocks?stock=" + subject
		return w
	case problem.Service:
		w.Link = "/instruments?resource=" + subject
		return w
	case problem.Confirm:
		w.Link = "/confirm?next=" + url.QueryEscape(base)
		return w
	}
	if campaign == "" && r.Action != problem.Start {
		return w
	}
	switch r.Action {
	case problem.Start:
		w.Link = "/new"
	case problem.Run, problem.Resume:
		w.Post = base + "/" + string(r.Action)
	case problem.Answer, problem.CorrectAnswer:
		w.Link = "/questions"
		if r.Subject != "" {
			w.Link += "/" + url.PathEscape(campaign) + "/" + subject
		}
	case problem.Resolve, problem.Correct, problem.Cancel:
		if r.Subject != "" {
			w.Link = base + "/experiments/" + subject
		}
	case problem.Explain:
		if r.Subject != "" {
			w.Link = base + "/decisions/" + subject
		}
	default:
		if page, ok := remedyPages[r.Action]; ok {
			w.Link = base + page
		}
	}
	return w
}

// write writes a page, whole or not at all: a page that fails leaves an
// error page, never half of another. What is written passes plaintext, since a
// page holds texts of others.
func (c *Console) write(w http.ResponseWriter, status int, page markup.Page) {
	text, err := page.Bytes()
	if err != nil {
		c.options.Log("%v", err)
		http.Error(w, "Something went wrong here. What is recorded is safe. The server's log says where it was.",
			http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = plaintext.NewWriter(w, true).Write(text) // the visitor may have gone
}

// statusOf is the HTTP status of an error: by its code, and 422 for a campaign
// file with faults or with changes that are not allowed.
func statusOf(err error) int {
	var faults *yamltree.Error
	var amend *campaignfile.AmendError
	if errors.As(err, &faults) || errors.As(err, &amend) {
		return http.StatusUnprocessableEntity
	}
	return control.StatusOf(problem.CodeOf(err))
}

// failurePage is a page with nothing but why something did not work.
type failurePage struct{ *shell }

// notFound serves all addresses that no page has.
func notFound(v *visit) error {
	return problem.New(problem.NotFound, "there is no page %s", v.r.URL.Path)
}

// redirect answers a form with another address to get, so that reloading the
// page sends nothing twice. said is the key of a message, empty for none: the
// message itself is the next page's, by its key in the address.
func redirect(w http.ResponseWriter, r *http.Request, path, said string) {
	if said != "" {
		// The query stands before the fragment.
		path, fragment, _ := strings.Cut(path, "#")
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		path += separator + "said=" + said
		if fragment != "" {
			path += "#" + fragment
		}
		http.Redirect(w, r, path, http.StatusSeeOther)
		return
	}
	http.Redirect(w, r, path, http.StatusSeeOther)
}

// address is the path of a campaign's page.
func address(c *lab.Campaign) string { return "/campaigns/" + url.PathEscape(c.Name()) }
