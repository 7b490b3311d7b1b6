package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"airgap.dev/airgap/internal/nextboot"
)

// Media has the abilities of the running kernel to read a medium.
type Media struct {
	// Modules are the states of MediaModules. It is empty if the module tree cannot be read.
	Modules map[string]Module `yaml:"modules,omitempty" json:"modules,omitempty"`
	// Blocked are the lines that block one of them. The kernel asks for the module of a file system by an
	// alias, to which a blacklist applies, too.
	Blocked []nextboot.Block `yaml:"blocked,omitempty" json:"blocked,omitempty"`
}

// MediaModules are the modules for the file systems of sticks, discs and images, and for LUKS.
func MediaModules() []string {
	return []string{"btrfs", "dm_crypt", "exfat", "ext4", "f2fs", "hfsplus", "isofs", "ntfs3", "udf", "vfat", "xfs"}
}

func readMedia(_ context.Context, r reader, f *Facts) error {
	release, err := r.text("proc/sys/kernel/osrelease")
	if err != nil {
		return err
	}
	builtin, loadable, err := nextboot.ReadModuleLists(r.fs, release)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a container, or a kernel without modules
	}
	if err != nil {
		return fmt.Errorf("read the kernel's modules: %w", err)
	}
	if f.Media.Blocked, err = nextboot.ReadBlocks(r.fs, MediaModules()); err != nil {
		return err
	}
	f.Media.Modules = map[string]Module{}
	for _, name := range MediaModules() {
		state := Missing
		switch {
		case builtin[name]:
			state = BuiltIn
		case r.exists("sys/module/" + name):
			state = Loaded
		case slices.ContainsFunc(f.Media.Blocked, func(b nextboot.Block) bool { return b.Module == name }):
			state = Blocked
		case loadable[name]:
			state = Loadable
		}
		f.Media.Modules[name] = state
	}
	return nil
}
