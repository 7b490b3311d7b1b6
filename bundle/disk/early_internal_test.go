package disk

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestEarlyWriter: files with an incomplete last stretch have the written bytes. An
// error of fsync, which fsync reports only once, stops the writing.
func TestEarlyWriter(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), (early+100)/16)
	w := NewEarlyWriter(2*int64(len(content)), true)
	var files []*os.File
	for _, name := range []string{"a", "b"} {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := w.WriteAt(f, content, 0); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	pulled := errors.New("the USB drive was removed")
	w.fail(pulled)
	if err := w.WriteAt(files[0], content, 0); !errors.Is(err, pulled) {
		t.Errorf("writing continued: %v", err)
	}
	w.Close()
	w.Close()
	for _, f := range files {
		if now, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(now, content) {
			t.Errorf("%s has %d bytes, different from the written bytes, %v", f.Name(), len(now), err)
		}
	}
}
