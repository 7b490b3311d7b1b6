// Package process finds the running programs of Kubernetes on this host, and their
// arguments.
package process

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// ErrNone says that a program does not run on this host.
var ErrNone = errors.New("it does not run on this host")

// Process is a running program with its arguments.
type Process struct {
	Dir   string            // "proc/PID"
	Flags map[string]string // by name, without dashes
	Env   map[string]string // empty where it cannot be read
}

// Find looks for a process in the host's network: static pods and the kubelet
// share it, and most other containers have a separate one. The root of files
// is the host's. The error is ErrNone if no process matches.
func Find(files fs.FS, wanted Identity) (Process, error) {
	own, err := fs.ReadLink(files, "proc/self/ns/net")
	if err != nil {
		return Process{}, err
	}
	found, err := fs.Glob(files, "proc/[0-9]*/cmdline")
	if err != nil {
		return Process{}, err
	}
	for _, name := range found {
		dir := path.Dir(name)
		if network, err := fs.ReadLink(files, dir+"/ns/net"); err != nil || network != own || !wanted.is(files, dir) {
			continue
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			continue // it has ended
		}
		argv := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		return Process{dir, Flags(argv[1:]), environment(files, dir)}, nil
	}
	return Process{}, ErrNone
}

func environment(files fs.FS, dir string) map[string]string {
	env := map[string]string{}
	text, err := fs.ReadFile(files, dir+"/environ")
	if err != nil {
		return env // it has ended, or is a test's
	}
	for variable := range strings.SplitSeq(string(text), "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	return env
}

// Flags are arguments by name, as pflag reads them: "--name=value", "--name
// value" and "--name", with _ for -. Repeated arguments are joined.
func Flags(args []string) map[string]string {
	flags := map[string]string{}
	for i, arg := range args {
		name, isFlag := strings.CutPrefix(arg, "--")
		if !isFlag || name == "" {
			continue
		}
		name, value, hasValue := strings.Cut(name, "=")
		if !hasValue {
			value = "true"
			if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				value = args[i+1]
			}
		}
		name = strings.ReplaceAll(name, "_", "-")
		if before, again := flags[name]; again && before != value {
			value = before + "," + value
		}
		flags[name] = value
	}
	return flags
}
