package accounts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"syscall"

	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Request is a request of a system user who works in the folder itself, as data, so that it can
// also be sent to a process that holds the accounts. One field is set. Its JSON names are a
// protocol between two programs, possibly of different versions.
type Request struct {
	Accounts      bool             `json:"accounts,omitempty"` // list all
	Add           *NewAccount      `json:"add,omitempty"`
	Change        *ChangeRequest   `json:"change,omitempty"`
	Grant         *GrantRequest    `json:"grant,omitempty"`
	Revoke        *GrantRequest    `json:"revoke,omitempty"`
	Disable       string           `json:"disable,omitempty"` // the account
	Enable        string           `json:"enable,omitempty"`  // the account
	Unlock        *string          `json:"unlock,omitempty"`  // the account; empty: all
	SetPassword   *PasswordRequest `json:"set_password,omitempty"`
	CreateToken   *TokenRequest    `json:"create_token,omitempty"`
	RevokeToken   string           `json:"revoke_token,omitempty"` // its ID
	Tokens        string           `json:"tokens,omitempty"`       // the account
	Sessions      string           `json:"sessions,omitempty"`     // the account
	EndSessions   string           `json:"end_sessions,omitempty"` // the account
	RemovePasskey *PasskeyRequest  `json:"remove_passkey,omitempty"`
	Trail         *Page            `json:"trail,omitempty"`
	VerifyTrail   bool             `json:"verify_trail,omitempty"`
}

// ChangeRequest, GrantRequest, PasswordRequest, TokenRequest and PasskeyRequest name an account and
// what to do with it.
type (
	ChangeRequest struct {
		Name    string  `json:"name"`
		Changes Changes `json:"changes"`
	}
	GrantRequest struct {
		Name  string `json:"name"`
		Grant Grant  `json:"grant"`
	}
	PasswordRequest struct {
		Name     string `json:"name"`
		Password Secret `json:"-"`
	}
	TokenRequest struct {
		Name  string   `json:"name"`
		Token NewToken `json:"token"`
	}
	PasskeyRequest struct {
		Name string `json:"name"`
		ID   string `json:"id"`
	}
)

// Reply is the result of a [Request]. The request determines which fields are set.
type Reply struct {
	Account *Account `json:"account,omitempty"`
	// First, if an admin was added to others, describes how the first one was made.
	First    *Entry    `json:"first,omitempty"`
	Accounts []Account `json:"accounts,omitempty"`
	Token    *Token    `json:"token,omitempty"`
	// Secret is the token itself, which is not stored anywhere.
	Secret   Secret    `json:"-"`
	Tokens   []Token   `json:"tokens,omitempty"`
	Sessions []Session `json:"sessions,omitempty"`
	// Ended is the number of sessions ended.
	Ended   int     `json:"ended,omitempty"`
	Entries []Entry `json:"entries,omitempty"`
	Proof   *Proof  `json:"proof,omitempty"`
}

// Do executes a request of an identity that may [Administer]. The methods it calls check their own
// permissions; the first check is for requests that only read.
func (d *Directory) Do(ctx context.Context, by Identity, r Request) (a Reply, err error) {
	if err := d.mayOrRefuse(by, Administer, ""); err != nil {
		return Reply{}, err
	}
	account := func(x Account, err error) (Reply, error) { return Reply{Account: &x}, err }
	switch {
	case r.Accounts:
		a.Accounts = d.Accounts()
	case r.Add != nil:
		added, err := d.Add(ctx, by, *r.Add)
		a.Account = &added
		if err == nil && slices.Contains(added.Grants, Grant{Role: Admin}) {
			if first, ok := d.First(); ok && first.Account != added.Name {
				a.First = &first
			}
		}
		return a, err
	case r.Change != nil:
		return account(d.Change(ctx, by, r.Change.Name, r.Change.Changes))
	case r.Grant != nil:
		return account(d.Grant(ctx, by, r.Grant.Name, r.Grant.Grant))
	case r.Revoke != nil:
		return account(d.Revoke(ctx, by, r.Revoke.Name, r.Revoke.Grant))
	case r.Disable != "":
		return account(d.Disable(ctx, by, r.Disable))
	case r.Enable != "":
		return account(d.Enable(ctx, by, r.Enable))
	case r.Unlock != nil:
		return Reply{}, d.Unlock(ctx, by, *r.Unlock)
	case r.SetPassword != nil:
		return account(d.SetPassword(ctx, by, r.SetPassword.Name, r.SetPassword.Password.Reveal()))
	case r.CreateToken != nil:
		secret, t, err := d.CreateToken(ctx, by, r.CreateToken.Name, r.CreateToken.Token)
		return Reply{Token: &t, Secret: NewSecret(secret)}, err
	case r.RevokeToken != "":
		t, err := d.RevokeToken(ctx, by, r.RevokeToken)
		return Reply{Token: &t}, err
	case r.Tokens != "":
		if _, err := d.Account(r.Tokens); err != nil {
			return Reply{}, err
		}
		a.Tokens = d.Tokens(r.Tokens)
	case r.Sessions != "":
		if _, err := d.Account(r.Sessions); err != nil {
			return Reply{}, err
		}
		a.Sessions = d.Sessions(r.Sessions)
	case r.EndSessions != "":
		a.Ended, err = d.EndSessions(ctx, by, r.EndSessions)
	case r.RemovePasskey != nil:
		return account(d.RemovePasskey(ctx, by, r.RemovePasskey.Name, r.RemovePasskey.ID))
	case r.Trail != nil:
		a.Entries, err = d.AuditLog(by, *r.Trail)
	case r.VerifyTrail:
		proof, failed := d.Verify(by)
		a.Proof, err = &proof, failed
	default:
		err = problem.New(problem.Invalid, "the request asks for nothing that is known here")
	}
	return a, err
}

