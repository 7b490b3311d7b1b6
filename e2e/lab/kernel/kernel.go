// Package kernel checks the outer machine's kernel for the lab's servers. Containers run on
// this kernel, so a missing part is missing on every server.
package kernel

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// A Machine gives access to the parts of a machine that the package reads.
type Machine struct {
	Release string                                 // of the running kernel
	Files   fs.FS                                  // its root is /
	Magic   func(dir string) (int64, error)        // type of the file system that is mounted at dir
	Load    func(context.Context, ...string) error // loads modules and their dependencies
}

// This returns the machine on which the program runs.
func This() (Machine, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return Machine{}, fmt.Errorf("uname: %w", err)
	}
	return Machine{Release: unix.ByteSliceToString(name.Release[:]), Files: os.DirFS("/"), Magic: magic, Load: modprobe}, nil
}

func magic(dir string) (int64, error) {
	var s unix.Statfs_t
	err := unix.Statfs(dir, &s)
	return s.Type, err
}

func modprobe(ctx context.Context, modules ...string) error {
	out, err := exec.CommandContext(ctx, "modprobe", append([]string{"--all"}, modules...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("modprobe: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// Ready fails if a part is missing on this machine. Otherwise it loads the required modules.
func Ready(ctx context.Context) error {
	m, err := This()
	if err != nil {
		return err
	}
	if err := m.Check(); err != nil {
		return err
	}
	config, err := m.Config()
	if err != nil {
		return err
	}
	return m.loadNeeded(ctx, config)
}

// Config is a kernel's configuration.
type Config struct {
	Text []byte
	File string // its path, without the first /
}

// packedConfig is the configuration in /proc. It exists if the kernel has CONFIG_IKCONFIG_PROC.
const packedConfig = "proc/config.gz"

// Packed reports whether the configuration is in /proc, where containers see it, too.
func (c Config) Packed() bool { return c.File == packedConfig }

func (m Machine) configFiles() []string {
	return []string{packedConfig, "boot/config-" + m.Release, "lib/modules/" + m.Release + "/config"}
}

// Config reads the running kernel's configuration from the first file of configFiles that exists.
func (m Machine) Config() (Config, error) {
	var failed []error
	for _, file := range m.configFiles() {
		text, err := m.read(file)
		if err == nil {
			return Config{text, file}, nil
		}
		failed = append(failed, err)
	}
	return Config{}, fmt.Errorf("read the kernel's configuration: %w", errors.Join(failed...))
}

func (m Machine) read(file string) ([]byte, error) {
	text, err := fs.ReadFile(m.Files, file)
	if err != nil || file != packedConfig {
		return text, err
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("unpack /%s: %w", file, err)
	}
	text, err = io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("unpack /%s: %w", file, err)
	}
	return text, nil
}

// values returns the value of each option: y, m, or another value.
func (c Config) values() map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(string(c.Text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if option, ok := strings.CutPrefix(name, "CONFIG_"); ok {
			values[option] = value
		}
	}
	return values
}
