package rpm

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"airgap.dev/airgap/bundle/rpm/markup"
)

// packers are the compressions of metadata, by extension.
func packers() map[string]func(io.Writer) (io.WriteCloser, error) {
	return map[string]func(io.Writer) (io.WriteCloser, error){
		".gz":  func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, gzip.BestSpeed) },
		".xz":  func(w io.Writer) (io.WriteCloser, error) { return xz.WriterConfig{DictCap: 1 << 20}.NewWriter(w) },
		".zst": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
	}
}

// bomb packs n bytes of one letter, after a text.
func bomb(t *testing.T, extension, text string, n int) metadata {
	t.Helper()
	var b bytes.Buffer
	w, err := packers()[extension](&b)
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Repeat([]byte("x"), 1<<20)
	_, err = io.WriteString(w, text)
	for ; n > 0 && err == nil; n -= len(block) {
		_, err = w.Write(block[:min(n, len(block))])
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return metadata{name: "primary.xml" + extension, data: b.Bytes()}
}

// TestBombs reads files that grow a thousandfold: without any package, and with one package that does
// not end. Neither needs more memory than its limit.
func TestBombs(t *testing.T) {
	for extension := range packers() {
		t.Run(extension, func(t *testing.T) {
			before := allocated()
			if err := bomb(t, extension, "<metadata>", 100<<20).each(t.Context(), func([]byte) error { return nil }); err == nil || errors.Is(err, markup.ErrTooLarge) {
				t.Errorf("no package: %v", err)
			}
			err := bomb(t, extension, "<metadata><package type=", 2*markup.MaxElement).each(t.Context(), func([]byte) error { return nil })
			if !errors.Is(err, markup.ErrTooLarge) {
				t.Errorf("a package without an end: %v", err)
			}
			if more := allocated() - before; more > 8*markup.MaxElement {
				t.Errorf("%d MB were allocated", more>>20)
			}
		})
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestStopsReading: the end of the context ends the decompression, also where the data has no package
// or no content.
func TestStopsReading(t *testing.T) {
	cause := errors.New("the user stopped it")
	empty := bytes.Repeat(bomb(t, ".gz", "", 0).data, 1000)
	for name, m := range map[string]metadata{
		"gz": bomb(t, ".gz", "", 8<<20), "xz": bomb(t, ".xz", "", 8<<20), "zst": bomb(t, ".zst", "", 8<<20), "empty members": {"primary.xml.gz", empty},
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		r, err := decompress(ctx, m.name, m.data, maxOpen)
		if err != nil {
			t.Fatal(err)
		}
		stop(cause)
		if n, err := io.Copy(io.Discard, r); !errors.Is(err, cause) || n > 1<<20 {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
		if err := m.each(ctx, func([]byte) error { return nil }); !errors.Is(err, cause) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// counted is an upstream that counts the requests for files of metadata.
type counted struct {
	web

	metadata *atomic.Int32
}

func (c counted) Open(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error) {
	if strings.HasSuffix(url, ".xml.gz") {
		c.metadata.Add(1)
	}
	return c.web.Open(ctx, url, offset)
}

// TestMetadataCache: a second plan fetches only repomd.xml, its signature and the keys. A damaged
// file of the cache is fetched again, and so is new metadata.
func TestMetadataCache(t *testing.T) {
	w := counted{web{}, &atomic.Int32{}}
	request := Request{OS: "el9", Arch: "x86_64", Install: []string{"app"}, Cache: t.TempDir() + "/airgap/repodata"}
	request.Repositories = []Repository{w.publish(t, "https://upstream/vendor", aKey(), pkg{nevra: "app-1-1.x86_64"})}
	plan := func(what, want string, fetched int32) {
		t.Helper()
		w.metadata.Store(0)
		c, err := Plan(t.Context(), w, request)
		if err != nil || summary(c) != want || w.metadata.Load() != fetched {
			t.Errorf("%s: %d files of metadata were fetched, want %d; %v", what, w.metadata.Load(), fetched, err)
		}
	}
	plan("the first plan", "app-1<packages.install", 2)
	plan("a second plan", "app-1<packages.install", 0)
	damage(t, request.Cache)
	plan("a damaged cache", "app-1<packages.install", 2)
	w.publish(t, "https://upstream/vendor", aKey(), pkg{nevra: "app-2-1.x86_64"})
	plan("new metadata", "app-2<packages.install", 2)
	request.Cache = ""
	plan("no cache", "app-2<packages.install", 2)
}

// TestStopsThePlan: the end of the context while repositories are read ends Plan with its cause.
func TestStopsThePlan(t *testing.T) {
	cause := errors.New("the user stopped it")
	ctx, stop := context.WithCancelCause(t.Context())
	w := web{}
	r := w.publish(t, "https://upstream/vendor", aKey(), dense(50, 20, nil)...)
	time.AfterFunc(time.Millisecond, func() { stop(cause) })
	for ctx.Err() == nil {
		_, _ = Plan(ctx, w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"n0"}})
	}
	if _, err := Plan(ctx, w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"n0"}}); !errors.Is(err, cause) {
		t.Errorf("the plan ends with %v", err)
	}
}

// damage overwrites all files of a directory.
func damage(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if err := os.WriteFile(name, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
