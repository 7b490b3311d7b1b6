package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Container is a Machine made by systemd-nspawn: an operating system on the outer
// machine's kernel. It cannot test features that need a separate kernel: modules, lost
// write-back caches, a stick that is removed during a read.
type Container struct {
	name    string
	addr    netip.Addr
	machine string   // unique on the outer machine
	dir     string   // this server's files: its disk and its console
	layers  []string // of the node root, the top one first
	hosts   string   // /etc/hosts
	network Network
	cgroup  cgroup
	small   bool // its images have a separate disk
	pci     []pciDevice
}

// disks are directories below /var/lib in which runtimes create containers. They are on
// the outer file system, because overlayfs does not stack on overlayfs.
var disks = []string{"containerd", "crio", "kubelet", "etcd"}

// disk returns the outer directory of one of disks. The images of all runtimes are in
// one directory.
func (c *Container) disk(name string) string {
	if name == "containerd" || name == "crio" {
		return filepath.Join(c.path(imagesDir), name)
	}
	return c.path(name)
}

const (
	imagesDir     = "images"
	smallDisk     = "images.ext4"
	smallDiskSize = 4 << 30 // bytes
)

const (
	bootTimeout = 60 * time.Second
	killTimeout = 20 * time.Second
)

// Name implements Machine.
func (c *Container) Name() string { return c.name }

// Addr implements Machine.
func (c *Container) Addr() netip.Addr { return c.addr }

func (c *Container) path(elem ...string) string {
	return filepath.Join(append([]string{c.dir}, elem...)...)
}

// Start implements Machine.
func (c *Container) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	steps := []func(context.Context) error{c.insertDisk, c.plugIn, c.powerOn, c.waitBooted}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return fmt.Errorf("start %s: %w", c.name, err)
		}
	}
	return nil
}

// insertDisk mounts the server's root: the shared layers below, the server's own layer on
// top. It does not change a disk that has been used before.
func (c *Container) insertDisk(ctx context.Context) error {
	root := c.path("root")
	if mounted(root) {
		return nil
	}
	if err := c.insertSmallDisk(ctx); err != nil {
		return err
	}
	for _, dir := range []string{"root", "upper", "work"} {
		if err := os.MkdirAll(c.path(dir), 0o755); err != nil {
			return err
		}
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", strings.Join(c.layers, ":"), c.path("upper"), c.path("work"))
	if err := unix.Mount("overlay", root, "overlay", 0, options); err != nil {
		return fmt.Errorf("mount %s: %w", root, err)
	}
	for _, name := range disks {
		for _, dir := range []string{c.disk(name), filepath.Join(root, "var/lib", name)} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
	}
	if err := os.WriteFile(filepath.Join(root, "etc/hostname"), []byte(c.name+"\n"), 0o644); err != nil {
		return err
	}
	// systemd would derive the machine ID from data that all containers share.
	id := sha256.Sum256([]byte(c.machine))
	if err := os.WriteFile(filepath.Join(root, "etc/machine-id"), []byte(hex.EncodeToString(id[:16])+"\n"), 0o444); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "etc/hosts"), []byte(c.hosts), 0o644); err != nil {
		return err
	}
	return writePCI(root, c.pci)
}

// insertSmallDisk mounts a separate file system of smallDiskSize for the images.
func (c *Container) insertSmallDisk(ctx context.Context) error {
	dir, file := c.path(imagesDir), c.path(smallDisk)
	if !c.small || mounted(dir) {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(smallDiskSize), f.Close()); err != nil {
		return err
	}
	if _, err := outer(ctx, "", "mkfs.ext4", "-q", "-m", "0", file); err != nil {
		return err
	}
	_, err = outer(ctx, "", "mount", "-o", "loop", file, dir)
	return err
}

func (c *Container) plugIn(ctx context.Context) error {
	if err := c.network.connect(ctx, c.name, c.addr); err != nil {
		return err
	}
	return c.cgroup.create()
}

