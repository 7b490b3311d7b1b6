package host

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openPty opens a pseudo-terminal: the side of the unit, and that of the command.
func openPty(now Size) (unit, command *os.File, err error) {
	unit, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open pseudo-terminal: %w", err)
	}
	number := 0
	err = control(unit, func(fd int) (err error) {
		if number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN); err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	})
	if err == nil {
		command, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err == nil {
		err = control(command, func(fd int) error { return prepare(fd, now) })
	}
	if err != nil {
		unit.Close()
		if command != nil {
			command.Close()
		}
		return nil, nil, fmt.Errorf("open pseudo-terminal: %w", err)
	}
	return unit, command, nil
}

// prepare leaves line ends to the terminal of the user.
func prepare(fd int, now Size) error {
	mode, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	mode.Oflag &^= unix.OPOST
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, mode); err != nil {
		return err
	}
	return setSize(fd, now)
}

func setSize(fd int, now Size) error {
	return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: now.Rows, Col: now.Columns})
}

// control calls do with the descriptor. Unlike File.Fd it leaves the file closable during a read.
func control(f *os.File, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = do(int(fd)) })
	if err != nil {
		return err
	}
	return failed
}
