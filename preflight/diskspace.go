package preflight

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/facts"
)

const (
	megabyte = 1000 * 1000
	gigabyte = 1000 * megabyte
)

var kubeletFail = diskLimit("kubeletFail", always(10*gigabyte), "Least free space for the kubelet. Default 10GB.")

var kubeletWarn = diskLimit("kubeletWarn", always(30*gigabyte), "Free space for the kubelet below which the check warns. Default 30GB.")

var etcdFail = diskLimit("etcdFail", always(8*gigabyte), "Least free space for etcd on control-plane nodes. Default 8GB.")

var etcdWarn = diskLimit("etcdWarn", always(20*gigabyte), "Free space for etcd below which the check warns. Default 20GB.")

var imagesFail = diskLimit("imagesFail",
	func(w *Want) int64 { return 2*w.ImageBytes + 20*gigabyte },
	"Least free space for the runtime's images. Default 20GB plus twice the size of the bundle's images.")

var storeFail = diskLimit("storeFail",
	func(w *Want) int64 { return w.StoreBytes + w.StoreBytes/10 },
	"Least free space for the copy of the bundle on registry hosts. Default the size of the bundle plus 10%.")

var logsFail = diskLimit("logsFail", always(gigabyte), "Least free space for the logs of containers. Default 1GB.")

var logsWarn = diskLimit("logsWarn",
	func(w *Want) int64 { return max(w.LogBytes, gigabyte) },
	"Free space for the logs of containers below which the check warns. Default the kubelet's containerLogMaxSize times containerLogMaxFiles times maxPods.")

var usrFail = diskLimit("usrFail",
	func(w *Want) int64 { return 3*w.PackageBytes + 500*megabyte },
	"Least free space in /usr for packages. Default 500MB plus three times the size of the bundle's packages.")

var optFail = diskLimit("optFail", always(gigabyte), "Least free space in /opt for the programs of the runtime. Default 1GB.")

var rootFail = diskLimit("rootFail", always(500*megabyte), "Least free space in /, for /etc and files of the installation. Default 500MB.")

var usedFail = Limit{
	Check: "disk-space", Name: "usedFail", Unit: Percent, Default: always(80),
	About: "Used share of a file system above which the check fails. Default 80%.",
}

func diskLimit(name string, byDefault func(*Want) int64, about string) Limit {
	return Limit{Check: "disk-space", Name: name, Unit: Bytes, Default: byDefault, About: about}
}

var diskSpace = Check{
	ID: "disk-space", Title: "File systems have enough free space", Source: "replicatedhq/embedded-cluster; kubelet eviction",
	Breaks: "When a disk fills up, the kubelet evicts pods and deletes images, and etcd stops.",
	Limits: []Limit{kubeletFail, kubeletWarn, imagesFail, etcdFail, etcdWarn, storeFail, logsFail, logsWarn, usrFail, optFail, rootFail, usedFail},
	Needs:  []string{"filesystems"}, Run: judgeSpace,
}

// need is the free space, in bytes, that a path requires.
type need struct {
	path       string
	fail, warn int64
	user       string
	once       bool // only the installation needs the space
	minor      bool // it does not count on a file system with other needs, which are much larger
}

func (w *Want) space() []need {
	images := w.limit(imagesFail)
	needs := []need{
		{path: facts.KubeletPath, fail: w.limit(kubeletFail), warn: w.limit(kubeletWarn), user: "kubelet"},
		{path: w.imagesPath(), fail: images, warn: images, user: "images"},
	}
	if w.HasRole(ControlPlane) {
		needs = append(needs, need{path: facts.EtcdPath, fail: w.limit(etcdFail), warn: w.limit(etcdWarn), user: "etcd"})
		if w.AuditBytes > 0 {
			needs = append(needs, need{path: facts.LogPath, fail: w.AuditBytes, warn: w.AuditBytes, user: "audit log"})
		}
	}
	if w.Managed { // the kubelet, the images and etcd already use their space
		for i := range needs {
			needs[i].fail, needs[i].warn = 0, 0
		}
	}
	if w.StoreBytes > 0 {
		store := w.limit(storeFail)
		needs = append(needs, need{path: facts.StorePath, fail: store, warn: store, user: "bundle"})
	}
	if w.BackupBytes > 0 {
		needs = append(needs, need{path: facts.BackupPath, fail: w.BackupBytes, warn: w.BackupBytes, user: "etcd backup"})
	}
	logs := need{path: facts.LogPath, fail: w.limit(logsFail), warn: w.limit(logsWarn), user: "container logs", minor: true}
	if w.Managed {
		logs.fail, logs.warn = 0, 0
		return append(needs, logs)
	}
	return slices.Concat(needs, []need{logs}, w.installed())
}

