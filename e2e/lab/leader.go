package lab

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// leader returns the outer PID of the machine's process 1, or 0 if the machine is off. It
// reads the kernel's data each time: a PID in a file may belong to a new process.
func (c *Container) leader() (int, error) {
	_, self, err := identify("self")
	if err != nil {
		return 0, err
	}
	pids, err := c.cgroup.pids()
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		name, ns, err := identify(strconv.Itoa(pid))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it ended meanwhile
		}
		if err != nil {
			return 0, err
		}
		// A pod's process 1 is one level deeper, and nspawn's own child is process 1
		// while it prepares the machine.
		if name == "systemd" && len(ns) == len(self)+1 && ns[len(self)] == "1" && !dying(pid) {
			return pid, nil
		}
	}
	return 0, nil
}

// dying reports whether a killed process has already left its namespaces, while /proc
// still lists it.
func dying(pid int) bool {
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	return errors.Is(err, os.ErrNotExist)
}

// identify returns a process's name and its PIDs in all its PID namespaces, beginning with
// the namespace of this process.
func identify(pid string) (name string, ns []string, err error) {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return "", nil, err
	}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		switch key {
		case "Name":
			name = strings.TrimSpace(value)
		case "NSpid":
			ns = strings.Fields(value)
		}
	}
	return name, ns, nil
}
