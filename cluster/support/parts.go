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

// Evidence is the host that a support bundle is made of.
type Evidence struct {
	Machine kubeadm.Machine
	keys    []string // of bundles, and which node this is: as the commands take them
	node    string
}

func (e *Evidence) fs() fs.FS { return e.Machine.Host.FS() }

// Room of a part, in bytes of text. Together they are more than an archive has; it
// takes a host where everything is long and nothing compresses to notice.
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

// parts are all that a support bundle holds. What matters most comes first: where the
// archive is full, the rest is cut.
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
		e.runs("host/units.txt", "How the cluster's units are", "systemctl",
			append([]string{"show", "--property=Id,LoadState,UnitFileState,ActiveState,SubState,Result,NRestarts,ExecMainStatus,StateChangeTimestamp"}, loggedUnits()...)...),
		e.runs("host/failed-units.txt", "Units that failed", "systemctl", "list-units", "--failed", "--no-pager", "--full"),
		e.runs("host/disks.txt", "Room on the disks", "df", "--print-type", "--local"),
		e.runs("host/inodes.txt", "Inodes of the disks", "df", "--inodes", "--local"),
		e.reads("host/mounts.txt", "What is mounted, and how", "proc/self/mounts"),
		e.reads("host/modules.txt", "Kernel modules, as lsmod reads them", "proc/modules"),
		e.reads("host/memory.txt", "Memory", "proc/meminfo"),
		e.reads("host/pressure.txt", "How long programs waited for the disks", "proc/pressure/io"),
		e.reads("host/load.txt", "Load", "proc/loadavg"),
		e.reads("host/uptime.txt", "Time since the host was started", "proc/uptime"),
		e.reads("host/kernel.txt", "The kernel's command line", "proc/cmdline"),
		e.runs("host/clock.txt", "The clock, and who sets it", "timedatectl", "--no-pager"),
		e.runs("host/boots.txt", "When the host was started", "journalctl", "--list-boots", "--no-pager"),
	}
}

func (e *Evidence) ofNetwork() []Part {
	nft := e.runs("network/nft.txt", "Packet filter", "nft", "--stateless", "list", "ruleset")
	iptables := e.runs("network/iptables.txt", "Packet filter, as iptables sees it", "iptables-save")
	ip6tables := e.runs("network/ip6tables.txt", "Packet filter of IPv6, as iptables sees it", "ip6tables-save")
	nft.Room, iptables.Room, ip6tables.Room = some, some, some
	return []Part{
		e.runs("network/addresses.txt", "Links and addresses", "ip", "-details", "-statistics", "address"),
		e.runs("network/routes.txt", "Routes", "ip", "route", "show", "table", "all"),
		e.runs("network/rules.txt", "Rules that choose routes", "ip", "rule"),
		e.runs("network/neighbours.txt", "Neighbours", "ip", "neighbour"),
		e.runs("network/forwarding.txt", "Where the links of the pod network send packets", "bridge", "fdb"),
		e.runs("network/sockets.txt", "Who listens", "ss", "--listening", "--numeric", "--tcp", "--udp", "--processes"),
		nft, iptables, ip6tables,
		e.runs("network/firewalld.txt", "firewalld's zones", "firewall-cmd", "--list-all-zones"),
	}
}

func (e *Evidence) ofPackages() []Part {
	return []Part{
		{Name: "packages/dnf-history.txt", Title: "What dnf did", Limit: long, Room: little, Write: e.dnfHistory},
		e.runs("packages/installed.txt", "Packages, the newest first", "rpm", "-qa", "--last"),
		e.log("packages/dnf.rpm.log", "What dnf did to packages", "var/log/dnf.rpm.log", little),
	}
}

// dnfHistory asks dnf where it has a history, which it would begin otherwise, and gives
// it a place of its own for log and cache: nothing on the host changes.
func (e *Evidence) dnfHistory(ctx context.Context, w io.Writer) error {
	const history = "var/lib/dnf/history.sqlite"
	if len(e.found(history)) == 0 {
		return NoneHere("there is no /%s", history)
	}
	dir, remove, err := site.Scratch("support")
	if err != nil {
		return err
	}
	defer remove()
	return e.command(ctx, w, "dnf", "--cacheonly", "--noplugins", "--setopt=logdir="+dir, "--setopt=cachedir="+dir, "history", "list")
}

// runs is a part with what a command says.
func (e *Evidence) runs(file, title, name string, args ...string) Part {
	return Part{Name: file, Title: title, Limit: quick, Room: little, Write: func(ctx context.Context, w io.Writer) error {
		return e.command(ctx, w, name, args...)
	}}
}

func (e *Evidence) command(ctx context.Context, w io.Writer, name string, args ...string) error {
	out, err := e.Machine.Host.Run(ctx, host.Cmd{Name: name, Args: args, Stdout: w})
	if errors.Is(err, exec.ErrNotFound) {
		return NoneHere("there is no program %s", name)
	}
	_, writeErr := w.Write(out) // of a host that takes no heed of Stdout
	return errors.Join(err, writeErr)
}

// reads is a part with a file of the host.
func (e *Evidence) reads(file, title, from string) Part {
	return Part{Name: file, Title: title, Limit: quick, Room: little, Write: func(_ context.Context, w io.Writer) error {
		return e.read(w, from, 0)
	}}
}

// log is a part with the newest of a file of the host.
func (e *Evidence) log(file, title, from string, room int) Part {
	return Part{Name: file, Title: title, Limit: long, Room: room, Log: true, Midway: true, Write: func(_ context.Context, w io.Writer) error {
		return e.read(w, from, int64(room)+before)
	}}
}

// before, in bytes, is read of a log before the place where it is cut: a key that
// begins there is known for what it is.
const before = 64 << 10

// read gives the last bytes of a file, 0 for all of it. Anything that is no file would
// be waited for in vain.
func (e *Evidence) read(w io.Writer, name string, last int64) error {
	f, err := e.fs().Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return NoneHere("there is no /%s", name)
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
		return NoneHere("/%s is no file", name)
	}
	if from, can := f.(io.Seeker); can && last > 0 && info.Size() > last {
		if _, err := from.Seek(-last, io.SeekEnd); err != nil {
			return err
		}
	}
	_, err = io.Copy(w, f)
	return err
}

// found are the files of the host that fit the patterns, sorted, each once.
func (e *Evidence) found(patterns ...string) []string {
	var all []string
	for _, pattern := range patterns {
		names, _ := fs.Glob(e.fs(), pattern) // the patterns are ours
		all = append(all, names...)
	}
	all = slices.DeleteFunc(all, func(name string) bool {
		info, err := fs.Stat(e.fs(), name)
		return err != nil || !info.Mode().IsRegular()
	})
	slices.Sort(all)
	return slices.Compact(all)
}

// below is the name in the archive of a file of the host.
func below(dir, name string) string { return path.Join(dir, strings.ReplaceAll(name, ":", "_")) }
