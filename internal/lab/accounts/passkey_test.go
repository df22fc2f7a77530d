package accounts

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// device is an authenticator and the browser before it.
type device struct {
	t    *testing.T
	site virtualwebauthn.RelyingParty
	auth virtualwebauthn.Authenticator
	key  virtualwebauthn.Credential
}

// newKey returns a key as authenticators make them: the library writes a coordinate that begins
// with a zero, as one key in 128 has, with a byte less than the 32 that it is to have.
func newKey() virtualwebauthn.Credential {
	const length = 77 // of the key in CBOR
	for {
		key := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
		if len(key.Key.AttestationData()) == length {
			return key
		}
	}
}

func newDevice(t *testing.T) *device {
	return &device{
		t: t, site: virtualwebauthn.RelyingParty{ID: "lab.example.org", Name: "campaignd", Origin: "https://lab.example.org"},
		auth: virtualwebauthn.NewAuthenticator(), key: newKey(),
	}
}

// make answers navigator.credentials.create, and get navigator.credentials.get.
func (d *device) make(options json.RawMessage) []byte {
	asked := must.Get(virtualwebauthn.ParseAttestationOptions(string(options)))(d.t)
	d.auth.Options.UserHandle = []byte(asked.UserID)
	return []byte(virtualwebauthn.CreateAttestationResponse(d.site, d.auth, d.key, *asked))
}

func (d *device) get(options json.RawMessage) []byte {
	asked := must.Get(virtualwebauthn.ParseAssertionOptions(string(options)))(d.t)
	d.key.Counter++
	return []byte(virtualwebauthn.CreateAssertionResponse(d.site, d.auth, d.key, *asked))
}

var site = &Passkeys{ID: "lab.example.org", Origins: []string{"https://lab.example.org"}}

// register gives somebody who is logged in a passkey on a device.
func register(t *testing.T, b *Directory, session string, d *device) Passkey {
	t.Helper()
	ceremony, options, err := b.BeginPasskey(t.Context(), session)
	done(t, err)
	k, err := b.FinishPasskey(t.Context(), session, ceremony, "phone", d.make(options))
	done(t, err)
	return k
}

