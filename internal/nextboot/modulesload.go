package nextboot

import (
	"io/fs"
	"slices"
	"strings"
)

// Load is a line of modules-load.d(5): systemd loads the module at boot.
type Load struct {
	Module string `yaml:"module" json:"module"`
	Place  `yaml:",inline"`
}

// ReadLoads reads the lines about the modules, in the directories of modules-load.d on disk: files in /run
// are lost at the boot. An empty file or a link to /dev/null hides the files with the same name in later
// directories.
func ReadLoads(fsys fs.FS, modules []string) ([]Load, error) {
	files, err := configured(fsys, "etc/modules-load.d", "usr/local/lib/modules-load.d", "usr/lib/modules-load.d")
	if err != nil {
		return nil, err
	}
	var loads []Load
	for _, file := range files {
		s, err := read(fsys, file)
		if err != nil {
			return nil, err
		}
		for i, line := range s.lines {
			name := ModuleName(strings.TrimSpace(line))
			if !comment(line) && slices.Contains(modules, name) && len(loads) < mostFound {
				loads = append(loads, Load{name, s.at(i)})
			}
		}
	}
	return loads, nil
}

// Loads reports whether the kernel command line makes systemd load a module at boot. rd.modules_load is
// only for the initial RAM disk, which may not have the module.
func Loads(cmdline, name string) bool {
	return slices.ContainsFunc(List(cmdline, "modules_load"), func(listed string) bool { return ModuleName(listed) == name })
}
