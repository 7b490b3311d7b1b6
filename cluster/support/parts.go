package support

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm"
)

// Evidence is the host of a support bundle.
type Evidence struct {
	Machine kubeadm.Machine
	keys    []string // of --require-key
	node    string   // of --node
}

func (e *Evidence) fs() fs.FS { return e.Machine.Host.FS() }

// Room of a part, in bytes of text. The sum is larger than an archive, but most parts are short and text compresses
// well.
const (
	little = 256 << 10
	some   = 1 << 20
	plenty = 4 << 20
)

// Limits of a part.
const (
	quick = 15 * time.Second
	long  = 45 * time.Second
)

// parts returns all parts of a support bundle, the most important first. When the archive is full, later parts are
// shortened.
func (e *Evidence) parts() []Part {
	return slices.Concat(
		e.reports(),
		e.ofAirgap(),
		e.ofHost(),
		e.ofNetwork(),
		e.ofPackages(),
		e.ofCluster(),
		e.configuration(),
		e.unitLogs(),
		e.podLogs(),
	)
}

func (e *Evidence) ofHost() []Part {
	return []Part{
		e.runs("host/units.txt", "State of the cluster's systemd units", "systemctl",
			append([]string{"show", "--property=Id,LoadState,UnitFileState,ActiveState,SubState,Result,NRestarts,ExecMainStatus,StateChangeTimestamp"}, loggedUnits()...)...),
		e.runs("host/failed-units.txt", "Failed systemd units", "systemctl", "list-units", "--failed", "--no-pager", "--full"),
		e.runs("host/disks.txt", "Disk usage", "df", "--print-type", "--local"),
		e.runs("host/inodes.txt", "Inode usage", "df", "--inodes", "--local"),
		e.reads("host/mounts.txt", "Mounts and their options", "proc/self/mounts"),
		e.reads("host/modules.txt", "Kernel modules, as lsmod reads them", "proc/modules"),
		e.reads("host/memory.txt", "Memory", "proc/meminfo"),
		e.reads("host/pressure.txt", "I/O pressure", "proc/pressure/io"),
		e.reads("host/load.txt", "Load", "proc/loadavg"),
		e.reads("host/uptime.txt", "Time since the boot", "proc/uptime"),
		e.reads("host/kernel.txt", "Kernel command line", "proc/cmdline"),
		e.runs("host/clock.txt", "Clock and time synchronization", "timedatectl", "--no-pager"),
		e.runs("host/boots.txt", "Boots of the host", "journalctl", "--list-boots", "--no-pager"),
	}
}

func (e *Evidence) ofNetwork() []Part {
	nft := e.runs("network/nft.txt", "nftables ruleset", "nft", "--stateless", "list", "ruleset")
	iptables := e.runs("network/iptables.txt", "iptables rules", "iptables-save")
	ip6tables := e.runs("network/ip6tables.txt", "iptables rules of IPv6", "ip6tables-save")
	nft.Room, iptables.Room, ip6tables.Room = some, some, some
	return []Part{
		e.runs("network/addresses.txt", "Links and addresses", "ip", "-details", "-statistics", "address"),
		e.runs("network/routes.txt", "Routes", "ip", "route", "show", "table", "all"),
		e.runs("network/rules.txt", "Routing policy rules", "ip", "rule"),
		e.runs("network/neighbours.txt", "Neighbours", "ip", "neighbour"),
		e.runs("network/forwarding.txt", "Forwarding database of the pod network's bridges", "bridge", "fdb"),
		e.runs("network/sockets.txt", "Listening sockets", "ss", "--listening", "--numeric", "--tcp", "--udp", "--processes"),
		nft, iptables, ip6tables,
		e.runs("network/firewalld.txt", "Zones of firewalld", "firewall-cmd", "--list-all-zones"),
	}
}

func (e *Evidence) ofPackages() []Part {
	return []Part{
		{Name: "packages/dnf-history.txt", Title: "History of dnf", Limit: long, Room: little, Write: e.dnfHistory},
		e.runs("packages/installed.txt", "Installed packages, newest first", "rpm", "-qa", "--last"),
		e.log("packages/dnf.rpm.log", "Log of dnf's package changes", "var/log/dnf.rpm.log", little),
	}
}

// dnfHistory runs dnf history only if the database exists, because dnf would create it. dnf writes its log and
// cache to a temporary directory. Nothing on the host changes.
func (e *Evidence) dnfHistory(ctx context.Context, w io.Writer) error {
	const history = "var/lib/dnf/history.sqlite"
	if len(e.found(history)) == 0 {
		return NotPresent("/%s does not exist", history)
	}
	dir, remove, err := site.Scratch("support")
	if err != nil {
		return err
	}
	defer remove()
	return e.command(ctx, w, "dnf", "--cacheonly", "--noplugins", "--setopt=logdir="+dir, "--setopt=cachedir="+dir, "history", "list")
}

// runs returns a part with the output of a command.
func (e *Evidence) runs(file, title, name string, args ...string) Part {
	return Part{Name: file, Title: title, Limit: quick, Room: little, Write: func(ctx context.Context, w io.Writer) error {
		return e.command(ctx, w, name, args...)
	}}
}

func (e *Evidence) command(ctx context.Context, w io.Writer, name string, args ...string) error {
	out, err := e.Machine.Host.Run(ctx, host.Cmd{Name: name, Args: args, Stdout: w})
	if errors.Is(err, exec.ErrNotFound) {
		return NotPresent("the program %s is not installed", name)
	}
	_, writeErr := w.Write(out) // out is not empty for a host that ignores Stdout
	return errors.Join(err, writeErr)
}

// reads returns a part with a file of the host.
func (e *Evidence) reads(file, title, from string) Part {
	return Part{Name: file, Title: title, Limit: quick, Room: little, Write: func(_ context.Context, w io.Writer) error {
		return e.read(w, from, 0)
	}}
}

// log returns a part with the end of a file of the host.
func (e *Evidence) log(file, title, from string, room int) Part {
	return Part{Name: file, Title: title, Limit: long, Room: room, Log: true, Midway: true, Write: func(_ context.Context, w io.Writer) error {
		return e.read(w, from, int64(room)+before)
	}}
}

// before is the number of bytes that are read before the cut of a log, so that a key that spans the cut is
// recognized.
const before = 64 << 10

// read copies the last bytes of a file, or the complete file if last is 0. It reads regular files only, because
// reading a pipe or a device may block.
func (e *Evidence) read(w io.Writer, name string, last int64) error {
	f, err := e.fs().Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return NotPresent("/%s does not exist", name)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return NotPresent("/%s is not a regular file", name)
	}
	if from, can := f.(io.Seeker); can && last > 0 && info.Size() > last {
		if _, err := from.Seek(-last, io.SeekEnd); err != nil {
			return err
		}
	}
	_, err = io.Copy(w, f)
	return err
}

// found returns the regular files of the host that match the patterns, sorted and without duplicates.
func (e *Evidence) found(patterns ...string) []string {
	var all []string
	for _, pattern := range patterns {
		names, _ := fs.Glob(e.fs(), pattern) // all patterns are valid constants
		all = append(all, names...)
	}
	all = slices.DeleteFunc(all, func(name string) bool {
		info, err := fs.Stat(e.fs(), name)
		return err != nil || !info.Mode().IsRegular()
	})
	slices.Sort(all)
	return slices.Compact(all)
}

// below returns the name in the archive for a file of the host.
func below(dir, name string) string { return path.Join(dir, strings.ReplaceAll(name, ":", "_")) }
