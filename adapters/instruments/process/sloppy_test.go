//go:build unix

package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// bookkeeping is when a program that works in the background writes to its
// ledger. Each of these declares that it recovers, finishes what it does when its
// input ends, and acts at most once as long as nobody kills it.
type bookkeeping int

const (
	beforeTheAct bookkeeping = iota // as it must be
	afterTheAct
	atTheEnd      // of its life, from memory
	whereItIsLost // a folder that is emptied when the program has crashed
)

func init() {
	for name, when := range map[string]bookkeeping{
		"keeps its ledger before the act": beforeTheAct, "keeps its ledger after the act": afterTheAct,
		"keeps its ledger at its end": atTheEnd, "keeps its ledger where it is lost": whereItIsLost,
	} {
		faulty[name] = func(p *program) { p.background(when) }
	}
}

// background is the program. Its bench, the file "acts", counts what moves.
func (p *program) background(when bookkeeping) {
	self := strconv.Itoa(os.Getpid())
	if when == whereItIsLost {
		p.loseAfterCrash()
		p.note("began", self)
	}
	var mu sync.Mutex
	var working sync.WaitGroup
	// It knows commands by ID and parameters, so that others are not started.
	begun, ended := map[string]bool{}, map[string]chan struct{}{}
	for _, line := range p.noted("ledger") {
		if id, done := strings.CutSuffix(line, " done"); done {
			ended[id] = make(chan struct{})
			close(ended[id])
		} else {
			begun[line] = true
		}
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var q struct {
			ID      json.Number
			Op      string
			Command struct {
				ID         string
				Parameters json.RawMessage
			}
		}
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			panic(err)
		}
		id, answer := q.Command.ID+" "+string(q.Command.Parameters), message{"id": q.ID, "ok": true}
		mu.Lock()
		over := ended[id]
		switch q.Op {
		case "handshake":
			answer = message{"id": q.ID, "protocol": 1, "recover": true, "finishes": true}
		case "describe":
			answer = message{"id": q.ID, "description": message{"name": "test/background", "simulated": true}}
		case "recover":
			fate := "not started"
			if over != nil {
				fate = "running"
				select {
				case <-over:
					fate = "finished"
				default:
				}
			} else if begun[id] {
				fate = "unknown"
			}
			answer = message{"id": q.ID, "fate": fate}
		case "await":
			switch {
			case over != nil:
				go func() {
					<-over
					p.say(message{"id": q.ID, "outcome": result(10)})
				}()
				answer = nil
			case begun[id]:
				answer = message{"id": q.ID, "outcome": message{"status": "unknown", "cause": "it ended half-way"}}
			default:
				answer = message{"id": q.ID, "error": "never started"}
			}
		case "start":
			if over != nil || begun[id] {
				break
			}
			over = make(chan struct{})
			begun[id], ended[id] = true, over
			if when == beforeTheAct || when == whereItIsLost {
				p.note("ledger", id)
			}
			working.Go(func() {
				p.note("acts", q.Command.ID)
				time.Sleep(150 * time.Millisecond)
				if when != atTheEnd {
					p.note("ledger", id+" done")
				}
				close(over)
			})
		}
		mu.Unlock()
		if answer != nil {
			p.say(answer)
		}
	}
	working.Wait()
	if when == atTheEnd {
		for id := range ended {
			p.note("ledger", id+" done")
		}
	}
	p.note("ended", self)
}

// loseAfterCrash removes the ledger where an earlier process is gone without having
// ended well.
func (p *program) loseAfterCrash() {
	for _, earlier := range p.noted("began") {
		pid, err := strconv.Atoi(earlier)
		if err != nil || slices.Contains(p.noted("ended"), earlier) || syscall.Kill(pid, 0) == nil {
			continue
		}
		_ = os.Remove(filepath.Join(p.dir, "ledger"))
		p.note("ended", earlier)
	}
}

// A program whose ledger is not there after a crash passes everything but the
// checks that kill it; an honest one passes all.
func TestSloppyProgramsAreCaught(t *testing.T) {
	for program, caught := range map[string][]string{
		"keeps its ledger before the act":   nil,
		"keeps its ledger after the act":    {"kill-while-running"},
		"keeps its ledger at its end":       {"kill-after-completion", "kill-while-running", "kill-with-campaignd"},
		"keeps its ledger where it is lost": {"kill-after-completion", "kill-while-running", "kill-with-campaignd"},
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			cfg, dir := misbehaving(t, program)
			report := must.Get(instrumenttest.Examine(t.Context(), instrumenttest.Env{
				Open: func(context.Context) (instruments.Instrument, error) {
					return openFor(t, cfg, campaign)
				},
				Definition: campaign, Points: safePoints, Patience: 20 * time.Second, Prompt: time.Second,
				Acts: instrumenttest.ActsIn(filepath.Join(dir, "acts")),
			}))(t)
			var failed []string
			for _, r := range report.Failed() {
				failed = append(failed, r.Check)
				if !strings.HasPrefix(r.Check, "kill") ||
					!strings.Contains(r.Reason,
						"Write a command to the ledger, and sync it to disk, before confirming it") {
					t.Errorf("%s: %s", r.Check, r.Reason)
				}
			}
			if caught == nil && failed != nil {
				t.Errorf("an honest program is said to fail %v", failed)
			}
			for _, check := range caught {
				if !slices.Contains(failed, check) {
					t.Errorf("%s did not find it; those that did: %v", check, failed)
				}
			}
			for _, r := range report.Results {
				if strings.HasPrefix(r.Check, "kill") && r.Verdict == instrumenttest.Skip {
					t.Errorf("%s was skipped: %s", r.Check, r.Reason)
				}
			}
			if len(noted(dir, "acts")) == 0 {
				t.Error("nothing moved")
			}
		})
	}
}
