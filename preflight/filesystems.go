package preflight

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// EtcdDir is etcd's data directory.
const EtcdDir = "/var/lib/etcd"

// Surveyed paths that the cluster writes to.
const (
	storePath      = "/var/lib/airgap/store"
	backupPath     = "/var/lib/airgap/upgrade" // etcd backups, before an upgrade
	kubeletPath    = "/var/lib/kubelet"
	containerdPath = "/var/lib/containerd"
	crioPath       = "/var/lib/crio"
	etcdPath       = EtcdDir
	logPath        = "/var/log" // a separate file system on hardened hosts
)

// Filesystem is the file system of a path, or of its nearest existing parent.
type Filesystem struct {
	Path    string   `yaml:"path" json:"path"`
	Mount   string   `yaml:"mount" json:"mount"`
	Device  string   `yaml:"device" json:"device"` // major:minor; paths on one device share its space
	Type    string   `yaml:"type" json:"type"`
	Options []string `yaml:"options,flow" json:"options"`
	Size    int64    `yaml:"size" json:"size"`
	Used    int64    `yaml:"used" json:"used"`
	Free    int64    `yaml:"free" json:"free"` // without root's reserve
	// Inodes is 0 if the file system allocates inodes on demand.
	Inodes     int64 `yaml:"inodes,omitempty" json:"inodes,omitempty"`
	InodesFree int64 `yaml:"inodesFree,omitempty" json:"inodesFree,omitempty"`
}

// surveyedPaths are the paths that the cluster writes to or runs programs from.
func surveyedPaths() []string {
	return []string{"/", "/var", "/var/lib", storePath, backupPath, kubeletPath, containerdPath, crioPath, etcdPath, logPath, "/opt", "/usr/local", "/tmp", "/var/tmp"}
}

func readFilesystems(ctx context.Context, r reader, f *Facts) error {
	mounts, err := readMounts(r)
	if err != nil {
		return err
	}
	var existing []string
	for _, p := range surveyedPaths() {
		existing = append(existing, r.nearest(p))
	}
	asked := slices.Compact(slices.Sorted(slices.Values(existing)))
	out, err := r.output(ctx, "df", append([]string{"--block-size=1", "--output=size,used,avail,itotal,iavail,file", "--"}, asked...)...)
	if err != nil {
		return err
	}
	spaces, err := parseSpaces(out)
	if err != nil {
		return err
	}
	for i, p := range surveyedPaths() {
		m, ok := mountOf(mounts, existing[i])
		space, measured := spaces[existing[i]]
		if !ok || !measured {
			return fmt.Errorf("find the file system of %s", p)
		}
		f.Filesystems = append(f.Filesystems, Filesystem{p, m.point, m.device, m.fsType, m.options, space.size, space.used, space.free, space.inodes, space.inodesFree})
	}
	return nil
}

// nearest is the path, or its nearest existing parent.
func (r reader) nearest(p string) string {
	for p != "/" && !r.exists(strings.TrimPrefix(p, "/")) {
		p = path.Dir(p)
	}
	return p
}

type space struct{ size, used, free, inodes, inodesFree int64 }

// parseSpaces reads df's columns size, used, avail, itotal, iavail and file, by file.
func parseSpaces(text string) (map[string]space, error) {
	spaces := map[string]space{}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		if i == 0 { // the heading
			continue
		}
		if len(words) != 6 {
			return nil, fmt.Errorf("parse the output of df: %q", line)
		}
		var numbers [5]int64
		for n := range numbers {
			if words[n] == "-" { // the file system does not report it
				continue
			}
			var err error
			if numbers[n], err = strconv.ParseInt(words[n], 10, 64); err != nil {
				return nil, fmt.Errorf("parse the output of df: %w", err)
			}
		}
		spaces[words[5]] = space{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]}
	}
	return spaces, nil
}

// filesystem is the file system of a path, or of its nearest surveyed parent.
func (f *Facts) filesystem(p string) Filesystem {
	var best Filesystem
	for _, fsys := range f.Filesystems {
		if within(p, fsys.Path) && len(fsys.Path) > len(best.Path) {
			best = fsys
		}
	}
	return best
}
