package preflight

import (
	"testing"

	"airgap.dev/airgap/preflight/facts"
)

// volume is a host with one more file system, and the line of fstab for it.
func volume(mount, source string, lines ...facts.BootMount) *facts.Facts {
	f := &facts.Facts{Filesystems: []facts.Filesystem{{Path: "/", Mount: "/", Device: "8:1"}, {Path: mount, Mount: mount, Device: "8:17", Source: source, Disk: facts.KernelName(nil, source)}}}
	for i, m := range lines {
		lines[i].Device = facts.KernelName(nil, m.Spec)
	}
	f.BootMounts = facts.BootMounts{Mounts: lines}
	return f
}

func line(spec, mount string, options ...string) facts.BootMount {
	return facts.BootMount{FstabEntry: facts.FstabEntry{File: "/etc/fstab", Line: 7, Spec: spec, Mount: mount, Type: "xfs", Options: options}}
}

func TestBootMounts(t *testing.T) {
	cp := Want{Roles: []Role{ControlPlane}}
	gone := line("UUID=1", "/var/lib/etcd", "nofail")
	gone.Missing = true
	later, optional := line("UUID=1", "/var/lib/etcd"), line("UUID=1", "/var/lib/etcd")
	later.Later, optional.Optional, later.Unit, optional.Unit = true, true, true, true
	linked := volume("/data", "/dev/sdb1")
	linked.Targets = []facts.Target{{Path: facts.EtcdPath, Target: "/data/etcd"}}
	linked.Filesystems = append(linked.Filesystems, facts.Filesystem{Path: facts.EtcdPath, Mount: "/data", Source: "/dev/sdb1"})
	parent := volume("/var/lib/etcd", "/dev/sdb1", line("UUID=9", "/var"))
	container := volume("/var/lib/etcd", "/dev/sdb1")
	container.BootMounts.Container = "systemd-nspawn"
	nfs := volume("/var/lib/etcd", "nas:/e", line("nas:/e", "/var/lib/etcd"))
	nfs.Filesystems[1].Type = "nfs4"
	runChecks(t, []checkTest{
		{"all on the root disk", bootMounts, volume("/", "/dev/sda1"), cp, Pass, "the same"},
		{"in fstab", bootMounts, volume("/var/lib/etcd", "/dev/mapper/a-b", line("/dev/a/b", "/var/lib/etcd", "defaults")), cp, Pass, "the same"},
		{"mounted by hand", bootMounts, volume("/var/lib/etcd", "/dev/sdb1"), cp, Fail, "/var/lib/etcd is on /dev/sdb1, mounted at /var/lib/etcd, and neither"},
		{"a worker has no etcd", bootMounts, volume("/var/lib/etcd", "/dev/sdb1"), Want{}, Pass, "the same"},
		{"behind a link, by hand", bootMounts, linked, cp, Fail, "/var/lib/etcd is on /dev/sdb1, mounted at /data"},
		{"only its parent at boot", bootMounts, parent, cp, Fail, "only /etc/fstab:7 mounts /var at the next boot"},
		{"in fstab, not mounted now", bootMounts, volume("/", "/dev/sda1", line("UUID=1", "/var/lib/etcd", "noauto")), cp, Fail, "it is not mounted now"},
		{"another disk", bootMounts, volume("/var/lib/etcd", "/dev/sdb1", line("/dev/sdc1", "/var/lib/etcd")), cp, Fail, "now /dev/sdb1 is mounted there"},
		{"a UUID of no disk", bootMounts, volume("/var/lib/etcd", "/dev/sdb1", gone), cp, Fail, "no disk of this host has that name"},
		{"nofail", bootMounts, volume("/var/lib/etcd", "/dev/dm-1", line("UUID=1", "/var/lib/etcd", "nofail", "noauto")), cp, Warn, "/etc/fstab:7 mounts /var/lib/etcd with nofail, noauto"},
		{"an automount", bootMounts, volume("/var", "/dev/dm-1", line("UUID=1", "/var", "x-systemd.automount")), cp, Warn, "with x-systemd.automount"},
		{"iSCSI", bootMounts, volume("/var/lib/etcd", "/dev/dm-1", line("UUID=1", "/var/lib/etcd", "_netdev")), cp, Warn, "_netdev"},
		{"NFS without _netdev", bootMounts, nfs, cp, Warn, "a network file system"},
		{"a name that changes", bootMounts, volume("/var/lib/etcd", "/dev/sdb1", line("/dev/sdb1", "/var/lib/etcd")), cp, Warn, "/dev/sdb1 can be another disk after a boot"},
		{"a unit that no target starts", bootMounts, volume("/var/lib/etcd", "/dev/dm-1", later), cp, Warn, "no target that starts the unit"},
		{"a unit that multi-user.target wants", bootMounts, volume("/var/lib/etcd", "/dev/dm-1", optional), cp, Warn, "no target that needs the unit"},
		{"a container", bootMounts, container, cp, Skip, "systemd-nspawn"},
		{"an old survey", bootMounts, &facts.Facts{Surveyed: []string{"filesystems", "targets"}, Filesystems: parent.Filesystems}, cp, Skip, "older airgap"},
		{"unread fstab", bootMounts, &facts.Facts{Unknown: []facts.Unknown{{Fact: "bootMounts", Reason: "open etc/fstab: permission denied"}}}, cp, Error, "permission denied"},

		{"no link", dataLinks, &facts.Facts{Targets: []facts.Target{{Path: "/tmp", Target: "/scratch"}}}, cp, Pass, "none"},
		{"the kubelet's", dataLinks, &facts.Facts{Targets: []facts.Target{{Path: facts.KubeletPath, Target: "/data/kubelet"}}}, cp, Fail, "/var/lib/kubelet is /data/kubelet"},
		{"the runtime's", dataLinks, &facts.Facts{Targets: []facts.Target{{Path: facts.ContainerdPath, Target: "/data/c"}}}, cp, Warn, "/var/lib/containerd is /data/c"},
		{"links unread", dataLinks, &facts.Facts{Unknown: []facts.Unknown{{Fact: "targets", Reason: "realpath: deadline exceeded"}}}, cp, Error, "deadline"},
	})
}

