package rpm

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm/rpmtest"
)

// TestBuildPackageFromFiles: a package contains a file from the disk, and the error
// names a file that is missing.
func TestBuildPackageFromFiles(t *testing.T) {
	s := spec("agent")
	s.Files = []File{{Path: "/usr/bin/agent", Source: filepath.Join(t.TempDir(), "agent"), Mode: 0o755}}
	err := BuildPackage(io.Discard, s, aKey())
	if err == nil || !strings.Contains(err.Error(), "build package agent: add /usr/bin/agent: open "+s.Files[0].Source) {
		t.Errorf("got %v", err)
	}
	rpmtest.Write(t, s.Files[0].Source, []byte("#!/bin/sh\n"))
	var fromFile, fromMemory bytes.Buffer
	if err := BuildPackage(&fromFile, s, aKey()); err != nil {
		t.Fatal(err)
	}
	s.Files[0].Source, s.Files[0].Data = "", []byte("#!/bin/sh\n")
	if err := BuildPackage(&fromMemory, s, aKey()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(fromFile.Bytes(), fromMemory.Bytes()) {
		t.Error("the same content from a file and from memory gave two packages")
	}
}

// BenchmarkBuildPackage packs a file of the program's size. B/op shows that the file
// is not read into memory.
func BenchmarkBuildPackage(b *testing.B) {
	const size = 64 << 20
	random := rand.New(rand.NewChaCha8([32]byte{}))
	text := make([]byte, size)
	for i := range text {
		text[i] = byte(random.IntN(64)) // compresses a little, as programs do
	}
	s := spec("agent")
	s.Files = []File{{Path: "/usr/bin/agent", Source: filepath.Join(b.TempDir(), "agent"), Mode: 0o755}}
	if err := os.WriteFile(s.Files[0].Source, text, 0o755); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if err := BuildPackage(io.Discard, s, aKey()); err != nil {
			b.Fatal(err)
		}
	}
}
