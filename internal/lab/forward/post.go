package forward

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/ground/relay"
)

// direct does not follow redirections: they would carry the token elsewhere.
var direct = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// post sends an event to an HTTP address. An answer other than 2xx is a refusal.
func post(ctx context.Context, u *url.URL, token labfile.Token, e relay.Event) error {
	secret, err := token.Reveal()
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(e.Data))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", relay.ContentType+"; charset=utf-8")
	r.Header.Set("Idempotency-Key", e.ID)
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	answer, err := direct.Do(r)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the answer is %s", answer.Status)
	}
	return nil
}
