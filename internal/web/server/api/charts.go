package api

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/report"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// charts registers the operations for charts. Their answers follow from the log alone, and are kept
// until the log grows.
func (a *API) charts() {
	on := func(id, path, summary, description string) huma.Operation {
		return operation(id, http.MethodGet, "/campaigns/{campaign}/"+path, summary, description)
	}
	inCampaign(a, on("get-course", "course", "How the campaign went",
		"Every experiment with what was measured, what was expected, and why it was chosen."), course)
	inCampaign(a, on("get-best-believed", "course/believed", "The best by the model after each fit",
		"The posterior mean, without noise, at the measured composition that was best by the model then."), a.bestBelieved)
	inCampaign(a, on("get-slices", "slices", "The models along every parameter",
		"Through a composition, or through one that is moved along a parameter. Where others must give way, as in a mixture, "+
			"they do so in the ratio that they have."), a.surveys.slices)
	inCampaign(a, on("get-map", "map", "The models over two parameters, or over a mixture of three",
		"Nodes outside bounds and constraints are null."), a.surveys.mapOf)
	inCampaign(a, on("get-importance", "importance", "How much comes with each parameter",
		"The total-effect index of the posterior mean over the space: the part of its variance that would be left if all other "+
			"parameters were known."), a.surveys.importance)
}

type courseOutput struct{ Body *view.Course }

type believedOutput struct {
	Body struct {
		Believed []report.Believed `json:"believed"`
	}
}

// ThroughInput is the composition that charts go through.
type ThroughInput struct {
	InCampaign
	At string `query:"at" maxLength:"8000" doc:"A composition as JSON, by default the one to go by: {\"x\": 0.25, \"salt\": \"B\"}."`
}

// point reads it; nil means the default.
func (in ThroughInput) point() (at definition.Point, err error) {
	if in.At == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(in.At), &at); err != nil {
		return nil, problems.Of(problem.New(problem.Invalid, "at is not a composition: %w", err))
	}
	return at, engine.CheckComposition("at", at)
}

type slicesInput struct {
	ThroughInput
	Move string `query:"move" maxLength:"200" doc:"A parameter that is moved first."`
	To   string `query:"to" maxLength:"200" doc:"To which value: a number in its unit, or a category."`
}

type slicesOutput struct{ Body *view.Slices }

type mapInput struct {
	ThroughInput
	X     string `query:"x" required:"true" maxLength:"200" doc:"The parameter across, or the component at the top of a triangle."`
	Y     string `query:"y" required:"true" maxLength:"200" doc:"The parameter upwards, or the component on the left."`
	Z     string `query:"z" maxLength:"200" doc:"The component on the right: the answer is about mixtures of three then."`
	Steps int    `query:"steps" minimum:"5" maximum:"61" default:"33" doc:"Values along each axis."`
}

type mapOutput struct {
	Body struct {
		Map     *view.Map     `json:"map,omitempty"`
		Ternary *view.Ternary `json:"ternary,omitempty"`
	}
}

type importanceOutput struct{ Body *view.Importance }

// surveys keeps the chart data of the campaigns viewed last.
type surveys struct {
	mu    sync.Mutex
	known map[*lab.Campaign]*surveyed
}

// surveyed is the chart data of a campaign as of an event. Its lock is held during a computation:
// other requests about the campaign wait for the result and reuse it.
type surveyed struct {
	mu      sync.Mutex
	at      events.Sequence
	survey  *view.Survey
	answers map[string]any // by question
}

// Bounds of the cache: campaigns, and answers of each.
const (
	mostSurveyed = 24
	mostAnswers  = 200
)

// of returns the entry of a campaign; when there are too many, all others are dropped.
func (s *surveys) of(c *lab.Campaign) *surveyed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[c] == nil {
		if s.known == nil || len(s.known) >= mostSurveyed {
			s.known = make(map[*lab.Campaign]*surveyed)
		}
		s.known[c] = new(surveyed)
	}
	return s.known[c]
}

