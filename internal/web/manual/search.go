package manual

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Hit is a section that contains every word of the query.
type Hit struct {
	Section
	Title string // of its page
	// Before, Word and After are the place where the first word stands.
	Before, Word, After string

	score int
}

// mostHits is how many sections a search returns.
const mostHits = 30

// around is how much text stands before and after a word that was found, in runes.
const around = 90

// Search returns the sections in which all words of a query stand, in any case of letters
// and as part of a word: first those whose heading has them, then those that have them
// most often. Of two alike, the first in the order of the pages comes first.
func Search(query string) (hits []Hit) {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return nil
	}
	for i, p := range Pages() {
		for _, s := range p.Sections {
			if score := s.score(words); score > 0 {
				if p.ForPeople() {
					score += 5
				}
				hit := Hit{Section: s, Title: Pages()[i].Title, score: score}
				hit.Before, hit.Word, hit.After = s.place(words)
				hits = append(hits, hit)
			}
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.score, a.score) })
	return hits[:min(len(hits), mostHits)]
}

// score is 0 where a word is missing. A word in the heading counts most, a whole word
// more than a part of one, and one that stands often a little more.
func (s *Section) score(words []string) int {
	heading := strings.ToLower(s.Heading)
	body := strings.ToLower(strings.Join(s.Paragraphs, "\n"))
	score := 0
	for _, w := range words {
		inHeading, inBody := strings.Count(heading, w), strings.Count(body, w)
		if inHeading+inBody == 0 {
			return 0
		}
		score += 10*min(inHeading, 1) + min(inBody, 5)
		if slices.Contains(strings.FieldsFunc(heading, apart), w) {
			score += 10
		}
		if slices.Contains(strings.FieldsFunc(body, apart), w) {
			score += 3
		}
	}
	return score
}

// apart reports which characters separate words.
func apart(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' }

// place returns the place of the longest of the words, the most specific, in the section's text, in
// the paragraph that has most of them; the text's beginning without any.
func (s *Section) place(words []string) (before, word, after string) {
	words = slices.SortedStableFunc(slices.Values(words), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	having := func(paragraph string) (n int) {
		for _, w := range words {
			if strings.Contains(strings.ToLower(paragraph), w) {
				n++
			}
		}
		return n
	}
	most := slices.SortedStableFunc(slices.Values(s.Paragraphs), func(a, b string) int { return cmp.Compare(having(b), having(a)) })
	for _, paragraph := range most[:min(len(most), 1)] {
		text := []rune(strings.Join(strings.Fields(paragraph), " "))
		lower := make([]rune, len(text)) // one for each, unlike strings.ToLower
		for i, r := range text {
			lower[i] = unicode.ToLower(r)
		}
		for _, w := range words {
			at := indexOf(lower, []rune(w))
			if at < 0 {
				continue
			}
			end := at + len([]rune(w))
			from, to := max(0, at-around), min(len(text), end+around)
			before = string(text[from:at])
			word = string(text[at:end])
			after = string(text[end:to])
			if from > 0 {
				before = "…" + before
			}
			if to < len(text) {
				after += "…"
			}
			return before, word, after
		}
	}
	if len(s.Paragraphs) > 0 {
		text := []rune(s.Paragraphs[0])
		before = string(text[:min(len(text), 2*around)])
	}
	return before, "", ""
}

func indexOf(text, word []rune) int {
	for i := 0; i+len(word) <= len(text); i++ {
		if slices.Equal(text[i:i+len(word)], word) {
			return i
		}
	}
	return -1
}
