package remote

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// leaderMark begins the line with a command's process number.
const leaderMark = "airgap-process:"

// leader takes the line with the process number out of a command's stderr and
// passes on the rest. sudo's lecture and a shell's greeting may come before.
type leader struct {
	rest  io.Writer
	line  []byte
	pid   []byte        // to be read once it is known
	known chan struct{} // closed then
}

func (l *leader) Write(p []byte) (int, error) {
	if l.pid != nil {
		return l.rest.Write(p)
	}
	l.line = append(l.line, p...)
	for {
		line, more, whole := bytes.Cut(l.line, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.line = more
		if pid, found := bytes.CutPrefix(line, []byte(leaderMark)); found {
			l.pid = bytes.Clone(pid)
			close(l.known)
			_, err := l.rest.Write(more)
			return len(p), err
		}
		if _, err := l.rest.Write(append(line, '\n')); err != nil {
			return 0, err
		}
	}
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
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
