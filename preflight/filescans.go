package preflight

import (
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

// aideTimers and updatedbTimers are the timers of Enterprise Linux and of the CIS benchmark.
func aideTimers() []string { return []string{"aidecheck.timer", "aide.timer", "dailyaidecheck.timer"} }

func updatedbTimers() []string {
	return []string{"mlocate-updatedb.timer", "plocate-updatedb.timer", "updatedb.timer"}
}

var fileScans = Check{
	ID: "file-scans", Title: "Scheduled file scans exclude container directories", Source: "CIS benchmark for Enterprise Linux: AIDE; kubernetes/kubernetes#60368",
	Breaks: "Each night the scan reads every file of all images and containers. It competes with etcd for the disk, and AIDE reports thousands of changes.",
	Needs:  []string{"units", "fileScans"}, Run: judgeFileScans,
}

func judgeFileScans(f *facts.Facts, w *Want) Result {
	paths := []string{w.imagesPath(), facts.KubeletPath}
	aide := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !aideReads(f.FileScans.Aide, p) })
	updatedb := slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		return slices.ContainsFunc(f.FileScans.Pruned, func(pruned string) bool { return below(p, pruned) })
	})
	var found, fix []string
	if by := f.ScansBy("aide", aideTimers()); by != "" && len(aide) > 0 {
		found = append(found, "AIDE reads "+strings.Join(aide, " and ")+", started by "+by)
		fix = append(fix, "add !"+strings.Join(aide, " and !")+" to /etc/aide.conf, then aide --update")
	}
	if by := f.ScansBy("updatedb", updatedbTimers()); by != "" && len(updatedb) > 0 {
		found = append(found, "updatedb reads "+strings.Join(updatedb, " and ")+", started by "+by)
		fix = append(fix, "add "+strings.Join(updatedb, " ")+" to PRUNEPATHS in /etc/updatedb.conf")
	}
	if len(found) == 0 {
		return pass("none reads them")
	}
	return Result{Warn, strings.Join(found, "; "), "no scan of " + strings.Join(paths, " and "), strings.Join(fix, "; ")}
}

// below reports whether a path is dir or below it.
func below(path, dir string) bool {
	return strings.HasPrefix(path+"/", strings.TrimRight(dir, "/")+"/")
}

// aideReads reports whether AIDE reads a directory. Its lines are regular expressions from the root on; the text before
// the first special character decides. "=" and a "$" at the end do not descend.
func aideReads(lines []string, dir string) bool {
	reads := false
	for _, line := range lines {
		pattern := strings.TrimLeft(line, "!=")
		literal := pattern
		if i := strings.IndexAny(pattern, `.*+?()[]{}|^\$`); i >= 0 {
			literal = pattern[:i]
		}
		switch {
		case !below(dir, literal) || line[0] == '=' || strings.HasSuffix(pattern, "$") && literal != dir:
		case line[0] == '!':
			return false
		default:
			reads = true
		}
	}
	return reads
}
