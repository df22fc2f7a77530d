package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
	"github.com/nicholas-fedor/shoutrrr/pkg/util/jsonclient"

	"github.com/campaignd/campaignd/internal/ground/relay"
)

// send sends a message through the service of its address. The error may hold the address, and is
// scrubbed by campaignd.
func send(m relay.Message) error {
	service, err := locate(m.Address)
	if err != nil {
		return err
	}
	params := types.Params{}
	if m.Title != "" {
		params.SetTitle(m.Title)
	}
	return service.Send(m.Text, &params)
}

// locate returns the service of an address.
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
