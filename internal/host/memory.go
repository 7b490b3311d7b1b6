package host

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// InMemory is a file with data that is on no disk: for a secret that a
// command must read from a file. With it as Cmd.Stdin, the command can open
// /dev/stdin several times. The file goes with the last process that has it open.
func InMemory(data []byte) (*os.File, error) {
	const name = "airgap" // shown in /proc, so it says nothing
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.WriteAt(data, 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	return f, nil
}
