package facts

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"airgap.dev/airgap/internal/nextboot"
)

// Boot is the state that the host's files set up for the next boot.
type Boot struct {
	Entry   nextboot.Entry   `yaml:"entry" json:"entry"`
	Swap    []nextboot.Swap  `yaml:"swap,omitempty" json:"swap,omitempty"`
	Odd     []nextboot.Place `yaml:"odd,omitempty" json:"odd,omitempty"` // lines of fstab that nothing can read
	SELinux nextboot.SELinux `yaml:"selinux" json:"selinux"`
	// Hostname is the name in /etc/hostname.
	Hostname nextboot.Hostname `yaml:"hostname,omitempty" json:"hostname,omitzero"`
	Blocked  []nextboot.Block  `yaml:"blocked,omitempty" json:"blocked,omitempty"` // modules that a node may need
	// Modules are the states of the modules in the files of the entry's kernel.
	Modules map[string]Module `yaml:"modules,omitempty" json:"modules,omitempty"`
	// Loads are the lines of modules-load.d for modules that a node may need.
	Loads []nextboot.Load `yaml:"loads,omitempty" json:"loads,omitempty"`
	// Commands are lines of the site's scripts that set kernel parameters or filter packets at boot.
	Commands []nextboot.Command `yaml:"commands,omitempty" json:"commands,omitempty"`
}

func readBootSwap(_ context.Context, r reader, f *Facts) (err error) {
	f.Boot.Swap, f.Boot.Odd, err = nextboot.ReadSwaps(r.fs)
	return err
}

func readBootHostname(_ context.Context, r reader, f *Facts) (err error) {
	f.Boot.Hostname, err = nextboot.ReadHostname(r.fs)
	return err
}

func readBootCommands(_ context.Context, r reader, f *Facts) (err error) {
	f.Boot.Commands, err = nextboot.ReadCommands(r.fs)
	return err
}

func readBootSELinux(_ context.Context, r reader, f *Facts) (err error) {
	f.Boot.SELinux, err = nextboot.ReadSELinux(r.fs)
	return err
}

// surveyedModules are the names of moduleOptions.
func surveyedModules() []string { return slices.Sorted(maps.Keys(ModuleOptions())) }

func readBlocked(_ context.Context, r reader, f *Facts) (err error) {
	f.Boot.Blocked, err = nextboot.ReadBlocks(r.fs, surveyedModules())
	return err
}

func readModulesLoad(_ context.Context, r reader, f *Facts) (err error) {
	f.Boot.Loads, err = nextboot.ReadLoads(r.fs, surveyedModules())
	return err
}

// readBootModules reads the module list of the next kernel. Its configuration is not needed: a
// kernel without a module list does not boot.
func readBootModules(_ context.Context, r reader, f *Facts) error {
	entry, err := nextboot.ReadEntry(r.fs)
	if err != nil || entry.Release == "" {
		return err
	}
	builtin, loadable, err := nextboot.ReadModuleLists(r.fs, entry.Release)
	if err != nil {
		return fmt.Errorf("read the modules of the next kernel: %w", err)
	}
	f.Boot.Modules = map[string]Module{}
	for _, name := range surveyedModules() {
		switch {
		case builtin[name]:
			f.Boot.Modules[name] = BuiltIn
		case loadable[name]:
			f.Boot.Modules[name] = Loadable
		default:
			f.Boot.Modules[name] = Missing
		}
	}
	return nil
}

// NextCmdline is the kernel command line of the next boot, and its source. Without a boot loader
// entry the command line stays.
func (f *Facts) NextCmdline() (cmdline, from string) {
	if f.Boot.Entry.ID == "" {
		return f.Kernel.Cmdline, "the kernel command line"
	}
	return f.Boot.Entry.Cmdline, f.Boot.Entry.String()
}

// NextSELinux returns the mode now and at the next boot, with the source. Facts of an older survey
// have no next mode: then it is the mode now.
func (f *Facts) NextSELinux() (now, next, from string) {
	now = f.Security.SELinux
	if f.Boot.SELinux.Mode == "" {
		return now, now, ""
	}
	cmdline, entry := f.NextCmdline()
	next, from = f.Boot.SELinux.Next(cmdline, entry)
	return now, next, from
}

func readNextKernel(_ context.Context, r reader, f *Facts) (err error) {
	f.Boot.Entry, err = nextboot.ReadEntry(r.fs)
	f.Kernel.Next = f.Boot.Entry.Release
	return err
}
