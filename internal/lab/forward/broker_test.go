package forward_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rabbitmq/amqp091-go"

	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/relay/relaytest"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: whichever is killed, the broker or the forwarder, each event is in the
// broker afterwards, as a consumer of the broker's own reads it: the first
// arrivals in the order of the log, without a gap, each under one identifier.
func TestNoGapInBrokers(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts and kills brokers for half a minute")
	}
	relaytest.Need(t)
	brokers := map[string]func(t *testing.T) broker{
		"nats": newNATS, "rabbitmq": newRabbitMQ,
	}
	for name, begin := range brokers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			noGapIn(t, begin(t))
		})
	}
}

// broker is a program that tests start and kill.
type broker interface {
	to() string
	start(t *testing.T)
	kill(t *testing.T)
	// read hands over what was published up to now.
	read(t *testing.T, got *arrivals)
}

func noGapIn(t *testing.T, at broker) {
	to := targets(t, "forward: {broker: {to: "+at.to()+", topic: lab.events}}")
	folder := filepath.Join(t.TempDir(), "store")
	const rounds, each = 2, 60
	var want []string
	for round := range rounds {
		log := must.Get(store.Open(folder, store.Options{}))(t)
		f := forwarderWithin(t, to, 10*time.Second)
		end := serve(t, f, "store", log)
		record(t, log, "electrolyte", each) // the broker is down
		record(t, log, "solvent", each)
		at.start(t)
		waitBehind := func(most uint64) {
			t.Helper()
			for began := time.Now(); f.Status()[0].Behind > most; time.Sleep(time.Millisecond) {
				if time.Since(began) > 90*time.Second {
					t.Fatalf("%+v", f.Status())
				}
			}
		}
		if round%2 == 0 {
			waitBehind(each) // on the way
			at.kill(t)
			record(t, log, "electrolyte", each)
			at.start(t)
		}
		if round == rounds-1 {
			waitBehind(0)
		} else {
			waitBehind(each / 2)
		}
		end()
		want = stored(t, log)
		must.Do(t, log.Close())
		if round < rounds-1 {
			at.kill(t)
		}
	}
	var got arrivals
	at.read(t, &got)
	got.compare(t, want)
	t.Logf("%d events, %d of them again", len(got.lines), got.again)
	if len(got.lines) < rounds*each {
		t.Error("hardly anything was sent")
	}
}

// freePort is a port of this machine that nothing listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// program is a broker's process.
type program struct {
	cmd *exec.Cmd
	log *os.File
}

