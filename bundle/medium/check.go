package medium

import (
	"context"
	"fmt"
	"strings"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/alike"
	"airgap.dev/airgap/preflight"
)

// Check compares the medium of the bundle with the servers that will read it, and prints warnings. dir is
// the directory of --out, "" for none. It returns a usage error if the first control-plane host cannot read
// the medium. anyFormat is for a medium that ends at a gate: then it prints this error as a warning.
func Check(ctx context.Context, dir string, anyFormat bool, servers []Server, say func(format string, args ...any)) error {
	warnOfUSB(servers, say)
	if dir == "" {
		return nil
	}
	m, err := Read(ctx, dir)
	if err != nil {
		say("warning: the file system of %s is unknown, so that it cannot be compared with the servers: %v", dir, err)
		return nil
	}
	return m.check(anyFormat, servers, say)
}

func (m *Medium) check(anyFormat bool, servers []Server, say func(format string, args ...any)) error {
	if m.Root || m.Device == "" {
		return nil // a directory of this host or of a file server: the bundle goes to the servers on another way
	}
	var refused string
	var warned []alike.Said
	for _, s := range servers {
		for _, f := range m.judge(s) {
			text := fmt.Sprintf("%s (%s) %s", s.Name, s.kernel(), f.text)
			if f.fatal && s.First && m.Carried && refused == "" {
				refused = text
				continue
			}
			warned = append(warned, alike.Said{Host: s.Name, Text: fmt.Sprintf("(%s) %s", s.kernel(), f.text)})
		}
	}
	for _, g := range alike.Groups(warned) {
		say("warning: the medium at %s: %s %s", m.Mount, g.Name(), g.Text)
	}
	if m.Unread != nil && (m.Type == "xfs" || m.Type == "ext4") {
		say("note: the medium at %s is %s; which of its features are new is unknown: %v", m.Mount, m.label(), m.Unread)
	}
	if refused == "" {
		return nil
	}
	if anyFormat {
		say("warning: the medium at %s: %s", m.Mount, refused)
		return nil
	}
	return advice.Add(advice.Usagef("write a bundle to %s: %s", m.Mount, refused),
		"format the medium with %s; or pass --any-filesystem if the servers do not read this medium themselves", m.format())
}

// warnOfUSB lists the servers that block USB drives: the exception must be there before the trip.
func warnOfUSB(servers []Server, say func(format string, args ...any)) {
	var blocked []alike.Said
	for _, s := range servers {
		if s.Facts == nil {
			continue
		}
		if found := preflight.USBBlocks(s.Facts); len(found) > 0 {
			blocked = append(blocked, alike.Said{Host: s.Name, Text: strings.Join(found, "; ")})
		}
	}
	for _, g := range alike.Groups(blocked) {
		say("warning: USB drives are blocked on %s: %s; before the trip, ask the security team for an exception, or plan another way: airgap docs walkthrough", g.Name(), g.Text)
	}
}
