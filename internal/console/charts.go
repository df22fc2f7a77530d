package console

import (
	"html/template"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/report"
)

// chartsPage shows the report's figures.
type chartsPage struct {
	*shell
	Path   string
	Groups []report.FigureGroup
}

// figureCache keeps the figures of the campaigns that were looked at last: they take models.
type figureCache struct {
	mu    sync.Mutex
	known map[*lab.Campaign]*drawnFigures
}

type drawnFigures struct {
	mu       sync.Mutex // held while they are drawn: those who ask meanwhile wait for them
	sequence events.Sequence
	groups   []report.FigureGroup
}

func newFigureCache() *figureCache { return &figureCache{known: make(map[*lab.Campaign]*drawnFigures)} }

func (f *figureCache) of(c *lab.Campaign) *drawnFigures {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.known[c]
	if d == nil {
		if len(f.known) >= mostStories {
			clear(f.known)
		}
		d = new(drawnFigures)
		f.known[c] = d
	}
	return d
}

func (c *Console) charts(w http.ResponseWriter, r *http.Request) {
	of := c.find(w, r, See)
	if of == nil {
		return
	}
	d := c.figures.of(of)
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := of.Sequence(); d.groups == nil || d.sequence != at {
		log, err := of.Log()
		if err != nil {
			c.fail(w, r, err)
			return
		}
		groups, err := report.Figures(r.Context(), report.Input{
			Registry: c.lab.Registry(), Log: log, Campaign: of.Name(), Store: of.Store(),
		})
		if err != nil {
			c.fail(w, r, err)
			return
		}
		for i := range groups {
			for k := range groups[i].Figures {
				f := &groups[i].Figures[k]
				f.SVG = themed(f.SVG, of.Name())
				f.Caption = strings.ReplaceAll(f.Caption, "Black:", "The stepped line:") // it is white in the dark
				for n := range f.Legend {
					f.Legend[n].Symbol = themed(f.Legend[n].Symbol, "")
				}
			}
		}
		d.groups, d.sequence = groups, at
	}
	p := chartsPage{shell: c.shellOf(r, "Charts of "+of.Name()), Path: address(of), Groups: d.groups}
	p.Campaign = of.Name()
	c.write(w, http.StatusOK, "charts", p)
}

// themeClasses are the colors of the report's charts that follow the theme, as classes of the
// stylesheet.
var themeClasses = map[string]string{
	"#1f2933": "ink", "#616e7c": "muted", "#e8ecf0": "hair", "#ffffff": "paper", "#8a94a0": "gray", "#000000": "ink",
	"#0072b2": "blue", "#009e73": "green", "#d55e00": "red", "#aa5b93": "purple", "#e69f00": "orange", "#56b4e9": "sky",
}

var (
	styleAttribute = regexp.MustCompile(`\s+style="([^"]*)"`)
	spotLink       = regexp.MustCompile(`<a href="#([a-z]\d+)">`)
)

// themed rewrites a chart of the report for a page without inline style: what a style attribute
// says becomes attributes, colors become classes. Spots lead to the pages of what they
// show.
func themed(svg template.HTML, campaign string) template.HTML {
	text := styleAttribute.ReplaceAllStringFunc(string(svg), func(attribute string) string {
		_, style, _ := strings.Cut(strings.TrimSuffix(attribute, `"`), `"`)
		var out, classes []string
		for declaration := range strings.SplitSeq(style, ";") {
			name, value, ok := strings.Cut(declaration, ":")
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			if !ok || name == "max-width" || name == "font-family" {
				continue
			}
			if name == "fill" || name == "stroke" {
				if class, known := themeClasses[strings.ToLower(value)]; known {
					classes = append(classes, name[:1]+"-"+class)
					continue
				}
			}
			out = append(out, name+`="`+value+`"`)
		}
		if classes != nil {
			out = append(out, `class="`+strings.Join(classes, " ")+`"`)
		}
		if out == nil {
			return ""
		}
		return " " + strings.Join(out, " ")
	})
	if campaign != "" {
		text = spotLink.ReplaceAllStringFunc(text, func(link string) string {
			id := spotLink.FindStringSubmatch(link)[1]
			if path := subjectPath(campaign, id); path != "" {
				return `<a href="` + path + `">`
			}
			return link
		})
	}
	if strings.Contains(text, "<a ") { // an image holds no links
		text = strings.Replace(text, ` role="img"`, ` role="group"`, 1)
	}
	return template.HTML(text)
}
