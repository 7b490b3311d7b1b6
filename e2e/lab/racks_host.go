package lab

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Files of a host, which programs see at the usual places.
const (
	MachineID  = "machine-id"
	HostName   = "hostname"
	ResolvConf = "resolv.conf"
	etcHosts   = "hosts"
)

// hostDir has the files of a host.
func (r *Racks) hostDir(name string) string { return filepath.Join(r.dir, name) }

// Write replaces a file of a host before the measurement.
func (r *Racks) Write(name, file, text string) error {
	return os.WriteFile(filepath.Join(r.hostDir(name), file), []byte(r.names().Replace(text)), 0o644)
}

func (r *Racks) writeHost(i int) error {
	name, id := Node(i), make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return err
	}
	return errors.Join(
		os.MkdirAll(r.hostDir(name), 0o755),
		r.Write(name, MachineID, hex.EncodeToString(id)+"\n"),
		r.Write(name, HostName, name+"\n"),
		r.Write(name, ResolvConf, "search bank.example\nnameserver $names\n"),
		r.Write(name, etcHosts, "127.0.0.1 localhost\n"))
}

// asHost is a shell script that runs a program with the files and the name of a host. All
// mounts are private and end with the program.
const asHost = `set -e
hostname "$(cat "$0/hostname")"
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /var/lib
for f in machine-id resolv.conf hosts; do mount --bind "$0/$f" "/etc/$f"; done
exec "$@"`

// command returns a command on a host.
func (r *Racks) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + nsPath(r.space(name)), "unshare", "--mount", "--uts", "--propagation", "private",
		"sh", "-c", asHost, r.hostDir(name)}, args...)...)
}

// Beside runs a program in a namespace until Close.
func (r *Racks) Beside(name string, args ...string) error {
	return r.start(exec.Command("nsenter", append([]string{"--net=" + nsPath(r.space(name)), "sh", "-c", untilThePipeEnds, "sh"}, r.named(args)...)...))
}

// start starts a program that ends with its standard input, at the latest with Close.
func (r *Racks) start(cmd *exec.Cmd) error {
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", strings.Join(cmd.Args, " "), err)
	}
	r.ends = append(r.ends, func() error {
		err := pipe.Close()
		_ = cmd.Wait() // it was killed
		return err
	})
	return nil
}

// Accept answers each TCP connection to a port in a namespace until Close. handle may keep the
// connection: Close closes it.
func (r *Racks) Accept(ctx context.Context, name string, at netip.AddrPort, handle func(net.Conn)) error {
	var listener net.Listener
	if err := r.within(name, func() (err error) {
		listener, err = new(net.ListenConfig).Listen(ctx, "tcp4", at.String())
		return err
	}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	r.ends = append(r.ends, func() error { cancel(); return listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ctx, func() { conn.Close() })
			go handle(conn)
		}
	}()
	return nil
}

func (r *Racks) within(name string, work func() error) error {
	return inNamespace(nsPath(r.space(name)), unix.CLONE_NEWNET, work)
}

// Dir is the directory for files of the network's programs.
func (r *Racks) Dir() string { return r.dir }