func TestDirectories(t *testing.T) {
	dirs := func(list ...facts.Directory) *facts.Facts {
		return &facts.Facts{Directories: list, Security: facts.Security{SELinux: "enforcing"}, Packages: []facts.Package{{Name: "container-selinux"}}}
	}
	registry := Want{Roles: []Role{Registry, ControlPlane}}
	usual := facts.Directory{Path: "/var", Mode: "drwxr-xr-x.", Label: "system_u:object_r:var_t:s0"}
	runChecks(t, []checkTest{
		{"open", parentDirs, dirs(usual), registry, Pass, "all users"},
		{"sticky", parentDirs, dirs(facts.Directory{Path: "/var", Mode: "drwxrwxrwt"}), registry, Pass, "all users"},
		{"closed", parentDirs, dirs(facts.Directory{Path: "/var", Mode: "drwxr-x---.", Owner: "root", Group: "root"}), registry, Fail, "/var is drwxr-x---. root:root"},
		{"sticky without x", parentDirs, dirs(facts.Directory{Path: "/var", Mode: "drwxrwxrwT."}), registry, Fail, "/var"},
		{"closed, with an ACL", parentDirs, dirs(facts.Directory{Path: "/var/lib", Mode: "drwxr-x---+"}), registry, Warn, "with an ACL"},
		{"airgap's own", parentDirs, dirs(facts.Directory{Path: "/var/lib/airgap", Mode: "drwxr-x---", Group: "airgap"}), registry, Pass, "all users"},
		{"no registry", parentDirs, dirs(facts.Directory{Path: "/var", Mode: "drwx------"}), Want{}, Skip, "no role"},
		{"labels", selinux, dirs(usual), registry, Pass, "enforcing, with"},
		{"a new disk", selinux, dirs(facts.Directory{Path: facts.EtcdPath, Label: "system_u:object_r:unlabeled_t:s0"}), registry, Fail, "/var/lib/etcd is system_u:object_r:unlabeled_t:s0"},
		{"below a new disk", selinux, dirs(facts.Directory{Path: "/var/lib", Label: "system_u:object_r:unlabeled_t:s0"}), registry, Fail, "/var/lib is"},
		{"a foreign parent", selinux, dirs(facts.Directory{Path: "/var/lib", Label: "system_u:object_r:default_t:s0"}), registry, Pass, ""},
		{"permissive", selinux, &facts.Facts{Security: facts.Security{SELinux: "permissive"}, Directories: []facts.Directory{{Path: facts.EtcdPath, Label: "a:b:unlabeled_t:s0"}}}, registry, Pass,
			"permissive"},
	})
}