// wire is a request or an answer in transit between two processes of a user, with the parts that
// have no JSON elsewhere. Secrets have none, so that they cannot get into a log or an answer by
// mistake; only here they travel, over a socket of the folder.
type wire struct {
	Request *Request       `json:"request,omitempty"`
	Answer  *Reply         `json:"answer,omitempty"`
	Error   *problem.Error `json:"error,omitempty"`
	Secret  string         `json:"secret,omitempty"`
}

// secret returns the place of a request's secret, nil without one. A new kind of request with a
// secret must be listed here, or the secret does not arrive.
func (r *Request) secret() *Secret {
	switch {
	case r.Add != nil:
		return &r.Add.Password
	case r.SetPassword != nil:
		return &r.SetPassword.Password
	}
	return nil
}

// mostRequest bounds the body of a request, in bytes; audit trails are answers.
const mostRequest = 1 << 20

// Handler executes requests of other processes over a connection that only users with write access
// to the folder can open, such as a socket of package control. who returns the system user behind
// it.
//
// An answer is always a wire, also for a refused request, so that a client can tell a refusal from
// another program that listens on the socket.
func (d *Directory) Handler(who func(*http.Request) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in, out wire
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostRequest))
		decoder.DisallowUnknownFields() // a field of a newer client must not be ignored
		err := decoder.Decode(&in)
		switch {
		case err != nil:
			err = problem.New(
				problem.Invalid,
				"the process that holds the accounts does not understand the request: %w",
				err,
			)
		case r.Method != http.MethodPost || in.Request == nil:
			err = problem.New(problem.Invalid, "invalid request")
		default:
			if s := in.Request.secret(); s != nil {
				*s = NewSecret(in.Secret)
			}
			var a Reply
			if a, err = d.Do(r.Context(), SystemIdentity(who(r)), *in.Request); err == nil {
				out.Answer, out.Secret = &a, a.Secret.Reveal()
			}
		}
		if err != nil {
			out.Error = problem.FromError(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out) // the client may have gone
	})
}

// Ask sends a request to the process that answers with [Directory.Handler]. A broken connection is
// [problem.Uncertain]: the request may have been carried out.
func Ask(ctx context.Context, client *http.Client, r Request) (Reply, error) {
	out := wire{Request: &r}
	if s := r.secret(); s != nil {
		out.Secret = s.Reveal()
	}
	body, err := json.Marshal(out)
	if err != nil {
		return Reply{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://accounts/",
		bytes.NewReader(body))
	if err != nil {
		return Reply{}, err
	}
	response, err := client.Do(request)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return Reply{}, problem.New(problem.Uncertain,
			"the process that holds the accounts ended before it answered").
			With(problem.Remedy{Text: "look whether it was recorded, and ask again if not",
				Action: problem.Trail})
	}
	if err != nil {
		return Reply{}, problem.New(problem.Unavailable,
			"the process that holds the accounts does not answer: %w", err)
	}
	defer response.Body.Close()
	var in wire
	if err := json.NewDecoder(response.Body).Decode(&in); err != nil {
		return Reply{}, problem.New(
			problem.Uncertain,
			"the answer of the process that holds the accounts cannot be read: %w",
			err,
		)
	}
	if in.Error != nil {
		return Reply{}, in.Error
	}
	if in.Answer == nil {
		return Reply{}, fmt.Errorf("the process that holds the accounts has answered nothing")
	}
	in.Answer.Secret = NewSecret(in.Secret)
	return *in.Answer, nil
}
