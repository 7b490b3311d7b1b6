// Package room checks that the outer machine has enough processors, memory and disk space for the
// lab, before the lab downloads anything. It needs no package that the lab installs.
package room

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// processors is kubeadm's own minimum on a server, and all servers share the machine's.
	processors = 2
	// memory is the least MemTotal: two servers with a control plane, or the linker with
	// kube-apiserver. A machine with 6 GiB has less than that, because the kernel takes a part.
	memory = 11 << 29 // 5.5 GiB

	gigabyte = 1000 * 1000 * 1000
)

// Machine is the machine on which the lab runs.
type Machine struct {
	Root       bool
	Processors int
	Files      fs.FS // its root is /
	Places     []Place
	// Disk returns the number of the device of a directory, or of its nearest existing parent, and
	// its free bytes.
	Disk func(dir string) (device uint64, free int64, err error)
}

// Place is a directory that a run fills.
type Place struct {
	Dir  string
	Need int64 // bytes
}

// Ready returns an error with everything that the lab needs and this machine does not have.
func Ready() error {
	m, err := this()
	if err != nil {
		return err
	}
	return m.Check()
}

// CacheDir is the directory for everything that the lab builds or downloads itself.
func CacheDir() (string, error) {
	if dir := os.Getenv("AIRGAP_LAB_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "airgap-lab"), err
}

func this() (Machine, error) {
	cache, err := CacheDir()
	if err != nil {
		return Machine{}, err
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return Machine{}, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return Machine{}, err
	}
	build := cmp.Or(os.Getenv("GOCACHE"), filepath.Join(user, "go-build"))
	modules := cmp.Or(os.Getenv("GOMODCACHE"), filepath.Join(cmp.Or(os.Getenv("GOPATH"), filepath.Join(home, "go")), "pkg", "mod"))
	_, later := os.Stat(filepath.Join(cache, "stages")) // the mark of a first run
	return Machine{
		Root: os.Geteuid() == 0, Processors: runtime.NumCPU(), Files: os.DirFS("/"),
		Places: places(later == nil, cache, build, modules), Disk: disk,
	}, nil
}

// places returns the needs of a first or a later run. They are the sizes of the directories after
// runs of all scenarios, rounded; a later run needs the disks of the servers and some compilation.
func places(later bool, cache, build, modules string) []Place {
	if later {
		return []Place{{cache, 5 * gigabyte}, {build, gigabyte}, {modules, gigabyte / 2}}
	}
	return []Place{{cache, 10 * gigabyte}, {build, 7 * gigabyte}, {modules, 6 * gigabyte}}
}

// Check returns an error with everything that is missing, and a fix for each. Other users than root
// get only that answer.
func (m Machine) Check() error {
	if !m.Root {
		return errors.New("the lab's servers need root: run the same command as root; make test needs no root")
	}
	var missing []string
	if m.Processors < processors {
		missing = append(missing, fmt.Sprintf("%d processor: kubeadm needs %d on each server", m.Processors, processors))
	}
	has, err := m.memory()
	if err != nil {
		return err
	}
	if has < memory {
		missing = append(missing, fmt.Sprintf("%.1f GiB of memory: two servers with a cluster need 6 GiB: use a larger machine", float64(has)/(1<<30)))
	}
	full, err := m.full()
	if err != nil {
		return err
	}
	if missing = append(missing, full...); len(missing) == 0 {
		return nil
	}
	return errors.New("this machine is too small for the lab's servers (e2e/lab/README.md, \"What it needs\"):\n- " + strings.Join(missing, "\n- "))
}

// memory reads MemTotal.
func (m Machine) memory() (int64, error) {
	text, err := fs.ReadFile(m.Files, "proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("read the size of the memory: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "MemTotal:" {
			size, err := strconv.ParseInt(words[1], 10, 64)
			if err == nil {
				return size << 10, nil
			}
		}
	}
	return 0, errors.New("read the size of the memory: /proc/meminfo has no MemTotal")
}

// full returns a message for each disk with too little space for all of its places.
func (m Machine) full() ([]string, error) {
	type use struct {
		dirs       []string
		need, free int64
	}
	var order []uint64
	disks := map[uint64]*use{}
	for _, p := range m.Places {
		device, free, err := m.Disk(p.Dir)
		if err != nil {
			return nil, fmt.Errorf("read the free space for %s: %w", p.Dir, err)
		}
		if disks[device] == nil {
			disks[device], order = &use{free: free}, append(order, device)
		}
		disks[device].dirs, disks[device].need = append(disks[device].dirs, p.Dir), disks[device].need+p.Need
	}
	var full []string
	for _, device := range order {
		if d := disks[device]; d.free < d.need {
			full = append(full, fmt.Sprintf("%.1f GB free for %s: they need %.1f GB; free space, or set AIRGAP_LAB_CACHE, GOCACHE and GOMODCACHE to directories on a larger disk",
				float64(d.free)/gigabyte, strings.Join(d.dirs, ", "), float64(d.need)/gigabyte))
		}
	}
	return full, nil
}

// disk asks the directory, or its nearest existing parent.
func disk(dir string) (device uint64, free int64, err error) {
	var file unix.Stat_t
	for err = unix.Stat(dir, &file); errors.Is(err, unix.ENOENT) && dir != filepath.Dir(dir); err = unix.Stat(dir, &file) {
		dir = filepath.Dir(dir)
	}
	if err != nil {
		return 0, 0, err
	}
	var s unix.Statfs_t
	err = unix.Statfs(dir, &s)
	return file.Dev, int64(s.Bavail) * s.Frsize, err
}
