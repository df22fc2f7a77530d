package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	watermillamqp "github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	watermillkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	watermillnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/rabbitmq/amqp091-go"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/relay"
)

// clientName is this program's name at brokers.
const clientName = "campaignd"

// campaignKey is where a message on its way to a publisher holds its campaign.
const campaignKey = "campaign"

// dialWithin is how long a broker may take to accept a connection.
const dialWithin = 10 * time.Second

// openKafka returns a publisher to Kafka. The key of a message is its campaign,
// so that the events of one are in one partition, in order; all replicas in
// sync have a message before it counts.
func openKafka(u *url.URL) (message.Publisher, error) {
	config := sarama.NewConfig()
	config.ClientID = clientName
	config.Version = sarama.V2_1_0_0
	config.Metadata.Retry.Max = 1
	config.Metadata.Timeout = dialWithin
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Retry.Max = 0 // the bus tries again, with the state of that shown
	config.Producer.MaxMessageBytes = 2 * events.MaxDataSize
	config.Net.MaxOpenRequests = 1
	config.Net.DialTimeout = dialWithin
	config.Net.TLS.Enable = u.Scheme == "kafka+tls"
	if password, ok := u.User.Password(); ok {
		config.Net.SASL.Enable = true
		config.Net.SASL.User = u.User.Username()
		config.Net.SASL.Password = password
	}
	brokers := []string{u.Host}
	if more := u.Query().Get("brokers"); more != "" {
		brokers = append(brokers, strings.Split(more, ",")...)
	}
	return watermillkafka.NewPublisher(watermillkafka.PublisherConfig{
		Brokers:               brokers,
		Marshaler:             kafkaMarshaler{},
		OverwriteSaramaConfig: config,
	}, watermill.NopLogger{})
}

// kafkaMarshaler writes a CloudEvent in structured mode.
type kafkaMarshaler struct{}

// Marshal implements the marshaler of Watermill's publisher.
func (kafkaMarshaler) Marshal(topic string, msg *message.Message) (*sarama.ProducerMessage, error) {
	return &sarama.ProducerMessage{
		Topic: topic,
		Key:   sarama.StringEncoder(msg.Metadata.Get(campaignKey)),
		Value: sarama.ByteEncoder(msg.Payload),
		Headers: []sarama.RecordHeader{
			{Key: []byte("content-type"), Value: []byte(relay.ContentType + "; charset=UTF-8")},
			{Key: []byte("message-id"), Value: []byte(msg.UUID)},
		},
	}, nil
}

// openNATS returns a publisher to a stream of NATS JetStream: the core of NATS loses messages
// without a listener. Where no stream takes the subject, one is made, on disk.
func openNATS(u *url.URL, subject string) (message.Publisher, error) {
	conn, err := nats.Connect(u.String(), nats.Name(clientName), nats.NoReconnect(), nats.Timeout(dialWithin))
	if err != nil {
		return nil, err
	}
	publisher, err := natsPublisher(conn, subject)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return publisher, nil
}

