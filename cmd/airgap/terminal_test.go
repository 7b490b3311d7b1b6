package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a real pseudo-terminal, and what was written to it.
type terminal struct {
	*os.File          // the side of the program
	user     *os.File // the side of whoever types and looks
	mu       sync.Mutex
	more     *sync.Cond
	text     string
	closed   bool
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(user.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 110})
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	tty := &terminal{File: program, user: user}
	tty.more = sync.NewCond(&tty.mu)
	read := make(chan struct{})
	go func() { defer close(read); tty.read() }()
	t.Cleanup(func() { program.Close(); <-read; user.Close() })
	return tty
}

// read collects what is written until nobody has the program's side open.
func (y *terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := y.user.Read(buf)
		y.mu.Lock()
		y.text += string(buf[:n])
		y.closed = err != nil
		y.more.Broadcast()
		y.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// await waits until the text was written.
func (y *terminal) await(t *testing.T, text string) {
	t.Helper()
	if !y.shows(text) {
		t.Fatalf("%q was never written, but\n%q", text, y.text)
	}
}

// shows waits until the text was written, or nothing can come any more.
func (y *terminal) shows(text string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	for !strings.Contains(y.text, text) && !y.closed {
		y.more.Wait()
	}
	return strings.Contains(y.text, text)
}

// screen closes the program's side and gives the lines that are left to see.
func (y *terminal) screen() string {
	y.Close()
	y.mu.Lock()
	defer y.mu.Unlock()
	for !y.closed {
		y.more.Wait()
	}
	return seen(y.text)
}

var movement = regexp.MustCompile(`\x1b\[(\d*)([AJ])`)

// seen follows the cursor: up so many lines, and erase from here on.
func seen(text string) string {
	lines, row := []string{""}, 0
	for text != "" {
		if at := movement.FindStringSubmatchIndex(text); at != nil && at[0] == 0 {
			switch n, _ := strconv.Atoi(text[at[2]:at[3]]); text[at[4]:at[5]] {
			case "A":
				row -= n
			default:
				lines = append(lines[:row], "")
			}
			text = text[at[1]:]
			continue
		}
		switch c := text[0]; c {
		case '\r':
		case '\n':
			if row++; row == len(lines) {
				lines = append(lines, "")
			}
		default:
			lines[row] += string(c)
		}
		text = text[1:]
	}
	return strings.Join(lines, "\n")
}

// echoes reports whether the terminal shows what is typed.
func (y *terminal) echoes(t *testing.T) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(y.user.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}
