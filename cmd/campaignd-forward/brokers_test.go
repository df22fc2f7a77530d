package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	watermillamqp "github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/rabbitmq/amqp091-go"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/relay"
)

// Law: a message of AMQP has the identifier of the event, by which a consumer knows one that
// comes again, says what it holds, outlives the broker, and has no headers.
func TestMessageOfAMQP(t *testing.T) {
	m := message.NewMessage("5f3a", []byte("{}"))
	m.Metadata.Set(campaignKey, "solvent")
	p, err := watermillamqp.DefaultMarshaler{PostprocessPublishing: amqpMessage}.Marshal(m)
	if err != nil || p.MessageId != "5f3a" || p.ContentType != "application/cloudevents+json" || p.ContentEncoding != "utf-8" ||
		p.AppId != "campaignd" || p.DeliveryMode != amqp091.Persistent || len(p.Headers) != 0 || string(p.Body) != "{}" {
		t.Errorf("%+v, %v", p, err)
	}
}

// brokerOfAMQP answers a client at the other end of a connection up to where an exchange is
// declared: a passive declaration with the code of an error, or with success for 0, and any other
// with success. It returns once the client is gone, with whether each of them was passive.
func brokerOfAMQP(conn net.Conn, code uint16) (passive []bool) {
	defer conn.Close()
	send := func(channel uint16, class, method uint16, arguments ...byte) {
		frame := binary.BigEndian.AppendUint16([]byte{1}, channel)
		frame = binary.BigEndian.AppendUint32(frame, uint32(4+len(arguments)))
		frame = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(frame, class), method)
		_, _ = conn.Write(append(append(frame, arguments...), 0xCE)) // a client that is gone ends the reading
	}
	if _, err := io.ReadFull(conn, make([]byte, 8)); err != nil {
		return nil
	}
	send(0, 10, 10, append([]byte{0, 9, 0, 0, 0, 0}, "\x00\x00\x00\x05PLAIN\x00\x00\x00\x05en_US"...)...)
	for {
		head := make([]byte, 7)
		if _, err := io.ReadFull(conn, head); err != nil {
			return passive
		}
		body := make([]byte, binary.BigEndian.Uint32(head[3:])+1)
		if _, err := io.ReadFull(conn, body); err != nil {
			return passive
		}
		channel := binary.BigEndian.Uint16(head[1:])
		switch class, method := binary.BigEndian.Uint16(body), binary.BigEndian.Uint16(body[2:]); [2]uint16{class, method} {
		case [2]uint16{10, 11}:
			send(0, 10, 30, 0, 0, 0, 0, 0, 0, 0, 0)
		case [2]uint16{10, 40}:
			send(0, 10, 41, 0)
		case [2]uint16{20, 10}:
			send(channel, 20, 11, 0, 0, 0, 0)
		case [2]uint16{40, 10}: // behind the name and the type are the bits
			at := 7 + int(body[6])
			looks := body[at+1+int(body[at])]&1 == 1
			if passive = append(passive, looks); looks && code != 0 {
				send(channel, 20, 40, byte(code>>8), byte(code), 2, 'n', 'o', 0, 40, 0, 10)
			} else {
				send(channel, 40, 11)
			}
		case [2]uint16{10, 50}, [2]uint16{20, 40}:
			send(channel, class, method+1)
		}
	}
}

