package gpu

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// library is a file of NVIDIA's management library.
type library struct{ path, version string }

// libraries returns the files in the library directories of EL and Debian, one for each installed
// version of the driver.
func (s Setup) libraries() ([]library, error) {
	name := regexp.MustCompile(`/libnvidia-ml\.so\.(\d{3,4}(\.\d+){1,2})$`)
	var all []library
	for _, dir := range []string{"usr/lib64", "usr/lib/*-linux-gnu"} {
		files, err := fs.Glob(s.Host.FS(), dir+"/libnvidia-ml.so.*")
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if m := name.FindStringSubmatch(file); m != nil {
				all = append(all, library{"/" + file, m[1]})
			}
		}
	}
	return all, nil
}

// versions returns the versions of the libraries, without duplicates.
func versions(all []library) []string {
	var v []string
	for _, l := range all {
		v = append(v, l.version)
	}
	slices.Sort(v)
	return slices.Compact(v)
}

// lastLines returns at most the last n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
