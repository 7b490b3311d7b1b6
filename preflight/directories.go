package preflight

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var parentDirs = Check{
	ID: "parent-dirs", Title: "Services can reach their directories", Source: "path_resolution manual; airgap: the registry does not run as root",
	Breaks: "The registry's user cannot open the bundle, because a parent directory does not let it pass.",
	Role:   Registry, Needs: []string{"directories", "targets"}, Run: judgeParentDirs,
}

// judgeParentDirs looks for the permission x of others, in all parents of the bundle and of the programs.
func judgeParentDirs(f *facts.Facts, _ *Want) Result {
	status := Pass
	var found []string
	for _, end := range []string{f.Target(facts.StorePath), f.Target("/usr/local"), f.Target("/opt")} {
		for p := end; ; p = path.Dir(p) {
			d, known := f.Directory(p)
			text := fmt.Sprintf("%s is %s %s:%s", p, d.Mode, d.Owner, d.Group)
			switch {
			case !known || d.Traversable() || slices.Contains(found, text):
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

// strayLabel matches labels of a new file system, or of a directory that the policy does not know.
// The kubelet and containers have no access to files with them.
var strayLabel = regexp.MustCompile(`:(unlabeled_t|file_t|default_t|mnt_t|root_t|tmp_t|user_home_t|home_root_t|admin_home_t)(:|$)`)

// noLabel matches labels of a file system that was never labelled. No service can pass such a parent.
var noLabel = regexp.MustCompile(`:(unlabeled_t|file_t)(:|$)`)

// strayLabels names the data directories and mount points with such a label.
func strayLabels(f *facts.Facts, w *Want) []string {
	var found []string
	for _, p := range append(w.dataPaths(), facts.LogPath, "/opt") {
		for at := f.Target(p); at != "/"; at = path.Dir(at) {
			d, known := f.Directory(at)
			text := at + " is " + d.Label
			stray := noLabel
			if at == f.Target(p) {
				stray = strayLabel
			}
			if known && stray.MatchString(d.Label) && !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
	}
	return found
}
