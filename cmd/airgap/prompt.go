package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/advice"
)

// ask reads one line from stdin. At a terminal it puts the question first, and
// does not show what is typed when the answer is a secret. It ends with ctx.
func (a *app) ask(ctx context.Context, question string, secret bool) (string, error) {
	defer a.atTerminal(ctx, question, secret)()
	return await(ctx, func() (string, error) {
		line, err := bufio.NewReader(io.LimitReader(a.stdin, 1<<10)).ReadString('\n')
		if errors.Is(err, io.EOF) && line != "" {
			err = nil
		}
		return line, err
	})
}

// askAll asks for a secret as ask does at a terminal. Else it takes all of standard input: a key's
// file has several lines.
func (a *app) askAll(ctx context.Context, question string) (string, error) {
	if a.atPerson() {
		return a.ask(ctx, question, true)
	}
	return await(ctx, func() (string, error) {
		text, err := io.ReadAll(io.LimitReader(a.stdin, 1<<20))
		if err == nil && len(bytes.TrimSpace(text)) == 0 {
			err = io.EOF
		}
		return string(text), err
	})
}

// await ends with the context; the read, which cannot be called off, stays until the program ends.
func await(ctx context.Context, read func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		text, err := read()
		done <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case got := <-done:
		return got.text, got.err
	}
}

// confirm wants the word yes.
func (a *app) confirm(ctx context.Context, question string) error {
	answer, err := a.ask(ctx, question, false)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimSpace(answer) != "yes" {
		return advice.Usagef("not confirmed; nothing was changed")
	}
	return nil
}

// atTerminal prepares a terminal for an answer, and returns what puts it back
// and ends the question's line. A stdin that is none is left alone.
func (a *app) atTerminal(ctx context.Context, question string, secret bool) (restore func()) {
	f, ok := a.stdin.(*os.File)
	if !ok {
		return func() {}
	}
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return func() {}
	}
	if secret {
		silent := *before
		silent.Lflag &^= unix.ECHO
		_ = unix.IoctlSetTermios(fd, unix.TCSETS, &silent) // better shown than not asked
	}
	fmt.Fprint(a.stderr, question)
	return func() {
		_ = unix.IoctlSetTermios(fd, unix.TCSETS, before)
		if secret || ctx.Err() != nil {
			fmt.Fprintln(a.stderr) // nobody else has ended the line
		}
	}
}
