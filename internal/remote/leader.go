package remote

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// Every command begins with a line on each stream. The text before it comes from the login shell: a greeting of
// .bashrc, which may end without a newline, or sudo's lecture.
const (
	outputMark = "airgap-output:"  // on stdout
	leaderMark = "airgap-process:" // on stderr, with the command's process number
)

// opening divides a stream at the line that begins with mark. The mark need not be at the beginning of its line.
type opening struct {
	mark          string
	before, after io.Writer
	held          []byte        // may be the beginning of the mark
	value         string        // the line's text after the mark; to be read when it has begun
	begun         chan struct{} // closed at the mark
}

func (o *opening) Write(p []byte) (int, error) {
	if o.found() {
		return o.after.Write(p)
	}
	o.held = append(o.held, p...)
	at := bytes.Index(o.held, []byte(o.mark))
	if at < 0 {
		return len(p), o.release(len(o.held) - overlap(o.held, o.mark))
	}
	if err := o.release(at); err != nil {
		return 0, err
	}
	line, more, whole := bytes.Cut(o.held, []byte("\n"))
	if !whole {
		return len(p), nil
	}
	o.value = strings.TrimSpace(string(line[len(o.mark):])) // a session recorder may add a CR
	close(o.begun)
	if len(more) == 0 { // a writer may take a call as the command's first output
		return len(p), nil
	}
	_, err := o.after.Write(more)
	return len(p), err
}

// found reports whether the mark has been read.
func (o *opening) found() bool {
	select {
	case <-o.begun:
		return true
	default:
		return false
	}
}

// release passes on n bytes that are not part of the mark.
func (o *opening) release(n int) error {
	_, err := o.before.Write(o.held[:n])
	o.held = o.held[n:]
	return err
}

// flush passes on the rest of a stream that ended without the mark.
func (o *opening) flush() { _ = o.release(len(o.held)) }

// overlap is the length of the longest end of text that is a beginning of mark.
func overlap(text []byte, mark string) int {
	for n := min(len(text), len(mark)-1); n > 0; n-- {
		if bytes.HasSuffix(text, []byte(mark[:n])) {
			return n
		}
	}
	return 0
}

// valve drops all data after it is shut: late data of a host must not reach a writer
// that its owner has closed.
type valve struct {
	mu sync.Mutex
	w  io.Writer // nil if shut, or if the output is discarded
}

func (v *valve) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.w == nil {
		return len(p), nil
	}
	return v.w.Write(p)
}

func (v *valve) shut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.w = nil
}

// tail keeps the end of the written data.
type tail struct {
	max int
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.max; over > 0 {
		t.buf = t.buf[over:]
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(t.buf)) }

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return shortened(strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:]))
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

const maxLine = 300 // bytes of a host's line in a message

func shortened(line string) string {
	if len(line) <= maxLine {
		return line
	}
	return strings.ToValidUTF8(line[:maxLine], "") + "…"
}