// surveyedAs answers a question about the models of a campaign, from the cache if the log has not
// grown. The sequence is taken before the campaign is read: an event recorded meanwhile causes one
// computation too many, never one too few.
func surveyedAs[T any](
	ctx context.Context, all *surveys, c *lab.Campaign, asked string, answer func(*view.Survey) (T, error),
) (out T, err error) {
	s := all.of(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := c.Sequence(); s.survey == nil || s.at != at {
		survey, err := modelled(ctx, c, view.NewSurvey)
		if err != nil {
			return out, err
		}
		s.survey = survey
		s.at = at
		s.answers = make(map[string]any)
	}
	if kept, ok := s.answers[asked].(T); ok {
		return kept, nil
	}
	out, err = answer(s.survey)
	if err != nil {
		return out, problems.Of(err)
	}
	if len(s.answers) >= mostAnswers {
		clear(s.answers)
	}
	s.answers[asked] = out
	return out, nil
}

// course answers with the course of the campaign; it needs no model.
func course(ctx context.Context, c *lab.Campaign, _ *InCampaign) (*courseOutput, error) {
	log, err := c.Timeline(ctx)
	if err != nil {
		return nil, problems.Of(err)
	}
	out := new(courseOutput)
	c.Read(func(core *engine.Core) { out.Body = view.CourseOf(core.State(), core.Space(), log) })
	return out, nil
}

// bestBelieved answers with the best by the model after each fit.
func (a *API) bestBelieved(ctx context.Context, c *lab.Campaign, _ *InCampaign) (*believedOutput, error) {
	out := new(believedOutput)
	all, err := surveyedAs(ctx, &a.surveys, c, "believed", func(*view.Survey) ([]report.Believed, error) {
		log, err := c.Log()
		if err != nil {
			return nil, err
		}
		return report.BestBelieved(ctx, report.Input{Registry: a.lab.Registry(), Log: log, Campaign: c.Name(), Store: c.Store()})
	})
	out.Body.Believed = all
	return out, err
}

// slices answers with the models along every parameter.
func (s *surveys) slices(ctx context.Context, c *lab.Campaign, in *slicesInput) (*slicesOutput, error) {
	at, err := in.point()
	if err != nil {
		return nil, err
	}
	body, err := surveyedAs(ctx, s, c, key("slices", in.At, in.Move, in.To), func(survey *view.Survey) (*view.Slices, error) {
		if in.Move != "" {
			moved, err := survey.Move(at, in.Move, in.To)
			if err != nil {
				return nil, err
			}
			at = moved
		}
		return survey.Slices(ctx, at)
	})
	return &slicesOutput{body}, err
}

// mapOf answers with the models over two parameters, or a mixture of three.
func (s *surveys) mapOf(ctx context.Context, c *lab.Campaign, in *mapInput) (*mapOutput, error) {
	at, err := in.point()
	if err != nil {
		return nil, err
	}
	steps, _ := json.Marshal(in.Steps)
	asked := key("map", in.At, in.X, in.Y, in.Z, string(steps))
	out := new(mapOutput)
	if in.Z != "" {
		out.Body.Ternary, err = surveyedAs(ctx, s, c, asked, func(survey *view.Survey) (*view.Ternary, error) {
			return survey.Ternary(ctx, [3]string{in.X, in.Y, in.Z}, at, in.Steps)
		})
		return out, err
	}
	out.Body.Map, err = surveyedAs(ctx, s, c, asked, func(survey *view.Survey) (*view.Map, error) {
		return survey.Map(ctx, in.X, in.Y, at, in.Steps)
	})
	return out, err
}

// importance answers with the share of each parameter.
func (s *surveys) importance(ctx context.Context, c *lab.Campaign, _ *InCampaign) (*importanceOutput, error) {
	body, err := surveyedAs(ctx, s, c, "importance", func(survey *view.Survey) (*view.Importance, error) {
		return survey.Importance(ctx)
	})
	return &importanceOutput{body}, err
}

// key returns the canonical form of a question.
func key(parts ...string) string {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings can be written
	}
	return string(text)
}
