package kubeadm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// errNoProcess says that a program does not run on this host.
var errNoProcess = errors.New("it does not run on this host")

// manifestOf is the file by which the kubelet runs a program as a static pod.
func manifestOf(part Part) string { return "/etc/kubernetes/manifests/" + string(part) + ".yaml" }

// flags are the arguments that the program of a static pod was started with, by
// name: what it effectively has, whatever its files say by now.
//
// /proc has the processes of all pods, and a tenant may run an etcd of its own.
// The host's is known by its manifest, and by the network, which static pods
// share with the host and other pods do not.
func (m Machine) flags(part Part) (map[string]string, error) {
	argv, err := m.staticPod(part)
	if err != nil {
		return nil, fmt.Errorf("read the arguments of %s: %w", part, err)
	}
	return parseFlags(argv[1:]), nil
}

func (m Machine) staticPod(part Part) (argv []string, err error) {
	if _, err := os.Stat(m.path(manifestOf(part))); errors.Is(err, fs.ErrNotExist) {
		return nil, errNoProcess
	}
	files := m.Host.FS()
	own, err := fs.ReadLink(files, "proc/self/ns/net")
	if err != nil {
		return nil, err
	}
	found, err := fs.Glob(files, "proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	for _, name := range found {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			continue // it has ended
		}
		argv := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		if path.Base(argv[0]) != string(part) {
			continue
		}
		if network, err := fs.ReadLink(files, path.Dir(name)+"/ns/net"); err == nil && network == own {
			return argv, nil
		}
	}
	return nil, errNoProcess
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
