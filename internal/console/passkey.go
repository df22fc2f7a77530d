package console

import (
	"encoding/json"
	"net/http"

	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/server/problems"
)

// ceremony is what a browser sends to finish a ceremony with a passkey: the
// name that it was given at the beginning, the browser's answer, and a name for
// a new passkey, which is the person's choice.
type ceremony struct {
	Ceremony string          `json:"ceremony"`
	Name     string          `json:"name"`
	Answer   json.RawMessage `json:"answer"`
}

// begun answers with what the browser needs for a ceremony. The options are
// made by the library for the browser's own functions, and passed on as they
// are.
func begun(w http.ResponseWriter, name string, options json.RawMessage, err error) {
	if err != nil {
		problems.Write(w, problems.Of(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"ceremony": name, "options": options})
}

// finished reads what a browser brings back from a ceremony, and answers with
// what do says of it. Script asks here and no form, so that failures are
// problems in JSON and not pages. do sets the session's cookie, before the
// answer is begun.
func finished(w http.ResponseWriter, r *http.Request, do func(ceremony) error) {
	var c ceremony
	err := json.NewDecoder(r.Body).Decode(&c)
	if err != nil {
		err = problem.New(problem.Invalid, "that is no answer of a passkey: %w", err)
	} else {
		err = do(c)
	}
	if err != nil {
		problems.Write(w, problems.Of(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte("{}\n"))
}

// beginPasskeyLogin, and the functions below: passkeys log people in, confirm
// who they are, and are added to an account. Each is a ceremony of two
// requests, the server's challenge and the passkey's answer.
func (c *Console) beginPasskeyLogin(w http.ResponseWriter, r *http.Request) {
	name, options, err := c.gate.Accounts().BeginPasskeyLogin(r.Context())
	begun(w, name, options, err)
}

func (c *Console) finishPasskeyLogin(w http.ResponseWriter, r *http.Request) {
	finished(w, r, func(done ceremony) error {
		token, _, err := c.gate.Accounts().FinishPasskeyLogin(r.Context(), done.Ceremony, done.Answer,
			c.gate.Address(r))
		if err == nil {
			c.gate.BeginSession(w, r, token)
		}
		return err
	})
}

func (c *Console) beginPasskeyConfirm(w http.ResponseWriter, r *http.Request) {
	name, options, err := c.gate.Accounts().BeginPasskeyConfirm(r.Context(), c.gate.Session(r))
	begun(w, name, options, err)
}

func (c *Console) finishPasskeyConfirm(w http.ResponseWriter, r *http.Request) {
	finished(w, r, func(done ceremony) error {
		token, _, err := c.gate.Accounts().FinishPasskeyConfirm(
			r.Context(), c.gate.Session(r), done.Ceremony, done.Answer, c.gate.Address(r))
		if err == nil {
			c.gate.SetSession(w, token)
		}
		return err
	})
}

func (c *Console) beginPasskey(w http.ResponseWriter, r *http.Request) {
	name, options, err := c.gate.Accounts().BeginPasskey(r.Context(), c.gate.Session(r))
	begun(w, name, options, err)
}

func (c *Console) finishPasskey(w http.ResponseWriter, r *http.Request) {
	finished(w, r, func(done ceremony) error {
		_, err := c.gate.Accounts().FinishPasskey(r.Context(), c.gate.Session(r), done.Ceremony, done.Name, done.Answer)
		return err
	})
}
