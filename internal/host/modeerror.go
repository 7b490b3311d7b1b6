package host

import (
	"fmt"
	"io/fs"
)

// ModeError refuses a private file that others can read. Its hint depends on the file system, because
// chmod has no effect on some.
type ModeError struct {
	Path       string
	Mode       fs.FileMode
	FileSystem string // of FileSystemOf
}

func (e *ModeError) Error() string {
	return fmt.Sprintf("mode is %#o, so others can read it: want 0600", e.Mode)
}

// Hint is the next step, as package advice prints it.
func (e *ModeError) Hint() string {
	switch {
	case e.FileSystem == "9p" || e.FileSystem == "drvfs":
		return fmt.Sprintf("copy it to a Linux file system, because chmod has no effect on the drives of Windows: install -m 600 %s ~/; or set options=metadata below [automount] in /etc/wsl.conf, run wsl --shutdown, then chmod 600",
			quoted(e.Path))
	case hasNoModes(e.FileSystem):
		return fmt.Sprintf("copy it to a Linux file system, because chmod has no effect on %s: install -m 600 %s ~/", e.FileSystem, quoted(e.Path))
	}
	return fmt.Sprintf("run chmod 600 %s; in a CI job, run umask 077 before the job writes the file", quoted(e.Path))
}

func quoted(path string) string { return fmt.Sprintf("%q", path) }
