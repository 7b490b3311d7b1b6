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

// Hierarchies returns the directories below CgroupRoot at which hierarchies are mounted: one for
// each controller of cgroup v1, systemd's own hierarchy, and an empty v2 hierarchy. If v2 is mounted
// at CgroupRoot, there are none: the directories below are the cgroups of this machine's services.
func (m Machine) Hierarchies() ([]string, error) {
	all, err := m.mounted()
	if err == nil && !slices.ContainsFunc(all, func(dir string) bool { return m.is(dir, unix.CGROUP_SUPER_MAGIC) }) {
		err = errors.New("find cgroup v1 hierarchies: none is mounted below " + CgroupRoot + "; " + bootWithV1)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// bootWithV1 is the instruction to get both versions of cgroups on a machine with systemd.
const bootWithV1 = "boot with systemd.unified_cgroup_hierarchy=0 on the kernel's command line (on Debian: add it to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub, reboot)"

// mounted returns the hierarchies of both versions.
func (m Machine) mounted() ([]string, error) {
	if m.is(CgroupRoot, unix.CGROUP2_SUPER_MAGIC) {
		return nil, nil
	}
	found, err := fs.Glob(m.Files, strings.TrimPrefix(CgroupRoot, "/")+"/*/cgroup.procs")
	var all []string
	for _, file := range found {
		if dir := "/" + path.Dir(file); m.is(dir, unix.CGROUP_SUPER_MAGIC) || m.is(dir, unix.CGROUP2_SUPER_MAGIC) {
			all = append(all, dir)
		}
	}
	return all, err
}

// is reports whether a file system of this type is mounted at dir.
func (m Machine) is(dir string, magic int64) bool {
	found, err := m.Magic(dir)
	return err == nil && found == magic
}

// missingCgroups returns a message for each missing part: the servers' systemd, runtime and
// kubelet need controllers, and Lab.Watch needs v2.
func (m Machine) missingCgroups() []string {
	var missing []string
	for _, name := range []string{"cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids", "systemd"} {
		if !m.is(path.Join(CgroupRoot, name), unix.CGROUP_SUPER_MAGIC) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return []string{"cgroup v1 at " + CgroupRoot + "/… for " + strings.Join(missing, ", ") + ": " + bootWithV1}
	}
	if all, err := m.mounted(); err != nil || !slices.ContainsFunc(all, func(dir string) bool { return m.is(dir, unix.CGROUP2_SUPER_MAGIC) }) {
		unified := CgroupRoot + "/unified"
		return []string{"cgroup v2 in addition to v1, to monitor programs: mkdir " + unified + " && mount -t cgroup2 cgroup2 " + unified}
	}
	return nil
}
