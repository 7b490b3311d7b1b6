package rpm

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
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
	return metadata{"primary.xml" + extension, b.Bytes()}
}

// TestBombs reads files that grow a thousandfold: without any package, and with one package that does
// not end. Neither needs more memory than its limit. How often a byte is looked at does not depend on
// the size of the element.
func TestBombs(t *testing.T) {
	for extension := range packers() {
		t.Run(extension, func(t *testing.T) {
			before := allocated()
			if err := bomb(t, extension, "", 100<<20).each(t.Context(), func([]byte) error { return nil }); err != nil {
				t.Errorf("no package: %v", err)
			}
			err := bomb(t, extension, "<package type=", 2*maxFragment).each(t.Context(), func([]byte) error { return nil })
			if !errors.Is(err, errTooLarge) {
				t.Errorf("a package without an end: %v", err)
			}
			if more := allocated() - before; more > 8*maxFragment {
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

// TestHostileElements: elements that encoding/xml would read with much memory, or not at all.
func TestHostileElements(t *testing.T) {
	name := "<package type=\"rpm\"><name>a</name>"
	for what, element := range map[string]string{
		"deep":            name + strings.Repeat("<a>", 1_000_000) + strings.Repeat("</a>", 1_000_000) + "</package>",
		"deep in format":  name + "<format>" + strings.Repeat("<provides>", 1000) + strings.Repeat("</provides>", 1000) + "</format></package>",
		"not closed":      name + "<format></package>",
		"crossed":         name + "<format><provides></format></provides></package>",
		"no quotes":       name + "<version ver=1/></package>",
		"no end of quote": name + "<version ver=\"1/></package>",
		"a tag in a tag":  name + "<version ver=\"<a>\"/></package>",
		"unknown entity":  name + "<arch>&x;</arch></package>",
		"no character":    name + "<arch>&#0;</arch></package>",
		"not UTF-8":       name + "<arch>\xff</arch></package>",
		"no name":         name + "< a=\"b\"/></package>",
		"no number":       name + "<size package=\"many\"/></package>",
	} {
		before := allocated()
		if _, err := parsePackage([]byte(element)); err == nil {
			t.Errorf("%s: no error", what)
		}
		if more := allocated() - before; more > 1<<20+2*uint64(len(element)) {
			t.Errorf("%s: %d kB were allocated", what, more>>10)
		}
	}
}

// TestElementFields: readPackage reads what encoding/xml reads, for every field of xmlPackage.
func TestElementFields(t *testing.T) {
	var want xmlPackage
	fill(reflect.ValueOf(&want).Elem(), new(int))
	want.XMLName.Space, want.XMLName.Local = "", ""
	got, err := readPackage([]byte(pkg{}.everything(want)), words{})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, want)
	}
}

// fill sets every string and number below v to another value.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.String:
		v.SetString(fmt.Sprintf("v%d <&> \"'", *n))
	case reflect.Int64:
		v.SetInt(int64(*n))
	}
}

// counted is an upstream that counts the requests, by the end of the URL.
type counted struct {
	web

	metadata, other *atomic.Int32
}

func (c counted) Open(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error) {
	if strings.HasSuffix(url, ".xml.gz") {
		c.metadata.Add(1)
	} else {
		c.other.Add(1)
	}
	return c.web.Open(ctx, url, offset)
}

// TestMetadataCache: a second plan fetches only repomd.xml, its signature and the keys. A damaged
// file of the cache is fetched again, and so is new metadata.
func TestMetadataCache(t *testing.T) {
	w := counted{web{}, &atomic.Int32{}, &atomic.Int32{}}
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
