package leave

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// place is the target of a path when it was recorded. Sites link the directories of the kubelet
// and the runtime to other disks, or mount disks there. A reset deletes only at the recorded
// target.
type place struct {
	Real string `json:"resolved"` // the path without symbolic links
	// Mounted identifies the mounted directory: its path in its file system, its inode and its
	// creation time. "" without a mount.
	Mounted string `json:"mounted,omitempty"`
}

func (p place) String() string {
	if p.Mounted == "" {
		return p.Real
	}
	return p.Real + " (mounted: " + p.Mounted + ")"
}

// placeOf is the current target of p, which need not exist.
func (m Member) placeOf(p string) (place, error) {
	resolved, err := realPath(m.Path(p))
	if err != nil {
		return place{}, err
	}
	mounts, err := m.mounts()
	if err != nil {
		return place{}, err
	}
	now := place{Real: resolved}
	for _, at := range mounts {
		if m.Path(at.point) == resolved { // the last mount covers earlier ones
			now.Mounted, err = mountedAt(resolved, at)
		}
	}
	return now, err
}

// realPath resolves the symbolic links in the existing part of a path.
func realPath(p string) (string, error) {
	resolved, err := host.Unlinked(p)
	if err == nil || host.IgnoreMissing(err) != nil || p == "/" {
		return resolved, err
	}
	if _, err := os.Lstat(p); err == nil {
		target, err := os.Readlink(p) // a dangling link
		return cmp.Or(target, p), err
	}
	parent, err := realPath(filepath.Dir(p))
	return filepath.Join(parent, filepath.Base(p)), err
}

// mountedAt identifies the mounted directory. Device names are not used: they can change at a boot.
func mountedAt(dir string, at mount) (string, error) {
	if at.kind == "tmpfs" {
		return at.root + " tmpfs", nil // its inode changes at each boot
	}
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_INO|unix.STATX_BTIME, &s); err != nil {
		return "", fmt.Errorf("read the mount at %s: %w", dir, err)
	}
	return fmt.Sprintf("%s inode %d of %d", at.root, s.Ino, s.Btime.Sec), nil
}

// CheckTargets returns nil if each path still has its recorded target (Record).
func (m Member) CheckTargets(paths ...string) error {
	r, err := m.record()
	if err != nil {
		return err
	}
	return m.unmoved(r, paths...)
}

// unmoved refuses paths with another target than the recorded one. It also refuses a link or mount
// of the kubelet's directory that already contained other files.
func (m Member) unmoved(r record, paths ...string) error {
	for _, p := range paths {
		was, err := r.place(m, p)
		if err != nil {
			return err
		}
		now, err := m.placeOf(p)
		if err != nil {
			return fmt.Errorf("resolve %s: %w", p, err)
		}
		if now != was {
			return &host.Failure{
				What: "delete the cluster's files in " + p,
				Err:  fmt.Errorf("it leads to %s, and led to %s when this host was installed", now, was),
				Next: fmt.Sprintf("restore the old target of %s; or, if all files in %s belong to the cluster, empty that directory, replace %s with an empty directory and record it with airgap install or airgap join; then run airgap reset again", p, now.Real, p),
			}
		}
		if r.Paths[p] == full && p == runtime.KubeletDir && (now.Mounted != "" || now.Real != m.Path(p)) {
			return &host.Failure{What: "delete the cluster's files in " + p, Err: errForeign(now), Next: "move the files of other programs out of " + now.Real + ", then run airgap reset again"}
		}
	}
	return nil
}

func errForeign(at place) error {
	return fmt.Errorf("it leads to %s, which contained other files before the installation: kubeadm reset would delete them too", at)
}

// place is the recorded target of p. The record of an older airgap has no targets: then a link is
// not accepted, and a mount only on a directory that was empty.
func (r record) place(m Member, p string) (place, error) {
	if was, known := r.Places[p]; known {
		return was, nil
	}
	parent, err := realPath(filepath.Dir(m.Path(p)))
	if err != nil {
		return place{}, err
	}
	was := place{Real: filepath.Join(parent, filepath.Base(p))}
	if now, err := m.placeOf(p); err == nil && now.Real == was.Real && r.Paths[p] == empty {
		return now, nil
	}
	return was, nil
}

// kubeadmDeletes are the directories that kubeadm reset empties, also through links and mounts.
func kubeadmDeletes() []string {
	return []string{runtime.KubeletDir, node.EtcdDir, "/etc/kubernetes", "/etc/kubernetes/manifests", "/etc/kubernetes/pki"}
}

// ResetRefused returns an error if a reset would delete other data than the cluster's, because the
// target of a path has changed. With wipe the reset also deletes data.
func ResetRefused(m Member, wipe bool) error {
	r, err := m.record()
	if err != nil {
		return err
	}
	t := m.traces()
	paths := append(kubeadmDeletes(), t.Paths...)
	if wipe {
		paths = append(paths, t.Data...)
	}
	return m.unmoved(r, r.ours(paths)...)
}

// ours are the paths in which a reset deletes files.
func (r record) ours(paths []string) (all []string) {
	for _, p := range paths {
		if was := r.Paths[p]; p == runtime.KubeletDir || was == absent || was == empty {
			all = append(all, p)
		}
	}
	return all
}

// mount is a line of mountinfo.
type mount struct {
	point string // mount point
	root  string // mounted directory of the file system
	kind  string // type of the file system
}

// mounts are the mounts of this process's namespace, in the order of their creation.
func (m Member) mounts() ([]mount, error) {
	text, err := fs.ReadFile(m.Host.FS(), "proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	var all []mount
	for line := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(line, " - ")
		if fields := strings.Fields(before); len(fields) > 4 {
			kind, _, _ := strings.Cut(after, " ")
			all = append(all, mount{point: host.UnescapeMount(fields[4]), root: host.UnescapeMount(fields[3]), kind: kind})
		}
	}
	return all, nil
}