// Law: a passkey that was added logs its owner in, also after a restart, and another one of the
// same person; nothing else does: not another device, not an answer that is given twice, late, for
// another site, without the person, or by a copy of the key.
func TestPasskeys(t *testing.T) {
	b, c := lab(t, Options{Passkeys: site})
	session, bob := b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	phone, laptop, stranger := newDevice(t), newDevice(t), newDevice(t)
	k := register(t, b, session, phone)
	register(t, b, session, laptop)
	stranger.auth.Options.UserHandle = phone.auth.Options.UserHandle
	if own := must.Get(b.Account("bob"))(t).Passkeys; len(own) != 2 || own[0] != k || k.Name != "phone" {
		t.Errorf("bob's passkeys are %+v", own)
	}
	if ceremony, options, err := b.BeginPasskey(t.Context(), session); err != nil || !strings.Contains(string(options), "excludeCredentials") {
		t.Errorf("the known ones are not excluded: %s, %s, %v", ceremony, options, err)
	}

	adas, _ := b.mustLogin(t, "ada", adasPassword, "192.0.2.1")
	begun, asked, err := b.BeginPasskey(t.Context(), session)
	done(t, err)
	if _, err := b.FinishPasskey(t.Context(), adas, begun, "", newDevice(t).make(asked)); problem.CodeOf(orNil(err)) != problem.Unauthenticated {
		t.Errorf("ada has bob's passkey: %v", err)
	}

	done(t, b.Close())
	b = open(t, b.ledger.dir, c, Options{Passkeys: site})
	for _, d := range []*device{phone, laptop, phone} {
		ceremony, options, err := b.BeginPasskeyLogin(t.Context())
		done(t, err)
		token, who, err := b.FinishPasskeyLogin(t.Context(), ceremony, d.get(options), "192.0.2.5")
		if err != nil || who.Account != "bob" || who.Method != ByPasskey || who.Recent(c.now(), time.Minute) != nil {
			t.Fatalf("bob is %+v: %v", who, err)
		}
		must.Get(b.Authenticate(t.Context(), token))(t)
	}

	for name, answer := range map[string]func(begin func() (string, json.RawMessage)) (string, []byte){
		"another device": func(begin func() (string, json.RawMessage)) (string, []byte) {
			ceremony, options := begin()
			return ceremony, stranger.get(options)
		},
		"twice": func(begin func() (string, json.RawMessage)) (string, []byte) {
			ceremony, options := begin()
			answer := phone.get(options)
			if _, _, err := b.FinishPasskeyLogin(t.Context(), ceremony, answer, ""); err != nil {
				t.Fatal(err)
			}
			return ceremony, answer
		},
		"to something else": func(begin func() (string, json.RawMessage)) (string, []byte) {
			_, options := begin()
			ceremony, _ := begin()
			return ceremony, phone.get(options)
		},
		"late": func(begin func() (string, json.RawMessage)) (string, []byte) {
			ceremony, options := begin()
			c.pass(ceremonyTime + time.Second)
			return ceremony, phone.get(options)
		},
		"for another site": func(begin func() (string, json.RawMessage)) (string, []byte) {
			ceremony, options := begin()
			elsewhere := *phone
			elsewhere.site.Origin = "https://lab.example.org.evil.example"
			return ceremony, elsewhere.get(options)
		},
		"without the person": func(begin func() (string, json.RawMessage)) (string, []byte) {
			ceremony, options := begin()
			alone := *phone
			alone.auth.Options.UserNotVerified = true
			return ceremony, alone.get(options)
		},
		"by a copy": func(begin func() (string, json.RawMessage)) (string, []byte) {
			ceremony, options := begin()
			copied := *phone
			copied.key.Counter = 0
			return ceremony, copied.get(options)
		},
		"nonsense": func(begin func() (string, json.RawMessage)) (string, []byte) {
			ceremony, _ := begin()
			return ceremony, []byte(`{"id":1}`)
		},
		"to a confirmation": func(func() (string, json.RawMessage)) (string, []byte) {
			token, _ := b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
			ceremony, options, err := b.BeginPasskeyConfirm(t.Context(), token)
			done(t, err)
			return ceremony, phone.get(options)
		},
	} {
		ceremony, text := answer(func() (string, json.RawMessage) {
			ceremony, options, err := b.BeginPasskeyLogin(t.Context())
			done(t, err)
			return ceremony, options
		})
		if _, _, err := b.FinishPasskeyLogin(t.Context(), ceremony, text, "192.0.2.5"); problem.CodeOf(orNil(err)) != problem.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}

	// It shows again who somebody is, and is added by nobody who has not shown that just now.
	session, _ = b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	c.pass(20 * time.Minute)
	if _, _, err := b.BeginPasskey(t.Context(), session); problem.CodeOf(orNil(err)) != problem.Unauthenticated {
		t.Errorf("a session that was found open gets a passkey: %v", err)
	}
	ceremony, options, err := b.BeginPasskeyConfirm(t.Context(), session)
	done(t, err)
	fresh, who, err := b.FinishPasskeyConfirm(t.Context(), session, ceremony, phone.get(options), "192.0.2.1")
	if err != nil || who.Recent(c.now(), time.Minute) != nil {
		t.Errorf("shown again: %+v, %v", who, err)
	}
	if _, err := b.Authenticate(t.Context(), session); err == nil {
		t.Error("the old token is still good")
	}
	register(t, b, fresh, newDevice(t))

	must.Get(b.RemovePasskey(t.Context(), bob, "bob", k.ID))(t)
	ceremony, options, err = b.BeginPasskeyLogin(t.Context())
	done(t, err)
	if _, _, err := b.FinishPasskeyLogin(t.Context(), ceremony, phone.get(options), ""); err == nil {
		t.Error("a passkey that was removed is good")
	}
	must.Get(b.Disable(t.Context(), system, "bob"))(t)
	ceremony, _, err = b.BeginPasskeyLogin(t.Context())
	done(t, err)
	_, options, err = b.BeginPasskeyLogin(t.Context())
	done(t, err)
	_, _, err = b.FinishPasskeyLogin(t.Context(), ceremony, laptop.get(options), "")
	if problem.CodeOf(orNil(err)) != problem.Unauthenticated || strings.Contains(err.Error(), "disabled") {
		t.Errorf("who has proved nothing is answered: %v", err)
	}
	ceremony, options, err = b.BeginPasskeyLogin(t.Context())
	done(t, err)
	if _, _, err := b.FinishPasskeyLogin(t.Context(), ceremony, laptop.get(options), ""); err == nil || !strings.Contains(err.Error(), "disabled") {
		t.Errorf("bob is disabled: %v", err)
	}
	must.Get(b.Verify(system))(t)
}

