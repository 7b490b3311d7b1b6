// Package uitest has a terminal for tests.
package uitest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Terminal is a real pseudo-terminal with its output.
type Terminal struct {
	*os.File          // the side of the program
	user     *os.File // the side of the person
	mu       sync.Mutex
	more     *sync.Cond
	text     string
	closed   bool
}

// New opens one with 50 rows, until the end of the test.
func New(t *testing.T) *Terminal {
	t.Helper()
	return Sized(t, 50, 110)
}

// Sized opens one with a size.
func Sized(t *testing.T, rows, columns uint16) *Terminal {
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
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	tty := &Terminal{File: program, user: user}
	tty.more = sync.NewCond(&tty.mu)
	read := make(chan struct{})
	go func() { defer close(read); tty.read() }()
	t.Cleanup(func() { program.Close(); <-read; user.Close() })
	return tty
}

// read collects the output until no process has the program's side open.
func (y *Terminal) read() {
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

// Await waits until the text was written.
func (y *Terminal) Await(t *testing.T, text string) {
	t.Helper()
	if !y.Shows(text) {
		t.Fatalf("%q was never written, but\n%q", text, y.text)
	}
}

// Shows waits until the text was written, or the output has ended.
func (y *Terminal) Shows(text string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	for !strings.Contains(y.text, text) && !y.closed {
		y.more.Wait()
	}
	return strings.Contains(y.text, text)
}

// Screen closes the program's side and gives the lines that are left to see.
func (y *Terminal) Screen() string {
	y.Close()
	y.mu.Lock()
	defer y.mu.Unlock()
	for !y.closed {
		y.more.Wait()
	}
	return seen(y.text)
}

// Seen gives the lines that are left to see now.
func (y *Terminal) Seen() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return seen(y.text)
}

// Movement matches sequences that move the cursor or erase.
var Movement = regexp.MustCompile(`\x1b\[(\d*)([AJ])`)

// seen follows the cursor: up so many lines, and erase from here on.
func seen(text string) string {
	lines, row := []string{""}, 0
	for text != "" {
		if at := Movement.FindStringSubmatchIndex(text); at != nil && at[0] == 0 {
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
			lines[row] += text[:1] // a byte of a character
		}
		text = text[1:]
	}
	return strings.Join(lines, "\n")
}

// Echoes reports whether the terminal echoes input.
func (y *Terminal) Echoes(t *testing.T) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(y.user.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// Start runs a program in the terminal, which is its controlling
// one: keys become signals. Started by nohup, as services are that run tests, it
// would inherit that SIGHUP is ignored, and go on.
func (y *Terminal) Start(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("env", append([]string{"--default-signal=HUP", name}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = y.File, y.File, y.File
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // if it still runs
	return cmd
}

// Press types the keys.
func (y *Terminal) Press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(y.user, keys); err != nil {
		t.Fatal(err)
	}
}

// Types answers questions on the terminal, one after another.
func (y *Terminal) Types(t *testing.T, answers ...[2]string) {
	t.Helper()
	go func() {
		for _, a := range answers {
			if !y.Shows(a[0]) {
				return // the test waits for the end, and fails
			}
			y.readTo(a[0])
			y.Press(t, a[1])
		}
	}()
}

// readTo makes Await start after the text.
func (y *Terminal) readTo(text string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	_, y.text, _ = strings.Cut(y.text, text)
}

// Text is all that was written, with its control sequences.
func (y *Terminal) Text() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.text
}
