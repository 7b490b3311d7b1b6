package kernel

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// CgroupRoot is where cgroups are mounted.
const CgroupRoot = "/sys/fs/cgroup"

// Hierarchies are the directories below CgroupRoot that one is mounted at: one a controller
// on cgroup v1, and beside them systemd's own and an empty v2 one. Where v2 is mounted at
// CgroupRoot itself there are none: what lies below is then the cgroups of this machine's services.
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

// bootWithV1 is what gives a machine with systemd both versions of cgroups.
const bootWithV1 = "boot with systemd.unified_cgroup_hierarchy=0 on the kernel's command line (on Debian: add it to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub, reboot)"

// mounted are the hierarchies of either version.
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

// is reports whether such a file system is mounted at dir.
func (m Machine) is(dir string, magic int64) bool {
	found, err := m.Magic(dir)
	return err == nil && found == magic
}

// lackingCgroups says what the servers would miss: their own systemd, runtime and
// kubelet want controllers, and who watches them wants v2.
func (m Machine) lackingCgroups() []string {
	var lacking []string
	for _, name := range []string{"cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids", "systemd"} {
		if !m.is(path.Join(CgroupRoot, name), unix.CGROUP_SUPER_MAGIC) {
			lacking = append(lacking, name)
		}
	}
	if len(lacking) > 0 {
		return []string{"cgroup v1 at " + CgroupRoot + "/… for " + strings.Join(lacking, ", ") + ": " + bootWithV1}
	}
	if all, err := m.mounted(); err != nil || !slices.ContainsFunc(all, func(dir string) bool { return m.is(dir, unix.CGROUP2_SUPER_MAGIC) }) {
		unified := CgroupRoot + "/unified"
		return []string{"cgroup v2 beside v1, by which programs are watched: mkdir " + unified + " && mount -t cgroup2 cgroup2 " + unified}
	}
	return nil
}
