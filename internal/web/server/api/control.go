package api

import (
	"context"
	"io"
	"iter"
	"net/http"
	"os"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/web/server/gate"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// controlPath offers each campaign to the command line, by the protocol of a store's socket. It
// leads to one campaign: others of the same store are invisible.
//
// `campaignd` uses it for a remote server: the same commands work on a store of this machine and on
// a campaign of a lab. The rest of the path belongs to the protocol.
const controlPath = "/campaigns/{campaign}/control/{rest...}"

// control serves the protocol for a campaign. It is outside the library, so it repeats the work of
// the API's middleware: visibility is checked before anything reveals whether the campaign exists.
// [API.take] checks the permission once it knows the request.
//
// control.Handler trusts everyone who connects; everything passed to it here is therefore limited
// to one campaign and one caller: a log that shows one campaign, a submission that checks rights, a
// status without the others.
func (a *API) control(w http.ResponseWriter, r *http.Request) {
	err := a.Allowed(r.Context(), accounts.See, gate.CampaignIn(r.PathValue("campaign")))
	if err != nil {
		a.Unknown(w, r, problems.Of(err))
		return
	}
	c, err := a.find(r.Context(), InCampaign{Campaign: r.PathValue("campaign")})
	if err != nil {
		problems.Write(w, problems.Of(err))
		return
	}
	log, err := c.Log()
	if err != nil {
		problems.Write(w, problems.Of(err))
		return
	}
	inner := r.Clone(r.Context())
	inner.URL.Path, inner.URL.RawPath = "/"+r.PathValue("rest"), ""
	control.Handler(control.Service{
		Log: &campaignLog{Log: log, name: c.Name(),
			may: func() error { return gate.MayListen(r.Context(), c.Name()) }},
		Submit: func(ctx context.Context, name string, q engine.Request) ([]events.Event, error) {
			return a.take(ctx, c, name, q)
		},
		Attach: func(
			ctx context.Context, name string, q engine.Request, content io.Reader,
		) ([]events.Event, error) {
			return a.takeFile(ctx, c, name, q, content)
		},
		OpenFile: func(ctx context.Context, _, file string) (io.ReadCloser, error) {
			_, content, err := fileOf(ctx, c, file)
			return content, err
		},
		Status:  func() control.Status { return a.controlStatus(c, log) },
		Closing: a.closing,
	}).ServeHTTP(w, inner)
}

// take records a request that came by the protocol. It follows the rules of the API's operations
// step by step: the permission, the confirmation, the recorded name, the repeat, and then the
// contents.
//
// The repeat comes before the contents: a recorded answer is acknowledged again even if its expert
// has lost the right since. Confirmation comes before the repeat, since it concerns the caller and
// not the request. An actor named in the request counts only on an open server
// (gate.Gate.ActingAs).
func (a *API) take(
	ctx context.Context, c *lab.Campaign, name string, r engine.Request,
) ([]events.Event, error) {
	// A digest alone would give anyone who knows it the bytes of another campaign's file.
	if r.Attach != nil && r.Attach.Kept() {
		return nil, problem.New(problem.Invalid, "the bytes of %s do not come with the request", r.Attach.Name)
	}
	return a.taken(ctx, c, name, r)
}

// takeFile is take for a request that attaches a file, with its bytes.
func (a *API) takeFile(
	ctx context.Context, c *lab.Campaign, name string, r engine.Request, content io.Reader,
) ([]events.Event, error) {
	if err := a.Allowed(ctx, accounts.Run, c.Name()); err != nil {
		return nil, err
	}
	r.Attach.URI = ""
	r, err := a.keep(ctx, c, r, content)
	if err != nil {
		return nil, err
	}
	return a.taken(ctx, c, name, r)
}

// taken is take for a complete request.
func (a *API) taken(
	ctx context.Context, c *lab.Campaign, name string, r engine.Request,
) ([]events.Event, error) {
	if name != c.Name() {
		return nil, problem.New(problem.NoCampaign, "there is no campaign %q here", name).About(name)
	}
	need, act := neededFor(&r)
	if err := a.Allowed(ctx, need, name); err != nil {
		return nil, err
	}
	if err := a.Confirmed(ctx, act); err != nil {
		return nil, err
	}
	r.Actor, r.Account = a.ActingAs(ctx, r.Actor)
	if stored, err := c.Recorded(ctx, r); stored != nil || err != nil {
		return stored, err
	}
	if r.Answer != nil {
		var err error
		c.Read(func(core *engine.Core) {
			if q := core.State().Question(r.Answer.Question); q != nil {
				err = a.AnswersAs(ctx, q.Expert, name)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if r.Anchors != nil {
		if err := a.AnswersAs(ctx, r.Anchors.Expert, name); err != nil {
			return nil, err
		}
	}
	if r.Amend != nil {
		if err := a.MayDefine(ctx, &r.Amend.Definition, c.Defined()); err != nil {
			return nil, err
		}
		if err := a.saidBy(ctx, c, r.Amend); err != nil {
			return nil, err
		}
	}
	return c.Submit(ctx, r)
}

// saidBy checks that an amendment matches its campaign file: people read the file, and the campaign
// follows the definition. The command line computes the definition itself, on another machine and
// perhaps with another version; here it is computed again with this lab's file. The first
// difference is named, since the rest often follows from it.
func (a *API) saidBy(ctx context.Context, c *lab.Campaign, amended *events.CampaignAmended) error {
	file, err := a.lab.Parse(ctx, "the campaign file", []byte(amended.Source))
	if err != nil {
		return err
	}
	def, err := a.lab.Definition(ctx, c, file)
	if err != nil {
		return err
	}
	if different := campaignfile.Diff(def, amended.Definition); len(different) > 0 {
		return problem.New(problem.Invalid,
			"the amendment is not what its campaign file says here: they differ in %s", different[0].Path)
	}
	return nil
}

// controlStatus describes what runs the campaign. If another process does, it passes on that one's
// status; this server answers for a campaign that does not run, with no campaign in the list. Last
// is the position of the whole log, which tells a follower how far it could read; it counts events
// of other campaigns but contains none.
func (a *API) controlStatus(c *lab.Campaign, log events.Log) control.Status {
	status := control.Status{PID: os.Getpid(), Build: a.lab.Build(), Last: log.Last(),
		Campaigns: []control.Running{}}
	if run := c.Running(); run != nil {
		status.PID, status.Build = run.PID, run.Build
		status.Since = run.Since
		status.Campaigns = append(status.Campaigns, run.Running)
	}
	return status
}

// campaignLog is a log that shows one campaign. Its positions are those of the whole log, so there
// are gaps: a reader must not count. Read and Follow check before each event whether the reader may
// still see the campaign, since a stream outlives an ended session or a revoked role; ReadCampaign
// ends by itself.
type campaignLog struct {
	events.Log
	name string
	may  func() error // why the reader may not see it any longer
}

var _ events.CampaignReader = (*campaignLog)(nil)

// Append implements events.Log; it always fails: new events go through [API.take], and the
// campaign's loop is its only writer.
func (l *campaignLog) Append(
	context.Context, string, events.Sequence, ...events.Event,
) ([]events.Event, error) {
	return nil, control.ErrReadOnly
}

// Read implements events.Log. It reads by the campaign's own index, not the whole log, and skips
// what the caller has had already.
func (l *campaignLog) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return l.own(events.ReadCampaign(ctx, l.Log, l.name, 0), after)
}

// Follow implements events.Log. An appended event can belong to any campaign, so each is checked.
func (l *campaignLog) Follow(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return l.own(l.Log.Follow(ctx, after), after)
}

// own skips events of other campaigns, or up to a position. It ends with the error of the first
// event that its reader may not see.
func (l *campaignLog) own(
	all iter.Seq2[events.Event, error], after events.Position,
) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for e, err := range all {
			if err == nil {
				err = l.may()
			}
			if err != nil {
				yield(events.Event{}, err)
				return
			}
			if e.Campaign == l.name && e.Position > after && !yield(e, nil) {
				return
			}
		}
	}
}

// ReadCampaign implements events.CampaignReader. Another campaign has no events
// here, as if it did not exist.
func (l *campaignLog) ReadCampaign(
	ctx context.Context, name string, after events.Sequence,
) iter.Seq2[events.Event, error] {
	if name != l.name {
		return func(func(events.Event, error) bool) {}
	}
	return events.ReadCampaign(ctx, l.Log, name, after)
}

// LastSequence implements events.Log.
func (l *campaignLog) LastSequence(ctx context.Context, name string) (events.Sequence, error) {
	if name != l.name {
		return 0, nil
	}
	return l.Log.LastSequence(ctx, name)
}
