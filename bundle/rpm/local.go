package rpm

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/internal/advice"
)

// isFileURL reports whether s names a directory of this host: a mounted ISO, or a copy made with reposync.
func isFileURL(s string) bool {
	dir, is := localDir(s)
	return is && filepath.IsAbs(dir)
}

func localDir(s string) (dir string, is bool) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "file" || u.Host != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	return u.Path, true
}

// explainLocal adds the next step to an error of a file:// repository without repomd.xml.
func explainLocal(base string, err error) error {
	dir, is := localDir(base)
	if !is || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, readErr := os.ReadDir(dir)
	if readErr != nil || len(entries) == 0 {
		return advice.Add(err, "mount the medium there, or copy the repository: mount -o loop,ro FILE.iso %s", dir)
	}
	var below []string
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(dir, e.Name(), "repodata/repomd.xml")); err == nil {
			below = append(below, "file://"+filepath.Join(dir, e.Name()))
		}
	}
	if len(below) > 0 {
		return advice.Add(err, "set baseURL to a directory that has repodata/: %s", strings.Join(below, ", "))
	}
	return advice.Add(fmt.Errorf("%w; %s has no repository", err, dir), "set baseURL to the directory that contains repodata/")
}
