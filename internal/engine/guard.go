package engine

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
)

// Limits of a request. An event holds more, but no person writes more by hand, and everything
// here is shown to people.
const (
	maxActor = 200       // bytes of a person's name
	maxID    = 200       // bytes of a request's identifier
	maxText  = 64 << 10  // bytes of each text
	maxWords = 512 << 10 // bytes of an amended definition, with its file
)

// guard rejects a request that cannot be recorded, or that no one can have
// meant, whatever the campaign's state is: the requester must have a name,
// texts must be short enough and printable, numbers within reason, and an
// amended definition one that a campaign can be run with.
//
// It works by reflection over the request's fields, so that a new kind of
// request is guarded from its first day; only an amendment, whose definition has
// rules of its own, is left to guardAmendment.
func guard(c Now, r Request) error {
	if err := CheckActor(r.Actor); err != nil {
		return err
	}
	if fault := unprintable(r.ID, ""); fault != "" {
		return notPossible("the identifier of the request, %q, %s", shortened(r.ID), fault)
	}
	if len(r.ID) > maxID {
		return notPossible("the identifier of the request has %d bytes, at most %d are recorded",
			len(r.ID), maxID)
	}
	parts := 0
	value := reflect.ValueOf(r)
	for i := range value.NumField() {
		field := value.Type().Field(i)
		part := value.Field(i)
		if part.Kind() != reflect.Pointer && part.Kind() != reflect.Slice || part.IsNil() {
			continue
		}
		parts++
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if r.Amend != nil && name == "amend" {
			continue // a definition has rules of its own
		}
		if err := checkPart(name, part); err != nil {
			return err
		}
	}
	// One request is one batch with one actor, cause and reply.
	if parts > 1 {
		return notPossible("the request asks for %d things at once", parts)
	}
	if r.Answer != nil && r.Answer.Program != nil {
		return notPossible("a person answers, and no program: it is for its channel to say which one did")
	}
	if r.Amend != nil {
		return guardAmendment(c, r.Amend)
	}
	return nil
}

// CheckActor rejects an actor that is not a person with a printable name. Actors of other forms
// are the engine's, the instruments' and the experts': a person's statements under such a name
// could not be distinguished from theirs.
func CheckActor(actor string) error {
	name, ok := strings.CutPrefix(actor, "person:")
	switch {
	case !ok:
		return notPossible("the request says that %q asks: it must be person:NAME", shortened(actor))
	case strings.TrimSpace(name) == "":
		return notPossible("the request does not say who asks")
	case len(name) > maxActor:
		return notPossible("the name of who asks has %d bytes, at most %d are recorded", len(name), maxActor)
	case name == "engine" || strings.HasPrefix(name, "instrument:") || strings.HasPrefix(name, "expert:"):
		return notPossible("%q is not a person's name: campaignd uses it for a part of itself", name)
	}
	if fault := unprintable(name, ""); fault != "" {
		return notPossible("the name of who asks, %q, %s", name, fault)
	}
	return nil
}

// unprintable says why a text must not be shown to people as it is: it is not UTF-8, or it
// holds a character that moves the cursor or turns the text around, save those in except. It is
// "" for a printable text. Texts are refused rather than cleaned: the log must hold exactly
// what a person wrote.
func unprintable(s, except string) string {
	if !utf8.ValidString(s) {
		return "is not UTF-8"
	}
	for _, r := range s {
		if (r == '\n' || plaintext.Unsafe(r)) && !strings.ContainsRune(except, r) {
			return fmt.Sprintf("holds the control character %U: leave it out", r)
		}
	}
	return ""
}

// shortened is a text that is fit for a message. A cut inside of a character
// leaves none of its bytes.
func shortened(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// checkPart looks at every text and every number of a part of a request; where names it for the
// person. A definition.Value is a number or a name, and is checked as either.
func checkPart(where string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return checkPart(where, v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkPart(fmt.Sprintf("%s %d", where, i+1), v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range sortedMapKeys(v) {
			if err := checkText(where, key.String()); err != nil {
				return err
			}
			if err := checkPart(where+" "+key.String(), v.MapIndex(key)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		if value, ok := v.Interface().(definition.Value); ok {
			if x, number := value.Float(); number {
				return checkNumber(where, x)
			}
			return checkText(where, value.Name())
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if err := checkPart(where+" "+name, v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.String:
		return checkText(where, v.String())
	case reflect.Float64:
		return checkNumber(where, v.Float())
	}
	return nil
}

// checkText refuses texts that are too long for an event or must not be printed. Line breaks
// and tabs are allowed: reasons and notes are prose.
func checkText(where, s string) error {
	if len(s) > maxText {
		return notPossible("%s: the text has %d bytes, at most %d are recorded; keep it in a file and name that",
			where, len(s), maxText)
	}
	if fault := unprintable(s, "\n\t"); fault != "" {
		return notPossible("%s: the text %s", where, fault)
	}
	return nil
}

// checkNumber refuses numbers that JSON cannot hold, and those that are certainly slips.
func checkNumber(where string, x float64) error {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return notPossible("%s is %g, which is not a result", where, x)
	case math.Abs(x) > definition.Greatest:
		return notPossible("%s is %g, more than anything measures: is it a typing error?", where, x)
	}
	return nil
}

// sortedMapKeys returns the keys of a map with text for keys, in order: of
// several faults always the same is named.
func sortedMapKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

// guardAmendment rejects a definition that no campaign can be run with: it may
// come from another program than ours. The bound is on the file and the changes
// together, since they stand in one event.
func guardAmendment(c Now, a *events.CampaignAmended) error {
	if err := checkText("the reason", a.Reason); err != nil {
		return err
	}
	size := len(a.Source)
	for _, change := range a.Changes {
		size += len(change.Path) + len(change.From) + len(change.To)
	}
	if size > maxWords {
		return notPossible("the amendment's file and changes have %d bytes, at most %d are recorded",
			size, maxWords)
	}
	if err := campaignfile.Sound(c.registry, *c.Definition, a.Definition); err != nil {
		return notPossible("the amended definition cannot be run: %w", err)
	}
	return nil
}
