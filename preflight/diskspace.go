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
	Limits: []Limit{kubeletFail, kubeletWarn, imagesFail, etcdFail, etcdWarn, storeFail, usedFail},
	Needs:  []string{"filesystems"}, Run: judgeSpace,
}

// need is the free space, in bytes, that a path requires.
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
	if w.HasRole(ControlPlane) {
		needs = append(needs, need{etcdPath, w.limit(etcdFail), w.limit(etcdWarn), "etcd"})
		if w.AuditBytes > 0 {
			needs = append(needs, need{logPath, w.AuditBytes, w.AuditBytes, "audit log"})
		}
	}
	if w.Managed { // the kubelet, the images and etcd already use their space
		for i := range needs {
			needs[i].fail, needs[i].warn = 0, 0
		}
	}
	if w.StoreBytes > 0 {
		store := w.limit(storeFail)
		needs = append(needs, need{storePath, store, store, "bundle"})
	}
	if w.BackupBytes > 0 {
		needs = append(needs, need{backupPath, w.BackupBytes, w.BackupBytes, "etcd backup"})
	}
	return needs
}

// Space is a path that the check disk-space requires free space for.
type Space struct {
	Path string // "/var/lib/kubelet"; it need not exist yet
	User string // the program or data that uses it: "kubelet"
}

// Spaces lists all paths that disk-space can check on a host with these roles, in the check's order.
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
		all = append(all, Space{n.path, n.user})
	}
	return all
}

// imagesPath is the directory where the runtime unpacks images.
func (w *Want) imagesPath() string {
	if w.CRIO {
		return crioPath
	}
	return containerdPath
}

// demand adds up the needs of the paths on one device.
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
	want := fmt.Sprintf("enough free space, and at most %d %% used: the kubelet evicts pods when a disk is full", atMost)
	fix := "grow the file system, or mount a larger one there"
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

// usedPercent is the share of the file system that is not available, including root's reserve
// and quotas, as the kubelet computes it. The kubelet evicts pods and deletes images if less
// than 15 % is available (imagefs.available).
func usedPercent(fsys Filesystem) int {
	if fsys.Size <= 0 {
		return 0
	}
	return int(100 - float64(fsys.Free)/float64(fsys.Size)*100)
}
