package facts

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// EtcdDir is etcd's data directory.
const EtcdDir = "/var/lib/etcd"

// Surveyed paths that the cluster writes to.
const (
	StorePath      = "/var/lib/airgap/store"
	BackupPath     = "/var/lib/airgap/upgrade" // etcd backups, before an upgrade
	KubeletPath    = "/var/lib/kubelet"
	ContainerdPath = "/var/lib/containerd"
	CRIOPath       = "/var/lib/crio"
	EtcdPath       = EtcdDir
	LogPath        = "/var/log" // a separate file system on hardened hosts
)

// Filesystem is the file system of a path, or of its nearest existing parent.
type Filesystem struct {
	Path    string   `yaml:"path" json:"path"`
	Mount   string   `yaml:"mount" json:"mount"`
	Device  string   `yaml:"device" json:"device"` // major:minor; paths on one device share its space
	Type    string   `yaml:"type" json:"type"`
	Options []string `yaml:"options,flow" json:"options"`
	Source  string   `yaml:"source,omitempty" json:"source,omitempty"` // "/dev/mapper/rl-var"
	Disk    string   `yaml:"disk,omitempty" json:"disk,omitempty"`     // the kernel's name of the source, "dm-3"; "" if unknown
	// Unknown is why the sizes are not known: the file system does not answer.
	Unknown string `yaml:"unknown,omitempty" json:"unknown,omitempty"`
	Size    int64  `yaml:"size" json:"size"`
	Used    int64  `yaml:"used" json:"used"`
	Free    int64  `yaml:"free" json:"free"` // without root's reserve
	// Inodes is 0 if the file system allocates inodes on demand.
	Inodes     int64 `yaml:"inodes,omitempty" json:"inodes,omitempty"`
	InodesFree int64 `yaml:"inodesFree,omitempty" json:"inodesFree,omitempty"`
}

// surveyedPaths are the paths that the cluster or the installation writes to or runs programs from.
func surveyedPaths() []string {
	return []string{"/", "/var", "/var/lib", StorePath, BackupPath, KubeletPath, ContainerdPath, CRIOPath, EtcdPath, LogPath, "/opt", "/usr", "/usr/local", "/tmp", "/var/tmp"}
}

// dfLimit is the time for the answer of one file system: a server of NFS that is gone never answers.
const dfLimit = 5 * time.Second

// readFilesystems asks each file system separately: one without an answer leaves the others known.
func readFilesystems(ctx context.Context, r reader, f *Facts) error {
	mounts, err := readMounts(r)
	if err != nil {
		return err
	}
	targets, _ := r.targets(ctx, mounts) // the probe targets reports the error
	names, _ := r.diskNames(ctx)         // the probe bootMounts reports the error
	var asked []string
	for _, p := range surveyedPaths() {
		asked = append(asked, r.nearest(mounts, cmp.Or(targets[p], p)))
	}
	spaces := r.spaces(ctx, asked)
	for i, p := range surveyedPaths() {
		m, ok := mountOf(mounts, asked[i])
		if !ok {
			return fmt.Errorf("find the file system of %s", p)
		}
		s := spaces[asked[i]]
		f.Filesystems = append(f.Filesystems, Filesystem{
			Path: p, Mount: m.point, Device: m.device, Type: m.fsType, Options: m.options, Source: m.source, Disk: KernelName(names, m.source), Unknown: s.unknown,
			Size: s.size, Used: s.used, Free: s.free, Inodes: s.inodes, InodesFree: s.inodesFree,
		})
	}
	return nil
}

// remoteTypes are file systems that another computer or a program of a user answers for. They begin
// the type's name: "nfs4", "fuse.sshfs".
func remoteTypes() []string {
	return []string{"nfs", "cifs", "smb", "ceph", "glusterfs", "gpfs", "lustre", "afs", "9p", "fuse", "autofs"}
}

func remote(fsType string) bool {
	return slices.ContainsFunc(remoteTypes(), func(prefix string) bool { return strings.HasPrefix(fsType, prefix) })
}

// nearest is the path, or its nearest existing parent. A mount point exists without a look at it, and
// the path is not looked for below a file system of another computer, which may never answer.
func (r reader) nearest(mounts []mount, p string) string {
	m, _ := mountOf(mounts, p)
	if remote(m.fsType) {
		return m.point
	}
	for p != "/" && p != m.point && !r.exists(strings.TrimPrefix(p, "/")) {
		p = path.Dir(p)
	}
	return p
}

// spaces asks df about each path, all at the same time.
func (r reader) spaces(ctx context.Context, paths []string) map[string]space {
	asked := slices.Compact(slices.Sorted(slices.Values(paths)))
	answers := make([]space, len(asked))
	var wait sync.WaitGroup
	for i, p := range asked {
		wait.Go(func() { answers[i] = r.space(ctx, p) })
	}
	wait.Wait()
	spaces := map[string]space{}
	for i, p := range asked {
		spaces[p] = answers[i]
	}
	return spaces
}

func dfOptions() []string {
	return []string{"--block-size=1", "--output=size,used,avail,itotal,iavail,file"}
}

func (r reader) space(ctx context.Context, p string) space {
	ctx, cancel := context.WithTimeout(ctx, dfLimit)
	defer cancel()
	out, err := r.output(ctx, "df", append(dfOptions(), "--", p)...)
	if err != nil {
		return space{unknown: p + ": " + err.Error()}
	}
	spaces, err := parseSpaces(out)
	s, answered := spaces[p]
	switch {
	case err != nil:
		return space{unknown: p + ": " + err.Error()}
	case !answered:
		return space{unknown: p + ": df does not list it"}
	}
	return s
}

type space struct {
	size, used, free, inodes, inodesFree int64
	unknown                              string
}

// parseSpaces reads df's columns size, used, avail, itotal, iavail and file, by file.
func parseSpaces(text string) (map[string]space, error) {
	spaces := map[string]space{}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		if i == 0 { // the heading
			continue
		}
		if len(words) < 6 {
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
		file := strings.Join(words[5:], " ")
		spaces[file] = space{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], ""}
	}
	return spaces, nil
}

// Filesystem is the file system of a path, or of its nearest surveyed parent.
func (f *Facts) Filesystem(p string) Filesystem {
	var best Filesystem
	for _, fsys := range f.Filesystems {
		if within(p, fsys.Path) && len(fsys.Path) > len(best.Path) {
			best = fsys
		}
	}
	return best
}

// Unanswered are the surveyed file systems of these paths without known sizes.
func (f *Facts) Unanswered(paths ...string) []string {
	var all []string
	for _, p := range paths {
		if why := f.Filesystem(p).Unknown; why != "" && !slices.Contains(all, why) {
			all = append(all, why)
		}
	}
	return all
}
