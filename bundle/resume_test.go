package bundle_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/ui"
)

// cancelAfter is progress that ends the run when some bytes were fetched.
type cancelAfter struct {
	ui.Progress
	cancel context.CancelFunc
	left   atomic.Int64
}

func cancelAfterBytes(cancel context.CancelFunc, n int64) *cancelAfter {
	c := &cancelAfter{Progress: ui.Discard(), cancel: cancel}
	c.left.Store(n)
	return c
}

func (c *cancelAfter) Task(string, int64, bool) ui.Task { return cancelTask{c} }

type cancelTask struct{ c *cancelAfter }

func (t cancelTask) End(error) {}
func (t cancelTask) Add(n int64) {
	if t.c.left.Add(-n) < 0 {
		t.c.cancel()
	}
}

// cancelAt is progress that ends the run as a task begins.
type cancelAt struct {
	ui.Progress
	cancel context.CancelFunc
	task   string
}

func (c *cancelAt) Task(name string, total int64, bytes bool) ui.Task {
	if name == c.task {
		c.cancel()
	}
	return c.Progress.Task(name, total, bytes)
}

// TestInterruptedBetweenEntries ends the run while no entry is being written: what is
// missing is not the stick's fault.
func TestInterruptedBetweenEntries(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	ctx, cancel := context.WithCancel(background)
	_, err := bundle.Write(ctx, u.plan(t, images...), t.TempDir(), options(t), &cancelAt{ui.Discard(), cancel, "images"})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "run it again to go on") {
		t.Errorf("got %v", err)
	}
}

func TestInterruptedAnywhereGoesOn(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	o, dir, want := options(t), t.TempDir(), t.TempDir()
	report, err := bundle.Write(background, u.plan(t, images...), want, o, ui.Discard())
	must(t, err)

	random := rand.New(rand.NewSource(1))
	interrupted := 0
	for try := 0; ; try++ {
		ctx, cancel := context.WithCancel(background)
		stop := cancelAfterBytes(cancel, random.Int63n(report.Size))
		if try == 8 {
			stop.left.Store(1 << 60)
		}
		_, err := bundle.Write(ctx, u.plan(t, images...), dir, o, stop)
		cancel()
		if err == nil {
			break
		}
		interrupted++
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, err := bundle.Open(dir, &o.Signer.PublicKey); !errors.Is(err, bundle.ErrPartial) {
			t.Fatalf("half a bundle opens: %v", err)
		}
	}
	if interrupted == 0 {
		t.Fatal("never interrupted")
	}
	if fmt.Sprint(hashAll(t, dir)) != fmt.Sprint(hashAll(t, want)) {
		t.Error("differs from the uninterrupted bundle")
	}
}

func TestResumeFetchesOnlyWhatIsMissing(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	o, dir := options(t), t.TempDir()
	withoutRunc := func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/runc.amd64") {
			for sent := int64(-1); sent != u.bytes.Load(); time.Sleep(300 * time.Millisecond) {
				sent = u.bytes.Load() // until the images are through
			}
			w.WriteHeader(http.StatusNotFound)
			return true
		}
		return false
	}
	p := u.plan(t, images...)
	u.spoil.Store(&withoutRunc)
	if _, err := bundle.Write(background, p, dir, o, ui.Discard()); err == nil {
		t.Fatal("no error")
	}
	u.spoil.Store(nil)
	sent := u.bytes.Load()
	report, err := bundle.Write(background, u.plan(t, images...), dir, o, ui.Discard())
	must(t, err)
	if report.Kept < 3<<20 || u.bytes.Load()-sent > 50_000 {
		t.Errorf("report %+v; %d bytes of blobs were fetched again", report, u.bytes.Load()-sent)
	}
}

func TestAnotherLockIsNotMixedIn(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	o, dir := options(t), t.TempDir()
	ctx, cancel := context.WithCancel(background)
	_, err := bundle.Write(ctx, u.plan(t, images...), dir, o, cancelAfterBytes(cancel, 100))
	if err == nil {
		t.Fatal("no error")
	}
	moved := bundletest.Image{Name: images[0].Name, Held: bundletest.RandomImage(t, 2000, 1, "amd64")}
	u.push(t, moved)
	_, err = bundle.Write(background, u.plan(t, images...), dir, o, ui.Discard())
	if err == nil || !strings.Contains(err.Error(), "unfinished bundle of something else (image docker.io/library/nginx:1.27 changed)") {
		t.Errorf("got %v", err)
	}
}

