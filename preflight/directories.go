package preflight

import (
	"context"
	"fmt"
	"path"
	"regexp"
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

func (f *Facts) directory(p string) (Directory, bool) {
	i := slices.IndexFunc(f.Directories, func(d Directory) bool { return d.Path == p })
	if i < 0 {
		return Directory{}, false
	}
	return f.Directories[i], true
}

// serviceGroup is the group of the user that the registry runs as.
const serviceGroup = "airgap"

var parentDirs = Check{
	ID: "parent-dirs", Title: "Services can reach their directories", Source: "path_resolution manual; airgap: the registry does not run as root",
	Breaks: "The registry's user cannot open the bundle, because a parent directory does not let it pass.",
	Role:   Registry, Needs: []string{"directories", "targets"}, Run: judgeParentDirs,
}

// judgeParentDirs looks for the permission x of others, in all parents of the bundle and of the programs.
func judgeParentDirs(f *Facts, _ *Want) Result {
	status := Pass
	var found []string
	for _, end := range []string{f.target(storePath), f.target("/usr/local"), f.target("/opt")} {
		for p := end; ; p = path.Dir(p) {
			d, known := f.directory(p)
			text := fmt.Sprintf("%s is %s %s:%s", p, d.Mode, d.Owner, d.Group)
			switch {
			case !known || d.passes() || slices.Contains(found, text):
			case strings.HasSuffix(d.Mode, "+"):
				found, status = append(found, text+" with an ACL"), worse(status, Warn)
			default:
				found, status = append(found, text), Fail
			}
			if p == "/" {
				break
			}
		}
	}
	if status == Pass {
		return pass("all users can pass the parent directories")
	}
	return Result{status, strings.Join(found, ", "), "the permission x for others (0755 or 0711)", "chmod o+x DIRECTORY; for an ACL, check it with getfacl"}
}

// passes reports whether the registry's user can pass the directory.
func (d Directory) passes() bool {
	if len(d.Mode) < 10 {
		return false
	}
	others, group := d.Mode[9], d.Mode[6]
	return others == 'x' || others == 't' || d.Group == serviceGroup && (group == 'x' || group == 's')
}

// strayLabel matches labels of a new file system, or of a directory that the policy does not know.
// The kubelet and containers have no access to files with them.
var strayLabel = regexp.MustCompile(`:(unlabeled_t|file_t|default_t|mnt_t|root_t|tmp_t|user_home_t|home_root_t|admin_home_t)(:|$)`)

// noLabel matches labels of a file system that was never labelled. No service can pass such a parent.
var noLabel = regexp.MustCompile(`:(unlabeled_t|file_t)(:|$)`)

// strayLabels names the data directories and mount points with such a label.
func strayLabels(f *Facts, w *Want) []string {
	var found []string
	for _, p := range append(w.dataPaths(), logPath, "/opt") {
		for at := f.target(p); at != "/"; at = path.Dir(at) {
			d, known := f.directory(at)
			text := at + " is " + d.Label
			stray := noLabel
			if at == f.target(p) {
				stray = strayLabel
			}
			if known && stray.MatchString(d.Label) && !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
	}
	return found
}
