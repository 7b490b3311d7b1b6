package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A Tree is a part of a server's file system as the outer machine sees it.
type Tree struct {
	Outer string // directory on the outer machine
	Inner string // the same directory on the server
}

// Look calls work with all data that a server has written: its disk without the shared
// layers, the outer directories of disks, and the file systems in memory of a running
// server. The trees exist until work returns.
func (c *Container) Look(work func([]Tree) error) error {
	trees := []Tree{{c.path("upper"), "/"}}
	leader, err := c.leader()
	if err != nil {
		return err
	}
	if leader == 0 {
		for _, name := range disks {
			trees = append(trees, Tree{c.disk(name), filepath.Join("/var/lib", name)})
		}
		return work(trees)
	}
	inner := []string{"/run", "/tmp", "/dev/shm"}
	for _, name := range disks {
		inner = append(inner, filepath.Join("/var/lib", name)) // with the pods' volumes, which are mounts
	}
	for _, dir := range inner {
		fd, err := treeOf(leader, dir)
		if errors.Is(err, os.ErrNotExist) {
			if now, leaderErr := c.leader(); leaderErr == nil && now != leader {
				return c.Look(work) // a power cut happened meanwhile
			}
		}
		if err != nil {
			return fmt.Errorf("look at %s of %s: %w", dir, c.name, err)
		}
		defer unix.Close(fd)
		trees = append(trees, Tree{fmt.Sprintf("/proc/self/fd/%d/.", fd), dir})
	}
	return work(trees)
}

// treeOf opens a directory with all mounts in it, as a process sees it. The mounts are
// copies, so fapolicyd on the server does not control access to them.
func treeOf(pid int, dir string) (fd int, err error) {
	err = inNamespace(fmt.Sprintf("/proc/%d/ns/mnt", pid), unix.CLONE_NEWNS, func() (err error) {
		fd, err = unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		return err
	})
	return fd, err
}

// Root is the server's root file system as the outer machine sees it, without the mounts
// in it.
func (c *Container) Root() string { return c.path("root") }

// Processes returns the server's processes by their PIDs on the outer machine.
func (c *Container) Processes() ([]int, error) { return c.cgroup.pids() }
