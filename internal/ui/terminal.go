package ui

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
	"golang.org/x/term"

	"airgap.dev/airgap/internal/advice"
)

// Terminal is the Console of a program: its standard input and its stderr.
type Terminal struct {
	In       io.Reader
	Err      io.Writer
	Format   Format // of the progress
	underWay Progress
}

// Progress shows work on stderr, until EndProgress.
func (c *Terminal) Progress() Progress {
	c.underWay = New(c.Err, c.Format)
	return c.underWay
}

// EndProgress does nothing where no work is shown.
func (c *Terminal) EndProgress() {
	if c.underWay != nil {
		c.underWay.Close()
		c.underWay = nil
	}
}

// Tell shows the text on a separate line.
func (c *Terminal) Tell(text string) { fmt.Fprintln(c.Err, text) }

// Attended reports whether standard input is a terminal.
func (c *Terminal) Attended() bool {
	f, is := c.In.(*os.File)
	return is && term.IsTerminal(int(f.Fd()))
}

// Ask reads one line from standard input. Only at a terminal it shows the question.
func (c *Terminal) Ask(ctx context.Context, question string, secret bool) (string, error) {
	defer c.atTerminal(ctx, question, secret)()
	return await(ctx, func() (string, error) {
		line, err := bufio.NewReader(io.LimitReader(c.In, 1<<10)).ReadString('\n')
		if errors.Is(err, io.EOF) && line != "" {
			err = nil
		}
		return line, err
	})
}

// AskAll asks for a secret as Ask does at a terminal. Else it takes all of standard input: a key's
// file has several lines.
func (c *Terminal) AskAll(ctx context.Context, question string) (string, error) {
	if c.Attended() {
		return c.Ask(ctx, question, true)
	}
	return await(ctx, func() (string, error) {
		text, err := io.ReadAll(io.LimitReader(c.In, 1<<20))
		if err == nil && len(bytes.TrimSpace(text)) == 0 {
			err = io.EOF
		}
		return string(text), err
	})
}

// Secret takes a secret of one line from the file, or asks for it.
func Secret(ctx context.Context, c Console, file, question string) (string, error) {
	if file == "" {
		return c.Ask(ctx, question, true)
	}
	data, err := os.ReadFile(file)
	return string(data), err
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

// Confirm requires the word yes.
func Confirm(ctx context.Context, c Console, question string) error {
	return ConfirmAs(ctx, c, question, "yes")
}

// ConfirmAs requires this text.
func ConfirmAs(ctx context.Context, c Console, question, text string) error {
	answer, err := c.Ask(ctx, question, false)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimSpace(answer) != text {
		return advice.Usagef("not confirmed; nothing was changed")
	}
	return nil
}

// atTerminal prepares a terminal for an answer. It returns a function that restores the
// terminal and ends the question's line. A stdin that is no terminal stays unchanged.
func (c *Terminal) atTerminal(ctx context.Context, question string, secret bool) (restore func()) {
	f, ok := c.In.(*os.File)
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
	fmt.Fprint(c.Err, question)
	return func() {
		_ = unix.IoctlSetTermios(fd, unix.TCSETS, before)
		if secret || ctx.Err() != nil {
			fmt.Fprintln(c.Err) // the line has no end yet
		}
	}
}
