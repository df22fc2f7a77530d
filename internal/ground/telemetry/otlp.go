package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// sender sends one signal to a collector: OTLP over HTTP, in protobuf
// (opentelemetry.io/docs/specs/otlp, 1.9). OpenTelemetry's own exporters do the same, but need
// gRPC, which is larger than all of campaignd's telemetry.
type sender struct {
	url     string
	header  http.Header
	gzip    bool
	client  *http.Client
	limit   time.Duration // of a request with its repetitions
	backoff time.Duration // before the first repetition
}

// Limits of the specification, and of OpenTelemetry's Go exporters.
const (
	defaultEndpoint = "https://localhost:4318"
	defaultTimeout  = 10 * time.Second
	firstBackoff    = 5 * time.Second
	maxBackoff      = 30 * time.Second
	maxElapsed      = time.Minute
	maxAnswer       = 4 << 20
)

// newSender reads the destination and options of a signal ("TRACES" or "METRICS") from the standard
// variables; those of the signal take precedence over the general ones.
func newSender(signal string) (*sender, error) {
	e := environment{signal: signal}
	s := &sender{header: make(http.Header), limit: maxElapsed, backoff: firstBackoff}
	endpoint := e.endpoint()
	s.header.Set("User-Agent", "campaignd")
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_" + signal + "_HEADERS"} {
		e.headers(name, s.header)
	}
	s.header.Set("Content-Type", "application/x-protobuf")
	_, compression := e.value("COMPRESSION")
	s.gzip = compression == "gzip"
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if config := e.tls(); config != nil {
		if endpoint.Scheme == "http" {
			e.fault("OTEL_EXPORTER_OTLP_CERTIFICATE", errors.New("the endpoint is one without TLS"))
		}
		transport.TLSClientConfig = config
	}
	s.client = &http.Client{Transport: transport, Timeout: e.timeout()}
	s.url = endpoint.String()
	return s, errors.Join(e.faults...)
}

// environment reads the variables of a signal, and collects their faults.
type environment struct {
	signal string
	faults []error
}

func (e *environment) fault(name string, err error) {
	e.faults = append(e.faults, fmt.Errorf("%s: %w", name, err))
}

// value returns the variable of the signal, or else the general one, with its name.
func (e *environment) value(key string) (name, value string) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + e.signal + "_" + key, "OTEL_EXPORTER_OTLP_" + key} {
		if v := strings.TrimSpace(os.Getenv(name)); v != "" {
			return name, v
		}
	}
	return "", ""
}

// endpoint returns the address for the signal: a signal's address as it is, a general one with the
// signal's path.
func (e *environment) endpoint() *url.URL {
	name, value := e.value("ENDPOINT")
	if value == "" {
		value = defaultEndpoint
	}
	u, err := url.Parse(value)
	if err != nil {
		e.fault(name, err)
		return new(url.URL)
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
	default:
		e.fault(name, fmt.Errorf("%q is not an address of the form http://… or https://…", value))
	}
	if name != "OTEL_EXPORTER_OTLP_"+e.signal+"_ENDPOINT" {
		u.Path = path.Join("/", u.Path, "v1", strings.ToLower(e.signal))
	} else if u.Path == "" {
		u.Path = "/"
	}
	if _, insecure := e.value("INSECURE"); insecure != "" { // comes after the scheme
		u.Scheme = "https"
		if strings.EqualFold(insecure, "true") {
			u.Scheme = "http"
		}
	}
	return u
}

// headers adds those of "name=value,name=value"; values are percent-encoded.
func (e *environment) headers(name string, to http.Header) {
	value := strings.TrimSpace(os.Getenv(name))
	if value == "" {
		return
	}
	for _, pair := range strings.Split(value, ",") {
		key, v, found := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(v)
		if key = strings.TrimSpace(key); !found || key == "" || err != nil || strings.ContainsAny(key, " \t:\r\n") {
			e.fault(name, errors.New("a header is not of the form NAME=VALUE")) // its value may be a secret
			continue
		}
		to.Set(key, strings.TrimSpace(decoded))
	}
}

func (e *environment) timeout() time.Duration {
	name, value := e.value("TIMEOUT")
	if value == "" {
		return defaultTimeout
	}
	ms, err := strconv.Atoi(value)
	if err != nil {
		e.fault(name, fmt.Errorf("%q is not a number of milliseconds", value))
	}
	return time.Duration(ms) * time.Millisecond
}

// tls returns the trusted and own certificates; nil if the variables give none.
func (e *environment) tls() *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	set := false
	if name, file := e.value("CERTIFICATE"); file != "" {
		set = true
		config.RootCAs = x509.NewCertPool()
		if text, err := os.ReadFile(file); err != nil {
			e.fault(name, err)
		} else if !config.RootCAs.AppendCertsFromPEM(text) {
			e.fault(name, fmt.Errorf("%s holds no certificate", file))
		}
	}
	name, certificate := e.value("CLIENT_CERTIFICATE")
	if _, key := e.value("CLIENT_KEY"); certificate != "" && key != "" {
		set = true
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			e.fault(name, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if !set {
		return nil
	}
	return config
}

// send sends a request, and repeats it at growing intervals while the collector is overloaded or
// restarting, for a minute at most.
func (s *sender) send(ctx context.Context, message proto.Message) error {
	body, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	if s.gzip {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(body); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		body = packed.Bytes()
	}
	begun, wait := time.Now(), s.backoff
	for {
		again, after, err := s.once(ctx, body)
		if err == nil || !again {
			return err
		}
		pause := max(wait, after)
		if time.Since(begun)+pause > s.limit {
			return fmt.Errorf("given up after %v: %w", time.Since(begun).Round(time.Second), err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause):
		}
		wait = min(wait*3/2, maxBackoff)
	}
}

// once sends it once. again reports whether the specification allows another attempt, and after how
// long the collector wants it.
func (s *sender) once(ctx context.Context, body []byte) (again bool, after time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	request.Header = s.header.Clone()
	if s.gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := s.client.Do(request)
	if err != nil {
		var of *url.Error
		return errors.As(err, &of) && of.Temporary(), 0, err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return false, 0, err
	}
	if answer.StatusCode/100 == 2 {
		if answer.Header.Get("Content-Type") == "application/x-protobuf" {
			return false, 0, rejected(said)
		}
		return false, 0, nil
	}
	err = fmt.Errorf("%s answers %s: %s", s.url, answer.Status, bytes.TrimSpace(said))
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true, retryAfter(answer.Header.Get("Retry-After")), err
	}
	return false, 0, err
}

// retryAfter reads that header: seconds, or a time.
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(max(seconds, 0)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// rejected reads the answer to an export, in which a collector reports omissions: both signals have
// the field partial_success = 1 there, with the number of rejected items as field 1 and a message
// as field 2.
func rejected(answer []byte) error {
	var count uint64
	var message string
	err := fields(answer, func(n protowire.Number, value uint64, inner []byte) error {
		if n != 1 {
			return nil
		}
		return fields(inner, func(n protowire.Number, value uint64, text []byte) error {
			switch n {
			case 1:
				count = value
			case 2:
				message = string(text)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	if count > 0 || message != "" {
		return fmt.Errorf("the collector rejected %d spans or points: %s", count, message)
	}
	return nil
}

// fields calls f for each field of a message that is a number or bytes.
func fields(message []byte, f func(n protowire.Number, value uint64, bytes []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var value uint64
		var inner []byte
		switch kind {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			inner, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := f(number, value, inner); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}
