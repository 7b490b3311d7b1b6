package facts

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/nextboot"
)

// BootMounts are the mounts of the next boot.
type BootMounts struct {
	// Container is the manager of the container that the host is; it mounts file systems. "" for none.
	Container string      `yaml:"container,omitempty" json:"container,omitempty"`
	Mounts    []BootMount `yaml:"mounts,omitempty" json:"mounts,omitempty"`
	// Odd names lines and units that mount nothing.
	Odd []string `yaml:"odd,omitempty" json:"odd,omitempty"`
	// NoFstab is true if the kernel command line switches /etc/fstab off.
	NoFstab bool `yaml:"noFstab,omitempty" json:"noFstab,omitempty"`
}

// BootMount is a mount of the next boot, from /etc/fstab or a mount unit.
type BootMount struct {
	FstabEntry `yaml:",inline"`
	Unit       bool `yaml:"unit,omitempty" json:"unit,omitempty"`
	// Device is the kernel's name of the disk, "dm-3"; "" if it is unknown. Missing is true if no disk has
	// the name now.
	Device  string `yaml:"device,omitempty" json:"device,omitempty"`
	Missing bool   `yaml:"missing,omitempty" json:"missing,omitempty"`
	// Later is true for a mount unit that no target starts.
	Later bool `yaml:"later,omitempty" json:"later,omitempty"`
	// Optional is true for a mount unit without which local-fs.target is reached.
	Optional bool `yaml:"optional,omitempty" json:"optional,omitempty"`
	// Closed is the place of the line of /etc/crypttab that does not open the disk at boot; "" for none.
	Closed string `yaml:"closed,omitempty" json:"closed,omitempty"`
}

// readBootMounts joins /etc/fstab and the mount units in systemd's order: a unit in /etc hides a line
// of fstab, and that one hides a unit of a package. Of two lines for a mount point the first counts.
func readBootMounts(ctx context.Context, r reader, f *Facts) error {
	var err error
	if f.BootMounts.Container, err = r.optional("run/systemd/container"); err != nil {
		return err
	}
	words, err := r.optional("proc/cmdline")
	if err != nil {
		return err
	}
	// The boot loader's files may be readable for root only; then the command line of now stays.
	if next, err := nextboot.ReadEntry(r.fs); err == nil && next.ID != "" {
		words = next.Cmdline
	}
	f.BootMounts.NoFstab = nextboot.Last(words, "fstab").No()
	hidden := map[string]bool{}
	for i, dir := range unitDirs() {
		units, odd, err := readMountUnits(r, dir)
		if err != nil {
			return err
		}
		f.BootMounts.Odd = append(f.BootMounts.Odd, odd...)
		for name := range units {
			if hidden[name] {
				delete(units, name)
			}
			hidden[name] = true
		}
		f.BootMounts.Mounts = append(f.BootMounts.Mounts, mountsOfUnits(units)...)
		if i > 0 {
			continue
		}
		if err := f.BootMounts.addFstab(r, hidden); err != nil {
			return err
		}
	}
	return f.BootMounts.findDisks(ctx, r)
}

// findDisks looks up the disks of all mounts.
func (b *BootMounts) findDisks(ctx context.Context, r reader) error {
	names, err := r.diskNames(ctx)
	if err != nil {
		return err
	}
	for i, m := range b.Mounts {
		b.Mounts[i].Device = KernelName(names, m.Spec)
		b.Mounts[i].Missing = strings.HasPrefix(diskLink(m.Spec), "/dev/disk/") && b.Mounts[i].Device == ""
	}
	return b.findClosed(r, names)
}

const crypttabFile = "etc/crypttab"

// findClosed finds the encrypted disks that crypttab(5) leaves closed (noauto): by their name, or by
// another name of the same disk.
func (b *BootMounts) findClosed(r reader, names map[string]string) error {
	text, err := r.optionalRaw(crypttabFile)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if i >= maxFstabLines || len(fields) < 4 || strings.HasPrefix(fields[0], "#") || !slices.Contains(strings.Split(fields[3], ","), "noauto") {
			continue
		}
		disk := "/dev/mapper/" + fields[0]
		for j, m := range b.Mounts {
			if m.Spec == disk || m.Device != "" && m.Device == KernelName(names, disk) {
				b.Mounts[j].Closed = fmt.Sprintf("/%s:%d", crypttabFile, i+1)
			}
		}
	}
	return nil
}

func (b *BootMounts) addFstab(r reader, hidden map[string]bool) error {
	entries, odd, err := readFstab(r)
	if err != nil || b.NoFstab {
		return err
	}
	b.Odd = append(b.Odd, odd...)
	for _, e := range entries {
		if !path.IsAbs(e.Mount) || e.Type == "swap" || e.Type == "ignore" {
			continue
		}
		e.Mount = path.Clean(e.Mount)
		name := escapePath(e.Mount) + ".mount"
		if hidden[name] {
			b.Odd = append(b.Odd, e.At()+": an earlier line or a mount unit in /etc/systemd/system mounts "+e.Mount)
			continue
		}
		hidden[name] = true
		b.Mounts = append(b.Mounts, BootMount{FstabEntry: e})
	}
	return nil
}

// At is the mount of a path after the next boot; ok is false if only the root file system has it.
func (b BootMounts) At(p string) (best BootMount, ok bool) {
	for _, m := range b.Mounts {
		if within(p, m.Mount) && m.Mount != "/" && len(m.Mount) > len(best.Mount) {
			best = m
		}
	}
	return best, best.Mount != ""
}

// optionalRaw is a file's content, with its white space; "" if the file does not exist.
func (r reader) optionalRaw(name string) (string, error) {
	if exists, err := r.present(name); err != nil || !exists {
		return "", err
	}
	data, err := fs.ReadFile(r.fs, name)
	return string(data), err
}

// ReadOnlyAt is the place of the option ro of a mount, with a comma before it; "" if there is none.
func (b BootMounts) ReadOnlyAt(mount string) string {
	for _, m := range b.Mounts {
		if m.Mount == mount && m.Has("ro") {
			return ", " + m.At()
		}
	}
	return ""
}
