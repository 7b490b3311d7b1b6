// Package charttest creates archives of Helm charts for tests. It uses archive/tar
// and no code of package chart.
package charttest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Checkout returns a chart with the usual parts: a subchart, an init container, a hook, a
// test, a CustomResourceDefinition and annotations.
func Checkout() map[string]string {
	files := map[string]string{}
	err := fs.WalkDir(till, "till", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := till.ReadFile(path)
		files[strings.TrimPrefix(path, "till/")] = string(text)
		return err
	})
	if err != nil {
		panic(err) // the files are embedded
	}
	return files
}

//go:embed all:till
var till embed.FS

// Archive packs files below name/. The same files give the same bytes.
func Archive(t testing.TB, name string, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		check(t, w.WriteHeader(&tar.Header{Name: name + "/" + file, Mode: 0o644, Size: int64(len(files[file]))}))
		_, err := w.Write([]byte(files[file]))
		check(t, err)
	}
	check(t, w.Close())
	check(t, z.Close())
	return b.Bytes()
}

// Directory writes files below a temporary directory of the test.
func Directory(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
