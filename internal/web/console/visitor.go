package console

import (
	"context"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Permissions in a campaign; for campaign "" they are meant for all of them.
const (
	See          = "see"            // look at the campaign
	AnswerIt     = "answer"         // answer questions
	ActForOthers = "act_for_others" // answer in the place of another expert
	Run          = "run"            // run, pause, resume, stop; enter results; notes and exclusions
	Resolve      = "resolve"        // settle unknown outcomes, correct results
	Define       = "define"         // begin and amend campaigns, import
	Instruments  = "equip"          // change the lab's instruments and people
	Audit        = "audit"          // the whole record
	Accounts     = "accounts"       // manage accounts
)

// Visitor is the person who asks for a page, as far as the pages need to know. The package that
// mounts the pages puts it into each request's context with [WithVisitor]. The functions may be
// nil, and then allow everything: internal/web/server fills them from its accounts.
type Visitor struct {
	// Name is the person's: events record their acts as person:NAME.
	Name string
	// Account is the system's user or the account, which is recorded too where
	// its name differs; empty for none.
	Account string
	// May says why the visitor may not do something in a campaign, nil where
	// they may. The error is a [problem.Error]. A nil May allows everything.
	May func(permission, campaign string) error
	// AnswersAs says why the visitor may not answer for an expert of a
	// campaign, nil where they may. A nil AnswersAs allows all.
	AnswersAs func(expert, campaign string) error
	// Confirmed fails where the visitor must log in again before an act:
	// "stop", "resolve" or "override". A nil Confirmed asks for nothing.
	Confirmed func(act string) error
	// MayDefine says why the visitor may not have this server run a campaign of that definition,
	// which may name a program, a file or an address; nil where they may. was is the campaign's
	// definition so far, nil for a new one. A nil MayDefine allows all.
	MayDefine func(def, was *definition.Campaign) error
	// Now returns the visitor as they are now, for a page that stays open: their rights can have
	// changed. It fails once they are logged out. A nil Now: nothing changes.
	Now func() (Visitor, error)
	// Refused, if set, is called when the visitor tried to do something and was
	// refused: a permission in a campaign, "" for the lab.
	Refused func(permission, campaign string)
	// Notice is shown on top of every page; empty for none.
	Notice string
	// Links are further pages for this visitor, such as that of their account.
	Links []Link
	// Logout is the address whose POST ends the session; empty for none.
	Logout string
}

// Link is a link of the pages' head; Path is on this server.
type Link struct{ Text, Path string }

// Actor is the actor of the events that the visitor's requests record.
func (v Visitor) Actor() string { return "person:" + v.Name }

// may says why the visitor does not have a permission in a campaign; nil where
// they do.
func (v Visitor) may(permission, campaign string) error {
	if v.May == nil {
		return nil
	}
	return v.May(permission, campaign)
}

// answersAs says why the visitor may not answer for an expert: that they may
// answer in the campaign at all is asked first.
func (v Visitor) answersAs(expert, campaign string) error {
	if err := v.may(AnswerIt, campaign); err != nil || v.AnswersAs == nil {
		return err
	}
	return v.AnswersAs(expert, campaign)
}

// mayDefine says why the visitor may not have a campaign of that definition run here, in place of
// its definition was, nil for a new one.
func (v Visitor) mayDefine(def, was *definition.Campaign) error {
	if v.MayDefine == nil {
		return nil
	}
	return v.MayDefine(def, was)
}

// now returns the visitor as they are now, for work that outlives their request.
func (v Visitor) now() (Visitor, error) {
	if v.Now == nil {
		return v, nil
	}
	return v.Now()
}

// confirmed fails where the visitor must log in again before an act.
func (v Visitor) confirmed(act string) error {
	if act == "" || v.Confirmed == nil {
		return nil
	}
	return v.Confirmed(act)
}

// refused reports a denied action, for the audit log. Hiding a button is not
// one.
func (v Visitor) refused(permission, campaign string) {
	if v.Refused != nil {
		v.Refused(permission, campaign)
	}
}

// visitorKey is the key of a Visitor in a context.
type visitorKey struct{}

// WithVisitor returns a context that carries the visitor.
func WithVisitor(ctx context.Context, v Visitor) context.Context {
	return context.WithValue(ctx, visitorKey{}, v)
}

// visitorOf returns the visitor of a request. Without one nothing is allowed: a
// route that was mounted without its guard fails closed.
func visitorOf(ctx context.Context) Visitor {
	if v, ok := ctx.Value(visitorKey{}).(Visitor); ok {
		return v
	}
	return Visitor{Name: "nobody", May: func(string, string) error {
		return problem.New(problem.NotPossible, "not authenticated")
	}}
}
