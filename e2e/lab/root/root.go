// Package root makes the disk that every server of the lab starts from.
//
// For containers it consists of two directories that overlayfs stacks. The lower one is a
// plain Debian with systemd, dnf and rpm. debootstrap makes it from the mirror of this
// machine's apt in a minute and a half, and only again when the list of packages changes.
// The upper one makes it look like a minimal Rocky Linux 9: os-release, the rpm database
// with one base package, dnf, a frozen vendor repository, and the modules that are built
// into the kernel. It takes seconds.
//
// The programs that airgap must install are missing: container runtime, conntrack, socat,
// ethtool, iptables.
package root

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Config contains the sources of the layers.
type Config struct {
	Cache     string // the layers are written to CACHE/root
	BaseRPM   string // the package lab-minimal-base
	VendorKey string // the vendor's public key, armored
}

// ForUpstream returns a Config with the files that the lab's upstream has built into the
// same cache.
func ForUpstream(cache string) (Config, error) {
	cfg := Config{
		Cache:     cache,
		BaseRPM:   filepath.Join(cache, "base/lab-minimal-base.rpm"),
		VendorKey: filepath.Join(cache, "site/files/dl.rockylinux.org/pub/rocky/RPM-GPG-KEY-Rocky-9"),
	}
	for _, file := range []string{cfg.BaseRPM, cfg.VendorKey} {
		if _, err := os.Stat(file); err != nil {
			return cfg, fmt.Errorf("find the files of the lab's upstream (build it with: upstream build): %w", err)
		}
	}
	return cfg, nil
}

// Build makes the missing layers and returns all layers, the top one first. It needs root.
// Progress gets the name of each layer that it makes.
func Build(ctx context.Context, cfg Config, progress io.Writer) ([]string, error) {
	b, unlock, err := newBuilder(cfg, progress)
	if err != nil {
		return nil, fmt.Errorf("build node root: %w", err)
	}
	defer unlock()
	layers, err := b.layers(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("build node root: %w", err)
	}
	return layers, nil
}

// BuildBase makes only the lower layer. It needs no files of the lab's upstream, so it can
// run during the build of the upstream.
func BuildBase(ctx context.Context, cache string, progress io.Writer) error {
	b, unlock, err := newBuilder(Config{Cache: cache}, progress)
	if err != nil {
		return fmt.Errorf("build node root: %w", err)
	}
	defer unlock()
	if _, err := b.debian(ctx); err != nil {
		return fmt.Errorf("build node root: %w", err)
	}
	return nil
}

func (b builder) layers(ctx context.Context, cfg Config) ([]string, error) {
	debian, err := b.debian(ctx)
	if err != nil {
		return nil, err
	}
	d, err := newCustomization(cfg, debian)
	if err != nil {
		return nil, err
	}
	if err := d.addOuterKernel(ctx); err != nil {
		return nil, err
	}
	el, err := b.el(ctx, d)
	return []string{el, debian}, err
}

type builder struct {
	dir      string
	progress io.Writer
}

// newBuilder waits until no other process builds in the same cache.
func newBuilder(cfg Config, progress io.Writer) (b builder, unlock func(), err error) {
	b = builder{dir: filepath.Join(cfg.Cache, "root"), progress: progress}
	unlock, err = lock(b.dir)
	return b, unlock, err
}

// layer makes CACHE/root/NAME-HASH if it does not exist. An incomplete layer never gets
// this name.
func (b builder) layer(name string, recipe []byte, fill func(dir string) error) (string, error) {
	sum := sha256.Sum256(recipe)
	final := filepath.Join(b.dir, fmt.Sprintf("%s-%x", name, sum[:6]))
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	fmt.Fprintf(b.progress, "disk of the servers: layer %s ...\n", filepath.Base(final))
	draft := final + ".draft"
	if err := os.RemoveAll(draft); err != nil {
		return "", err
	}
	if err := os.MkdirAll(draft, 0o755); err != nil {
		return "", err
	}
	if err := fill(draft); err != nil {
		return "", errors.Join(err, os.RemoveAll(draft))
	}
	return final, os.Rename(draft, final)
}

func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return func() { f.Close() }, nil
}
