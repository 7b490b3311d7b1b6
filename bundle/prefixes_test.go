package bundle_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/ui"
)

// large is an upstream with one file of 8 MiB, and the ranges that were asked for.
func large(t *testing.T) (*upstream, func() *bundle.Plan, func() []string) {
	t.Helper()
	u := newUpstream(t)
	content := make([]byte, 8<<20)
	rand.New(rand.NewSource(1)).Read(content)
	var mu sync.Mutex
	var ranges []string
	serve := u.serve
	u.serve = func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		ranges = append(ranges, r.Header.Get("Range")+r.Header.Get("Cache-Control"))
		mu.Unlock()
		serve(w, r)
	}
	u.files["a.example/driver.run"] = content
	plan := func() *bundle.Plan {
		p, err := bundle.NewPlan(background, u.client(t), bundle.Request{
			Name: "test", Created: time.Unix(1, 0), Platform: "linux/amd64",
			Files: []bundle.FileNeed{{Name: "driver.run", URL: "https://a.example/driver.run", SHA256: fmt.Sprintf("%x", sha256.Sum256(content))}},
		}, ui.Discard())
		must(t, err)
		return p
	}
	return u, plan, func() []string {
		mu.Lock()
		defer mu.Unlock()
		all := ranges
		ranges = nil
		return all
	}
}

// TestContinuesWithinFile: the next run asks only for the rest of a large file, if the disk has its beginning.
func TestContinuesWithinFile(t *testing.T) {
	_, plan, asked := large(t)
	for name, damage := range map[string]bool{"kept": false, "damaged": true} {
		o, dir := options(t), t.TempDir()
		ctx, cancel := context.WithCancel(background)
		if _, err := bundle.Write(ctx, plan(), dir, o, cancelAfterBytes(cancel, 5<<20)); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if damage {
			f, err := os.OpenFile(filepath.Join(dir, "bundle.tar.000"), os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteAt(bytes.Repeat([]byte{0}, 100), 1<<20)
			must(t, err)
			must(t, f.Close())
		}
		p := plan()
		asked()
		report, err := bundle.Write(background, p, dir, o, ui.Discard())
		must(t, err)
		ranges := asked()
		if last := ranges[len(ranges)-1]; !damage != strings.HasPrefix(last, "bytes=5") || !damage && (len(ranges) != 1 || report.Kept < 5<<20 || report.Fetched > 3<<20) {
			t.Errorf("%s: asked for %q, %+v", name, ranges, report)
		}
		_, err = bundle.Open(dir, bundle.PublicOf(o.Signer))
		must(t, err)
	}
}

// TestWrongOnce: a file that a cache or a scanner damaged is fetched again, past the caches, and once.
func TestWrongOnce(t *testing.T) {
	u, plan, asked := large(t)
	for name, times := range map[string]int{"once": 1, "always": 9} {
		p := plan()
		asked()
		left := times
		damaged := func(w http.ResponseWriter, r *http.Request) bool {
			if left--; left < 0 {
				return false
			}
			u.serve(&flipping{w}, r)
			return true
		}
		u.spoil.Store(&damaged)
		_, err := bundle.Write(background, p, filepath.Join(t.TempDir(), "stick"), options(t), ui.Discard())
		u.spoil.Store(nil)
		if ranges := asked(); len(ranges) != 2 || ranges[1] != "no-cache" {
			t.Errorf("%s: asked for %q", name, ranges)
		}
		if (err == nil) != (times == 1) || err != nil && !strings.Contains(err.Error(), "in two downloads: a proxy or a mirror on the way sends other bytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// flipping changes the first byte of each write.
type flipping struct{ http.ResponseWriter }

func (f *flipping) Write(p []byte) (int, error) {
	changed := bytes.Clone(p)
	changed[0] ^= 1
	return f.ResponseWriter.Write(changed)
}
