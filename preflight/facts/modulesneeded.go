package facts

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
