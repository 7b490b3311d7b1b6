package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// SourceLine is a line of a configuration file that causes a finding.
type SourceLine struct {
	File string `yaml:"file" json:"file"` // "/etc/crontab"
	Line int    `yaml:"line" json:"line"` // from 1
	Text string `yaml:"text" json:"text"`
}

func (s SourceLine) String() string { return fmt.Sprintf("%s line %d: %s", s.File, s.Line, s.Text) }

// Limits for files that were written by others.
const (
	maxSourceFile  = 256 << 10
	maxSourceLine  = 200
	maxSourceLines = 50
)

// sourceLines returns the lines of a file for which wanted is true. A missing file has none.
func (r reader) sourceLines(path string, wanted func(line string) bool) ([]SourceLine, error) {
	data, err := fs.ReadFile(r.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(data) > maxSourceFile {
		return nil, fmt.Errorf("read /%s: it has more than %d bytes", path, maxSourceFile)
	}
	var found []SourceLine
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' || !wanted(line) {
			continue
		}
		if len(line) > maxSourceLine {
			line = strings.ToValidUTF8(line[:maxSourceLine], "") + "…"
		}
		if len(found) < maxSourceLines {
			found = append(found, SourceLine{"/" + path, i + 1, line})
		}
	}
	return found, nil
}

// sourceFiles returns the files of directories, sorted within each, for which wanted is true.
func (r reader) sourceFiles(wanted func(name string) bool, dirs ...string) ([]string, error) {
	var files []string
	for _, dir := range dirs {
		names, err := r.names(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if wanted(name) {
				files = append(files, dir+"/"+name)
			}
		}
	}
	return files, nil
}
