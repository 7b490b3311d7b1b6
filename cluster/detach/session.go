package detach

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"airgap.dev/airgap/internal/host"
)

// sameHost are links of /proc. A unit runs as process 1 does: in another namespace or root directory the
// command would not find its files there.
func sameHost() []string { return []string{"ns/mnt", "ns/net", "ns/pid", "root"} }

// inSession reports whether this process ends with a login session that systemd could outlive.
func inSession(m host.Machine) bool {
	groups, err := fs.ReadFile(m.Host.FS(), "proc/self/cgroup")
	return err == nil && sessionGroup(string(groups)) && mayStart(m) == nil
}

// differsIn returns a link of /proc that differs from that of process 1, or that cannot be read.
func differsIn(m host.Machine) string {
	for _, link := range sameHost() {
		own, err := os.Readlink(m.Path("/proc/self/" + link))
		first, errFirst := os.Readlink(m.Path("/proc/1/" + link))
		if err != nil || errFirst != nil || own != first {
			return link
		}
	}
	return ""
}

// mayStart returns an error if systemd could not start a unit that sees the same files and networks.
func mayStart(m host.Machine) error {
	init, err := fs.ReadFile(m.Host.FS(), "proc/1/comm")
	if err != nil {
		return fmt.Errorf("read the name of process 1: %w", err)
	}
	if name := strings.TrimSpace(string(init)); name != "systemd" {
		return fmt.Errorf("start a unit: process 1 is %s, not systemd", name)
	}
	if link := differsIn(m); link != "" {
		return fmt.Errorf("start a unit: /proc/self/%s differs from that of process 1", link)
	}
	return nil
}

// sessionGroup reads /proc/self/cgroup. The paths are those of systemd: the line of the unified hierarchy, or
// that of name=systemd. Without pam_systemd a session stays in the cgroup of sshd.
func sessionGroup(text string) bool {
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 || fields[1] != "" && fields[1] != "name=systemd" {
			continue
		}
		for part := range strings.SplitSeq(fields[2], "/") {
			if isSession(part) {
				return true
			}
		}
	}
	return false
}

func isSession(part string) bool {
	name, scope := strings.CutSuffix(part, ".scope")
	if scope {
		return strings.HasPrefix(name, "session-")
	}
	name, service := strings.CutSuffix(part, ".service")
	return service && (name == "sshd" || strings.HasPrefix(name, "sshd@") || strings.HasPrefix(name, "user@"))
}

// unitOf names the unit of a command: "upgrade node" runs in airgap-run-upgrade-node.
func unitOf(name string) string { return "airgap-run-" + strings.ReplaceAll(name, " ", "-") }

const startLimit = 30 * time.Second // systemd starts a unit at once, unless the host has no memory left

// startUnit starts this program again, in the unit of the command. --collect removes the unit also after a
// failure. SIGTERM goes only to the main process, which passes it on and waits.
func startUnit(ctx context.Context, m host.Machine, program, name string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	err := m.Run(ctx, "systemd-run", "--quiet", "--collect", "--unit="+unitOf(name), "--slice=system.slice", "--description=airgap "+name,
		"--property=KillMode=mixed", "--", program, "run-unit", name)
	if err != nil {
		return fmt.Errorf("start unit %s: %w", unitOf(name), err)
	}
	return nil
}

// isTaken reports whether a unit did not start because it exists: another client has just started it, or systemd
// has not removed it yet.
func isTaken(err error) bool {
	failed, is := errors.AsType[*host.CommandError](err)
	return is && strings.Contains(failed.Tail, "already")
}

// stopUnit stops a unit that does not answer, so that it does not start the command later.
func stopUnit(ctx context.Context, m host.Machine, name string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	return m.Run(ctx, "systemctl", "stop", unitOf(name)+".service")
}
