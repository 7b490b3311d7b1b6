package gpu

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// kernels returns the installed kernels with the file NAME.ko, compressed or not, in modules.dep.
// modprobe uses the same list.
func (s Setup) kernels(module string) ([]string, error) {
	lists, err := fs.Glob(s.Host.FS(), "lib/modules/*/modules.dep")
	if err != nil {
		return nil, err
	}
	line := regexp.MustCompile(`(?m)^(.*/)?` + regexp.QuoteMeta(module) + `\.ko(\.\w+)?:`)
	var have []string
	for _, list := range lists {
		text, err := fs.ReadFile(s.Host.FS(), list)
		if err != nil {
			return nil, err
		}
		if line.Match(text) {
			have = append(have, path.Base(path.Dir(list)))
		}
	}
	return have, nil
}

// running returns the release of the running kernel, as uname -r prints it.
func (s Setup) running() (string, error) {
	text, err := fs.ReadFile(s.Host.FS(), "proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(text)), err
}

// HasModule reports whether the running kernel has NVIDIA's module, loaded or not.
func (s Setup) HasModule() (bool, error) {
	running, err := s.running()
	if err != nil {
		return false, err
	}
	kernels, err := s.kernels("nvidia")
	return slices.Contains(kernels, running), err
}

// loaded reports whether a module is loaded, by its name in /sys/module.
func (s Setup) loaded(module string) bool {
	_, err := fs.Stat(s.Host.FS(), "sys/module/"+module)
	return err == nil
}
