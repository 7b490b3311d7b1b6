package sysctld

import (
	"path"
	"slices"
	"strings"
)

// Of returns the setting that a parameter has after the next boot; false if none sets it.
//
// An interface has its own settings, with or without a glob: udev runs systemd-sysctl for each new
// interface. Without them, it has the value of net.ipv4.conf.default, which it copies when it is
// created. The interfaces of pods are all created later.
func (b *Boot) Of(name string) (Setting, bool) {
	p := Path(name)
	fallback := inherited(p)
	if fallback == "" {
		return b.simulate(p)
	}
	if s, is := b.last(b.late, p); is {
		return s, true
	}
	if s, is := b.last(b.options, p); is {
		return s, true
	}
	return b.simulate(fallback)
}

// inherited is the path from which an interface copies its value; "" for other parameters.
func inherited(p string) string {
	dirs := strings.Split(p, "/")
	if len(dirs) != 5 || dirs[0] != "net" || dirs[2] != "conf" || dirs[3] == "all" || dirs[3] == "default" {
		return ""
	}
	dirs[3] = "default"
	return strings.Join(dirs, "/")
}

// last is the last of the settings for a parameter.
func (b *Boot) last(writes []write, p string) (found Setting, is bool) {
	for _, w := range writes {
		if b.sets(w, p) && (!is || !skips(w.Value, found.Value)) {
			found, is = w.applied(), true
		}
	}
	return found, is
}

// simulate applies the settings in their order. When the kernel's forwarding changes, it also
// changes net.ipv4.conf.default.forwarding.
func (b *Boot) simulate(p string) (found Setting, is bool) {
	forwarding := "0"
	for _, w := range slices.Concat(b.early, b.options, b.late) {
		changes := b.sets(w, ipForward)
		if b.sets(w, p) && (!is || !skips(w.Value, found.Value)) || p == everyLater && changes && w.Value != forwarding {
			found, is = w.applied(), true
		}
		if changes {
			forwarding = w.Value
		}
	}
	return found, is
}

// sets reports whether a setting is for a parameter. A glob does not set a parameter that has a separate
// line.
func (b *Boot) sets(w write, p string) bool {
	for _, alias := range aliases(p) {
		if !w.glob && w.path == alias || w.glob && !b.named[alias] && matches(w.path, alias) {
			return true
		}
	}
	return false
}

// matches reports whether a glob(7) matches a path. "*" does not match a slash.
func matches(glob, p string) bool {
	is, err := path.Match(strings.ReplaceAll(glob, "[!", "[^"), p)
	return err == nil && is
}