// installed is the space that the files of the installation need. /usr may be a mount of its own.
func (w *Want) installed() []need {
	usr, root := w.limit(usrFail), w.limit(rootFail)
	needs := []need{{path: "/usr", fail: usr, warn: usr, user: "packages", once: true, minor: true}, {path: "/", fail: root, warn: root, user: "/etc", once: true, minor: true}}
	if w.RuntimePackage == "" {
		opt := w.limit(optFail)
		needs = append(needs, need{path: "/opt", fail: opt, warn: opt, user: "runtime", once: true, minor: true})
	}
	return needs
}

// Space is a path that the check disk-space requires free space for.
type Space struct {
	Path string // "/var/lib/kubelet"; it need not exist yet
	User string // the program or data that uses it: "kubelet"
}

// Spaces lists all paths that the cluster needs free space in, on a host with these roles, in the order
// of the check disk-space.
func Spaces(crio bool, roles ...Role) []Space {
	w := &Want{CRIO: crio, Roles: roles}
	if w.HasRole(ControlPlane) {
		w.AuditBytes, w.BackupBytes = 1, 1
	}
	if w.HasRole(Registry) {
		w.StoreBytes = 1
	}
	var all []Space
	for _, n := range w.space() {
		if !n.once {
			all = append(all, Space{n.path, n.user})
		}
	}
	return all
}

// imagesPath is the directory where the runtime unpacks images.
func (w *Want) imagesPath() string {
	if w.CRIO {
		return facts.CRIOPath
	}
	return facts.ContainerdPath
}

// demand adds up the needs of the paths on one device.
type demand struct {
	fs         facts.Filesystem
	fail, warn int64
	users      []string
	lasting    bool // the cluster writes there after the installation
	major      bool // a need that is not minor
}

func judgeSpace(f *facts.Facts, w *Want) Result {
	var unknown, short, full, tight, fine []string
	atMost := int(w.limit(usedFail))
	for _, d := range spaceDemands(f, w) {
		if d.fs.Unknown != "" {
			unknown = append(unknown, d.fs.Unknown)
			continue
		}
		have := fmt.Sprintf("%s free on %s (%s)", ui.Size(d.fs.Free), d.fs.Mount, strings.Join(d.users, ", "))
		used := usedPercent(d.fs)
		switch {
		case d.fs.Free < d.fail:
			short = append(short, fmt.Sprintf("%s, %s needed", have, ui.Size(d.fail)))
		case d.lasting && used > atMost:
			full = append(full, fmt.Sprintf("%s, %d %% used", have, used))
		case d.fs.Free < d.warn:
			tight = append(tight, fmt.Sprintf("%s, %s recommended", have, ui.Size(d.warn)))
		default:
			fine = append(fine, have)
		}
	}
	want := fmt.Sprintf("enough free space, and at most %d %% used: the kubelet evicts pods when a disk is full", atMost)
	fix := "grow the file system, or mount a larger one there"
	if bad := append(short, full...); len(bad) > 0 {
		return Result{Fail, strings.Join(bad, "; "), want, fix}
	}
	if len(unknown) > 0 {
		return unknownSpace(unknown, want)
	}
	if len(tight) > 0 {
		return Result{Warn, strings.Join(tight, "; "), want, fix}
	}
	return pass("%s", strings.Join(fine, "; "))
}

// spaceDemands leaves out minor needs where the kubelet, images, etcd or bundles need much more space.
func spaceDemands(f *facts.Facts, w *Want) []*demand {
	var demands []*demand
	for _, n := range w.space() { // minor needs come last
		fsys := f.Filesystem(n.path)
		i := slices.IndexFunc(demands, func(d *demand) bool { return d.fs.Device == fsys.Device })
		if i < 0 {
			i = len(demands)
			demands = append(demands, &demand{fs: fsys})
		}
		d := demands[i]
		if n.minor && d.major {
			continue
		}
		d.fail += n.fail
		d.warn += n.warn
		d.users = append(d.users, n.user)
		d.lasting = d.lasting || !n.once
		d.major = d.major || !n.minor && n.path != facts.LogPath
	}
	return demands
}

// usedPercent is the share of the file system that is not available, including root's reserve
// and quotas, as the kubelet computes it. The kubelet evicts pods and deletes images if less
// than 15 % is available (imagefs.available).
func usedPercent(fsys facts.Filesystem) int {
	if fsys.Size <= 0 {
		return 0
	}
	return int(100 - float64(fsys.Free)/float64(fsys.Size)*100)
}
