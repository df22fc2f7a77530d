package console

import (
	"html/template"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/web/manual"
)

// docsPage is the documentation: a page of it, the results of a search, or the list of pages.
type docsPage struct {
	*shell
	Query string
	Hits  []manual.Hit
	Page  *manual.Page
	Text  template.HTML // of the page
	// Pages are for those who use the program, Others for those who change it.
	Pages, Others []manual.Page
}

// explained is a name with the place in the documentation where it is explained.
type explained struct{ Name, Link string }

// explainedPolicy are the parts of the policy that made a decision: how it compares, or
// what it takes next and, where experts bend that, how.
func explainedPolicy(by events.PolicyRef) (parts []explained) {
	names := []string{by.Next, by.Trust}
	if by.Duel != "" {
		names = []string{by.Duel}
	}
	for _, name := range names {
		if name != "" && name != "none" {
			parts = append(parts, explained{name, manual.Policy(name)})
		}
	}
	return parts
}

// showDocs serves the list of pages, or with ?q= the results of a search in all of them.
func showDocs(v *visit) error {
	p := &docsPage{shell: v.shell("Docs")}
	p.Query = strings.TrimSpace(v.r.URL.Query().Get("q"))
	p.Hits = manual.Search(p.Query)
	for _, page := range manual.Listed() {
		if page.ForPeople() {
			p.Pages = append(p.Pages, page)
		} else {
			p.Others = append(p.Others, page)
		}
	}
	return v.write(drawDocs(p))
}

func showDoc(v *visit) error {
	page := manual.Find(v.r.PathValue("page"))
	if page == nil {
		return problem.New(problem.NotFound, "the documentation has no page %q", v.r.PathValue("page"))
	}
	// The text is the program's own, and holds no markup but that of its Markdown.
	p := &docsPage{shell: v.shell(page.Title), Page: page, Text: template.HTML(page.HTML)}
	return v.write(drawDocs(p))
}
