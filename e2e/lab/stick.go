package lab

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// AttachStick implements Machine. The directory is not visible inside the machine's mount
// namespace, and StickPath is not visible outside. So it opens a detached mount outside
// and attaches it inside.
func (c *Container) AttachStick(ctx context.Context, dir string) error {
	if err := c.Exec(ctx, Cmd{Args: []string{"mkdir", "-p", StickPath}}); err != nil {
		return err
	}
	leader, err := c.leader()
	if err != nil {
		return err
	}
	stick, err := detachedMount(dir)
	if err != nil {
		return fmt.Errorf("attach stick %s: %w", dir, err)
	}
	defer unix.Close(stick)
	if err := moveMount(stick, leader, StickPath); err != nil {
		return fmt.Errorf("attach stick %s to %s: %w", dir, c.name, err)
	}
	return nil
}

// AttachEmptyStick implements Machine. It is not supported: the outer machine's kernel may
// have none of the file systems.
func (c *Container) AttachEmptyStick(context.Context, string, int64) error {
	return errors.ErrUnsupported
}

// ReplugStick implements Machine.
func (c *Container) ReplugStick(context.Context) error { return errors.ErrUnsupported }

// PullStick implements Machine. Programs with open files on the stick can continue to read:
// I/O errors need an emulated machine.
func (c *Container) PullStick(ctx context.Context) error {
	return c.Exec(ctx, Cmd{Args: []string{"umount", "--lazy", StickPath}})
}

func detachedMount(dir string) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("open_tree: %w", err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("mount_setattr: %w", err)
	}
	return fd, nil
}

// moveMount attaches a detached mount in the mount namespace of a process.
func moveMount(mount, pid int, path string) error {
	return inNamespace(fmt.Sprintf("/proc/%d/ns/mnt", pid), unix.CLONE_NEWNS, func() error {
		if err := unix.MoveMount(mount, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("move_mount: %w", err)
		}
		return nil
	})
}
