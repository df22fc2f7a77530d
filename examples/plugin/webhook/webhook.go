// Package webhook asks an expert by an HTTP request: the question is posted as
// JSON, and the response is their reply, whenever it comes.
package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Channel is the row of the table.
var Channel = humans.Channel{
	Name:     "webhook",
	Settings: func() definition.Settings { return new(Settings) },
	Open:     open,
	Person:   true,
}

// Settings are what a campaign file says of an expert.
type Settings struct {
	// URL that questions are posted to.
	URL string `json:"url" jsonschema:"required,format=uri"`
}

// Complete, Check and Words implement definition.Settings.
func (*Settings) Complete(*definition.Campaign) {}

func (s *Settings) Check(_ *definition.Campaign, here definition.Path) []definition.Fault {
	if s.URL != "" {
		return nil
	}
	return []definition.Fault{{At: here, Problem: "there is no URL to ask at",
		Remedy: "write url: https://…"}}
}

func (s *Settings) Words(*definition.Campaign) string { return "is asked at " + s.URL }

// Question is what is posted. The reply is a humans.Reply.
type Question struct {
	ID          string          `json:"id"`
	Form        events.Form     `json:"form"`
	Options     []events.Option `json:"options"`
	Scale       *events.Scale   `json:"scale,omitempty"`
	Explanation string          `json:"explanation"`
	// Problem says what was wrong with the reply before.
	Problem string `json:"problem,omitempty"`
}

func open(
	_ context.Context, expert definition.Expert, _ definition.Campaign, _ humans.Environment,
) (humans.Reviewer, error) {
	var s Settings
	if err := expert.Channel.Decode(&s); err != nil {
		return nil, err
	}
	return humans.NewReviewer(expert.Name, s.ask), nil
}

// ask posts a question and waits for the reply.
func (s *Settings) ask(ctx context.Context, q humans.Question, problem string) (humans.Reply, error) {
	var reply humans.Reply
	body, err := json.Marshal(Question{
		ID: q.ID, Form: q.Form, Options: q.Options, Scale: q.Scale, Explanation: q.Explanation,
		Problem: problem,
	})
	if err != nil {
		return reply, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return reply, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return reply, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return reply, fmt.Errorf("%s answered %s", s.URL, response.Status)
	}
	err = json.NewDecoder(response.Body).Decode(&reply)
	return reply, err
}