func TestSpaceOfVolumes(t *testing.T) {
	fsys := func(path string, size, free int64) facts.Filesystem {
		return facts.Filesystem{Path: path, Mount: path, Device: path, Size: size * gigabyte, Free: free * gigabyte}
	}
	disks := func(more ...facts.Filesystem) *facts.Facts {
		return &facts.Facts{Filesystems: append([]facts.Filesystem{fsys("/", 400, 300)}, more...)}
	}
	xfsOf := func(all ...facts.XFS) *facts.Facts {
		return &facts.Facts{Filesystems: []facts.Filesystem{{Path: "/", Device: "8:1", Type: "xfs"}}, XFS: all}
	}
	stale := facts.Filesystem{Path: facts.EtcdPath, Mount: facts.EtcdPath, Device: "0:60", Unknown: "/var/lib/etcd: df: Stale file handle"}
	busy := Want{LogBytes: 6 * gigabyte, PackageBytes: gigabyte}
	runChecks(t, []checkTest{
		{"a small /var/log", diskSpace, disks(facts.Filesystem{Path: facts.LogPath, Mount: facts.LogPath, Device: "l", Size: gigabyte, Free: gigabyte - 1}), busy, Fail,
			"free on /var/log (container logs), 1.0 GB needed"},
		{"logs of all pods", diskSpace, disks(fsys(facts.LogPath, 4, 4)), busy, Warn, "4.0 GB free on /var/log (container logs), 6.0 GB recommended"},
		{"fewer logs at this site", diskSpace, disks(fsys(facts.LogPath, 4, 4)), Want{LogBytes: 6 * gigabyte, Site: site("disk-space", "logsWarn", "2GB")}, Pass, "/var/log"},
		{"a full /usr", diskSpace, disks(fsys("/usr", 10, 3)), busy, Fail, "3.0 GB free on /usr (packages), 3.5 GB needed"},
		{"/usr is used to 90 percent", diskSpace, disks(fsys("/usr", 100, 10)), busy, Pass, "10.0 GB free on /usr"},
		{"a full /opt", diskSpace, disks(fsys("/opt", 10, 0)), busy, Fail, "free on /opt (runtime)"},
		{"the runtime is a package", diskSpace, disks(fsys("/opt", 10, 0)), Want{RuntimePackage: "containerd.io"}, Pass, ""},
		{"installed already", diskSpace, disks(fsys("/opt", 10, 0), fsys("/usr", 10, 0)), Want{Managed: true}, Pass, ""},
		{"no answer for etcd", diskSpace, disks(stale), Want{Roles: []Role{ControlPlane}}, Error, "/var/lib/etcd: df: Stale file handle"},
		{"no answer for another path", diskSpace, disks(stale), Want{}, Pass, ""},
		{"no answer, and no space", diskSpace, disks(stale, fsys("/opt", 1, 0)), Want{Roles: []Role{ControlPlane}}, Fail, "/opt"},
		{"no inodes of etcd", inodes, disks(stale), Want{Roles: []Role{ControlPlane}}, Error, "Stale"},
		{"the type is known", fsType, disks(stale), Want{Roles: []Role{ControlPlane}}, Pass, ""},

		{"xfs_info fails for another disk", xfsType, xfsOf(facts.XFS{Device: "8:9", Unknown: "xfs_info: I/O error"}, facts.XFS{Device: "8:1", Ftype: true}), Want{}, Pass, "ftype=1"},
		{"xfs_info fails for this disk", xfsType, xfsOf(facts.XFS{Device: "8:1", Unknown: "xfs_info: I/O error"}), Want{}, Error, "I/O error"},
		{"read-only /usr", mountNoexec, disks(facts.Filesystem{Path: "/usr", Mount: "/usr", Options: []string{"ro"}}), Want{}, Fail, "read-only: /usr (/usr)"},
		{"read-only /usr/local", mountNoexec, disks(facts.Filesystem{Path: "/usr/local", Mount: "/usr/local", Options: []string{"nodev", "ro"}}), Want{}, Fail, "/usr/local"},

		{"no multipathd", multipath, &facts.Facts{Multipath: facts.Multipath{Single: []string{"sdb"}}}, Want{}, Pass, "not active"},
		{"multipathd of a SAN", multipath, &facts.Facts{Units: []facts.Unit{{Name: "multipathd.service", State: "active", Enabled: "enabled"}}}, Want{}, Pass, "several paths"},
		{"it takes all disks", multipath,
			&facts.Facts{Units: []facts.Unit{{Name: "multipathd.service", State: "inactive", Enabled: "enabled"}}, Multipath: facts.Multipath{FindMultipaths: "greedy", At: "/etc/multipath.conf:3"}},
			Want{}, Warn, "/etc/multipath.conf:3"},
		{"it has the disk of etcd", multipath,
			&facts.Facts{Units: []facts.Unit{{Name: "multipathd.service", State: "active", Enabled: "enabled"}}, Multipath: facts.Multipath{Single: []string{"sdb"}},
				BootMounts: facts.BootMounts{Mounts: []facts.BootMount{line("/dev/sdb1", facts.EtcdPath)}}},
			Want{Roles: []Role{ControlPlane}}, Fail, "/etc/fstab:7 mounts /dev/sdb1"},
	})
}

// TestOnDisk: the name of a disk can begin the name of another one.
func TestOnDisk(t *testing.T) {
	for _, test := range []struct {
		device, disk string
		want         bool
	}{
		{"sdb", "sdb", true}, {"sdb1", "sdb", true}, {"sdbc", "sdb", false}, {"sdbc1", "sdb", false}, {"sdb1", "sdb1", true}, {"sdb12", "sdb1", false},
		{"nvme0n1p2", "nvme0n1", true}, {"nvme0n12", "nvme0n1", false}, {"nvme0n1p", "nvme0n1", false}, {"dm-10", "dm-1", false}, {"dm-1", "dm-1", true},
		{"mmcblk0p1", "mmcblk0", true}, {"", "sdb", false}, {"sdb", "", false},
	} {
		if got := onDisk(test.device, test.disk); got != test.want {
			t.Errorf("%q on %q: %t", test.device, test.disk, got)
		}
	}
}
