package preflight

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Paths whose file systems are surveyed, because something of the cluster
// will live there.
const (
	storePath      = "/var/lib/airgap/store"
	kubeletPath    = "/var/lib/kubelet"
	containerdPath = "/var/lib/containerd"
	crioPath       = "/var/lib/crio"
	etcdPath       = "/var/lib/etcd"
	logPath        = "/var/log" // hardened hosts give it a file system of its own
)

// Filesystem is where a path lies, or would lie once it was made.
type Filesystem struct {
	Path    string   `yaml:"path" json:"path"`
	Mount   string   `yaml:"mount" json:"mount"`
	Device  string   `yaml:"device" json:"device"` // major:minor: paths of one device share its space
	Type    string   `yaml:"type" json:"type"`
	Options []string `yaml:"options,flow" json:"options"`
	Size    int64    `yaml:"size" json:"size"`
	Used    int64    `yaml:"used" json:"used"`
	Free    int64    `yaml:"free" json:"free"` // without what is kept for root
}

// surveyedPaths are those that something of the cluster is written to or
// started from.
func surveyedPaths() []string {
	return []string{"/", "/var", "/var/lib", storePath, kubeletPath, containerdPath, crioPath, etcdPath, logPath, "/opt", "/usr/local", "/tmp", "/var/tmp"}
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
	out, err := r.output(ctx, "df", append([]string{"--block-size=1", "--output=size,used,avail,file", "--"}, asked...)...)
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
		f.Filesystems = append(f.Filesystems, Filesystem{p, m.point, m.device, m.fsType, m.options, space.size, space.used, space.free})
	}
	return nil
}

// nearest is the path or its nearest parent that exists.
func (r reader) nearest(p string) string {
	for p != "/" && !r.exists(strings.TrimPrefix(p, "/")) {
		p = path.Dir(p)
	}
	return p
}

type space struct{ size, used, free int64 }

// parseSpaces reads df's columns size, used, avail and file, by file.
func parseSpaces(text string) (map[string]space, error) {
	spaces := map[string]space{}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		if i == 0 { // the heading
			continue
		}
		if len(words) != 4 {
			return nil, fmt.Errorf("parse the output of df: %q", line)
		}
		size, errSize := strconv.ParseInt(words[0], 10, 64)
		used, errUsed := strconv.ParseInt(words[1], 10, 64)
		free, errFree := strconv.ParseInt(words[2], 10, 64)
		if err := errors.Join(errSize, errUsed, errFree); err != nil {
			return nil, fmt.Errorf("parse the output of df: %w", err)
		}
		spaces[words[3]] = space{size, used, free}
	}
	return spaces, nil
}

// filesystem is the survey of a path; one that was not surveyed gives that of
// its nearest surveyed parent.
func (f *Facts) filesystem(p string) Filesystem {
	var best Filesystem
	for _, fsys := range f.Filesystems {
		if within(p, fsys.Path) && len(fsys.Path) > len(best.Path) {
			best = fsys
		}
	}
	return best
}

var mountNoexec = Check{
	ID: "mount-noexec", Title: "Mount options", Source: "k3s#7296",
	Breaks: "Programs of containers do not start from a file system that is mounted noexec.",
	Needs:  []string{"filesystems"}, Run: judgeMountOptions,
}

func judgeMountOptions(f *Facts, w *Want) Result {
	var noexec, other []string
	for _, p := range []string{w.imagesPath(), kubeletPath, "/opt"} {
		fsys := f.filesystem(p)
		if slices.Contains(fsys.Options, "noexec") {
			noexec = append(noexec, fmt.Sprintf("%s (%s)", p, fsys.Mount))
		}
		for _, option := range []string{"nosuid", "nodev"} {
			if p != "/opt" && slices.Contains(fsys.Options, option) {
				other = append(other, fmt.Sprintf("%s on %s (%s)", option, p, fsys.Mount))
			}
		}
	}
	switch {
	case len(noexec) > 0:
		return Result{Fail, "noexec on " + strings.Join(noexec, ", "), "exec: containers are started from there",
			"give these directories a file system of their own without noexec, or remount it"}
	case len(other) > 0:
		return Result{Warn, strings.Join(other, ", "), "no restriction", "containers that rely on set-uid programs or device files may break; mount these directories on their own"}
	default:
		return pass("no restriction")
	}
}
