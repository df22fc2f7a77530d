package manual_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/web/manual"
)

// Law: each page of docs is there, with a title and no markup that its source
// could smuggle in; each link within the documentation leads to a page, and to a heading of it.
func TestPages(t *testing.T) {
	files, err := filepath.Glob("../../../docs/*.md")
	inner, _ := filepath.Glob("../../../docs/*/*.md") // of a pattern that is as sound
	if err != nil || len(inner) == 0 || len(manual.Pages()) != len(files)+len(inner) {
		t.Fatalf("%d pages of %d files, %d of them in folders, %v", len(manual.Pages()), len(files)+len(inner), len(inner), err)
	}
	ids := make(map[string]bool)
	id := regexp.MustCompile(` id="([^"]*)"`)
	for _, p := range manual.Pages() {
		ids[manual.Root+"/"+p.Name] = true
		for _, m := range id.FindAllStringSubmatch(p.HTML, -1) {
			if address := manual.Root + "/" + p.Name + "#" + m[1]; ids[address] {
				t.Errorf("%s is there twice", address)
			} else {
				ids[address] = true
			}
		}
		if p.Title == "" || strings.Contains(p.HTML, "<script") || strings.Contains(p.HTML, "style=") {
			t.Errorf("%s: title %q, or markup that it must not have", p.Name, p.Title)
		}
	}
	if n := len(manual.Listed()); n != len(files) {
		t.Errorf("a list of all pages has %d, and %d are in no folder", n, len(files))
	}
	link := regexp.MustCompile(`href="([^"]*)"`)
	for _, p := range manual.Pages() {
		for _, m := range link.FindAllStringSubmatch(p.HTML, -1) {
			to := m[1]
			if strings.HasPrefix(to, "#") {
				to = manual.Root + "/" + p.Name + to
			}
			if !strings.HasPrefix(to, "https://") && !strings.HasPrefix(to, "http://127.0.0.1") && !ids[to] {
				t.Errorf("%s leads to %s, which is not there", p.Name, m[1])
			}
		}
		for _, s := range p.Sections {
			if !ids[s.Path()] {
				t.Errorf("the section %s has no anchor", s.Path())
			}
		}
	}
	for _, word := range used(t) {
		if address := manual.Term(word); !ids[address] {
			t.Errorf("%s is explained at %s, which is not there", word, address)
		}
	}
	top := must.Get(campaignfile.Schema(builtin.Registry()))(t)
	for key, address := range manual.Keys() {
		if !ids[address] {
			t.Errorf("%s is explained at %s, which is not there", key, address)
		}
		if !strings.Contains(string(top), `"`+key+`"`) {
			t.Errorf("%s is explained, and no campaign file has it", key)
		}
	}
	for _, m := range view.Methods(builtin.Registry()) {
		address := manual.Policy(m.Name)
		methods := manual.Find("methods").Sections
		at := slices.IndexFunc(methods, func(s manual.Section) bool { return s.Path() == address })
		if at < 0 || !strings.Contains(methods[at].Heading+strings.Join(methods[at].Paragraphs, " "), m.Name) {
			t.Errorf("the policy %s is explained at %s", m.Name, address)
		}
	}
}

// used are the words that templates ask for.
func used(t *testing.T) (words []string) {
	t.Helper()
	files := must.Get(filepath.Glob("../console/templates/*.html"))(t)
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		for _, m := range regexp.MustCompile(`manual\.Term "([a-z]+)"`).FindAllStringSubmatch(string(text), -1) {
			words = append(words, m[1])
		}
	}
	if len(words) == 0 {
		t.Fatal("no page explains a word")
	}
	return words
}

// Law: a search finds the sections that hold all of its words, the one that is about them
// first, and the same ones each time; what holds none of them is not found.
func TestSearch(t *testing.T) {
	for query, first := range map[string]string{
		"initial design": "/docs/methods#the-initial-design", "RESTORE": "/docs/operations#restore",
		"worth of an answer": "/docs/words#the-worth-of-an-answer", "backtest": "/docs/words#backtest",
		"accounts": "/docs/operations#accounts", "what arrives later": "/docs/quantities#what-arrives-later",
	} {
		hits := manual.Search(query)
		if len(hits) == 0 || hits[0].Path() != first {
			t.Errorf("%q finds %v", query, hits[:min(len(hits), 2)])
			continue
		}
		if again := manual.Search(query); !slices.Equal(paths(again), paths(hits)) {
			t.Errorf("%q finds another time %v", query, paths(again))
		}
		for _, h := range hits {
			text := strings.ToLower(h.Heading + " " + strings.Join(h.Paragraphs, " "))
			for _, w := range strings.Fields(strings.ToLower(query)) {
				if !strings.Contains(text, w) {
					t.Errorf("%q finds %s without %s", query, h.Path(), w)
				}
			}
		}
	}
	for _, query := range []string{"", "  ", "xyzzy", "restore xyzzy"} {
		if hits := manual.Search(query); len(hits) > 0 {
			t.Errorf("%q finds %v", query, paths(hits))
		}
	}
}

func paths(hits []manual.Hit) (all []string) {
	for _, h := range hits {
		all = append(all, h.Path())
	}
	return all
}
