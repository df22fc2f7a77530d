// Command campaignd-forward sends everything that leaves a lab: events to Kafka, NATS and AMQP, and
// messages to people by e-mail, Slack, ntfy and every other service of shoutrrr. campaignd starts
// it, one process for each connection and each message, and asks it over its standard input and
// output (package relay); people do not run it by hand.
package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nicholas-fedor/shoutrrr/pkg/util/jsonclient"

	"github.com/campaignd/campaignd/internal/ground/relay"
)

func main() {
	// A terminal and systemd send them to campaignd's programs, too; this one ends with its input.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	jsonclient.DefaultClient = admitting{jsonclient.DefaultClient}
	var c connection
	err := relay.Serve(os.Stdin, os.Stdout, c.do)
	if c.publisher != nil {
		_ = c.publisher.Close() // it has nothing to lose
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "campaignd-forward:", err)
		os.Exit(1)
	}
}

// connection is the target to which events are sent, once it is open.
type connection struct {
	to        relay.Target
	publisher message.Publisher
}

// do carries out a request. A message that its target has taken for good is done.
func (c *connection) do(r relay.Request) error {
	switch {
	case r.Open != nil:
		publisher, err := open(*r.Open)
		if err == nil {
			c.to, c.publisher = *r.Open, publisher
		}
		return err
	case r.Event != nil && c.publisher != nil:
		msg := message.NewMessage(r.Event.ID, r.Event.Data)
		msg.Metadata.Set(campaignKey, r.Event.Campaign)
		return c.publisher.Publish(c.to.Topic, msg)
	case r.Message != nil:
		return send(*r.Message)
	}
	return errors.New("nothing is asked that this version of campaignd-forward can do; install it from the release of campaignd")
}

func open(to relay.Target) (message.Publisher, error) {
	u, err := url.Parse(to.Address)
	if err != nil {
		return nil, errors.New("invalid address")
	}
	switch u.Scheme {
	case "kafka", "kafka+tls":
		return openKafka(u)
	case "nats", "tls":
		return openNATS(u, to.Topic)
	case "amqp", "amqps":
		return openAMQP(to.Address, to.Topic)
	}
	return nil, fmt.Errorf("events cannot be sent to %s://", u.Scheme)
}
