package console

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
)

// action is something that a form of a campaign asks for, and how the answer is
// made. One handler serves all of them: see [Console.act]. So rights, repeats,
// confirmation and the message afterwards are the same for each, and a new form
// cannot forget one.
type action struct {
	// path is the end of the form's address, permission the one that the visitor needs, said the
	// key of the message that is shown afterwards.
	path, permission, said string
	// act is a request that a lab may want the visitor to confirm: see [Visitor.Confirmed].
	act string
	// request reads the form into a request; do, if set, acts without one.
	request func(r *http.Request, of *lab.Campaign) (engine.Request, error)
	do      func(r *http.Request, of *lab.Campaign, by engine.Request) error
	// then, if set, goes on once the request is recorded, now or by an earlier
	// form of the same identifier.
	then func(ctx context.Context, of *lab.Campaign, by engine.Request) error
	// look answers a form whose button only shows the effect on the campaign; nil for an action
	// without such a button.
	look func(*visit) error
	// show shows the form's page again, with the fault.
	show func(*visit) error
	// back is where the visitor is sent afterwards; nil: to the campaign.
	back func(r *http.Request, of *lab.Campaign) string
}

// actions lists all requests that a form can make of a campaign. Run and halt have no engine
// request: they are not events of the campaign, and asking for them twice changes nothing.
func (c *Console) actions() []action {
	reason := func(r *http.Request) string { return text(r, "reason") }
	simple := func(make func(r *http.Request) engine.Request) func(*http.Request, *lab.Campaign) (engine.Request, error) {
		return func(r *http.Request, _ *lab.Campaign) (engine.Request, error) { return make(r), nil }
	}
	experiment := func(r *http.Request, of *lab.Campaign) string {
		return subjectAt(address(of), text(r, "experiment"))
	}
	filed := func(r *http.Request, of *lab.Campaign) string {
		if text(r, "experiment") != "" {
			return experiment(r, of) + "#files"
		}
		return address(of) + "/files"
	}
	here := func(permission, path, said string) action {
		return action{permission: permission, path: path, said: said, show: showCampaign}
	}
	asks := func(a action, request func(*http.Request, *lab.Campaign) (engine.Request, error)) action {
		a.request = request
		return a
	}
	return []action{
		asks(here(Run, "pause", "paused"), simple(func(r *http.Request) engine.Request {
			return engine.Request{Pause: &events.CampaignPaused{Reason: reason(r)}}
		})),
		asks(here(Run, "resume", "resumed"), simple(func(r *http.Request) engine.Request {
			return engine.Request{Resume: &events.CampaignResumed{Reason: reason(r)}}
		})),
		{path: "stop", permission: Run, said: "stopped", act: "stop", show: showCampaign,
			request: stopping},
		{path: "run", permission: Run, said: "running", show: showCampaign,
			do: func(r *http.Request, of *lab.Campaign, by engine.Request) error { return of.Start(r.Context(), by) }},
		{path: "halt", permission: Run, said: "halted", show: showCampaign,
			do: func(_ *http.Request, of *lab.Campaign, by engine.Request) error { return of.Halt(by) }},
		asks(here(Run, "abort", "aborted"), simple(func(r *http.Request) engine.Request {
			return engine.Request{Abort: &engine.Abort{Reason: reason(r)}}
		})),
		{path: "abort-device", permission: Run, said: "aborted-device", show: showCampaign, do: c.abortDevice},
		asks(here(Run, "note", "noted"), simple(func(r *http.Request) engine.Request {
			return engine.Request{Note: &engine.Note{Text: text(r, "text"), About: text(r, "about")}}
		})),
		{path: "stocks", permission: Run, said: "counted", show: showCampaign, request: counting,
			back: func(_ *http.Request, of *lab.Campaign) string { return address(of) + "?tab=" + tabStocks }},
		asks(here(Run, "exclude", "excluded"), excluding),
		asks(here(Run, "allow", "allowed"), simple(func(r *http.Request) engine.Request {
			return engine.Request{Allow: &engine.Allow{Exclusion: text(r, "exclusion"), Reason: reason(r)}}
		})),
		{path: "resolve", permission: Resolve, said: "resolved", act: "resolve",
			show: showSubject, request: resolution, back: experiment},
		{path: "cancel", permission: Resolve, said: "called-off",
			show: showSubject, request: cancelling, back: experiment},
		// A statement about the device is confirmed like a statement about an experiment.
		{path: "void", permission: Resolve, said: "voided", act: "resolve",
			show: showSubject, request: voiding, back: experiment},
		{path: "correct", permission: Run, said: "corrected", act: "override",
			show: showExperiment, request: correction, back: experiment},
		{path: "attach", permission: Run, said: "attached", show: showFiles, do: attaching, back: filed},
		{path: "withdraw", permission: Run, said: "withdrawn", show: showFiles, request: withdrawing, back: filed},
		{path: "tell", permission: Run, said: "told", show: showResults, request: result, then: toldWith,
			back: func(_ *http.Request, of *lab.Campaign) string { return address(of) + "/results" }},
		{path: "definition", permission: Run, said: "amended", act: "override",
			show: showDefinition, request: c.amendment, look: showChanges},
	}
}

