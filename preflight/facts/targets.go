package facts

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Target is a surveyed path with a symbolic link in it, and the path without links.
type Target struct {
	Path   string `yaml:"path" json:"path"`
	Target string `yaml:"target" json:"target"`
}

// targetLimit is the time for the answer about all links.
const targetLimit = 20 * time.Second

// targets are the surveyed paths without symbolic links, only where they differ. realpath follows
// links, and the rest of a path need not exist. Paths on file systems of other computers stay as they
// are: such a file system may never answer.
func (r reader) targets(ctx context.Context, mounts []mount) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, targetLimit)
	defer cancel()
	paths := slices.DeleteFunc(surveyedPaths(), func(p string) bool {
		m, _ := mountOf(mounts, p)
		return remote(m.fsType)
	})
	out, err := r.output(ctx, "realpath", append([]string{"--canonicalize-missing", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != len(paths) {
		return nil, fmt.Errorf("parse the output of realpath: %d lines for %d paths", len(lines), len(paths))
	}
	targets := map[string]string{}
	for i, p := range paths {
		if !path.IsAbs(lines[i]) {
			return nil, fmt.Errorf("parse the output of realpath: %q", lines[i])
		}
		if target := path.Clean(lines[i]); target != p {
			targets[p] = target
		}
	}
	return targets, nil
}

func readTargets(ctx context.Context, r reader, f *Facts) error {
	mounts, err := readMounts(r)
	if err != nil {
		return err
	}
	targets, err := r.targets(ctx, mounts)
	if err != nil {
		return err
	}
	for _, p := range surveyedPaths() {
		if target := targets[p]; target != "" {
			f.Targets = append(f.Targets, Target{p, target})
		}
	}
	return nil
}

// Target is a surveyed path without symbolic links.
func (f *Facts) Target(p string) string {
	for _, t := range f.Targets {
		if t.Path == p {
			return t.Target
		}
	}
	return p
}
