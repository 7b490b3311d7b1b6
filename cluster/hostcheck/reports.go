package hostcheck

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight"
)

// ReadReports reads the reports that hosts wrote by themselves, from files and directories of
// them. The error is a preflight.ReportsError where a host did not pass.
func ReadReports(paths []string) (preflight.Reports, error) {
	all, err := loadReports(paths)
	if err != nil {
		return nil, advice.Add(err, "airgap preflight DIR --output json > FILE writes a report on each host")
	}
	return all, AllFailed(all, "mend what failed, and let those hosts write their reports again")
}

// AllFailed is a preflight.ReportsError, with the advice, unless all hosts passed.
func AllFailed(all preflight.Reports, next string) error {
	if all.Passed() {
		return nil
	}
	return advice.Add(&preflight.ReportsError{Failed: all, All: all}, "%s", next)
}

// loadReports reads files and directories of them, in that order. The error names
// every file that is no report: somebody carried a stick from host to host for them.
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

// reportFiles is path, or what may be a report in the directory at path.
func reportFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read reports: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err := fs.Glob(os.DirFS(path), "*.json") // a name of the directory is no pattern
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("read reports: no *.json in %s", path)
	}
	for i := range files {
		files[i] = filepath.Join(path, files[i])
	}
	return files, err
}

func loadReport(path string) (preflight.Reports, error) {
	f, err := host.OpenPlain(path)
	if err != nil {
		return nil, advice.Add(fmt.Errorf("read reports: %w", err), "put the file itself there")
	}
	defer f.Close()
	all, err := preflight.ReadReports(f)
	if err != nil {
		return nil, fmt.Errorf("read reports: %s: %w", path, err)
	}
	return all, nil
}
