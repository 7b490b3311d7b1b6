package facts

import (
	"context"
	"path"
	"slices"
	"strings"
)

// Directory is a surveyed directory or a parent of one.
type Directory struct {
	Path  string `yaml:"path" json:"path"`
	Mode  string `yaml:"mode" json:"mode"` // of ls: "drwxr-xr-x."; with an ACL it ends with +
	Owner string `yaml:"owner" json:"owner"`
	Group string `yaml:"group" json:"group"`
	Label string `yaml:"label,omitempty" json:"label,omitempty"` // SELinux context
}

// readDirectories asks ls about the surveyed directories and their parents, without links.
func readDirectories(ctx context.Context, r reader, f *Facts) error {
	mounts, err := readMounts(r)
	if err != nil {
		return err
	}
	targets, _ := r.targets(ctx, mounts) // the probe targets reports the error
	var dirs []string
	for _, p := range surveyedPaths() {
		if t := targets[p]; t != "" {
			p = t
		}
		p = r.nearest(mounts, p)
		if m, _ := mountOf(mounts, p); remote(m.fsType) { // it may never answer
			p = path.Dir(p)
		}
		for ; ; p = path.Dir(p) {
			dirs = append(dirs, p)
			if p == "/" {
				break
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, dfLimit)
	defer cancel()
	slices.Sort(dirs)
	out, err := r.output(ctx, "ls", append([]string{"-ldZ", "--time-style=+0", "--"}, slices.Compact(dirs)...)...)
	if err != nil {
		return err
	}
	f.Directories = parseDirectories(out)
	return nil
}

// parseDirectories reads the columns mode, links, owner, group, label, size, time and path.
func parseDirectories(text string) []Directory {
	var dirs []Directory
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 8 || slices.ContainsFunc(dirs, func(d Directory) bool { return d.Path == strings.Join(words[7:], " ") }) {
			continue
		}
		d := Directory{Path: strings.Join(words[7:], " "), Mode: words[0], Owner: words[2], Group: words[3], Label: words[4]}
		if d.Label == "?" {
			d.Label = ""
		}
		dirs = append(dirs, d)
	}
	slices.SortFunc(dirs, func(a, b Directory) int { return strings.Compare(a.Path, b.Path) })
	return dirs
}

// Directory returns the facts of a surveyed directory or of a parent of one.
func (f *Facts) Directory(p string) (Directory, bool) {
	i := slices.IndexFunc(f.Directories, func(d Directory) bool { return d.Path == p })
	if i < 0 {
		return Directory{}, false
	}
	return f.Directories[i], true
}

// serviceGroup is the group of the user that the registry runs as.
const serviceGroup = "airgap"

// Traversable reports whether the registry's user can pass the directory.
func (d Directory) Traversable() bool {
	if len(d.Mode) < 10 {
		return false
	}
	others, group := d.Mode[9], d.Mode[6]
	return others == 'x' || others == 't' || d.Group == serviceGroup && (group == 'x' || group == 's')
}
