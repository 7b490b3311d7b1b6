package bundle_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// fickleStick is a mounted file system with the files of a directory. Some reads return
// wrong bytes. The kernel does not cache the files.
type fickleStick struct {
	fusefs.Inode

	dir  string
	lies func() bool
}

func (s *fickleStick) OnAdd(ctx context.Context) {
	entries, _ := os.ReadDir(s.dir) // the test reads them too
	for _, e := range entries {
		s.AddChild(e.Name(), s.NewPersistentInode(ctx, &fickleNode{path: filepath.Join(s.dir, e.Name()), lies: s.lies}, fusefs.StableAttr{Mode: fuse.S_IFREG}), true)
	}
}

type fickleNode struct {
	fusefs.Inode

	path string
	lies func() bool
}

func (n *fickleNode) Getattr(_ context.Context, _ fusefs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	info, err := os.Stat(n.path)
	if err != nil {
		return fusefs.ToErrno(err)
	}
	out.Mode, out.Size = fuse.S_IFREG|0o444, uint64(info.Size())
	return 0
}

func (n *fickleNode) Open(context.Context, uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

func (n *fickleNode) Read(_ context.Context, _ fusefs.FileHandle, p []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	data, err := os.ReadFile(n.path)
	if err != nil {
		return nil, fusefs.ToErrno(err)
	}
	data = data[min(off, int64(len(data))):min(off+int64(len(p)), int64(len(data)))]
	if n.lies() {
		for i := range data {
			data[i] ^= 1
		}
	}
	return fuse.ReadResultData(data), 0
}

// mountFickle requires root, and a kernel that allows the mount.
func mountFickle(t *testing.T, dir string, lies func() bool) string {
	t.Helper()
	at := t.TempDir()
	options := &fusefs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "fickle", MaxBackground: 1}}
	server, err := fusefs.Mount(at, &fickleStick{dir: dir, lies: lies}, options)
	if err != nil && os.Getenv("AIRGAP_REQUIRE_FUSE") != "1" {
		t.Skipf("cannot mount a FUSE file system here: %v", err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, server.Unmount()) })
	return at
}

// TestAMountedStickThatLies is TestEachReadIsVerified through the kernel and os.Root.
func TestAMountedStickThatLies(t *testing.T) {
	big := make([]byte, 3<<20+77)
	rand.Read(big)
	f := bundletest.NewWithFiles(t, "test", map[string][]byte{"driver.run": big})
	var lying atomic.Bool
	b, err := bundle.Open(mountFickle(t, f.Dir, lying.Load), &f.Key.PublicKey)
	must(t, err)
	defer b.Close()
	for range 2 {
		if data, err := readRunfile(b, (*bundle.Content).Open); err != nil || !bytes.Equal(data, big) {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
		if _, err := b.Attested("INSTALL.txt"); err != nil {
			t.Fatal(err)
		}
	}
	lying.Store(true)
	if data, err := readRunfile(b, (*bundle.Content).Open); !errors.Is(err, bundle.ErrDamaged) || len(data) > 0 {
		t.Errorf("content: %d bytes, %v", len(data), err)
	}
	if data, err := b.Attested("INSTALL.txt"); !errors.Is(err, bundle.ErrDamaged) || len(data) > 0 {
		t.Errorf("INSTALL.txt: %q, %v", data, err)
	}
	to := t.TempDir()
	if _, err := b.Copy(background, to, ui.Discard()); !errors.Is(err, bundle.ErrDamaged) {
		t.Errorf("copy: %v", err)
	}
	if _, err := bundle.Open(to, &f.Key.PublicKey); !errors.Is(err, bundle.ErrNoBundle) {
		t.Errorf("the copy: %v", err)
	}
}