// run starts a program, whose end is that of the test at the latest.
func (p *program) run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var err error
	p.log, err = os.OpenFile(filepath.Join(t.TempDir(), "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // RabbitMQ is a script and its children
	must.Do(t, cmd.Start())
	p.cmd = cmd
	t.Cleanup(func() {
		p.kill(t)
		if text, err := os.ReadFile(p.log.Name()); err == nil && t.Failed() {
			t.Logf("%s", text)
		}
	})
}

func (p *program) kill(*testing.T) {
	if p.cmd == nil {
		return
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	_ = p.cmd.Wait() // it was killed
	_ = p.log.Close()
	p.cmd = nil
}

// installed finds a program, or skips the test.
func installed(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		} else if !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	t.Skipf("%s is not installed", names[0])
	return ""
}

type natsServer struct {
	program
	path, folder string
	port         int
}

func newNATS(t *testing.T) broker {
	return &natsServer{path: installed(t, "nats-server", "/usr/sbin/nats-server"), folder: t.TempDir(), port: freePort(t)}
}

func (n *natsServer) to() string { return fmt.Sprintf("nats://127.0.0.1:%d", n.port) }

func (n *natsServer) start(t *testing.T) {
	n.run(t, exec.Command(n.path, "-a", "127.0.0.1", "-p", fmt.Sprint(n.port), "-js", "-sd", n.folder))
}

func (n *natsServer) read(t *testing.T, got *arrivals) {
	conn := must.Get(nats.Connect(n.to()))(t)
	defer conn.Close()
	js := must.Get(conn.JetStream())(t)
	sub := must.Get(js.SubscribeSync("lab.events", nats.OrderedConsumer()))(t)
	info := must.Get(sub.ConsumerInfo())(t)
	for range info.NumPending + info.Delivered.Stream {
		msg := must.Get(sub.NextMsg(5 * time.Second))(t)
		if !strings.HasPrefix(msg.Header.Get("content-type"), "application/cloudevents+json") {
			t.Errorf("%v", msg.Header)
		}
		got.take(msg.Header.Get(nats.MsgIdHdr), msg.Data)
	}
}

type rabbitMQ struct {
	program
	epmd         program
	path, folder string
	port         int
	environment  []string
}

func newRabbitMQ(t *testing.T) broker {
	r := &rabbitMQ{
		path: installed(t, "/usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server"),
		// Its own folder: the name of Erlang's node is in a path of limited length.
		folder: t.TempDir(), port: freePort(t),
	}
	epmd := freePort(t)
	write := func(name, text string) string {
		path := filepath.Join(r.folder, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	r.environment = append(os.Environ(),
		"HOME="+r.folder,
		"ERL_EPMD_PORT="+fmt.Sprint(epmd),
		"ERL_EPMD_ADDRESS=127.0.0.1",
		fmt.Sprintf("RABBITMQ_NODENAME=campaignd%d@localhost", r.port),
		"RABBITMQ_DIST_PORT="+fmt.Sprint(freePort(t)),
		"RABBITMQ_MNESIA_BASE="+filepath.Join(r.folder, "mnesia"),
		"RABBITMQ_LOG_BASE="+filepath.Join(r.folder, "log"),
		"RABBITMQ_LOGS=-",
		"ERL_CRASH_DUMP="+filepath.Join(r.folder, "crash"),
		"RABBITMQ_ENABLED_PLUGINS_FILE="+write("plugins", "[].\n"),
		"RABBITMQ_CONF_ENV_FILE="+write("env.conf", ""),
		"RABBITMQ_CONFIG_FILE="+write("rabbitmq.conf",
			fmt.Sprintf("listeners.tcp.default = 127.0.0.1:%d\n", r.port)))
	// Otherwise Erlang starts one, which stays behind.
	mapper := exec.Command(installed(t, "epmd"))
	mapper.Env = r.environment
	r.epmd.run(t, mapper)
	return r
}

func (r *rabbitMQ) to() string { return fmt.Sprintf("amqp://guest:guest@127.0.0.1:%d", r.port) }

func (r *rabbitMQ) start(t *testing.T) {
	cmd := exec.Command(r.path)
	cmd.Env = r.environment
	r.run(t, cmd)
	// It takes ten seconds of a processor before it listens, and on a busy machine minutes.
	for began := time.Now(); time.Since(began) < 5*time.Minute; time.Sleep(100 * time.Millisecond) {
		if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", r.port)); err == nil {
			_ = conn.Close()
			return
		}
	}
	t.Error("RabbitMQ does not listen")
}

func (r *rabbitMQ) read(t *testing.T, got *arrivals) {
	conn := must.Get(amqp091.Dial(r.to()))(t)
	defer conn.Close()
	channel := must.Get(conn.Channel())(t)
	for {
		msg, ok := must.Get2(channel.Get("lab.events", true))(t)
		if !ok {
			break
		}
		if msg.ContentType != "application/cloudevents+json" || msg.DeliveryMode != amqp091.Persistent {
			t.Errorf("%+v", msg)
		}
		got.take(msg.MessageId, msg.Body)
	}
	// The queue outlives its consumers: what is published meanwhile waits for the next.
	must.Get(channel.Consume("lab.events", "passing", true, false, false, false, nil))(t)
	must.Do(t, channel.Cancel("passing", false))
	if _, err := channel.QueueDeclarePassive("lab.events", true, false, false, false, nil); err != nil {
		t.Errorf("its queue is gone with a consumer: %v", err)
	}
}
