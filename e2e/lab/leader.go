package lab

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// leader is the outer PID of the machine's process 1, 0 when it is off. It is
// asked from the kernel each time: a number in a file may have become
// somebody else's.
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
		// A pod's process 1 lies one level deeper, and nspawn's own child is
		// process 1 for as long as it is still preparing the machine.
		if name == "systemd" && len(ns) == len(self)+1 && ns[len(self)] == "1" && !dying(pid) {
			return pid, nil
		}
	}
	return 0, nil
}

// dying reports whether a process was killed and has left its namespaces
// already, while /proc still lists it.
func dying(pid int) bool {
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	return errors.Is(err, os.ErrNotExist)
}

// identify gives a process's name and its numbers in the PID namespaces it is
// in, this process's first.
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
