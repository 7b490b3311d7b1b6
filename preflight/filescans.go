package preflight

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

// FileScans are programs that read all files of the host on a schedule: AIDE compares them with its database,
// updatedb lists them for locate.
type FileScans struct {
	// Cron has the lines that start one of them.
	Cron []SourceLine `yaml:"cron,omitempty" json:"cron,omitempty"`
	// Aide has the paths that aide.conf selects, and with "!" those that it excludes.
	Aide []string `yaml:"aide,omitempty" json:"aide,omitempty"`
	// Pruned has the paths that updatedb.conf excludes.
	Pruned []string `yaml:"pruned,omitempty" json:"pruned,omitempty"`
}

// aideTimers and updatedbTimers are the timers of Enterprise Linux and of the CIS benchmark.
func aideTimers() []string { return []string{"aidecheck.timer", "aide.timer", "dailyaidecheck.timer"} }
func updatedbTimers() []string {
	return []string{"mlocate-updatedb.timer", "plocate-updatedb.timer", "updatedb.timer"}
}

var (
	scanPrograms  = regexp.MustCompile(`\b(aide|updatedb)\b`)
	aideSelection = regexp.MustCompile(`^[!=]?/`)
	prunedPaths   = regexp.MustCompile(`^PRUNEPATHS\s*=`)
)

func readFileScans(_ context.Context, r reader, f *Facts) error {
	files, err := r.sourceFiles(isConnection, "etc/cron.d", "etc/cron.daily", "etc/cron.weekly", "var/spool/cron")
	if err != nil {
		return err
	}
	for _, file := range append([]string{"etc/crontab"}, files...) {
		lines, err := r.sourceLines(file, scanPrograms.MatchString)
		if err != nil {
			return err
		}
		f.FileScans.Cron = append(f.FileScans.Cron, lines...)
	}
	configs, err := r.sourceFiles(isConnection, "etc/aide.conf.d")
	if err != nil {
		return err
	}
	for _, file := range append([]string{"etc/aide.conf"}, configs...) {
		lines, err := r.sourceLines(file, aideSelection.MatchString)
		if err != nil {
			return err
		}
		for _, l := range lines {
			f.FileScans.Aide = append(f.FileScans.Aide, strings.Fields(l.Text)[0])
		}
	}
	lines, err := r.sourceLines("etc/updatedb.conf", prunedPaths.MatchString)
	for _, l := range lines {
		_, value, _ := strings.Cut(l.Text, "=")
		f.FileScans.Pruned = strings.Fields(strings.Trim(strings.TrimSpace(value), `"'`)) // the last line counts
	}
	return err
}

var fileScans = Check{
	ID: "file-scans", Title: "Scheduled file scans exclude container directories", Source: "CIS benchmark for Enterprise Linux: AIDE; kubernetes/kubernetes#60368",
	Breaks: "Each night the scan reads every file of all images and containers. It competes with etcd for the disk, and AIDE reports thousands of changes.",
	Needs:  []string{"units", "fileScans"}, Run: judgeFileScans,
}

func judgeFileScans(f *Facts, w *Want) Result {
	paths := []string{w.imagesPath(), kubeletPath}
	aide := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !aideReads(f.FileScans.Aide, p) })
	updatedb := slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		return slices.ContainsFunc(f.FileScans.Pruned, func(pruned string) bool { return below(p, pruned) })
	})
	var found, fix []string
	if by := f.scansBy("aide", aideTimers()); by != "" && len(aide) > 0 {
		found = append(found, "AIDE reads "+strings.Join(aide, " and ")+", started by "+by)
		fix = append(fix, "add !"+strings.Join(aide, " and !")+" to /etc/aide.conf, then aide --update")
	}
	if by := f.scansBy("updatedb", updatedbTimers()); by != "" && len(updatedb) > 0 {
		found = append(found, "updatedb reads "+strings.Join(updatedb, " and ")+", started by "+by)
		fix = append(fix, "add "+strings.Join(updatedb, " ")+" to PRUNEPATHS in /etc/updatedb.conf")
	}
	if len(found) == 0 {
		return pass("none reads them")
	}
	return Result{Warn, strings.Join(found, "; "), "no scan of " + strings.Join(paths, " and "), strings.Join(fix, "; ")}
}

// scansBy returns what starts the program; "" if nothing does.
func (f *Facts) scansBy(program string, timers []string) string {
	for _, name := range timers {
		if f.unit(name).Active() {
			return name
		}
	}
	for _, l := range f.FileScans.Cron {
		if slices.Contains(scanPrograms.FindAllString(l.Text, -1), program) {
			return l.String()
		}
	}
	return ""
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
