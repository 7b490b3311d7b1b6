package preflight

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/ui"
)

const (
	megabyte = 1000 * 1000
	gigabyte = 1000 * megabyte
)

var kubeletFail = diskLimit("kubeletFail", always(10*gigabyte), "Free space the kubelet must have. Default 10GB.")
var kubeletWarn = diskLimit("kubeletWarn", always(30*gigabyte), "Free space for the kubelet below which there is a warning. Default 30GB.")
var etcdFail = diskLimit("etcdFail", always(8*gigabyte), "Free space etcd must have on control-plane nodes. Default 8GB.")
var etcdWarn = diskLimit("etcdWarn", always(20*gigabyte), "Free space for etcd below which there is a warning. Default 20GB.")

var imagesFail = diskLimit("imagesFail",
	func(w *Want) int64 { return 2*w.ImageBytes + 20*gigabyte },
	"Free space the runtime must have for images. Default 20GB and twice the images of the bundle.")

var storeFail = diskLimit("storeFail",
	func(w *Want) int64 { return w.StoreBytes + w.StoreBytes/10 },
	"Free space the bundle's copy must have on registry hosts. Default the bundle and a tenth of it.")

var usedFail = Limit{
	Check: "disk-space", Name: "usedFail", Unit: Percent, Default: always(80),
	About: "Share in use above which a file system fails. Default 80%.",
}

func diskLimit(name string, byDefault func(*Want) int64, about string) Limit {
	return Limit{Check: "disk-space", Name: name, Unit: Bytes, Default: byDefault, About: about}
}

var diskSpace = Check{
	ID: "disk-space", Title: "Disk space", Source: "replicatedhq/embedded-cluster; kubelet eviction",
	Breaks: "When a disk fills up the kubelet evicts pods and deletes images, and etcd stops.",
	Limits: []Limit{kubeletFail, kubeletWarn, imagesFail, etcdFail, etcdWarn, storeFail, usedFail},
	Needs:  []string{"filesystems"}, Run: judgeSpace,
}

// need is the free space, in bytes, that a path has to offer.
type need struct {
	path       string
	fail, warn int64
	user       string
}

func (w *Want) space() []need {
	images := w.limit(imagesFail)
	needs := []need{
		{kubeletPath, w.limit(kubeletFail), w.limit(kubeletWarn), "kubelet"},
		{w.imagesPath(), images, images, "images"},
	}
	if w.Is(ControlPlane) {
		needs = append(needs, need{etcdPath, w.limit(etcdFail), w.limit(etcdWarn), "etcd"})
		if w.AuditBytes > 0 {
			needs = append(needs, need{logPath, w.AuditBytes, w.AuditBytes, "audit log"})
		}
	}
	if w.Ours { // they have taken what they need
		for i := range needs {
			needs[i].fail, needs[i].warn = 0, 0
		}
	}
	if w.StoreBytes > 0 {
		store := w.limit(storeFail)
		needs = append(needs, need{storePath, store, store, "bundle"})
	}
	if w.BackupBytes > 0 {
		needs = append(needs, need{backupPath, w.BackupBytes, w.BackupBytes, "etcd's backup"})
	}
	return needs
}

// Space is a path whose file system disk-space asks for free space.
type Space struct {
	Path string // "/var/lib/kubelet"; it need not exist yet
	User string // who writes there: "kubelet"
}

// Spaces are all that disk-space ever asks for on a host with these roles, in the check's order.
func Spaces(crio bool, roles ...Role) []Space {
	w := &Want{CRIO: crio, Roles: roles}
	if w.Is(ControlPlane) {
		w.AuditBytes, w.BackupBytes = 1, 1
	}
	if w.Is(Registry) {
		w.StoreBytes = 1
	}
	var all []Space
	for _, n := range w.space() {
		all = append(all, Space{n.path, n.user})
	}
	return all
}

// imagesPath is where the runtime unpacks images.
func (w *Want) imagesPath() string {
	if w.CRIO {
		return crioPath
	}
	return containerdPath
}

// demand adds up what the paths on one device need.
type demand struct {
	fs         Filesystem
	fail, warn int64
	users      []string
}

func judgeSpace(f *Facts, w *Want) Result {
	var short, full, tight, fine []string
	atMost := int(w.limit(usedFail))
	for _, d := range f.demands(w) {
		have := fmt.Sprintf("%s free on %s (%s)", ui.Size(d.fs.Free), d.fs.Mount, strings.Join(d.users, ", "))
		used := usedPercent(d.fs)
		switch {
		case d.fs.Free < d.fail:
			short = append(short, fmt.Sprintf("%s, %s needed", have, ui.Size(d.fail)))
		case used > atMost:
			full = append(full, fmt.Sprintf("%s, %d %% used", have, used))
		case d.fs.Free < d.warn:
			tight = append(tight, fmt.Sprintf("%s, %s recommended", have, ui.Size(d.warn)))
		default:
			fine = append(fine, have)
		}
	}
	want := fmt.Sprintf("enough space, and no more than %d %% used: the kubelet evicts pods from full disks", atMost)
	fix := "grow the file system, or mount a bigger one there"
	if bad := append(short, full...); len(bad) > 0 {
		return Result{Fail, strings.Join(bad, "; "), want, fix}
	}
	if len(tight) > 0 {
		return Result{Warn, strings.Join(tight, "; "), want, fix}
	}
	return pass("%s", strings.Join(fine, "; "))
}

func (f *Facts) demands(w *Want) []*demand {
	var demands []*demand
	for _, n := range w.space() {
		fsys := f.filesystem(n.path)
		i := slices.IndexFunc(demands, func(d *demand) bool { return d.fs.Device == fsys.Device })
		if i < 0 {
			i = len(demands)
			demands = append(demands, &demand{fs: fsys})
		}
		d := demands[i]
		d.fail += n.fail
		d.warn += n.warn
		d.users = append(d.users, n.user)
	}
	return demands
}

// usedPercent is what the kubelet counts: the share of the whole file system
// that is not available, root's reserve and a quota included. It evicts pods
// and deletes images when less than 15 % is (imagefs.available).
func usedPercent(fsys Filesystem) int {
	if fsys.Size <= 0 {
		return 0
	}
	return int(100 - float64(fsys.Free)/float64(fsys.Size)*100)
}
