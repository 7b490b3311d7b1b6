package kernel

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// CgroupRoot is the directory in which cgroups are mounted.
const CgroupRoot = "/sys/fs/cgroup"

// Unified reports whether this machine has only cgroup v2, as every current distribution by default.
func (m Machine) Unified() bool { return m.is(CgroupRoot, unix.CGROUP2_SUPER_MAGIC) }

// Hierarchies returns the mount points of cgroups. With cgroup v2 only, this is CgroupRoot. With both versions, there is
// one below it for each controller of v1, one of systemd, and one of v2.
func (m Machine) Hierarchies() ([]string, error) {
	if m.Unified() {
		return []string{CgroupRoot}, nil
	}
	found, err := fs.Glob(m.Files, strings.TrimPrefix(CgroupRoot, "/")+"/*/cgroup.procs")
	var all []string
	for _, file := range found {
		if dir := "/" + path.Dir(file); m.is(dir, unix.CGROUP_SUPER_MAGIC) || m.is(dir, unix.CGROUP2_SUPER_MAGIC) {
			all = append(all, dir)
		}
	}
	if err == nil && len(all) == 0 {
		err = errors.New("find cgroups: none is mounted at " + CgroupRoot + "; " + mountV2)
	}
	return all, err
}

const mountV2 = "mount -t cgroup2 cgroup2 " + CgroupRoot + ", or boot with systemd, which does so"

// is reports whether a file system of this type is mounted at dir.
func (m Machine) is(dir string, magic int64) bool {
	found, err := m.Magic(dir)
	return err == nil && found == magic
}

// missingCgroups returns a message for each missing part: the servers' systemd, runtime and
// kubelet need controllers, and Lab.Watch needs v2.
func (m Machine) missingCgroups() []string {
	if m.Unified() {
		return m.missingV2()
	}
	all, err := m.Hierarchies()
	if err != nil {
		return []string{err.Error()}
	}
	missing := slices.DeleteFunc([]string{"cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids", "systemd"}, func(name string) bool {
		return m.is(path.Join(CgroupRoot, name), unix.CGROUP_SUPER_MAGIC)
	})
	if len(missing) > 0 {
		return []string{"cgroup v1 at " + CgroupRoot + "/… for " + strings.Join(missing, ", ") + ", next to other controllers of v1: boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line"}
	}
	if !slices.ContainsFunc(all, func(dir string) bool { return m.is(dir, unix.CGROUP2_SUPER_MAGIC) }) {
		unified := CgroupRoot + "/unified"
		return []string{"cgroup v2 in addition to v1, to monitor programs: mkdir " + unified + " && mount -t cgroup2 cgroup2 " + unified}
	}
	return nil
}

// missingV2 returns a message for controllers that cgroup v2 does not offer.
func (m Machine) missingV2() []string {
	offered, err := fs.ReadFile(m.Files, strings.TrimPrefix(CgroupRoot, "/")+"/cgroup.controllers")
	if err != nil {
		return []string{"the controllers of cgroup v2: " + err.Error()}
	}
	missing := slices.DeleteFunc([]string{"cpu", "cpuset", "io", "memory", "pids"}, func(name string) bool {
		return slices.Contains(strings.Fields(string(offered)), name)
	})
	if len(missing) > 0 {
		return []string{"cgroup v2 with the controllers " + strings.Join(missing, ", ") + ": remove cgroup_disable from the kernel's command line, and mounts of cgroup v1"}
	}
	return nil
}
