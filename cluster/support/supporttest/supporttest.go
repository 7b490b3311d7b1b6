// Package supporttest reads support bundles in tests.
package supporttest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"testing"
)

// Unpack returns the directory of an archive, and its files by their names below the directory. It reports an error
// for a file mode other than 0600 and for a name that is not clean.
func Unpack(t testing.TB, data []byte) (dir string, files map[string]string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir, files
		}
		if err != nil {
			t.Fatal(err)
		}
		below, name, _ := strings.Cut(h.Name, "/")
		text, err := io.ReadAll(r)
		if err != nil || dir != "" && below != dir || h.Mode != 0o600 || path.Clean(h.Name) != h.Name {
			t.Errorf("%s: mode %o, %v", h.Name, h.Mode, err)
		}
		dir, files[name] = below, string(text)
	}
}

// UnpackFile returns the files of the archive in file, by their names below its directory.
func UnpackFile(t testing.TB, file string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, files := Unpack(t, data)
	return files
}
