// Package manual is the documentation as the program shows it: pages in HTML, their
// sections to be searched, and where each word of the pages of a lab is explained.
package manual

import (
	"bytes"
	"fmt"
	"html"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extended "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/campaignd/campaignd/docs"
)

// Root is the address below which the pages are served.
const Root = "/docs"

// Page is a page of the documentation.
type Page struct {
	// Name is its file's name without the ending, in the address.
	Name string
	// Title is its first heading, Lead its first paragraph, as text.
	Title, Lead string
	// HTML is its text, with an anchor at each heading. Nothing in it comes from
	// outside the program, and no markup of its source is passed through.
	HTML string
	// Markdown is its source.
	Markdown  string
	Sections  []Section
	forPeople bool
}

// Section is the part under a heading, up to the next one.
type Section struct {
	Page, Anchor, Heading string
	Paragraphs            []string
}

// Path is the section's address.
func (s Section) Path() string { return Root + "/" + s.Page + "#" + s.Anchor }

// order are the pages for those who use the program, in the order of a reader; all others
// follow by their names.
var order = []string{
	"tour", "words", "your-own-data", "methods", "quantities", "corrections", "stocks", "procedures", "cluster", "operations", "audit", "machines", "process-instrument", "bridges",
}

// Pages returns all pages. They are made once, when they are first asked for.
var Pages = sync.OnceValue(func() []Page {
	sources := map[string][]byte{}
	var names []string
	for _, pattern := range []string{"*.md", "*/*.md"} {
		found, err := fs.Glob(docs.Files, pattern)
		if err != nil {
			panic(err) // the pattern is sound
		}
		names = append(names, found...)
	}
	for _, name := range names {
		source, err := docs.Files.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		sources[strings.TrimSuffix(name, ".md")] = source
	}
	listed := slices.Clone(order)
	for _, name := range names {
		if name := strings.TrimSuffix(name, ".md"); !slices.Contains(listed, name) {
			listed = append(listed, name)
		}
	}
	pages := make([]Page, 0, len(listed))
	for _, name := range listed {
		p := pageOf(name, sources[name], sources)
		p.forPeople = slices.Contains(order, name)
		pages = append(pages, p)
	}
	return pages
})

// ForPeople reports whether the page is for users of the program; the others are for its
// developers.
func (p *Page) ForPeople() bool { return p.forPeople }

// Listed are the pages of a list of all: a page in a folder is found by way of another, or by a
// search. The decisions alone would fill a terminal.
func Listed() []Page {
	return slices.DeleteFunc(slices.Clone(Pages()), func(p Page) bool { return strings.Contains(p.Name, "/") })
}

// Find returns the page of a name, or nil.
func Find(name string) *Page {
	for i, p := range Pages() {
		if p.Name == name {
			return &Pages()[i]
		}
	}
	return nil
}

var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(
			// The pages allow no style in their elements.
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)), extension.Strikethrough, extension.Linkify,
		),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	)
})

// pageOf makes a page of its source; pages are those that links may lead to.
func pageOf(name string, source []byte, pages map[string][]byte) Page {
	p := Page{Name: name, Markdown: string(source)}
	context := parser.NewContext(parser.WithIDs(make(anchors)))
	root := markdown().Parser().Parse(text.NewReader(source), parser.WithContext(context))
	leave := []*ast.Link{}
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			if to, ok := leads(string(n.Destination), path.Dir(name), pages); ok {
				n.Destination = []byte(to)
			} else {
				leave = append(leave, n)
			}
		case *ast.Heading:
			anchor, _ := n.AttributeString("id")
			id, _ := anchor.([]byte)
			p.Sections = append(p.Sections, Section{Page: name, Anchor: string(id), Heading: plain(n, source)})
		case *ast.Paragraph, *ast.TextBlock, *extended.TableRow, *extended.TableHeader, *ast.FencedCodeBlock, *ast.CodeBlock:
			if len(p.Sections) > 0 {
				last := &p.Sections[len(p.Sections)-1]
				last.Paragraphs = append(last.Paragraphs, plain(n, source))
			}
			return ast.WalkContinue, nil
		}
		return ast.WalkContinue, nil
	})
	for _, link := range leave { // to a file that the program does not show: its words stay
		parent := link.Parent()
		for child := link.FirstChild(); child != nil; child = link.FirstChild() {
			parent.InsertBefore(parent, link, child)
		}
		parent.RemoveChild(parent, link)
	}
	if len(p.Sections) > 0 {
		p.Title = p.Sections[0].Heading
		if len(p.Sections[0].Paragraphs) > 0 {
			p.Lead = p.Sections[0].Paragraphs[0]
		}
	}
	var b bytes.Buffer
	if err := markdown().Renderer().Render(&b, source, root); err != nil {
		panic(err) // into memory
	}
	p.HTML = scrolling.Replace(b.String())
	return p
}

// scrolling lets tables that are wider than a screen scroll by themselves, also by keys. A
// corner without a word heads nothing.
var scrolling = strings.NewReplacer(
	"<table>", `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table class="data">`,
	"</table>", "</table></div>",
	"<th></th>", "<td></td>",
)

// leads returns where a link of a page in a folder leads in the program: to a page of the
// documentation, within the page, or to an address elsewhere; false for a file that is not shown.
func leads(to, folder string, pages map[string][]byte) (string, bool) {
	if strings.HasPrefix(to, "#") || strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return to, true
	}
	file, anchor, found := strings.Cut(to, "#")
	name, isPage := strings.CutSuffix(path.Join(folder, file), ".md")
	if !isPage || pages[name] == nil {
		return "", false
	}
	if found {
		anchor = "#" + anchor
	}
	return Root + "/" + name + anchor, true
}

// plain is the text of a node, without its markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	if n.Type() == ast.TypeBlock && n.FirstChild() == nil {
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			b.Write(line.Value(source))
		}
		return strings.TrimSpace(b.String())
	}
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.AutoLink:
			if entering {
				b.Write(n.URL(source))
			}
		case *extended.TableCell:
			if !entering && n.NextSibling() != nil {
				b.WriteString(" · ")
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(html.UnescapeString(b.String()))
}

// anchors makes the anchors of a page's headings as forges show them: words in lower case,
// joined by hyphens, a number behind one that is there already.
type anchors map[string]bool

// Generate implements parser.IDs.
func (a anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	anchor := Anchor(string(value))
	another := anchor
	for n := 1; a[another]; n++ {
		another = fmt.Sprintf("%s-%d", anchor, n)
	}
	a[another] = true
	return []byte(another)
}

// Put implements parser.IDs.
func (a anchors) Put(value []byte) { a[util.BytesToReadOnlyString(value)] = true }

// Anchor is the anchor of a heading.
func Anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}