// TestKilledGoesOn runs itself as a child that is killed with no chance to
// clean up, while it fills: upstream keeps the third blob to itself.
func TestKilledGoesOn(t *testing.T) {
	if dir := os.Getenv("BUNDLE_TEST_CHILD"); dir != "" {
		writeAsChild(t, dir)
		return
	}
	u := newUpstream(t, bundletest.StandardImages(t)...)
	home := t.TempDir() // holds the key, so that all runs sign alike
	dir := filepath.Join(home, "stick")
	var filled atomic.Int32
	stuck := make(chan struct{})
	stall := func(_ http.ResponseWriter, r *http.Request) bool {
		if _, err := os.Stat(filepath.Join(dir, "bundle.tar.000")); err == nil && filled.Add(1) == 3 {
			close(stuck)
			<-r.Context().Done()
		}
		return false
	}
	u.spoil.Store(&stall)
	child := exec.Command(os.Args[0], "-test.run=^TestKilledGoesOn$")
	child.Env = append(os.Environ(), "BUNDLE_TEST_CHILD="+home, "BUNDLE_TEST_HOST="+u.host(), "BUNDLE_TEST_CA="+u.ca)
	must(t, child.Start())
	<-stuck
	must(t, child.Process.Kill())
	if err := child.Wait(); err == nil || child.ProcessState.ExitCode() != -1 {
		t.Fatalf("the child ended by itself: %v", err)
	}
	u.spoil.Store(nil)
	writeFrom(t, u.sources(), home)
	resumed := hashAll(t, dir)
	must(t, os.RemoveAll(dir))
	writeFrom(t, u.sources(), home)
	for name, sum := range hashAll(t, dir) {
		if resumed[name] != sum {
			t.Errorf("%s differs from that of an undisturbed run", name)
		}
	}
}

func writeAsChild(t *testing.T, home string) {
	writeFrom(t, fetch.Sources{CA: os.Getenv("BUNDLE_TEST_CA"), Rewrite: []fetch.Rewrite{{From: "*", To: os.Getenv("BUNDLE_TEST_HOST")}}}, home)
}

func writeFrom(t *testing.T, s fetch.Sources, home string) {
	t.Helper()
	client, err := fetch.NewClient(s)
	must(t, err)
	key, err := bundle.LoadOrCreateKey(home)
	must(t, err)
	p, err := bundle.NewPlan(background, client, bundle.Request{
		Name: "test", Created: time.Unix(1, 0), Platform: "linux/amd64",
		Images: []bundle.Need{{Reference: "nginx:1.27"}, {Reference: "registry.k8s.io/pause:3.10.2"}},
	}, ui.Discard())
	must(t, err)
	_, err = bundle.Write(background, p, filepath.Join(home, "stick"), bundle.Options{PartSize: 1 << 20, Signer: key}, ui.Discard())
	must(t, err)
}

// TestWriteFollowsNoLink: what lies on a stick does not decide where the connected host
// writes to.
func TestWriteFollowsNoLink(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	o, theirs := options(t), filepath.Join(t.TempDir(), "authorized_keys")
	interrupted := func(dir string) {
		ctx, cancel := context.WithCancel(background)
		if _, err := bundle.Write(ctx, u.plan(t, images...), dir, o, &cancelAt{ui.Discard(), cancel, "images"}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	for name, refused := range map[string]bool{".airgap-partial": true, "bundle.tar.000": true, "SHA256SUMS": false, "airgap.pub": false} { // else it is replaced
		must(t, os.WriteFile(theirs, []byte("theirs\n"), 0o600))
		dir := t.TempDir()
		interrupted(dir)
		_ = os.Remove(filepath.Join(dir, name))
		must(t, os.Symlink(theirs, filepath.Join(dir, name)))
		_, err := bundle.Write(background, u.plan(t, images...), dir, o, ui.Discard())
		if text, _ := os.ReadFile(theirs); string(text) != "theirs\n" {
			t.Errorf("%s: a file outside the stick now has %d bytes", name, len(text))
		}
		if refused && (err == nil || !strings.Contains(err.Error(), name+": it is a symbolic link")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
