package bundle_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

func TestEveryFileReadsAsIndexed(t *testing.T) {
	b := bundletest.New(t).Open(t)
	if len(b.Index().Parts) < 3 {
		t.Fatalf("%d parts: the files of the fixture must span several parts", len(b.Index().Parts))
	}
	for _, want := range b.Index().Files {
		f, err := b.File(want.Path)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(f.Reader())
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(data)) != want.Size || fmt.Sprintf("%x", sha256.Sum256(data)) != want.SHA256 {
			t.Errorf("%s: got %d bytes, want %d with SHA-256 %s", want.Path, len(data), want.Size, want.SHA256)
		}
	}
}

func TestFSIsAFileSystem(t *testing.T) {
	b := bundletest.NewWith(t, "small").Open(t)
	if err := fstest.TestFS(b.FS(), "files/hello.txt", "oci/index.json", "rpm/el9/repodata/repomd.xml"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.FS().Open("files/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open files/none: %v", err)
	}
}

func TestReadAtAcrossChunks(t *testing.T) {
	b := bundletest.New(t).Open(t)
	big := largest(b.Index().Files)
	f, err := b.File(big.Path)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(f.Reader())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range [][2]int64{{0, 1}, {1<<20 - 5, 10}, {big.Size - 3, 3}, {100, 2 << 20}} {
		p := make([]byte, r[1])
		if _, err := f.ReadAt(p, r[0]); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if !bytes.Equal(p, whole[r[0]:r[0]+r[1]]) {
			t.Errorf("range %d+%d differs", r[0], r[1])
		}
	}
	if n, err := f.ReadAt(make([]byte, 10), big.Size-3); n != 3 || !errors.Is(err, io.EOF) {
		t.Errorf("read past the end: %d, %v", n, err)
	}
	if _, err := f.ReadAt(make([]byte, 1), big.Size); !errors.Is(err, io.EOF) {
		t.Errorf("read at the end: %v", err)
	}
}

func TestFlippedBitNeverReads(t *testing.T) {
	fixture := bundletest.New(t)
	fixture.Flip(t, "files/hello.txt")
	b := fixture.Open(t)
	f, err := b.File("files/hello.txt")
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f.Reader())
	var damage *bundle.DamageError
	if !errors.As(err, &damage) || !errors.Is(err, bundle.ErrDamaged) {
		t.Fatalf("got %q, %v", data, err)
	}
	if len(data) != 0 {
		t.Errorf("%d wrong bytes were returned", len(data))
	}
	if damage.Part != "bundle.tar.000" || damage.Chunk != 0 || damage.Path != "files/hello.txt" {
		t.Errorf("got %+v", damage)
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, f *bundletest.Fixture)
		is    error
		says  string
	}{
		{"no bundle", remove(bundle.IndexName), bundle.ErrNoBundle, ""},
		{"no sums", remove(bundle.SumsName), bundle.ErrDamaged, "SHA256SUMS: the file is missing"},
		{"unfinished", write(".airgap-partial", "{}"), bundle.ErrPartial, "again"},
		{"missing signature", remove(bundle.SignatureName), bundle.ErrUnsigned, ""},
		{"empty signature", write(bundle.SignatureName, ""), bundle.ErrUnsigned, ""},
		{"wrong signature", write(bundle.SignatureName, "0\x06\x02\x01\x01\x02\x01\x01"), bundle.ErrSignature, "SHA256:"},
		{"changed sums", write(bundle.SumsName, strings.Repeat("0", 64)+"  bundle.json\n"), bundle.ErrSignature, ""},
		{"another key", anotherKey, bundle.ErrSignature, "it is signed with key SHA256:"},
		{"changed index", write(bundle.IndexName, "{}"), bundle.ErrDamaged, "bundle.json"},
		{"missing part", remove("bundle.tar.001"), bundle.ErrDamaged, "bundle.tar.001: missing (1048576 bytes)"},
		{"truncated part", write("bundle.tar.000", "short"), bundle.ErrDamaged, "bundle.tar.000: has 5 bytes, want 1048576"},
		{"later format", laterFormat, nil, "format version is 99"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := bundletest.New(t)
			tt.spoil(t, f)
			_, err := bundle.Open(f.Dir, &f.Key.PublicKey)
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %v with %q", err, tt.is, tt.says)
			}
		})
	}
}

func TestOpenNamesEveryBadPart(t *testing.T) {
	f := bundletest.New(t)
	remove("bundle.tar.000")(t, f)
	write("bundle.tar.001", "short")(t, f)
	_, err := bundle.Open(f.Dir, &f.Key.PublicKey)
	if err == nil || !strings.Contains(err.Error(), "bundle.tar.000") || !strings.Contains(err.Error(), "bundle.tar.001") {
		t.Errorf("got %v", err)
	}
}

func remove(name string) func(*testing.T, *bundletest.Fixture) {
	return func(t *testing.T, f *bundletest.Fixture) {
		if err := os.Remove(filepath.Join(f.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func write(name, content string) func(*testing.T, *bundletest.Fixture) {
	return func(t *testing.T, f *bundletest.Fixture) {
		if err := os.WriteFile(filepath.Join(f.Dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func anotherKey(t *testing.T, f *bundletest.Fixture) {
	var err error
	if f.Key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
}

func laterFormat(t *testing.T, f *bundletest.Fixture) {
	write(bundle.IndexName, `{"formatVersion":99}`)(t, f)
	f.Sign(t)
}

func largest(files []bundle.Entry) bundle.Entry {
	big := files[0]
	for _, f := range files {
		if f.Size > big.Size {
			big = f
		}
	}
	return big
}
