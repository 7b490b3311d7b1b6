package nodereport

import (
	"fmt"
	"io/fs"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// BootID returns the kernel's identifier of the current boot.
func BootID(h host.Host) (string, error) { return word(h, "proc/sys/kernel/random/boot_id") }

// Kernel returns the release of the running kernel: "5.14.0-570.el9.x86_64".
func Kernel(h host.Host) (string, error) { return word(h, "proc/sys/kernel/osrelease") }

func word(h host.Host, file string) (string, error) {
	text, err := fs.ReadFile(h.FS(), file)
	if err != nil {
		return "", fmt.Errorf("read /%s: %w", file, err)
	}
	return strings.TrimSpace(string(text)), nil
}
