package console

import (
	"context"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/problem"
)

// What a visitor may be allowed to do in a campaign; "" as the campaign asks
// for all of them.
const (
	See          = "see"            // look at the campaign
	AnswerIt     = "answer"         // answer questions
	ActForOthers = "act_for_others" // answer in the place of another expert
	Run          = "run"            // run, pause, resume, stop; enter results; notes and exclusions
	Resolve      = "resolve"        // settle unknown outcomes, correct results
	Define       = "define"         // begin and amend campaigns, import
	Instruments  = "equip"          // change the lab's instruments and people
	Audit        = "audit"          // the whole record
	Accounts     = "accounts"       // who is who
)

// Visitor is who asks for a page, as far as the pages need to know. Whoever
// mounts the pages puts it into each request's context with [WithVisitor].
type Visitor struct {
	// Name is the person's: what they do is recorded as person:NAME.
	Name string
	// Account is the system's user or account behind the name, recorded beside
	// it where it differs; empty for none.
	Account string
	// May says why the visitor may not do something in a campaign, nil where
	// they may. The error is a [problem.Error]. A nil May allows everything.
	May func(permission, campaign string) error
	// AnswersAs says why the visitor may not answer for an expert of a
	// campaign, nil where they may. A nil AnswersAs allows all.
	AnswersAs func(expert, campaign string) error
	// Confirmed says that the visitor must show again who they are before an
	// act, "stop", "resolve" or "override"; nil where they need not. A nil
	// Confirmed asks for nothing.
	Confirmed func(act string) error
	// MayDefine says why the visitor may not have this server run a campaign of
	// that definition, which may name a program, a file or an address, in the
	// place of what the campaign was, nil for a new one; nil where they may. A
	// nil MayDefine allows all.
	MayDefine func(def, was *definition.Campaign) error
	// Now returns the visitor as they are now, for a page that stays open: what
	// they may can have changed. It fails where they are logged in no longer. A
	// nil Now: nothing changes.
	Now func() (Visitor, error)
	// Refused, if set, is told of what the visitor wanted to do and was
	// refused: a permission in a campaign, "" for the lab.
	Refused func(permission, campaign string)
	// Notice is shown on top of every page; empty for none.
	Notice string
	// Links are further pages for this visitor, such as that of their account.
	Links []Link
	// Logout is where a POST ends the session; empty where there is none.
	Logout string
}

// Link is a link of the pages' head.
type Link struct{ Text, Path string }

// Actor is as whom the visitor's doings are recorded.
func (v Visitor) Actor() string { return "person:" + v.Name }

func (v Visitor) may(permission, campaign string) error {
	if v.May == nil {
		return nil
	}
	return v.May(permission, campaign)
}

// answersAs says why the visitor may not answer for an expert.
func (v Visitor) answersAs(expert, campaign string) error {
	if err := v.may(AnswerIt, campaign); err != nil || v.AnswersAs == nil {
		return err
	}
	return v.AnswersAs(expert, campaign)
}

// mayDefine says why the visitor may not have a campaign of that definition run
// here, in the place of what it was, nil for a new one.
func (v Visitor) mayDefine(def, was *definition.Campaign) error {
	if v.MayDefine == nil {
		return nil
	}
	return v.MayDefine(def, was)
}

func (v Visitor) now() (Visitor, error) {
	if v.Now == nil {
		return v, nil
	}
	return v.Now()
}

// confirmed says that the visitor must show again who they are.
func (v Visitor) confirmed(act string) error {
	if act == "" || v.Confirmed == nil {
		return nil
	}
	return v.Confirmed(act)
}

// refused reports a denied action, for the audit trail. Asking only what to
// show is none.
func (v Visitor) refused(permission, campaign string) {
	if v.Refused != nil {
		v.Refused(permission, campaign)
	}
}

type visitorKey struct{}

// WithVisitor returns a context that says who asks.
func WithVisitor(ctx context.Context, v Visitor) context.Context {
	return context.WithValue(ctx, visitorKey{}, v)
}

// visitorOf returns who asks. Nobody may do anything where that was not said.
func visitorOf(ctx context.Context) Visitor {
	if v, ok := ctx.Value(visitorKey{}).(Visitor); ok {
		return v
	}
	return Visitor{Name: "nobody", May: func(string, string) error {
		return problem.New(problem.NotPossible, "nobody has said who you are")
	}}
}
