package kubeadm

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// errNoProcess says that a program does not run on this host.
var errNoProcess = errors.New("it does not run on this host")

// flags are the arguments that a running program was started with, by name:
// what it effectively has, whatever its files say by now.
func (m Machine) flags(program string) (map[string]string, error) {
	found, err := fs.Glob(m.Host.FS(), "proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	for _, name := range found {
		text, err := fs.ReadFile(m.Host.FS(), name)
		if err != nil {
			continue // it has ended
		}
		argv := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		if path.Base(argv[0]) == program {
			return parseFlags(argv[1:]), nil
		}
	}
	return nil, fmt.Errorf("read the arguments of %s: %w", program, errNoProcess)
}

func parseFlags(args []string) map[string]string {
	flags := map[string]string{}
	for _, arg := range args {
		name, isFlag := strings.CutPrefix(arg, "--")
		if !isFlag {
			continue
		}
		name, value, hasValue := strings.Cut(name, "=")
		if !hasValue {
			value = "true"
		}
		flags[name] = value
	}
	return flags
}
