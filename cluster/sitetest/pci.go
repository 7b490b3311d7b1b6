package sitetest

import (
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"
)

// PCITree is a machine of package gpu's, with a driver where one is given.
func PCITree(t *testing.T, name, driver string) fstest.MapFS {
	t.Helper()
	archive, err := txtar.ParseFile("../../gpu/testdata/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := CardFiles()
	for _, f := range archive.Files {
		files[strings.TrimPrefix(f.Name, "fs/")] = &fstest.MapFile{Data: f.Data}
	}
	if driver != "" {
		files["proc/driver/nvidia/version"] = &fstest.MapFile{Data: []byte(driver)}
	}
	return files
}
