package hostcheck

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/altered"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight"
)

// ReadReports reads the reports of hosts from files and directories. If a host did not pass, the error is a
// preflight.ReportsError.
func ReadReports(paths []string) (preflight.Reports, error) {
	all, err := loadReports(paths)
	if err != nil {
		return nil, advice.Add(err, "write a report on each host: airgap preflight DIR --output json > FILE")
	}
	return all, AllFailed(all, "fix the failed checks, and write the reports of those hosts again")
}

// AllFailed returns a preflight.ReportsError with the hint next, unless all hosts passed.
func AllFailed(all preflight.Reports, next string) error {
	if all.Passed() {
		return nil
	}
	return advice.Add(&preflight.ReportsError{Failed: all, All: all}, "%s", next)
}

// loadReports reads files and directories of reports, in that order. The error lists all invalid files at once,
// because the user copies reports from each host by hand.
func loadReports(paths []string) (preflight.Reports, error) {
	var all preflight.Reports
	var problems []error
	for _, path := range paths {
		files, err := reportFiles(path)
		problems = append(problems, err)
		for _, file := range files {
			some, err := loadReport(file)
			problems = append(problems, err)
			all = append(all, some...)
		}
	}
	return all, errors.Join(problems...)
}

// reportFiles returns path, or the *.json files in the directory at path, also with names in upper case and
// without the files that desktops add.
func reportFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read reports: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("read reports: %w", err)
	}
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(altered.Plain(e.Name()), ".json") && !altered.IsJunk(e.Name()) {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("read reports: no *.json in %s", path)
	}
	return files, nil
}

func loadReport(path string) (preflight.Reports, error) {
	f, err := host.OpenPlain(path)
	if err != nil {
		return nil, advice.Add(fmt.Errorf("read reports: %w", err), "put a regular file there")
	}
	defer f.Close()
	all, err := preflight.ReadReports(f)
	if err != nil {
		return nil, fmt.Errorf("read reports: %s: %w", path, err)
	}
	return all, nil
}
