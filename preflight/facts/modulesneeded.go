package facts

import "slices"

// surveyed reports whether the facts have one of the modules: an older survey does not have all.
func (f *Facts) surveyed(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return f.Modules[name] != "" })
}

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

const LockedParameter = "kernel.modules_disabled"
