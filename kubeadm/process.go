package kubeadm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// errNoProcess says that a program does not run on this host.
var errNoProcess = errors.New("it does not run on this host")

// manifestOf is the file by which the kubelet runs a program as a static pod.
func manifestOf(part Part) string { return manifestsDir + "/" + string(part) + ".yaml" }

// process is a program that runs, with what it was started with.
type process struct {
	dir   string            // below /proc
	flags map[string]string // by name
	env   map[string]string
}

// flags are the arguments that the program of a static pod was started with, by
// name: what it effectively has, whatever its files say by now.
func (m Machine) flags(part Part) (map[string]string, error) {
	p, err := m.staticPod(part)
	return p.flags, err
}

// staticPod finds the program of a static pod.
//
// /proc has the processes of all pods and users, and any of them may call itself
// etcd. Ours is known by what its owner cannot choose: see identity.
func (m Machine) staticPod(part Part) (process, error) {
	text, err := os.ReadFile(m.path(manifestOf(part)))
	if errors.Is(err, fs.ErrNotExist) {
		return process{}, fmt.Errorf("read the arguments of %s: %w", part, errNoProcess)
	}
	if err != nil {
		return process{}, fmt.Errorf("read the arguments of %s: %w", part, err)
	}
	return m.process(part, identity{string(part), userOf(text), true})
}

// kubeletProcess finds the host's kubelet, which no pod runs.
func (m Machine) kubeletProcess() (process, error) {
	return m.process(Kubelet, identity{program: string(Kubelet)})
}

func (m Machine) process(part Part, wanted identity) (process, error) {
	p, err := m.find(part, wanted)
	if err != nil {
		return process{}, fmt.Errorf("read the arguments of %s: %w", part, err)
	}
	return p, nil
}

func (m Machine) find(part Part, wanted identity) (process, error) {
	files := m.Host.FS()
	own, err := fs.ReadLink(files, "proc/self/ns/net")
	if err != nil {
		return process{}, err
	}
	found, err := fs.Glob(files, "proc/[0-9]*/cmdline")
	if err != nil {
		return process{}, err
	}
	for _, name := range found {
		dir := path.Dir(name)
		if network, err := fs.ReadLink(files, dir+"/ns/net"); err != nil || network != own || !wanted.is(files, dir) {
			continue
		}
		if text, err := fs.ReadFile(files, name); err == nil { // else it has ended
			return m.started(part, dir, strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")), nil
		}
	}
	return process{}, errNoProcess
}

// started is a process with its arguments. etcd takes some from its environment.
func (m Machine) started(part Part, dir string, argv []string) process {
	p := process{dir, parseFlags(argv[1:]), map[string]string{}}
	text, err := fs.ReadFile(m.Host.FS(), dir+"/environ")
	if err != nil {
		return p // it has ended, or is a test's
	}
	for variable := range strings.SplitSeq(string(text), "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		p.env[name] = value
		if flag, is := etcdFlag(name); is && part == Etcd && p.flags[flag] == "" {
			p.flags[flag] = value
		}
	}
	return p
}

// etcdFlag is the argument that a variable of etcd's stands for.
func etcdFlag(variable string) (string, bool) {
	name, is := strings.CutPrefix(variable, "ETCD_")
	return strings.ReplaceAll(strings.ToLower(name), "_", "-"), is
}

// maxNamed is the largest file that is read because an argument names it.
const maxNamed = 16 << 20

// read reads a file that an argument names, as the process sees it. A link in a
// container leads nowhere on the host.
func (m Machine) read(p process, name string) ([]byte, error) {
	dir := m.path("/" + p.dir + "/root")
	if _, err := os.Stat(dir); err != nil {
		dir = m.path("/")
	}
	root, err := host.OpenOwned(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.ReadFile(strings.TrimPrefix(path.Clean("/"+name), "/"), maxNamed)
}

// parseFlags are arguments by name, as pflag reads them: "--name=value", "--name
// value" and "--name", with _ for -. What is given several times is joined.
func parseFlags(args []string) map[string]string {
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
