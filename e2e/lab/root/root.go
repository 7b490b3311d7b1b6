// Package root makes the disk that every server of the lab starts from.
//
// For containers it is two directories to be stacked by overlayfs. The lower one is a plain
// Debian with systemd, dnf and rpm, made by debootstrap from the mirror this
// machine's own apt uses; it takes a minute and a half, and is made again only
// when the list of packages changes. The upper one makes it look like a
// minimal Rocky Linux 9 to everything that asks: os-release, the rpm database
// with one base package in it, dnf, a frozen vendor repository, the modules
// that are built into the kernel. It takes seconds.
//
// What airgap is to bring is deliberately not there: no container runtime, no
// conntrack, socat, ethtool or iptables.
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

// Config says what to build from.
type Config struct {
	Cache     string // layers go to CACHE/root
	BaseRPM   string // the package lab-minimal-base
	VendorKey string // the vendor's public key, armored
}

// ForUpstream is the Config whose files the lab's upstream has built into the
// same cache.
func ForUpstream(cache string) (Config, error) {
	cfg := Config{
		Cache:     cache,
		BaseRPM:   filepath.Join(cache, "base/lab-minimal-base.rpm"),
		VendorKey: filepath.Join(cache, "site/files/dl.rockylinux.org/pub/rocky/RPM-GPG-KEY-Rocky-9"),
	}
	for _, file := range []string{cfg.BaseRPM, cfg.VendorKey} {
		if _, err := os.Stat(file); err != nil {
			return cfg, fmt.Errorf("find what the lab's upstream makes (has it been built?): %w", err)
		}
	}
	return cfg, nil
}

// Build makes what is missing and returns the layers, the top one first. It
// needs root. Progress gets the output of the programs it runs.
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

// BuildBase makes the lower layer alone, which needs nothing of the lab's
// upstream: it may be made while that is being built.
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
	d, err := newDressing(cfg, debian)
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

// newBuilder waits until nobody else builds.
func newBuilder(cfg Config, progress io.Writer) (b builder, unlock func(), err error) {
	b = builder{dir: filepath.Join(cfg.Cache, "root"), progress: progress}
	unlock, err = lock(b.dir)
	return b, unlock, err
}

// layer makes CACHE/root/NAME-HASH unless it is there. A layer that fails
// half-way never gets its name.
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
