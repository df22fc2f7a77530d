package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
	"github.com/nicholas-fedor/shoutrrr/pkg/util/jsonclient"

	"github.com/campaignd/campaignd/internal/labfile"
)

// Shoutrrr sends messages through the services that shoutrrr knows. The zero
// Shoutrrr is ready for use.
type Shoutrrr struct {
	mu sync.Mutex
	// busy are the addresses at which a service has not answered yet.
	busy map[string]bool
}

// titled are the services that show a title of their own; elsewhere it is the
// first line.
var titled = []string{
	"bark", "discord", "generic", "gotify", "ntfy", "pushbullet", "pushover", "smtp", "teams",
}

// Send implements [Sender]. An error holds no part of the address. Services
// cannot be called off: where one does not answer in time, nothing more is sent
// to that address until it has.
//
// The goroutine that waits for a service outlives the call; its address stays
// busy until it ends.
func (s *Shoutrrr) Send(ctx context.Context, to labfile.Secret, m Message) error {
	address, err := to.Reveal()
	if err != nil {
		return err
	}
	admit.Do(func() { jsonclient.DefaultClient = admitting{jsonclient.DefaultClient} })
	service, err := locate(address)
	if err != nil {
		return errors.New(to.Scrub(err.Error()))
	}
	if !s.take(address) {
		return fmt.Errorf("%s has not answered the message before", to)
	}
	text, params := m.Text, types.Params{}
	scheme, _, _ := strings.Cut(address, ":")
	name, _, _ := strings.Cut(strings.ToLower(scheme), "+")
	if slices.Contains(titled, name) {
		params.SetTitle(m.Title)
	} else {
		text = m.Title + "\n" + text
	}
	// With room for one, so that the goroutine ends though no one waits for it
	// any more. The address is free before the answer is passed on, since the
	// caller may send to it again at once.
	done := make(chan error, 1)
	go func() {
		err := sent(service, text, &params)
		s.free(address)
		done <- err
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		return fmt.Errorf("%s has not answered in time", to)
	}
	if err != nil {
		return errors.New(to.Scrub(err.Error()))
	}
	return nil
}

// locate returns the service of an address. It is made anew for each message:
// addresses change with the lab file, and a kept one would be one more place
// that holds a secret. The error may hold the address, and is scrubbed by the
// caller.
func locate(address string) (types.Service, error) {
	var services router.ServiceRouter
	service, err := services.Locate(address)
	if err == nil {
		return service, nil
	}
	// It does not say why it could not be made ready; the service itself does.
	scheme, u, parseErr := services.ExtractServiceName(address)
	if parseErr != nil || u.Scheme != scheme {
		return nil, err
	}
	if service, newErr := services.NewService(scheme); newErr == nil {
		if why := service.Initialize(u, nil); why != nil {
			return nil, fmt.Errorf("the address is not one of %s: %w", scheme, why)
		}
	}
	return nil, err
}

// admit has shoutrrr's shared client say what fails. The client is a variable
// of that package, hence once for the process and not for each Shoutrrr.
var admit sync.Once

// admitting is a client whose failures are all in the form of an answer.
// Telegram's service looks for nothing else: a network that is down, or an
// answer that is not JSON, counts there as a message that was sent
// (github.com/containrrr/shoutrrr, issue 473).
type admitting struct{ jsonclient.Client }

// Post implements jsonclient.Client.
func (c admitting) Post(url string, request, response any) error {
	err := c.Client.Post(url, request, response)
	if err == nil {
		return nil
	}
	var failed jsonclient.Error
	if errors.As(err, &failed) && json.Valid([]byte(failed.Body)) {
		return err
	}
	body, marshalErr := json.Marshal(map[string]any{
		"ok": false, "error_code": failed.StatusCode, "description": err.Error(),
	})
	if marshalErr != nil {
		return err
	}
	return jsonclient.Error{StatusCode: failed.StatusCode, Body: string(body)}
}

// sent sends a text. That a service's code panics is a failure of that service
// alone. Without this a malformed answer of a chat service could end the
// process that runs the campaigns.
func sent(service types.Service, text string, params *types.Params) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the service's code failed: %v", p)
		}
	}()
	return service.Send(text, params)
}

// take has an address be busy, unless it is. So an address never has more than
// one goroutine, however long its service is silent.
func (s *Shoutrrr) take(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[address] {
		return false
	}
	if s.busy == nil {
		s.busy = make(map[string]bool)
	}
	s.busy[address] = true
	return true
}

// free has an address be used again.
func (s *Shoutrrr) free(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, address)
}