// natsPublisher finds or makes the stream. The connection stays the caller's
// where it fails.
func natsPublisher(conn *nats.Conn, subject string) (message.Publisher, error) {
	js, err := conn.JetStream()
	if err != nil {
		return nil, err
	}
	_, err = js.StreamNameBySubject(subject)
	if errors.Is(err, nats.ErrNoMatchingStream) {
		_, err = js.AddStream(&nats.StreamConfig{
			Name:     strings.ReplaceAll(subject, ".", "_"), // a name has no dots
			Subjects: []string{subject},
			Storage:  nats.FileStorage,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("no stream takes the subject %s: %w", subject, err)
	}
	return watermillnats.NewPublisherWithNatsConn(conn, watermillnats.PublisherPublishConfig{
		Marshaler:         natsMarshaler{},
		SubjectCalculator: watermillnats.DefaultSubjectCalculator,
	}, watermill.NopLogger{})
}

// natsMarshaler writes a CloudEvent in structured mode.
type natsMarshaler struct{}

// Marshal implements the marshaler of Watermill's publisher.
func (natsMarshaler) Marshal(subject string, msg *message.Message) (*nats.Msg, error) {
	header := nats.Header{}
	header.Set("content-type", relay.ContentType+"; charset=UTF-8")
	header.Set(nats.MsgIdHdr, msg.UUID) // the stream keeps one of two that come soon after each other
	return &nats.Msg{Subject: subject, Header: header, Data: msg.Payload}, nil
}

// openAMQP returns a publisher to an exchange of AMQP 0-9-1, which confirms each message once it is
// on disk in every queue that takes it. A missing exchange is made, one that gives every queue all
// messages; where a message has reached no queue, a queue is made.
func openAMQP(address, exchange string) (message.Publisher, error) {
	config := watermillamqp.NewDurablePubSubConfig(address, nil)
	config.Connection.AmqpConfig = &amqp091.Config{
		Dial:       amqp091.DefaultDial(dialWithin),
		Heartbeat:  dialWithin,
		Locale:     "en_US",
		Properties: amqp091.Table{"connection_name": clientName},
	}
	config.Publish.ConfirmDelivery = true
	config.Publish.Mandatory = true
	config.Publish.ChannelPoolSize = 1
	config.Publish.GenerateRoutingKey = func(topic string) string { return topic }
	config.Marshaler = watermillamqp.DefaultMarshaler{PostprocessPublishing: amqpMessage}
	returns := &returned{}
	config.TopologyBuilder = returns
	conn, err := watermillamqp.NewConnection(config.Connection, watermill.NopLogger{})
	if err != nil {
		return nil, err
	}
	if err = declare(conn.Connection(), exchange, false); err == nil {
		var publisher *watermillamqp.Publisher
		publisher, err = watermillamqp.NewPublisherWithConnection(config, watermill.NopLogger{}, conn)
		if err == nil {
			return &amqpPublisher{publisher, conn, returns}, nil
		}
	}
	_ = conn.Close() // the error before it says more
	return nil, err
}

// amqpMessage gives a message its content type and its identifier, and no other
// headers.
func amqpMessage(p amqp091.Publishing) amqp091.Publishing {
	p.MessageId, _ = p.Headers[watermillamqp.DefaultMessageUUIDHeaderKey].(string)
	p.ContentType = relay.ContentType
	p.ContentEncoding = "utf-8"
	p.AppId = clientName
	p.Headers = nil
	return p
}

// declare makes the exchange if it is missing, and, where it is to be bound, a queue. It asks
// passively first, so that an existing exchange of another type is used as it is.
func declare(conn *amqp091.Connection, exchange string, bind bool) error {
	channel, err := conn.Channel()
	if err != nil {
		return err
	}
	err = channel.ExchangeDeclarePassive(exchange, amqp091.ExchangeFanout, true, false, false, false, nil)
	var answer *amqp091.Error
	if errors.As(err, &answer) && answer.Code == amqp091.NotFound {
		if channel, err = conn.Channel(); err != nil { // the broker has closed the other one
			return err
		}
		err = channel.ExchangeDeclare(exchange, amqp091.ExchangeFanout, true, false, false, false, nil)
	}
	if err == nil && bind {
		_, err = channel.QueueDeclare(exchange, true, false, false, false, nil)
		if err == nil {
			err = channel.QueueBind(exchange, exchange, exchange, false, nil)
		}
	}
	if err != nil {
		return err
	}
	return channel.Close()
}

// returned notices messages that the broker gives back since no queue takes
// them. The broker confirms those too.
type returned struct {
	watermillamqp.DefaultTopologyBuilder
	messages chan amqp091.Return
}

// ExchangeDeclare is called with the channel of the messages, before the first.
func (r *returned) ExchangeDeclare(channel *amqp091.Channel, _ string, _ watermillamqp.Config) error {
	r.messages = channel.NotifyReturn(make(chan amqp091.Return, 1))
	return nil
}

// amqpPublisher owns its connection, and knows which messages were returned.
type amqpPublisher struct {
	*watermillamqp.Publisher
	conn    *watermillamqp.ConnectionWrapper
	returns *returned
}

// Publish implements message.Publisher. A message is returned before it is confirmed, and is sent
// again once a queue for it exists.
func (p *amqpPublisher) Publish(topic string, messages ...*message.Message) error {
	for range 2 {
		if err := p.Publisher.Publish(topic, messages...); err != nil {
			return err
		}
		select {
		case <-p.returns.messages:
		default:
			return nil
		}
		if err := declare(p.conn.Connection(), topic, true); err != nil {
			return err
		}
	}
	return fmt.Errorf("no queue takes what is sent to the exchange %s", topic)
}

// Close implements message.Publisher.
func (p *amqpPublisher) Close() error { return errors.Join(p.Publisher.Close(), p.conn.Close()) }
