package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/campaignd/campaignd/internal/lab/accounts"
)

// newPassword asks for a password twice, without showing it, or reads it from
// standard input: the text before the first end of a line. Rules for passwords
// are those of the accounts; only an empty one is refused here.
func newPassword(c *call, stdin bool) (accounts.Secret, error) {
	if stdin {
		// Longer than any password, short enough not to read a file that was
		// given by mistake.
		const most = 4096
		line, err := bufio.NewReader(io.LimitReader(c.stdin, most)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return accounts.Secret{}, err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			return accounts.Secret{}, badInput("there is no password on standard input")
		}
		return accounts.NewSecret(line), nil
	}
	f, ok := beneath(c.stdin).(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return accounts.Secret{}, badInput(
			"there is no terminal to ask for a password in; give it on standard input with --password-stdin",
		)
	}
	first, err := hidden(c, f, "Password: ")
	if err != nil {
		return accounts.Secret{}, err
	}
	second, err := hidden(c, f, "Again: ")
	if err != nil {
		return accounts.Secret{}, err
	}
	if first != second {
		return accounts.Secret{}, badInput("the two passwords differ; nothing was changed")
	}
	return accounts.NewSecret(first), nil
}

// hidden reads a line of a terminal without showing it. An interrupt restores
// the terminal, which would show nothing that is typed from then on.
func hidden(c *call, f *os.File, prompt string) (string, error) {
	before, err := term.GetState(int(f.Fd()))
	if err != nil {
		return "", err
	}
	fmt.Fprint(c.stderr, prompt)
	type line struct {
		text []byte
		err  error
	}
	// With room for one: after an interrupt no one receives, and the goroutine
	// must still be able to end once the read does.
	read := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(int(f.Fd()))
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		fmt.Fprintln(c.stderr)
		if errors.Is(l.err, io.EOF) {
			return "", badInput("there is no password; nothing was changed")
		}
		return string(l.text), l.err
	case <-c.ctx.Done():
		fmt.Fprintln(c.stderr)
		return "", errors.Join(context.Cause(c.ctx), term.Restore(int(f.Fd()), before))
	}
}
