package nextboot

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// mostModules is far more than the module list of a kernel, or its configuration, needs.
const mostModules = 16 << 20

// ReadModuleLists reads the names of a kernel's modules: those that are built in, and those that
// can be loaded.
func ReadModuleLists(fsys fs.FS, release string) (builtin, loadable map[string]bool, err error) {
	dir := "lib/modules/" + release
	if is, _ := exists(fsys, dir); !is {
		dir = "usr/" + dir
	}
	in, errBuiltin := lines(fsys, dir+"/modules.builtin")
	dep, errDep := lines(fsys, dir+"/modules.dep")
	return ModuleNames(in), ModuleNames(dep), errors.Join(errBuiltin, errDep)
}

// lines reads a long file. Unlike read it reports a missing one.
func lines(fsys fs.FS, name string) ([]string, error) {
	data, err := fs.ReadFile(fsys, name)
	text := strings.TrimSpace(string(data[:min(len(data), mostModules)]))
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(text, "\n"), nil
}

// ModuleNames reads module names from modules.builtin (one path per line), modules.dep (a path,
// a colon, dependencies) and /proc/modules (the name is first). Compressed modules end in .ko.xz
// or .ko.zst.
func ModuleNames(lines []string) map[string]bool {
	names := map[string]bool{}
	for _, line := range lines {
		first, _, _ := strings.Cut(line, " ")
		name, _, _ := strings.Cut(path.Base(strings.TrimSuffix(first, ":")), ".ko")
		names[ModuleName(name)] = true
	}
	return names
}

// ReadKernelConfig reads a kernel's configuration from the first readable location; nil if there
// is none. /proc has that of the running kernel.
func ReadKernelConfig(fsys fs.FS, release string) (map[string]string, error) {
	var text string
	for _, name := range []string{"boot/config-" + release, "lib/modules/" + release + "/config", "usr/lib/modules/" + release + "/config"} {
		// /boot may be readable only by root; another copy is enough.
		if found, err := fs.ReadFile(fsys, name); err == nil {
			text = string(found)
			break
		}
	}
	if strings.TrimSpace(text) == "" {
		var err error
		if text, err = gunzip(fsys, "proc/config.gz"); err != nil {
			return nil, err
		}
	}
	config := map[string]string{}
	for line := range strings.Lines(text) {
		option, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if name, is := strings.CutPrefix(option, "CONFIG_"); ok && is {
			config[name] = value
		}
	}
	return config, nil
}

// gunzip returns the text of a compressed file; "" if it does not exist.
func gunzip(fsys fs.FS, name string) (string, error) {
	file, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	data, err := io.ReadAll(io.LimitReader(z, mostModules/4))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return string(data), nil
}