// Law: a passkey is registered in the ceremony that its owner has begun, and in no other: not in one
// that nothing is known of, another account's, a login's, or one that is over.
func TestPasskeyNeedsItsCeremony(t *testing.T) {
	b, c := lab(t, Options{Passkeys: site})
	ada, _ := b.mustLogin(t, "ada", adasPassword, "192.0.2.1")
	bob, _ := b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	phone := newDevice(t)
	begin := func(session string) (string, []byte) {
		ceremony, options, err := b.BeginPasskey(t.Context(), session)
		done(t, err)
		return ceremony, phone.make(options)
	}
	refused := func(what, ceremony string, answer []byte) {
		t.Helper()
		if _, err := b.FinishPasskey(t.Context(), ada, ceremony, "phone", answer); err == nil {
			t.Errorf("%s: a passkey was registered", what)
		}
	}
	own, answer := begin(ada)
	refused("no ceremony", "", answer)
	refused("an unknown one", own+"x", answer)
	bobs, bobsAnswer := begin(bob)
	refused("bob's", bobs, bobsAnswer)
	login, _, err := b.BeginPasskeyLogin(t.Context())
	done(t, err)
	refused("a login", login, answer)
	late, lateAnswer := begin(ada)
	must.Get(b.FinishPasskey(t.Context(), ada, own, "phone", answer))(t)
	refused("one that is finished", own, answer)
	c.pass(ceremonyTime + time.Second)
	refused("one that is over", late, lateAnswer)
}

// Law: what is remembered of ceremonies is bounded, and who begins many only forgets their own.
func TestCeremoniesAreBounded(t *testing.T) {
	c, now := newCeremonies(new(ledger)), newClock().now()
	bobs := c.begin(now, &ceremony{What: toLogIn, From: "192.0.2.1"})
	for range 3 * mostOfOne {
		c.begin(now, &ceremony{What: toLogIn, From: "203.0.113.9"})
	}
	if len(c.begun) > mostOfOne+1 || len(c.order) != len(c.begun) {
		t.Errorf("%d are remembered, %d in their order", len(c.begun), len(c.order))
	}
	if c.finish(now, bobs, toLogIn) == nil {
		t.Error("bob's is forgotten")
	}
	if c.finish(now, bobs, toLogIn) != nil {
		t.Error("bob's is finished twice")
	}
	bobs = c.begin(now, &ceremony{What: toLogIn, From: "192.0.2.1"})
	if c.finish(now, bobs, toRegister) != nil {
		t.Error("a login has become something else")
	}
	c.begin(now.Add(ceremonyTime+time.Second), &ceremony{What: toLogIn, From: "192.0.2.1"})
	if len(c.begun) != 1 {
		t.Errorf("%d are remembered after their time", len(c.begun))
	}
}
