package gates

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/scenario"
)

// medium is a file system on a loop device.
type medium struct {
	name  string
	make  []string // program that makes it; the image follows
	mount []string // program that mounts it; device and directory follow; nil: the kernel mounts it
	alien string   // its name in the error, if the servers cannot mount it
}

// mediums are the file systems of sticks and disks. A trial is skipped if this machine's
// kernel and its fuse programs lack one; scenario sticks has FAT32 and exFAT on an emulated
// kernel.
func mediums() []medium {
	return []medium{
		{"ext4", []string{"mkfs.ext4", "-q", "-F"}, nil, ""},
		{"xfs", []string{"mkfs.xfs", "-q", "-f"}, nil, ""},
		{"btrfs", []string{"mkfs.btrfs", "-q", "-f"}, nil, "Btrfs"},
		{"vfat", []string{"mkfs.vfat", "-F", "32"}, nil, ""},
		{"exfat", []string{"mkfs.exfat"}, nil, ""},
		{"exfat", []string{"mkfs.exfat"}, []string{"mount.exfat-fuse"}, ""},
		{"ntfs", []string{"mkfs.ntfs", "-Q", "-F"}, []string{"ntfs-3g"}, "NTFS"},
	}
}

// kernelHas reports whether the kernel can mount the file system.
func kernelHas(name string) bool {
	text, err := os.ReadFile("/proc/filesystems")
	return err == nil && strings.Contains(string(text), "\t"+name+"\n")
}

// on mounts a new file system of some MiB for job.
func (m medium) on(ctx context.Context, s *stage, size int, job func(at string) (scenario.Result, error)) (r scenario.Result, err error) {
	if err := program(m.make[0]); err != nil {
		return r, err
	}
	mount := m.mount
	if mount == nil {
		mount = []string{"mount"}
	}
	if err := program(mount[0]); err != nil {
		return r, err
	}
	if m.mount == nil && !kernelHas(m.name) {
		return r, fmt.Errorf("%w: %s in the kernel", errAbsent, m.name)
	}
	image, at := filepath.Join(s.dir, "medium.img"), filepath.Join(s.dir, "medium with space")
	err = errors.Join(os.WriteFile(image, nil, 0o644), os.Truncate(image, int64(size)<<20), os.Mkdir(at, 0o755),
		run(ctx, m.make[0], append(m.make[1:], image)...))
	if err != nil {
		return r, err
	}
	device, err := exec.CommandContext(ctx, "losetup", "--find", "--show", image).Output()
	if err != nil {
		return r, fmt.Errorf("losetup %s: %w", image, err)
	}
	loop := strings.TrimSpace(string(device))
	defer func() { err = errors.Join(err, run(context.WithoutCancel(ctx), "losetup", "--detach", loop)) }()
	if err := run(ctx, mount[0], append(mount[1:], loop, at)...); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, run(context.WithoutCancel(ctx), "umount", at)) }()
	return job(at)
}

func (s *stage) buildTo(ctx context.Context, at string, flags ...string) (scenario.Result, error) {
	return s.Airgap(ctx, append([]string{"bundle", "-f", filepath.Join(s.Work, "airgap.yaml"), "-o", at}, flags...)...)
}

// written builds a bundle on the medium and verifies it there. A medium that the servers cannot mount is refused first.
func (m medium) written(ctx context.Context, s *stage, at string) (scenario.Result, error) {
	var flags []string
	if m.alien != "" {
		r, err := s.buildTo(ctx, at)
		if err == nil {
			err = r.Want("bundle on "+m.name, 2, "cannot mount "+m.alien)
		}
		if err != nil {
			return r, err
		}
		flags = []string{"--any-filesystem"}
	}
	if r, err := s.buildTo(ctx, at, flags...); err != nil || r.Code != 0 {
		return r, err
	}
	return s.inspected(ctx, filepath.Join(at, "bank"))
}

