package notify

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
)

// most is the number of items that a message lists. It bounds each group, so that a flood of alarms
// does not push the questions out.
const most = 20

// message puts notices into words. The identifier is the last line, for a person
// who gets one twice.
func (p *Planner) message(now time.Time, name string, target int, id string, notices []notice) Message {
	m := Message{ID: id, Person: name, Target: target}
	var lines []string
	if len(notices) == 1 {
		m.Title, lines = p.single(now, name, notices[0])
	} else {
		m.Title, lines = p.digest(now, name, notices)
	}
	lines = append(lines, "", "[message "+id+"]")
	m.Text = strings.TrimLeft(strings.Join(lines, "\n"), "\n")
	return m
}

// single words a message about one thing.
func (p *Planner) single(now time.Time, name string, n notice) (title string, lines []string) {
	about := p.matter(n.Matter)
	if n.Time == over {
		return about.over(), nil
	}
	switch {
	case about.Kind != question:
		title = about.Heading
	case n.Time > 0:
		title = "Reminder: " + about.Heading
	default:
		title = about.Heading
	}
	lines = append(lines, about.Lines...)
	lines = append(lines, p.beside(now, name, about)...)
	if link := p.link(about); link != "" {
		lines = append(lines, link)
	}
	return title, lines
}

// digest words a message about several things, the questions first, and last the ended ones.
func (p *Planner) digest(now time.Time, name string, notices []notice) (title string, lines []string) {
	// Ordered by a person's possible actions: questions first, then alarms, contested answers,
	// finished campaigns, and ended matters.
	var groups [5][]*matter
	for _, n := range notices {
		m, group := p.matter(n.Matter), 1
		switch {
		case n.Time == over:
			group = 4
		case m.Kind == question:
			group = 0
		case m.Kind == contested:
			group = 2
		case m.Kind == finished:
			group = 3
		}
		groups[group] = append(groups[group], m)
	}
	var parts []string
	for i, noun := range []string{"question", "alarm", "contested answer", "finished campaign"} {
		if n := len(groups[i]); n > 0 {
			parts = append(parts, format.Count(n, noun))
		}
	}
	title = format.List(parts...)
	if n := len(groups[4]); n > 0 && parts == nil {
		title = format.Count(n, "question") + " no longer needed"
	}
	for i, group := range groups {
		for k, m := range group {
			if k == most {
				lines = append(lines, fmt.Sprintf("and %d more", len(group)-most))
				break
			}
			if i == 4 {
				lines = append(lines, "• "+m.over())
				continue
			}
			lines = append(lines, "• "+m.Heading)
			for _, line := range slices.Concat(m.few(), p.beside(now, name, m)) {
				lines = append(lines, "  "+line)
			}
			if link := p.link(m); link != "" {
				lines = append(lines, "  "+link)
			}
		}
	}
	return title, lines
}

// few returns the lines of a matter that a list has room for. A question's lines are its
// compositions, which are many; the link leads to them.
func (m *matter) few() []string {
	if m.Kind == question {
		return nil
	}
	return m.Lines
}

// over says that a question needs no answer any more.
func (m *matter) over() string {
	heading := fmt.Sprintf("%s of %s", m.Subject, m.Campaign)
	return fmt.Sprintf("No longer needed: %s (%s)", heading, m.Ending)
}

// beside returns the additions to a question: in whose place, and until when.
func (p *Planner) beside(now time.Time, name string, m *matter) (lines []string) {
	if m.Kind != question {
		return nil
	}
	if m.Expert != name {
		expert := m.Expert
		if known := p.lab.People[m.Expert].Name; known != "" {
			expert = harmless(known)
		}
		lines = append(
			lines,
			fmt.Sprintf("%s has not answered for %s; you stand in.", expert,
				format.Duration(now.Sub(m.Since))),
		)
	}
	if !m.Expires.IsZero() {
		zone := p.lab.People[name].Quiet.Location()
		lines = append(lines, "The campaign goes on without an answer from "+
			m.Expires.In(zone).Format("Mon 2 Jan 15:04 MST")+" on.")
	}
	return lines
}

// link returns the address of a matter's page, "" if the server's address is unknown. Names come
// from logs, hence the escaping.
func (p *Planner) link(m *matter) string {
	if p.lab.URL == "" {
		return ""
	}
	if m.Kind == question || m.Kind == contested {
		return p.lab.URL + "/questions/" + url.PathEscape(m.Campaign) + "/" + url.PathEscape(m.Subject)
	}
	switch m.Campaign {
	case ofLab:
		return p.lab.URL + "/stocks"
	case ofInstruments:
		return p.lab.URL + "/instruments"
	}
	return p.lab.URL + "/campaigns/" + url.PathEscape(m.Campaign)
}

// inert replaces characters with which services let a text notify a whole group, or link elsewhere,
// by others that look alike.
var inert = strings.NewReplacer("<", "‹", ">", "›", "@", "＠")

// longest is the maximum length of a text by others, in characters.
const longest = 600

// harmless sanitizes a line of a text by others: it stays within its line and notifies no group.
func harmless(text string) string {
	return format.Shorten(inert.Replace(plaintext.Line(text)), longest)
}
