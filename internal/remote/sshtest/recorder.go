package sshtest

import (
	"bytes"
	"io"
	"sync"
)

// Recorder is a session recorder in front of the shell.
type Recorder struct {
	Echo  bool // it echoes the input
	Merge bool // it writes stderr to stdout
	CR    bool // it ends lines with CR LF
}

// crlf ends lines with CR LF.
type crlf struct{ w io.Writer }

func (c crlf) Write(p []byte) (int, error) {
	_, err := c.w.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n")))
	return len(p), err
}

// shared is a writer for two streams.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// streams returns the streams of a command behind the recorder.
func (r Recorder) streams(stdin io.Reader, stdout, stderr io.Writer) (io.Reader, io.Writer, io.Writer) {
	if r.CR {
		stdout, stderr = crlf{stdout}, crlf{stderr}
	}
	if r.Echo || r.Merge {
		stdout = &shared{w: stdout}
	}
	if r.Merge {
		stderr = stdout
	}
	if r.Echo {
		stdin = io.TeeReader(stdin, stdout)
	}
	return stdin, stdout, stderr
}