// powerOn detaches systemd-nspawn from this process, so that the lab runs on after the
// program that made it ends.
func (c *Container) powerOn(ctx context.Context) error {
	if pid, err := c.leader(); err != nil || pid != 0 {
		return errors.Join(err, alreadyOn(pid))
	}
	argv, err := c.cgroup.run(c.nspawn()...)
	if err != nil {
		return err
	}
	const detach = `exec setsid --fork "$@" </dev/null >>"$0" 2>&1`
	_, err = outer(ctx, "", append([]string{"sh", "-c", detach, c.path(consoleLog)}, argv...)...)
	return err
}

func alreadyOn(pid int) error {
	if pid == 0 {
		return nil
	}
	return fmt.Errorf("it already runs as process %d", pid)
}

func (c *Container) nspawn() []string {
	argv := []string{"env",
		// nspawn's own filter does not allow runc to create a session keyring.
		"SYSTEMD_SECCOMP=0",
		// The kubelet and kube-proxy write to /proc/sys and /sys.
		"SYSTEMD_NSPAWN_API_VFS_WRITABLE=yes",
		"systemd-nspawn", "--quiet", "--console=pipe",
		"--directory=" + c.path("root"),
		"--machine=" + c.machine, "--hostname=" + c.name,
		"--network-namespace-path=" + nsPath(c.network.nodeNS(c.name)),
		"--resolv-conf=off", "--timezone=off",
		"--register=no", "--keep-unit", // no machined, and the cgroup that the lab selects
		"--capability=all",
		"--bind=/dev/kmsg", // the kubelet watches it for the out-of-memory killer
	}
	for _, name := range disks {
		argv = append(argv, fmt.Sprintf("--bind=%s:/var/lib/%s", c.disk(name), name))
	}
	script := initScript
	if len(c.pci) > 0 {
		script = pciScript + script
	}
	return append(argv, "sh", "-ec", script)
}

// initScript makes the controllers of cgroup v1 writable, as those of v2 are, and
// becomes process 1. systemd checks only once, at its start, which controllers are
// writable: all of them must be writable by then.
const initScript = `for d in /sys/fs/cgroup /sys/fs/cgroup/*/; do ! mountpoint -q "$d" || mount -o remount,bind,rw "$d"; done; exec /usr/lib/systemd/systemd`

func (c *Container) waitBooted(ctx context.Context) error { return waitBooted(ctx, c) }

// waitBooted waits for systemd on a machine that accepts commands.
func waitBooted(ctx context.Context, m Machine) error {
	var last string
	_, err := poll(ctx, "systemd to finish booting", func() (bool, error) {
		last, _ = Output(ctx, m, "systemctl", "is-system-running") // its exit code is not 0 during boot
		return last == "running" || last == "degraded", nil
	})
	if err != nil {
		return fmt.Errorf("%w (its last state: %q)", err, last)
	}
	return nil
}

// Kill implements Machine. The kernel ends everything in a PID namespace
// together with its process 1.
func (c *Container) Kill(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	leader, err := c.leader()
	if err != nil {
		return err
	}
	if leader != 0 {
		_ = unix.Kill(leader, unix.SIGKILL) // it may have ended already
	}
	if err := c.cgroup.kill(ctx); err != nil {
		return err
	}
	return errors.Join(c.cgroup.delete(), c.network.disconnect(ctx, c.name))
}

// Close implements Machine.
func (c *Container) Close(ctx context.Context) error {
	if err := c.Kill(ctx); err != nil {
		return fmt.Errorf("close %s: %w", c.name, err)
	}
	for _, dir := range []string{c.path("root"), c.path(imagesDir)} {
		if !mounted(dir) {
			continue
		}
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", dir, err)
		}
	}
	return os.RemoveAll(c.dir)
}

// mounted reports whether dir is the root of a separate mount.
func mounted(dir string) bool {
	var here, above unix.Stat_t
	if unix.Stat(dir, &here) != nil || unix.Stat(filepath.Dir(dir), &above) != nil {
		return false
	}
	return here.Dev != above.Dev
}

// poll calls ask until the answer is not the zero value.
func poll[T comparable](ctx context.Context, what string, ask func() (T, error)) (T, error) {
	var zero T
	for {
		answer, err := ask()
		if err != nil || answer != zero {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return zero, fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
