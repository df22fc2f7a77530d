package app

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/console"
)

// formEdge stands before each line of a form, to set it off from the rest.
const formEdge = "  ┃ "

// asking draws the screen while something is asked. above is the state of the campaign. Where not
// everything fits, above is dropped first, then the list of other forms, then the explanations: the
// question comes last and whole, next to the person's input.
//
// A terminal of any height must let the person answer: the parts that cannot be seen at once are a
// page away (paged).
func (p *panel) asking(above []string) []string {
	height := p.rows()
	if p.page > 0 {
		lines, _ := p.paged(p.forms[0], height)
		return lines
	}
	whole, _ := p.asked(p.forms[0], height)
	others := p.others(3)
	for _, lines := range [][]string{slices.Concat(above, others, whole), slices.Concat(others, whole)} {
		if len(lines) <= height {
			return lines
		}
	}
	if others = p.others(0); len(others)+len(whole) <= height {
		return slices.Concat(others, whole)
	}
	return whole
}

// rows is how many lines of the screen are drawn on. One is left for the events
// that scroll by above. An unknown height counts as 24.
func (p *panel) rows() int {
	if p.height <= 0 {
		return 24
	}
	return p.height - 1
}

// others is a line for each of the other open forms, at most most of them and
// one line that counts the rest. They wait in the order in which Tab reaches
// them.
func (p *panel) others(most int) (lines []string) {
	rest := p.forms[1:]
	for i, f := range rest {
		if i == most && len(rest) > i {
			what := "more"
			if i == 0 {
				what = "others"
			}
			return append(lines, yellow(formEdge)+faint(fmt.Sprintf("and %d %s (Tab)", len(rest)-i, what)))
		}
		lines = append(lines, yellow(formEdge)+faint(fmt.Sprintf("%s  %s (Tab)", f.Form.Key, f.Form.Title)))
	}
	return lines
}

// formWidth is the number of columns to the right of the edge. One column stays
// free, in which terminals would break the line.
func (p *panel) formWidth() int { return max(p.width-len([]rune(formEdge))-1, 10) }

// edged puts the edge before lines of a form, which style draws. The edge has
// its color on each line, since styles end with the line.
func (p *panel) edged(texts []string, style func(string) string) []string {
	lines := make([]string, len(texts))
	for i, text := range texts {
		lines[i] = yellow(formEdge) + style(text)
	}
	return lines
}

// asked draws a form in at most height lines: the explanations, where there is room for them, the
// part that must be seen to answer, and the input line. hidden is whether something is not shown,
// so that the person is offered pages. It tries ever shorter forms, in this order: all of it;
// without the explanations; with a body that leaves out rows; with a brief hint in the line itself;
// and last the end alone, below a note.
func (p *panel) asked(f *openForm, height int) (lines []string, hidden bool) {
	width := p.formWidth()
	typed := p.typed(f)
	title := p.edged(console.Wrap(f.Form.Key+"  "+f.Form.Title, width), bold)
	problem := p.edged(console.Wrap(f.Form.Problem, width), yellow)
	hint := f.Form.Hint
	left := ""
	if !f.Form.Expires.IsZero() {
		left = fmt.Sprintf("%s left", max(f.Form.Expires.Sub(p.now), 0).Round(time.Second))
		hint += "; " + left
	}
	hints := p.edged(console.Wrap(hint, width), faint)
	more := p.explanations(f)
	body := p.edged(f.Form.Body.Lines(width), plainly)
	if lines := slices.Concat([]string{""}, more, title, body, problem, hints, typed); len(lines) <= height {
		return lines, false
	}
	word := f.word()
	hints = p.edged(console.Wrap(hint+"; "+word+": more", width), faint)
	if lines := slices.Concat([]string{""}, title, body, problem, hints, typed); len(lines) <= height {
		return lines, true
	}
	// Short forms of everything; the hint stands where nothing is typed yet.
	brief := f.Form.Brief
	if brief != "" {
		brief += ", "
	}
	brief += word + ": more"
	if left != "" {
		brief += ", " + left
	}
	short := typed
	if len(f.input) == 0 {
		short = p.edged([]string{green("› ") + "█ " + faint(brief)}, plainly)
	}
	problem = problem[:min(len(problem), 2)]
	title = p.edged([]string{f.Form.Key + " " + f.Form.Title}, bold)
	for _, below := range [][]string{slices.Concat(hints, typed), short} {
		body = p.edged(f.Form.Body.Within(width, height-len(title)-len(problem)-len(below)), plainly)
		if lines = slices.Concat(title, body, problem, below); len(lines) <= height {
			return lines, true
		}
	}
	if height++; len(lines) <= height { // at the cost of the line for events
		return lines, true
	}
	// Nothing makes it fit: the pages hold the whole form.
	note := p.edged([]string{fmt.Sprintf("the beginning does not fit: %s shows it", word)}, yellow)
	return slices.Concat(note, lines[min(len(lines)-height+1, len(lines)-1):]), true
}

// explanations are the lines that help to judge, with an empty line between them and the question;
// nil without any.
func (p *panel) explanations(f *openForm) []string {
	more := p.edged(f.Form.More.Lines(p.formWidth()), faint)
	if len(more) > 0 {
		more = append(more, yellow(formEdge))
	}
	return more
}

// paged draws one page of all that a form holds: explanations, title and body. last is whether no
// page follows. A page that no longer exists, on a screen that has grown, is the last one.
func (p *panel) paged(f *openForm, height int) (lines []string, last bool) {
	width := p.formWidth()
	all := slices.Concat(p.explanations(f), p.edged(console.Wrap(f.Form.Key+"  "+f.Form.Title, width), bold),
		p.edged(f.Form.Body.Lines(width), plainly))
	typed := p.typed(f)
	room := max(height-len(typed)-1, 1)
	pages := (len(all) + room - 1) / room
	page := min(p.page, pages)
	next := "goes on"
	if page == pages {
		next = "goes back to the question"
	}
	foot := p.edged([]string{fmt.Sprintf("page %d of %d, %s %s", page, pages, f.word(), next)}, faint)
	return slices.Concat(all[(page-1)*room:min(page*room, len(all))], foot, typed), page == pages
}

// turn turns to the next page, or back to the question after the last. The size
// of the screen may have changed since the page was drawn, hence the pages are
// counted anew.
func (p *panel) turn() {
	if p.page > 0 {
		if _, last := p.paged(p.forms[0], p.rows()); last {
			p.page = 0
			return
		}
	}
	p.page++
}

// typed is the input line, broken at the width of the screen. A long one shows its last three
// lines, where the cursor is.
func (p *panel) typed(f *openForm) []string {
	text, width := slices.Concat([]rune("› "), f.input, []rune("█")), p.formWidth()
	var lines []string
	for ; len(text) > width; text = text[width:] {
		lines = append(lines, string(text[:width]))
	}
	lines = append(lines, string(text))
	lines[0] = green("› ") + strings.TrimPrefix(lines[0], "› ")
	return p.edged(lines[max(len(lines)-3, 0):], plainly)
}

// word is the person's input to see more of a form. A form whose answers could be "m" has another.
func (f *openForm) word() string {
	if f.Form.Page != "" {
		return f.Form.Page
	}
	return "m"
}

// plainly is the style of a text that needs none.
func plainly(s string) string { return s }
