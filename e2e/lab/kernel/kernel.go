// Package kernel says what the outer machine's kernel has for the lab's servers:
// containers run under it, so what it lacks no server has.
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

// A Machine is what is looked at of one.
type Machine struct {
	Release string                                 // of the running kernel
	Files   fs.FS                                  // from / on
	Magic   func(dir string) (int64, error)        // of the file system that is mounted there
	Load    func(context.Context, ...string) error // modules, with what they need
}

// This is the machine that the program runs on.
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

// Ready fails where this machine lacks something, and loads the modules that are
// needed where it does not.
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
	File string // where it lies, from / on
}

// packedConfig is where the kernel itself gives its configuration, if it was built to.
const packedConfig = "proc/config.gz"

// Packed reports whether everybody who sees /proc sees the configuration, too.
func (c Config) Packed() bool { return c.File == packedConfig }

func (m Machine) configFiles() []string {
	return []string{packedConfig, "boot/config-" + m.Release, "lib/modules/" + m.Release + "/config"}
}

// Config is the running kernel's, from the first place that has it.
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

// values are what the configuration says of each option: y, m, or something else.
func (c Config) values() map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(string(c.Text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if option, is := strings.CutPrefix(name, "CONFIG_"); is {
			values[option] = value
		}
	}
	return values
}
