package bundle_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/ui"
)

// noLocks is a node of a file system that refuses every lock, as NFS without its lock daemon.
type noLocks struct{ fusefs.LoopbackNode }

func (*noLocks) Setlk(context.Context, fusefs.FileHandle, uint64, *fuse.FileLock, uint32) syscall.Errno {
	return syscall.ENOLCK
}

func (*noLocks) Setlkw(context.Context, fusefs.FileHandle, uint64, *fuse.FileLock, uint32) syscall.Errno {
	return syscall.ENOLCK
}

// mountNoLocks requires root, and a kernel that allows the mount.
func mountNoLocks(t *testing.T) string {
	t.Helper()
	at := t.TempDir()
	root := &fusefs.LoopbackRoot{Path: t.TempDir()}
	//nolint:staticcheck // its successor needs a method of the root, which a LoopbackRoot does not have
	root.NewNode = func(data *fusefs.LoopbackRoot, _ *fusefs.Inode, _ string, _ *syscall.Stat_t) fusefs.InodeEmbedder {
		return &noLocks{fusefs.LoopbackNode{RootData: data}}
	}
	root.RootNode = &noLocks{fusefs.LoopbackNode{RootData: root}}
	server, err := fusefs.Mount(at, root.RootNode, &fusefs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "nolocks", EnableLocks: true}})
	if err != nil && os.Getenv("AIRGAP_REQUIRE_FUSE") != "1" {
		t.Skipf("cannot mount a FUSE file system here: %v", err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, server.Unmount()) })
	return at
}

// TestNoLocks: a directory on a file system without locks gets its bundle, with a warning. The failed
// lock is not taken for another airgap.
func TestNoLocks(t *testing.T) {
	dir := filepath.Join(mountNoLocks(t), "bank")
	images := bundletest.StandardImages(t)[:1]
	u := newUpstream(t, images...)
	c, err := fetch.NewClient(u.sources()) // patient: FUSE is slow
	must(t, err)
	p, err := bundle.NewPlan(background, c, u.request(images...), ui.Discard())
	must(t, err)
	var said strings.Builder
	_, err = bundle.Write(background, p, dir, options(t), ui.New(&said, ui.Plain))
	must(t, err)
	if !strings.Contains(said.String(), "does not support locks") || strings.Contains(said.String(), "another airgap process") {
		t.Errorf("said %q", said.String())
	}
	if _, err := os.Stat(filepath.Join(dir, bundle.IndexName)); err != nil {
		t.Error(err)
	}
}
