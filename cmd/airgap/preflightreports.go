package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight"
)

// onlyReports wants files, and refuses the flags that say how a host is judged:
// these were judged when their reports were written.
func onlyReports(cmd *cobra.Command, args []string) error {
	for _, flag := range []string{"list", "explain", "skip", "only", "node", "index", "all-hosts", "require-key"} {
		if cmd.Flags().Changed(flag) {
			return advice.Usagef("%s: --reports shows what was judged already: leave --%s away", cmd.CommandPath(), flag)
		}
	}
	if len(args) > 0 {
		return nil
	}
	return advice.Add(&coded{exitcode.Usage, fmt.Errorf("%s: --reports wants the reports' files, or their directory", cmd.CommandPath())}, "see %s --help", cmd.CommandPath())
}

// showReports prints the reports that hosts wrote by themselves as one, and
// turns a bad one into exit code 3.
func (a *app) showReports(paths []string) error {
	all, err := loadReports(paths)
	if err != nil {
		return advice.Add(err, "airgap preflight DIR --output json > FILE writes a report on each host")
	}
	return a.showAll(all, "mend what failed, and let those hosts write their reports anew")
}

// loadReports reads files and directories of them, in that order. Whoever has
// carried a stick around is told at once of every file that is no report.
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
