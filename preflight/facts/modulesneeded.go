package facts

import (
	"slices"

	"airgap.dev/airgap/internal/nextboot"
)

// BestModule is the best state among the modules.
func (f *Facts) BestModule(names []string) Module {
	best := Missing
	for _, name := range names {
		switch state := f.Modules[name]; state {
		case Loaded, BuiltIn, Loadable:
			return state
		case Blocked:
			best = Blocked
		}
	}
	return best
}

// LoadedAtBoot reports whether the next boot loads a module before systemd sets kernel parameters: the
// module is built in, or systemd-modules-load reads its name from a file or the kernel command line.
func LoadedAtBoot(f *Facts, name string) bool {
	states := f.Boot.Modules
	if len(states) == 0 {
		states = f.Modules
	}
	if states[name] == BuiltIn {
		return true
	}
	if f.Unit("systemd-modules-load.service").Enabled == "masked" {
		return false
	}
	cmdline, _ := f.NextCmdline()
	return nextboot.Loads(cmdline, name) || slices.ContainsFunc(f.Boot.Loads, func(l nextboot.Load) bool { return l.Module == name })
}

const LockedParameter = "kernel.modules_disabled"
