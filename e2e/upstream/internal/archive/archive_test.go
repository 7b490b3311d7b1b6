package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
)

func TestOrderOfDeclarationDoesNotMatter(t *testing.T) {
	files := []File{
		{Path: "usr/bin/b", Data: []byte("b")},
		{Path: "usr/bin/a", Link: "b"},
		{Path: "tmp/", Mode: 0o1777},
	}
	var one, two bytes.Buffer
	if err := TarGz(&one, files); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(files)
	if err := TarGz(&two, files); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("the order of the declaration changes the archive")
	}
	want := []string{"tmp/ 1777", "usr/ 755", "usr/bin/ 755", "usr/bin/a 755", "usr/bin/b 755"}
	if got := list(t, &one); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func list(t *testing.T, r io.Reader) []string {
	t.Helper()
	zip, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for tr := tar.NewReader(zip); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(Epoch()) {
			t.Errorf("got %s with time %s, want %s", h.Name, h.ModTime, Epoch())
		}
		names = append(names, fmt.Sprintf("%s %o", h.Name, h.Mode))
	}
}
