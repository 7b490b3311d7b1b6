package facts

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

// ScansBy returns what starts the program; "" if nothing does.
func (f *Facts) ScansBy(program string, timers []string) string {
	for _, name := range timers {
		if unit := f.Unit(name); unit.Active() || unit.Later() {
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
