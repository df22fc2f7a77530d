package console

import (
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
	Query   string
	Routine bool
	Lines   []view.Line
}

// linesPerPage is how many events a page of the log shows.
const linesPerPage = 200

// showLog serves the log of a campaign, the newest events first. ?q= keeps the events that hold all
// words; ?routine shows those that tell a reader little. It searches the shown texts, the events in
// words, their kind and their subject, and not the payloads: every match can be seen on the page.
func showLog(v *visit) error {
	all, err := v.of.Timeline(v.r.Context())
	if err != nil {
		return err
	}
	query := v.r.URL.Query()
	p := logPage{shell: v.shell("The log of " + v.of.Name()),
		Query: strings.TrimSpace(query.Get("q")), Routine: query.Has("routine")}
	p.in(v.of, pageLog)
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
	p.paged, first = pagedBy(linesPerPage, len(found), v.r, link)
	p.Lines = found[first:p.To]
	return v.write(drawLog(p))
}
