package nextboot

import (
	"io/fs"
	"regexp"
	"strings"
)

const (
	waagent   = "etc/waagent.conf"
	cloud     = "etc/cloud/cloud.cfg"
	cloudDir  = "etc/cloud/cloud.cfg.d"
	cloudStop = "etc/cloud/cloud-init.disabled"
)

var cloudSwap = regexp.MustCompile(`^swap\s*:|^\s*-\s*\[.*\bswap\b`)

// scriptSwaps finds programs that turn swap on after systemd: commands at boot, cloud-init and Azure's
// agent.
func scriptSwaps(fsys fs.FS, _ SwapUnits) ([]Swap, error) {
	files, err := bootScripts(fsys)
	if err != nil {
		return nil, err
	}
	var swaps []Swap
	for _, file := range files {
		more, err := linesWith(fsys, file, ByScript, func(line string) bool { return strings.Contains(line, "swapon") })
		if err != nil {
			return nil, err
		}
		swaps = append(swaps, more...)
	}
	agent, err := linesWith(fsys, waagent, ByAgent, func(line string) bool {
		value, is := setting(line, "ResourceDisk.EnableSwap")
		return is && strings.HasPrefix(strings.ToLower(value), "y")
	})
	if err != nil {
		return nil, err
	}
	more, err := cloudSwaps(fsys)
	return append(append(swaps, agent...), more...), err
}

func cloudSwaps(fsys fs.FS) ([]Swap, error) {
	if off, err := exists(fsys, cloudStop); err != nil || off {
		return nil, err
	}
	files, err := names(fsys, cloudDir)
	if err != nil {
		return nil, err
	}
	var swaps []Swap
	for _, file := range append([]string{cloud}, prefixed(cloudDir+"/", files)...) {
		if !strings.HasSuffix(file, ".cfg") {
			continue
		}
		more, err := linesWith(fsys, file, ByCloudInit, cloudSwap.MatchString)
		if err != nil {
			return nil, err
		}
		swaps = append(swaps, more...)
	}
	return swaps, nil
}

func prefixed(prefix string, words []string) []string {
	var all []string
	for _, w := range words {
		all = append(all, prefix+w)
	}
	return all
}

// linesWith finds the lines of a file, except comments. A directory or a special file has none.
func linesWith(fsys fs.FS, file, by string, match func(string) bool) ([]Swap, error) {
	if info, err := fs.Stat(fsys, file); err == nil && !info.Mode().IsRegular() {
		return nil, nil
	} else if missing(err) {
		return nil, nil
	}
	s, err := read(fsys, file)
	var swaps []Swap
	for i, line := range s.lines {
		if !comment(line) && match(line) {
			swaps = append(swaps, Swap{abbreviated(strings.TrimSpace(line)), by, s.at(i)})
		}
	}
	return swaps, err
}

// abbreviated keeps a line short enough for a report.
func abbreviated(line string) string {
	const most = 120
	if len(line) <= most {
		return line
	}
	return strings.ToValidUTF8(line[:most], "") + "…"
}
