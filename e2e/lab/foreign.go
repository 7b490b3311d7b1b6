package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/crypto/ssh"
)

// A Foreign is a Machine that the lab did not create and does not remove: a server that a
// hosts file names. The lab cannot control its power, its disks and its network.
type Foreign struct {
	name string
	addr netip.Addr
	ssh  *sshHost
}

// ForeignDir is the directory of a run of scenarios on a foreign host. A host without it
// does not belong to a run.
const ForeignDir = "/var/lib/airgap-e2e"

// OpenHosts returns a lab of foreign hosts. Do not call Down for it.
func OpenHosts(cache, run string, hosts Hosts) *Lab {
	l := &Lab{cache: cache, run: run}
	for _, h := range hosts.Hosts {
		l.Machines = append(l.Machines, hosts.machine(h))
	}
	return l
}

func (h Hosts) machine(host Host) *Foreign {
	return &Foreign{name: host.Name, addr: host.node, ssh: &sshHost{
		name: host.Name, addr: host.addr(), sudo: host.User != "root",
		dial:   new(net.Dialer).DialContext, // its keep-alive detects a dead peer within minutes
		config: func() (*ssh.ClientConfig, error) { return h.sshConfig(host) },
	}}
}

// Name implements Machine.
func (f *Foreign) Name() string { return f.name }

// Addr implements Machine.
func (f *Foreign) Addr() netip.Addr { return f.addr }

// Exec implements Machine.
func (f *Foreign) Exec(ctx context.Context, cmd Cmd) error { return f.ssh.Exec(ctx, cmd) }

// stickCopy is the directory with the stick's files.
const stickCopy = ForeignDir + "/stick"

// AttachStick implements Machine with a copy on the host's disk, which needs the space.
func (f *Foreign) AttachStick(ctx context.Context, dir string) error {
	if err := f.copy(ctx, dir); err != nil {
		return fmt.Errorf("copy %s to %s: %w", dir, f.name, err)
	}
	const mount = `mkdir -p "$1" && mount --bind "$0" "$1" && mount -o remount,bind,ro,nosuid,nodev "$1"`
	return f.Exec(ctx, Cmd{Args: []string{"sh", "-c", mount, stickCopy, StickPath}})
}

func (f *Foreign) copy(ctx context.Context, dir string) error {
	return filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		below, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		in, err := os.Open(file)
		if err != nil {
			return err
		}
		defer in.Close()
		return PutFile(ctx, f, path.Join(stickCopy, filepath.ToSlash(below)), 0o755, in) // as on FAT32
	})
}

// PullStick implements Machine. Without a stick, it does nothing.
func (f *Foreign) PullStick(ctx context.Context) error {
	const umount = `while mountpoint -q "$1"; do umount --lazy "$1" || exit 1; done; rm -rf "$0"`
	return f.Exec(ctx, Cmd{Args: []string{"sh", "-c", umount, stickCopy, StickPath}})
}

// AttachEmptyStick implements Machine.
func (f *Foreign) AttachEmptyStick(context.Context, string, int64) error {
	return errors.ErrUnsupported
}

// ReplugStick implements Machine.
func (f *Foreign) ReplugStick(context.Context) error { return errors.ErrUnsupported }

// Start implements Machine.
func (f *Foreign) Start(context.Context) error { return errors.ErrUnsupported }

// Kill implements Machine.
func (f *Foreign) Kill(context.Context) error { return errors.ErrUnsupported }

// Close implements Machine: it closes the connection. The host is not changed.
func (f *Foreign) Close(context.Context) error {
	f.ssh.disconnect()
	return nil
}
