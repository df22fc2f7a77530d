package console

import (
	"encoding/json"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// ceremony is the message with which a browser finishes a ceremony with a passkey: the name that it
// was given at the beginning, the browser's answer, and a name for a new passkey, which is the
// person's choice.
type ceremony struct {
	Ceremony string          `json:"ceremony"`
	Name     string          `json:"name"`
	Answer   json.RawMessage `json:"answer"`
}

// challenge answers with the data that the browser needs for a ceremony. The options are made by
// the library for the browser's own functions, and passed on as they are.
func (v *visit) challenge(name string, options json.RawMessage, err error) error {
	if err != nil {
		problems.Write(v.w, problems.Of(err))
		return nil
	}
	return v.answer(map[string]any{"ceremony": name, "options": options})
}

// finished reads the browser's answer to a ceremony, and replies with the result of do. The caller
// is a script and not a form, so that failures are problems in JSON and not pages. do sets the
// session's cookie, before the answer is begun.
func (v *visit) finished(do func(ceremony) error) error {
	var c ceremony
	err := json.NewDecoder(v.r.Body).Decode(&c)
	if err != nil {
		err = problem.New(problem.Invalid, "that is not an answer of a passkey: %w", err)
	} else {
		err = do(c)
	}
	if err != nil {
		problems.Write(v.w, problems.Of(err))
		return nil
	}
	return v.send("application/json", []byte("{}\n"))
}

// beginPasskeyLogin, and the functions below: passkeys log people in, confirm
// who they are, and are added to an account. Each is a ceremony of two
// requests, the server's challenge and the passkey's answer.
func beginPasskeyLogin(v *visit) error {
	name, options, err := v.accounts().BeginPasskeyLogin(v.r.Context())
	return v.challenge(name, options, err)
}

func finishPasskeyLogin(v *visit) error {
	return v.finished(func(done ceremony) error {
		token, _, err := v.accounts().FinishPasskeyLogin(v.r.Context(), done.Ceremony, done.Answer,
			v.gate.Address(v.r))
		if err == nil {
			v.gate.BeginSession(v.w, v.r, token)
		}
		return err
	})
}

func beginPasskeyConfirm(v *visit) error {
	name, options, err := v.accounts().BeginPasskeyConfirm(v.r.Context(), v.gate.Session(v.r))
	return v.challenge(name, options, err)
}

func finishPasskeyConfirm(v *visit) error {
	return v.finished(func(done ceremony) error {
		token, _, err := v.accounts().FinishPasskeyConfirm(
			v.r.Context(), v.gate.Session(v.r), done.Ceremony, done.Answer, v.gate.Address(v.r))
		if err == nil {
			v.gate.SetSession(v.w, token)
		}
		return err
	})
}

func beginPasskey(v *visit) error {
	name, options, err := v.accounts().BeginPasskey(v.r.Context(), v.gate.Session(v.r))
	return v.challenge(name, options, err)
}

func finishPasskey(v *visit) error {
	return v.finished(func(done ceremony) error {
		_, err := v.accounts().FinishPasskey(v.r.Context(), v.gate.Session(v.r), done.Ceremony, done.Name, done.Answer)
		return err
	})
}
