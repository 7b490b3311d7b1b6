package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/alike"
	"airgap.dev/airgap/internal/ui"
)

// problems is the text of the hosts that failed, among this many, after the lines of their jump hosts. Hosts with the
// same error are together. Those behind a jump host that failed are in its lines.
func problems(failed []*Member, of int, what string, jumps ...string) string {
	var all []said
	started, rest := notStarted(failed)
	for _, m := range started {
		if _, behind := errors.AsType[*behindError](m.Err); !behind {
			all = append(all, said{m.Node.Name, m.address(), m.Err})
		}
	}
	lines := append([]string{fmt.Sprintf("%d of %s: %s", len(failed), ui.Count(of, "other host"), what)}, jumps...)
	return strings.Join(slices.Concat(lines, grouped(all), rest), "\n")
}

// said is the error of a host.
type said struct {
	host, address string
	err           error
}

// grouped returns the lines of the errors with their hints. Hosts with the same error are together, and a hint of
// several errors is there once.
func grouped(all []said) []string {
	hinted := map[string]string{} // by hint: the first error with it
	var texts []alike.Said
	for _, s := range all {
		text := s.err.Error()
		if next := advice.Of(s.err); next != "" {
			if _, is := hinted[next]; !is {
				hinted[next] = text
			}
			if hinted[next] == text {
				text += "\nhint: " + next
			}
		}
		texts = append(texts, alike.Said{Host: s.host, Address: s.address, Text: text})
	}
	return alike.Lines(texts, site.HostLogDir+" has their logs")
}

// address is the one of the login.
func (m *Member) address() string { return cmp.Or(m.host.Address, m.Node.Address) }

// problem returns a host's error with its hint, indented below the host's name. said has the hints of other hosts, which
// are not repeated.
func problem(name string, err error, said map[string]bool) string {
	text := "  " + name + ": " + err.Error()
	if next := advice.Of(err); next != "" && !said[next] {
		text += "\nhint: " + next
		said[next] = true
	}
	return strings.ReplaceAll(text, "\n", "\n    ")
}
