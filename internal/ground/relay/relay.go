// Package relay hands outgoing data that need third-party clients to a program of its own,
// campaignd-forward: events to brokers, messages to people. So campaignd itself carries none of
// these clients, and one that hangs or panics is a process that can be killed.
//
// The two speak JSON, a line each way, over the standard input and output of campaignd-forward: a
// [Request], and its [Answer] once the other side has durably accepted it. Addresses hold
// passwords, and so never appear in arguments or environment variables.
package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// Program is the name of the program, and Variable the environment variable with its path, for a
// program that is neither in the folder of campaignd nor in PATH.
const (
	Program  = "campaignd-forward"
	Variable = "CAMPAIGND_FORWARD"
)

// ContentType is the type of an event: a CloudEvent in structured mode, one document with its
// attributes and its data.
const ContentType = "application/cloudevents+json"

// Request is a line to the program; exactly one field is set.
type Request struct {
	Open    *Target  `json:"open,omitempty"`    // the first line of a process that sends events
	Event   *Event   `json:"event,omitempty"`   // to the target that is open
	Message *Message `json:"message,omitempty"` // to a person
}

// Target is a destination of events: a broker, and a topic, subject or exchange of it.
type Target struct {
	Address string `json:"address"`
	Topic   string `json:"topic"`
}

// Event is an event on its way to a broker.
type Event struct {
	ID       string `json:"id"`       // the same each time that it is sent
	Campaign string `json:"campaign"` // whose events keep their order
	Data     []byte `json:"data"`     // a CloudEvent in structured mode
}

// Message is a message on its way to a person, at an address of shoutrrr. A service that shows no
// title has none.
type Message struct {
	Address string `json:"address"`
	Title   string `json:"title"`
	Text    string `json:"text"`
}

// Answer is the program's line about a request.
type Answer struct {
	Error string `json:"error,omitempty"` // why it was not taken, empty where it was
}

// Process is a running campaignd-forward. Its methods are for one caller at a time.
type Process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
}

// Start starts the program.
func Start() (*Process, error) {
	path, err := Find()
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(path)}
	p.cmd.WaitDelay = time.Second // of a descendant that keeps the output open
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.answers = json.NewDecoder(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s does not start: %w", path, err)
	}
	return p, nil
}

// Missing says why the program cannot be run, if it is needed.
func Missing(needed bool) error {
	if !needed {
		return nil
	}
	_, err := Find()
	return err
}

// Find returns the path of the program.
func Find() (string, error) {
	if named := os.Getenv(Variable); named != "" {
		if _, err := os.Stat(named); err != nil {
			return "", fmt.Errorf("%s names no program: %w", Variable, err)
		}
		return named, nil
	}
	name := Program
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		near := filepath.Join(filepath.Dir(self), name)
		if _, err := os.Stat(near); err == nil {
			return near, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s, which sends to brokers and messengers, is neither in the folder of campaignd nor in PATH: "+
			"install it from the same release, or set %s to its path", Program, Variable)
	}
	return path, nil
}

// Ask sends a request and returns once it is accepted. After an error, including that of a context
// that is done, the process is killed: the request may have been carried out or not.
func (p *Process) Ask(ctx context.Context, r Request) error {
	done := make(chan error, 1)
	go func() { done <- p.ask(r) }()
	select {
	case err := <-done:
		if err != nil {
			p.kill()
		}
		return err
	case <-ctx.Done():
		p.kill()
		<-done
		return context.Cause(ctx)
	}
}

func (p *Process) ask(r Request) error {
	if err := json.NewEncoder(p.in).Encode(r); err != nil {
		return fmt.Errorf("%s has ended: %w", Program, err)
	}
	var a Answer
	if err := p.answers.Decode(&a); err != nil {
		return fmt.Errorf("%s does not answer: %w", Program, err)
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}

func (p *Process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
}

// Close lets the program end its connections, and kills it after the time limit.
func (p *Process) Close(within time.Duration) {
	_ = p.in.Close()
	late := time.AfterFunc(within, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	_ = p.cmd.Wait()
}

// Send sends a message to a person, by a process of its own.
func Send(ctx context.Context, m Message) error {
	p, err := Start()
	if err != nil {
		return err
	}
	if err := p.Ask(ctx, Request{Message: &m}); err != nil {
		return err
	}
	p.Close(time.Second)
	return nil
}

// Serve is the other end: it answers each line of in, in order, until the end.
func Serve(in io.Reader, out io.Writer, do func(Request) error) error {
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r Request
		if err := requests.Decode(&r); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var a Answer
		if err := guarded(do, r); err != nil {
			a.Error = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

// guarded carries out a request. A client's panic is a failure of that request.
func guarded(do func(Request) error, r Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the client failed: %v", p)
		}
	}()
	return do(r)
}
