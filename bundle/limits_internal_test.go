package bundle

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/nevra"
)

// TestLayoutIsBounded: an impossible size is refused before the layout uses memory for it.
func TestLayoutIsBounded(t *testing.T) {
	many := make([]Entry, 100)
	for i := range many {
		many[i] = Entry{Path: fmt.Sprint(i), Size: 1 << 38}
	}
	for name, tc := range map[string]struct {
		files    []Entry
		partSize int64
		says     string
	}{
		"negative":       {[]Entry{{Path: "x", Size: -1}}, DefaultPartSize, "size is -1 bytes"},
		"2^62":           {[]Entry{{Path: "x", Size: 1 << 62}}, DefaultPartSize, "the limit for a file of a bundle"},
		"overflows":      {[]Entry{{Path: "x", Size: 1<<63 - 1}, {Path: "y", Size: 1<<63 - 1}}, DefaultPartSize, "the limit"},
		"together":       {many, DefaultPartSize, "make two bundles"},
		"too many parts": {many[:4], MinPartSize, "choose a larger part size"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		l, err := layOut(tc.files, tc.partSize)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, %v", name, l != nil, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
			t.Errorf("%s: %d bytes of memory", name, took)
		}
	}
	if _, err := layOut([]Entry{{Path: "x", Size: 600 << 30}}, DefaultPartSize); err != nil {
		t.Errorf("a model of 600 GiB: %v", err)
	}
}

// TestSizesOfALock: images, packages and files have the same limits.
func TestSizesOfALock(t *testing.T) {
	blob := func(size int64) []Blob { return []Blob{{Digest: "sha256:0", Size: size}} }
	for says, l := range map[string]Lock{
		"image a: size is -5 bytes":                                    {Images: []Image{{Name: "a", Blobs: blob(-5)}}},
		"package p-0:1-1.x86_64: size is 4611686018427387904 bytes":    {Packages: []Package{{NEVRA: nevra.MustParse("p-1-1.x86_64"), Size: 1 << 62}}},
		"file f: size is 4611686018427387904 bytes":                    {Files: []File{{Name: "f", Size: 1 << 62}}},
		"has 5 bytes according to image a, but 6 according to image b": {Images: []Image{{Name: "a", Blobs: blob(5)}, {Name: "b", Blobs: blob(6)}}},
	} {
		if err := l.checkSizes(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
