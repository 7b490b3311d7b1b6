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

// place is where a path led when it was written down. Sites link the directories of the
// kubelet and the runtime to other disks, or mount disks there. A reset deletes at that
// place and at no other.
type place struct {
	Real string `json:"resolved"` // the path without symbolic links
	// Mounted identifies the directory that is mounted there: its path in its file
	// system, its inode and when it was made. "" where nothing is mounted.
	Mounted string `json:"mounted,omitempty"`
}

func (p place) String() string {
	if p.Mounted == "" {
		return p.Real
	}
	return p.Real + " (mounted: " + p.Mounted + ")"
}

// placeOf is where p leads now; it need not exist.
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
		if m.Path(at.point) == resolved { // the last one covers those before
			now.Mounted, err = mountedAt(resolved, at)
		}
	}
	return now, err
}

// realPath is a path without symbolic links as far as it exists.
func realPath(p string) (string, error) {
	resolved, err := host.Unlinked(p)
	if err == nil || host.IgnoreMissing(err) != nil || p == "/" {
		return resolved, err
	}
	if _, err := os.Lstat(p); err == nil {
		target, err := os.Readlink(p) // a link to what does not exist
		return cmp.Or(target, p), err
	}
	parent, err := realPath(filepath.Dir(p))
	return filepath.Join(parent, filepath.Base(p)), err
}

// mountedAt tells one disk from another, whatever its device is called after a boot.
func mountedAt(dir string, at mount) (string, error) {
	if at.kind == "tmpfs" {
		return at.root + " tmpfs", nil // another one after each boot
	}
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_INO|unix.STATX_BTIME, &s); err != nil {
		return "", fmt.Errorf("look at what is mounted at %s: %w", dir, err)
	}
	return fmt.Sprintf("%s inode %d of %d", at.root, s.Ino, s.Btime.Sec), nil
}

// Unmoved is nil where each path leads to where it led when the host was written down (Record).
func (m Member) Unmoved(paths ...string) error {
	r, err := m.record()
	if err != nil {
		return err
	}
	return m.unmoved(r, paths...)
}

// unmoved refuses to delete below paths that lead elsewhere than they did when they were
// written down, and below links and mounts that had something else in them even then.
func (m Member) unmoved(r record, paths ...string) error {
	for _, p := range paths {
		was, err := r.place(m, p)
		if err != nil {
			return err
		}
		now, err := m.placeOf(p)
		if err != nil {
			return fmt.Errorf("look where %s leads: %w", p, err)
		}
		if now != was {
			return &host.Failure{
				What: "delete what the cluster left in " + p,
				Err:  fmt.Errorf("it leads to %s, and led to %s when this host was installed", now, was),
				Next: fmt.Sprintf("restore %s as it was; or, if everything in %s is the cluster's, empty that directory, put an empty directory in the place of %s and record it with airgap install or airgap join; then run airgap reset again", p, now.Real, p),
			}
		}
		if r.Paths[p] == full && p == runtime.KubeletDir && (now.Mounted != "" || now.Real != m.Path(p)) {
			return &host.Failure{What: "delete what the cluster left in " + p, Err: errForeign(now), Next: "move what is not the cluster's out of " + now.Real + ", then run airgap reset again"}
		}
	}
	return nil
}

func errForeign(at place) error {
	return fmt.Errorf("it leads to %s, which held something else before the cluster: kubeadm reset would delete that too", at)
}

// place is what was written down; an older airgap wrote down nothing, and then no link
// counts, and a mount only where an empty directory was.
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

// kubeadmDeletes are the directories that kubeadm reset empties, also through a link and
// through what is mounted there.
func kubeadmDeletes() []string {
	return []string{runtime.KubeletDir, node.EtcdDir, "/etc/kubernetes", "/etc/kubernetes/manifests", "/etc/kubernetes/pki"}
}

// ResetRefused says why a reset would delete something else than the cluster's data: a
// path leads elsewhere than it did. wipe says that data goes as well.
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

// ours are those of the paths of which a reset deletes something.
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
	point string // where it is mounted
	root  string // what of its file system
	kind  string // of the file system
}

// mounts are those of this process's namespace, in the order in which they were made.
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
