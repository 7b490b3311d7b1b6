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

// cancelAfter is a progress that cancels the run after some fetched bytes.
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

// cancelAt is a progress that cancels the run when a task starts.
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

// TestInterruptedBetweenEntries cancels the run while no entry is being written. The
// error must be the cancellation, not missing bytes.
func TestInterruptedBetweenEntries(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	ctx, cancel := context.WithCancel(background)
	_, err := bundle.Write(ctx, u.plan(t, images...), t.TempDir(), options(t), &cancelAt{ui.Discard(), cancel, "images"})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "run the same command again to continue") {
		t.Errorf("got %v", err)
	}
}

func TestInterruptedAnywhereContinues(t *testing.T) {
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
		if _, err := bundle.Open(dir, bundle.PublicOf(o.Signer)); !errors.Is(err, bundle.ErrPartial) {
			t.Fatalf("an incomplete bundle opens: %v", err)
		}
	}
	if interrupted == 0 {
		t.Fatal("never interrupted")
	}
	if fmt.Sprint(hashAll(t, dir)) != fmt.Sprint(hashAll(t, want)) {
		t.Error("differs from the uninterrupted bundle")
	}
}

func TestResumeFetchesOnlyMissingFiles(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	o, dir := options(t), t.TempDir()
	withoutRunc := func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/runc.amd64") {
			for sent := int64(-1); sent != u.bytes.Load(); time.Sleep(300 * time.Millisecond) {
				sent = u.bytes.Load() // until the images are complete
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
	if err == nil || !strings.Contains(err.Error(), "another unfinished bundle (image docker.io/library/nginx:1.27 changed)") {
		t.Errorf("got %v", err)
	}
}

// TestKilledContinues runs itself as a child process and kills it during the fill,
// without a chance to clean up. upstream does not answer for the third blob.
func TestKilledContinues(t *testing.T) {
	if dir := os.Getenv("BUNDLE_TEST_CHILD"); dir != "" {
		writeAsChild(t, dir)
		return
	}
	u := newUpstream(t, bundletest.StandardImages(t)...)
	home := t.TempDir() // contains the key, so that all runs sign with it
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
	child := exec.Command(os.Args[0], "-test.run=^TestKilledContinues$")
	child.Env = append(os.Environ(), "BUNDLE_TEST_CHILD="+home, "BUNDLE_TEST_HOST="+u.host(), "BUNDLE_TEST_CA="+u.ca)
	must(t, child.Start())
	<-stuck
	must(t, child.Process.Kill())
	if err := child.Wait(); err == nil || child.ProcessState.ExitCode() != -1 {
		t.Fatalf("the child was not killed: %v", err)
	}
	u.spoil.Store(nil)
	writeFrom(t, u.sources(), home)
	resumed := hashAll(t, dir)
	must(t, os.RemoveAll(dir))
	writeFrom(t, u.sources(), home)
	for name, sum := range hashAll(t, dir) {
		if resumed[name] != sum {
			t.Errorf("%s differs from an uninterrupted run", name)
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

// TestWriteFollowsNoLink: a link on the USB drive must not make the connected host
// write to another place.
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
	for name, refused := range map[string]bool{".airgap-partial": true, "bundle.tar.000": true, "SHA256SUMS": false, "airgap.pub": false} { // the others are replaced
		must(t, os.WriteFile(theirs, []byte("theirs\n"), 0o600))
		dir := t.TempDir()
		interrupted(dir)
		_ = os.Remove(filepath.Join(dir, name))
		must(t, os.Symlink(theirs, filepath.Join(dir, name)))
		_, err := bundle.Write(background, u.plan(t, images...), dir, o, ui.Discard())
		if text, _ := os.ReadFile(theirs); string(text) != "theirs\n" {
			t.Errorf("%s: a file outside of the USB drive now has %d bytes", name, len(text))
		}
		if refused && (err == nil || !strings.Contains(err.Error(), name+": it is a symbolic link")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
