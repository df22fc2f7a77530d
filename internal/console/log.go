package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/internal/view"
)

// logPage is the log in words, searched and in pages.
type logPage struct {
	*shell
	paged
	Path, Query string
	Routine     bool
	Lines       []view.Line
}

// linesPerPage is how many events a page of the log shows.
const linesPerPage = 200

// log serves the log of a campaign, the newest events first. ?q= keeps the
// events that hold all words; ?routine shows those that tell a reader little.
// It searches what is shown, the events in words, their kind and their subject,
// and not the payloads: what is found can be seen on the page.
func (c *Console) log(w http.ResponseWriter, r *http.Request) {
	of := c.find(w, r, See)
	if of == nil {
		return
	}
	all, err := of.Timeline(r.Context())
	if err != nil {
		c.fail(w, r, err)
		return
	}
	query := r.URL.Query()
	p := logPage{shell: c.shellOf(r, "The log of "+of.Name()), Path: address(of),
		Query: strings.TrimSpace(query.Get("q")), Routine: query.Has("routine")}
	p.in(of, pageLog)
	words := strings.Fields(strings.ToLower(p.Query))
	var found []view.Line
	for _, l := range slices.Backward(all.Lines) {
		hay := strings.ToLower(strings.Join([]string{l.Words(), string(l.Kind), l.Subject}, " "))
		// A search finds routine events too.
		if l.Routine && !p.Routine && len(words) == 0 {
			continue
		}
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(hay, w) }) {
			found = append(found, l)
		}
	}
	link := func(page int) string {
		q := url.Values{"page": {strconv.Itoa(page)}}
		if p.Query != "" {
			q.Set("q", p.Query)
		}
		if p.Routine {
			q.Set("routine", "on")
		}
		return p.Path + "/log?" + q.Encode()
	}
	var first int
	p.paged, first = pagedBy(linesPerPage, len(found), r, link)
	p.Lines = found[first:p.To]
	c.write(w, http.StatusOK, drawLog(p))
}

// SubjectPath is the page of what an event is about; empty if it has none.
func (p logPage) SubjectPath(id string) string { return subjectPath(p.Campaign, id) }