func mediumTrials() []trial {
	var all []trial
	for _, m := range mediums() {
		name := "a stick with " + m.name
		if m.mount != nil {
			name += " through " + m.mount[0]
		}
		all = append(all, trial{name, func(ctx context.Context, s *stage) (scenario.Result, error) {
			return m.on(ctx, s, 1200, func(at string) (scenario.Result, error) { return m.written(ctx, s, at) })
		}, 0, []string{"every byte verified"}})
	}
	ext4 := mediums()[0]
	return append(all,
		trial{"a stick that is too small", func(ctx context.Context, s *stage) (scenario.Result, error) {
			return ext4.on(ctx, s, 100, func(at string) (scenario.Result, error) { return s.buildTo(ctx, at) })
		}, 1, []string{"no space", "available"}},
		trial{"a stick that is read-only", func(ctx context.Context, s *stage) (scenario.Result, error) {
			return ext4.on(ctx, s, 700, func(at string) (scenario.Result, error) {
				if err := run(ctx, "mount", "-o", "remount,ro", at); err != nil {
					return scenario.Result{}, err
				}
				return s.buildTo(ctx, at)
			})
		}, 1, []string{"read-only file system"}},
		trial{"a DVD image (read-only, squashfs)", dvd("squashfs", "mksquashfs", "-quiet", "-no-progress", "-noD", "-noF"), 0, []string{"every byte verified"}},
		trial{"a stick with LUKS", luks, 0, []string{"every byte verified"}},
	)
}

// dvd writes the good bundle as a read-only image and reads it from there.
func dvd(name string, pack ...string) func(context.Context, *stage) (scenario.Result, error) {
	return func(ctx context.Context, s *stage) (scenario.Result, error) {
		if err := program(pack[0]); err != nil {
			return scenario.Result{}, err
		}
		if !kernelHas(name) {
			return scenario.Result{}, fmt.Errorf("%w: %s in the kernel", errAbsent, name)
		}
		image, at := filepath.Join(s.dir, "dvd.img"), filepath.Join(s.dir, "dvd")
		args := append([]string{s.good, image}, pack[1:]...)
		if err := errors.Join(os.Mkdir(at, 0o755), run(ctx, pack[0], args...), run(ctx, "mount", "-o", "loop,ro", image, at)); err != nil {
			return scenario.Result{}, err
		}
		r, err := s.inspected(ctx, at)
		return r, errors.Join(err, run(context.WithoutCancel(ctx), "umount", at))
	}
}

// luks makes an encrypted stick.
func luks(ctx context.Context, s *stage) (r scenario.Result, err error) {
	if err := program("cryptsetup", "mkfs.ext4"); err != nil {
		return r, err
	}
	image, key, at := filepath.Join(s.dir, "luks.img"), filepath.Join(s.dir, "key"), filepath.Join(s.dir, "stick")
	err = errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 1200<<20), os.WriteFile(key, []byte("a passphrase of the lab"), 0o600), os.Mkdir(at, 0o755))
	if err == nil {
		err = run(ctx, "cryptsetup", "-q", "luksFormat", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", image, key)
	}
	if err != nil {
		return r, err
	}
	const mapped = "airgap-gates"
	if out, err := exec.CommandContext(ctx, "cryptsetup", "open", "--key-file", key, image, mapped).CombinedOutput(); err != nil {
		return r, fmt.Errorf("%w: dm-crypt: %s", errAbsent, strings.TrimSpace(string(out)))
	}
	defer func() { err = errors.Join(err, run(context.WithoutCancel(ctx), "cryptsetup", "close", mapped)) }()
	if err := errors.Join(run(ctx, "mkfs.ext4", "-q", "/dev/mapper/"+mapped), run(ctx, "mount", "/dev/mapper/"+mapped, at)); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, run(context.WithoutCancel(ctx), "umount", at)) }()
	if r, err = s.buildTo(ctx, at); err != nil || r.Code != 0 {
		return r, err
	}
	return s.inspected(ctx, filepath.Join(at, "bank"))
}
