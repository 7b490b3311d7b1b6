package host

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// InMemory is a file that holds data and has no place on any disk: for a
// secret that a command wants to read from a file. Given to the command as
// Cmd.Stdin, it opens /dev/stdin as often as it likes. It is gone with the last
// process that has it open, however that ends.
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
