package host

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func tree(t *testing.T) (dir, outside string) {
	t.Helper()
	dir, outside = filepath.Join(t.TempDir(), "tree"), t.TempDir()
	must(t, os.MkdirAll(dir+"/a/b", 0o755), os.WriteFile(dir+"/a/b/file", nil, 0o400), os.WriteFile(outside+"/precious", nil, 0o600))
	return dir, outside
}

func TestRemoveTree(t *testing.T) {
	dir, outside := tree(t)
	must(t, os.Symlink(outside, dir+"/a/link"), os.Symlink(outside, dir+"/link"), os.Link(outside+"/precious", dir+"/hard"))
	must(t, EmptyTree(dir, "a"))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "a" {
		t.Errorf("left %v, %v", left, err)
	}
	must(t, RemoveTree(dir), RemoveTree(dir), EmptyTree(dir))
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("the tree is still there")
	}
	must(t, os.Symlink(outside, dir))
	for _, remove := range []func() error{func() error { return RemoveTree(dir) }, func() error { return EmptyTree(dir) }} {
		if err := remove(); !errors.Is(err, ErrNotOurs) || !strings.Contains(err.Error(), dir) {
			t.Errorf("through a link: %v", err)
		}
	}
	if _, err := os.Lstat(outside + "/precious"); err != nil {
		t.Error(err)
	}
}

// TestRemoveTreeCrossesNoMount runs itself in a separate mount namespace.
func TestRemoveTreeCrossesNoMount(t *testing.T) {
	if os.Getenv("AIRGAP_TEST_MOUNTS") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRemoveTreeCrossesNoMount$", "-test.v")
		cmd.Env = append(os.Environ(), "AIRGAP_TEST_MOUNTS=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		if uid := os.Geteuid(); uid != 0 {
			cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
		}
		out, err := cmd.CombinedOutput()
		if _, ran := errors.AsType[*exec.ExitError](err); err != nil && !ran {
			t.Skipf("make a mount namespace: %v", err)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
		return
	}
	must(t, syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
	for name, at := range map[string]string{"below": "/a/b", "at": "", "a file": "/a/b/file"} {
		dir, outside := tree(t)
		from := outside
		if name == "a file" {
			from += "/precious"
		}
		must(t, syscall.Mount(from, dir+at, "", syscall.MS_BIND, "")) // of the same device
		if err := RemoveTree(dir); !errors.Is(err, ErrNotOurs) || !strings.Contains(err.Error(), dir+at+" is mounted") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(outside + "/precious"); err != nil {
			t.Error(err)
		}
		must(t, syscall.Unmount(dir+at, 0))
		if _, err := os.Lstat(dir + "/a/b/file"); err != nil {
			t.Errorf("%s: something was deleted before: %v", name, err)
		}
		must(t, syscall.Mount("none", dir+"/a", "tmpfs", 0, ""))
		parent, err := os.Open(filepath.Dir(dir))
		must(t, err)
		var s syscall.Stat_t
		must(t, syscall.Lstat(dir, &s), os.WriteFile(dir+"/a/precious", nil, 0o600))
		if err := removeAt(parent, filepath.Base(dir), s.Dev); !errors.Is(err, ErrNotOurs) { // an automounter was quicker than the look at the mounts
			t.Errorf("another device: %v", err)
		}
		if _, err := os.Lstat(dir + "/a/precious"); err != nil {
			t.Error(err)
		}
		must(t, parent.Close(), syscall.Unmount(dir+"/a", 0))
	}
}
