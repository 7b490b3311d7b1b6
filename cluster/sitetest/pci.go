package sitetest

import (
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"
)

// PCITree returns the files of a machine in gpu/testdata. driver is the content of /proc/driver/nvidia/version;
// "" for no driver.
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