// stopping reads the form that stops a campaign. That cannot be undone, so the
// form asks for the campaign's name.
func stopping(r *http.Request, of *lab.Campaign) (engine.Request, error) {
	if text(r, "name") != of.Name() {
		return engine.Request{}, problem.New(problem.Invalid,
			"a stopped campaign cannot be resumed: to be sure, type its name, %s", of.Name())
	}
	if text(r, "now") != "" {
		return engine.Request{Abort: &engine.Abort{Stop: true, Reason: text(r, "reason")}}, nil
	}
	return engine.Request{Stop: &events.CampaignStopped{Reason: text(r, "reason")}}, nil
}

// excluding reads the form that excludes the neighborhood of an experiment or a question. A reason
// must be given here, where the page asks a person who has one in mind; [excludeRegion] records a
// missing one.
func excluding(r *http.Request, _ *lab.Campaign) (engine.Request, error) {
	reason := text(r, "reason")
	if reason == "" {
		return engine.Request{}, problem.New(problem.Invalid,
			"say why it is excluded: others will want to know")
	}
	return engine.Request{Exclude: &engine.Exclude{About: text(r, "about"), Reason: reason}}, nil
}

// errNothing is returned by a form that asks for nothing new. It does not count as a failure: the
// visitor is sent back, and the page says so.
var errNothing = errors.New("nothing is changed")

// act serves a form of a campaign: it checks the rights, carries out the request, and sends the
// visitor back to a page that says so. A failure shows the form again, with its input, and with
// another identifier where nothing was recorded ([forgetRequest]).
func (c *Console) act(a action) http.HandlerFunc {
	return c.pageOf(a.permission, func(v *visit) error {
		v.action = a.path
		if v.refusal = v.takeForm(a.permission); v.refusal != nil {
			return a.show(v)
		}
		if a.look != nil && text(v.r, "look") != "" {
			return a.look(v)
		}
		said := a.said
		if err := v.perform(a); errors.Is(err, errNothing) {
			said = "same"
		} else if err != nil {
			forgetRequest(v.r, err)
			v.refusal = err
			return a.show(v)
		}
		back := address(v.of)
		if a.back != nil {
			back = a.back(v.r, v.of)
		}
		if from := v.r.PostForm.Get("from"); from == "list" {
			back = "/campaigns"
		}
		return v.redirect(back, said)
	})
}

// perform carries out a form's request once: a form that was recorded before succeeds without doing
// anything. The order is: repeat, faults, confirmation; the visitor is asked to log in again only
// for requests that can succeed. The request is made before and judged after, by the process that
// holds the store: it finds the changes in between.
func (v *visit) perform(a action) error {
	by := requested(v.r, engine.Request{})
	if a.do != nil {
		return a.do(v.r, v.of, by)
	}
	done, err := alreadyRecorded(v.r.Context(), v.of, by)
	if err == nil && !done {
		var request engine.Request
		if request, err = a.request(v.r, v.of); err == nil {
			err = v.visitor().confirmed(a.act)
		}
		if err == nil {
			_, err = v.of.Submit(v.r.Context(), requested(v.r, request))
		}
	}
	if err != nil || a.then == nil {
		return err
	}
	return a.then(v.r.Context(), v.of, by)
}

// text returns the content of a field, without surrounding space and with line ends as on the
// server.
func text(r *http.Request, name string) string {
	return strings.TrimSpace(strings.ReplaceAll(r.PostForm.Get(name), "\r\n", "\n"))
}
