//go:build unix

package process_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
)

func init() {
	capacity := func(value any) message {
		return message{"quantities": []message{{"name": "capacity", "value": value, "unit": "mAh"}}}
	}
	delivers := func(p *program, answer func(id any, command string)) {
		p.serve(func(op string, id any, command string) bool {
			switch op {
			case "handshake":
				p.say(message{"id": id, "protocol": 1, "recover": true, "delivers": true})
			case "deliver":
				answer(id, command)
			}
			return op == "handshake" || op == "deliver"
		})
	}
	faulty["dies before it delivers"] = func(p *program) {
		delivers(p, func(id any, _ string) {
			if p.life == 1 {
				os.Exit(0)
			}
			p.say(message{"id": id, "delivered": capacity(150)})
		})
	}
	faulty["delivers unasked, and answers then"] = func(p *program) {
		delivers(p, func(id any, command string) {
			p.say(message{"command": command, "delivered": capacity(150)})
			p.say(message{"id": id, "delivered": capacity("broken")})
		})
	}
	faulty["delivers nothing that can be read"] = func(p *program) {
		delivers(p, func(id any, _ string) { p.say(message{"id": id, "delivered": 7}) })
	}
}

// Law: a program that declares it is asked for what a command is still to give, in each of its
// runs, and what it sends unasked counts as well; one after the other, and nothing is lost. What
// cannot be read as a delivery is an error, a value that is not a number a missing quantity. A program
// that does not declare it is not asked.
func TestDeliver(t *testing.T) {
	for fault, values := range map[string][]float64{
		"dies before it delivers": {150}, "delivers unasked, and answers then": {150, 0},
	} {
		inst, _, _ := openFaulty(t, fault)
		for n, value := range values {
			d, err := inst.Deliver(within(t, 20*time.Second), command(1), []string{"capacity"})
			switch {
			case err != nil || len(d.Names()) != 1 || d.Names()[0] != "capacity":
				t.Fatalf("%s: %+v, %v", fault, d, err)
			case value > 0 && (len(d.Quantities) != 1 || d.Quantities[0].Value != value):
				t.Errorf("%s: delivery %d is %+v", fault, n+1, d)
			case value == 0 && (len(d.Missing) != 1 || len(d.Unread) != 1):
				t.Errorf("%s: delivery %d is %+v", fault, n+1, d)
			}
		}
	}
	inst, _, _ := openFaulty(t, "delivers unasked, and answers then")
	for n, values := range []int{1, 0} { // what Deliver does not take is heard unasked
		listen := inst.Unasked
		if n == 0 {
			listen = func(ctx context.Context, cmd instruments.Command) (instruments.Delivery, error) {
				return inst.Deliver(ctx, cmd, []string{"capacity"})
			}
		}
		if d, err := listen(within(t, 20*time.Second), command(1)); err != nil || len(d.Quantities) != values || len(d.Names()) != 1 {
			t.Errorf("delivery %d is %+v, %v", n+1, d, err)
		}
	}
	inst, _, _ = openFaulty(t, "delivers nothing that can be read")
	if d, err := inst.Deliver(within(t, 20*time.Second), command(1), []string{"capacity"}); err == nil || errors.Is(err, instruments.ErrNoDelivery) {
		t.Errorf("%+v, %v", d, err)
	}
	inst, _, _ = openFaulty(t, "is asked")
	if d, err := inst.Deliver(within(t, 20*time.Second), command(1), []string{"capacity"}); !errors.Is(err, instruments.ErrNoDelivery) {
		t.Errorf("a program that does not say that it delivers: %+v, %v", d, err)
	}
}