// Law: an exchange is made where there is none of its name, and nowhere else: one that is there is
// used as it is, and where the broker refuses to say, its answer is what is said.
func TestExchangeIsMadeWhereThereIsNone(t *testing.T) {
	for code, want := range map[uint16][]bool{
		0: {true}, amqp091.NotFound: {true, false}, amqp091.AccessRefused: {true},
	} {
		client, server := net.Pipe()
		passive := make(chan []bool, 1)
		go func() { passive <- brokerOfAMQP(server, code) }()
		conn, err := amqp091.Open(client, amqp091.Config{SASL: []amqp091.Authentication{&amqp091.PlainAuth{}}, Locale: "en_US"})
		if err != nil {
			t.Fatal(err)
		}
		err = declare(conn, "lab.events", false)
		var answer *amqp091.Error
		if refused := errors.As(err, &answer); refused != (code == amqp091.AccessRefused) || refused && answer.Code != int(code) {
			t.Errorf("an answer of %d: %v", code, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if got := <-passive; !slices.Equal(got, want) {
			t.Errorf("an answer of %d: it is declared passively %v, want %v", code, got, want)
		}
	}
}

// Law: Kafka takes the greatest event there is, under its campaign's key, and only once all replicas
// in sync have it; what it refuses is sent once, since the bus sends it again.
func TestKafkaIsSentOnce(t *testing.T) {
	broker := sarama.NewMockBroker(t, 1)
	defer broker.Close()
	answers := func(produced *sarama.MockProduceResponse) {
		broker.SetHandlerByMap(map[string]sarama.MockResponse{
			"ApiVersionsRequest": sarama.NewMockApiVersionsResponse(t).SetApiKeys([]sarama.ApiVersionsResponseKey{
				{ApiKey: 0, MaxVersion: 8}, {ApiKey: 3, MaxVersion: 5}, // produce and metadata
			}),
			"MetadataRequest": sarama.NewMockMetadataResponse(t).SetBroker(broker.Addr(), 1).SetLeader("lab", 0, 1),
			"ProduceRequest":  produced.SetVersion(6),
		})
	}
	answers(sarama.NewMockProduceResponse(t))
	publisher, err := openKafka(&url.URL{Scheme: "kafka", Host: broker.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	defer publisher.Close()
	m := message.NewMessage("5f3a", make([]byte, events.MaxDataSize))
	m.Metadata.Set(campaignKey, "solvent")
	if err := publisher.Publish("lab", m); err != nil {
		t.Error(err)
	}
	answers(sarama.NewMockProduceResponse(t).SetError("lab", 0, sarama.ErrNotEnoughReplicas))
	if err := publisher.Publish("lab", m); !errors.Is(err, sarama.ErrNotEnoughReplicas) {
		t.Errorf("refused: %v", err)
	}
	sent := 0
	for _, each := range broker.History() {
		if r, ok := each.Request.(*sarama.ProduceRequest); ok {
			if sent++; r.RequiredAcks != sarama.WaitForAll {
				t.Errorf("it counts once %d have it", r.RequiredAcks)
			}
		}
	}
	if sent != 2 {
		t.Errorf("of two attempts %d are sent", sent)
	}
}

// Law: a server of NATS that keeps nothing, since it has no streams, is not sent to, and that is said.
func TestNATSWithoutStreams(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	left := make(chan struct{})
	go func() {
		defer close(left)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, `INFO {"server_id":"x","version":"2.10.0","headers":true,"max_payload":1048576}`, "\r\n")
		inbox := ""
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			switch words := strings.Fields(lines.Text()); {
			case len(words) == 1 && words[0] == "PING":
				fmt.Fprint(conn, "PONG\r\n")
			case len(words) == 3 && words[0] == "SUB":
				inbox = words[2]
			case len(words) == 4 && words[0] == "PUB": // nobody answers
				fmt.Fprintf(conn, "HMSG %s %s 16 16\r\nNATS/1.0 503\r\n\r\n\r\n", words[2], inbox)
			}
		}
	}()
	at := &url.URL{Scheme: "nats", Host: listener.Addr().String()}
	publisher, err := openNATS(at, "lab.events")
	if publisher != nil || !errors.Is(err, nats.ErrJetStreamNotEnabled) ||
		!strings.Contains(err.Error(), "no stream takes the subject lab.events") {
		t.Errorf("%v, %v", publisher, err)
	}
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Error("its connection stays open")
	}
}

// Law: an address that cannot be one, or that leads to nothing known, is refused in words that do not
// hold it.
func TestInvalidAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"http://[::1secret": "invalid address",
		"ftp://secret/x":    "events cannot be sent to ftp://",
	} {
		_, err := open(relay.Target{Address: address})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
