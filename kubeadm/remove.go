package kubeadm

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// takeAway removes what has come to p since it was as was. Nothing is deleted
// through a mount: what is mounted there may be a volume with somebody's data.
func (m Machine) takeAway(ctx context.Context, p string, was content) error {
	if was != absent && was != empty {
		return nil
	}
	if err := m.unmountBelow(ctx, p); err != nil {
		return err
	}
	mounts, err := m.mounts()
	if err != nil {
		return err
	}
	if was == absent && !slices.Contains(mounts, p) {
		return os.RemoveAll(m.path(p))
	}
	entries, err := os.ReadDir(m.path(p))
	if err != nil {
		return host.IgnoreMissing(err)
	}
	for _, e := range entries {
		if e.Name() == lostAndFound {
			continue
		}
		if err := os.RemoveAll(m.path(path.Join(p, e.Name()))); err != nil {
			return err
		}
	}
	return nil
}

// unmountBelow undoes the mounts in a directory, the inner ones first.
func (m Machine) unmountBelow(ctx context.Context, p string) error {
	mounts, err := m.mounts()
	if err != nil {
		return err
	}
	for _, at := range slices.Backward(mounts) {
		if !strings.HasPrefix(at, p+"/") {
			continue
		}
		if err := m.run(ctx, "umount", at); err != nil {
			return &Failure{What: "unmount " + at, Err: err, Next: "fuser -vm " + at + " names who uses it; then run airgap reset again"}
		}
	}
	return nil
}

// mounts are the mount points of this process's namespace, in the order in
// which they were mounted.
func (m Machine) mounts() ([]string, error) {
	text, err := fs.ReadFile(m.Host.FS(), "proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	var points []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			points = append(points, unescapeMount(fields[4]))
		}
	}
	return points, nil
}

// unescapeMount reads a path as the kernel writes it into its tables.
func unescapeMount(text string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(text)
}
