package bundle

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestEarlyWriter: files whose last bytes make no whole stretch are what was
// written, and what fsync says on the way, which it says once, ends the writing.
func TestEarlyWriter(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), (early+100)/16)
	w := newEarlyWriter(2*int64(len(content)), true)
	var files []*os.File
	for _, name := range []string{"a", "b"} {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := w.writeAt(f, content, 0); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	pulled := errors.New("the stick was pulled")
	w.fail(pulled)
	if err := w.writeAt(files[0], content, 0); !errors.Is(err, pulled) {
		t.Errorf("went on writing: %v", err)
	}
	w.close()
	w.close()
	for _, f := range files {
		if now, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(now, content) {
			t.Errorf("%s has %d bytes and others than were written, %v", f.Name(), len(now), err)
		}
	}
}
