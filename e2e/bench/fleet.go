package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
)

// fleetFigure is a figure of the Go benchmark, with its limit.
type fleetFigure struct {
	name, unit, reference string
	limit, atMost         float64
}

// fleetFigures are the limits for 300 hosts. The login and its memory have those of the day on which they were measured
// first, with room for the machine. The preflight checks include airgap.rpm for each host. Each host needs four files: a
// connection, its log, and two connections to the API server for its join token.
func fleetFigures() []fleetFigure {
	return []fleetFigure{
		{"login-s", "s", "first=4.20s", 4.2, 1.5},
		{"sessions-MB", "MB", "first=22MB", 22, 1},
		{"preflight-s", "s", "limit=30s", 30, 1},
		{"join-s", "s", "limit=30s", 30, 1},
		{"all-MB", "MB", "limit=150MB", 150, 1},
		{"files", "files", "limit=1500", 1500, 1},
		{"report-lines", "lines", "terminal=24", 24, 1},
		{"log-lines", "lines", "limit=12000", 12000, 1},
	}
}

// ownMounts runs a program with an /etc and a /var/log that end with it: the first host of a fleet has files there.
const ownMounts = `set -e
mount -t tmpfs tmpfs /mnt
mkdir /mnt/etc /mnt/work
mount -t overlay -o lowerdir=/etc,upperdir=/mnt/etc,workdir=/mnt/work overlay /etc
mount -t tmpfs tmpfs /var/log
exec "$@"`

// fleet logs in on 300 simulated hosts, checks and joins them. sshd runs in another process.
func (b *bench) fleet(ctx context.Context, w *figures) error {
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "sh", "-c", ownMounts, "sh",
		"go", "test", "./cluster/fleet", "-run", "^$", "-bench", "ThreeHundredHosts", "-benchtime", "1x", "-count", "1", "-timeout", "10m")
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "AIRGAP_OWN_MOUNTS=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("install 300 simulated hosts: %w\n%s", err, out)
	}
	return printFleet(out, w)
}

// printFleet prints the figures in the output of a Go benchmark.
func printFleet(out []byte, w *figures) error {
	for _, f := range fleetFigures() {
		found := regexp.MustCompile(`\s([\d.]+) ` + f.name + `\b`).FindSubmatch(out)
		if found == nil {
			return fmt.Errorf("install 300 simulated hosts: the output has no %s:\n%s", f.name, out)
		}
		value, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return err
		}
		figure{"fleet-300-hosts-" + f.name, value, f.unit, f.reference, value / f.limit, f.atMost}.print(w)
	}
	return nil
}
