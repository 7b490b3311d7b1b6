package detach

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"airgap.dev/airgap/internal/host"
)

// Streams are those of this process.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// terminal returns the file of a stream if it is a terminal, else nil.
func terminal(stream any) *os.File {
	if f, is := stream.(*os.File); is && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// attended reports whether a user sees the command.
func (s Streams) attended() bool { return terminal(s.In) != nil || terminal(s.Err) != nil }

// screen is the terminal of the user.
func (s Streams) screen() *os.File {
	for _, stream := range []any{s.Err, s.Out, s.In} {
		if f := terminal(stream); f != nil {
			return f
		}
	}
	return nil
}

func (s Streams) size() host.Size {
	f := s.screen()
	if f == nil {
		return host.Size{Rows: 24, Columns: 80}
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		return host.Size{Rows: 24, Columns: 80}
	}
	return host.Size{Rows: uint16(min(rows, 1<<15)), Columns: uint16(min(columns, 1<<15))}
}

// keyboard is the terminal that the user types at. A background job must not read from it.
func (s Streams) keyboard() *os.File {
	f := terminal(s.In)
	if f == nil {
		return nil
	}
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	if err == nil && group != unix.Getpgrp() { // an error: it is not the controlling terminal, and does not stop jobs
		return nil
	}
	return f
}

// passKeys has the terminal pass on each key, also Ctrl-C: the terminal in the unit interprets them. Ctrl-S and the
// line ends of the output stay with this one.
func passKeys(f *os.File) (restore func(), err error) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	keys := *before
	keys.Iflag &^= unix.ICRNL | unix.INLCR | unix.IGNCR
	keys.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	keys.Cc[unix.VMIN], keys.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &keys); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, before) }, nil
}
