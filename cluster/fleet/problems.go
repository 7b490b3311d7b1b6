package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/alike"
	"airgap.dev/airgap/internal/ui"
)

// problems is the text of the hosts that failed, among this many, after the lines of their jump hosts. Hosts with the
// same error are together. Those behind a jump host that failed are in its lines.
func problems(failed []*Member, of int, what string, jumps ...string) string {
	var all []alike.Said
	hinted := map[string]string{} // by hint: the first error with it. Other errors do not repeat it.
	for _, m := range failed {
		if _, behind := errors.AsType[*behindError](m.Err); behind {
			continue
		}
		text := m.Err.Error()
		if next := advice.Of(m.Err); next != "" {
			if _, is := hinted[next]; !is {
				hinted[next] = text
			}
			if hinted[next] == text {
				text += "\nhint: " + next
			}
		}
		all = append(all, alike.Said{Host: m.Node.Name, Address: cmp.Or(m.host.Address, m.Node.Address), Text: text})
	}
	lines := append([]string{fmt.Sprintf("%d of %s: %s", len(failed), ui.Count(of, "other host"), what)}, jumps...)
	return strings.Join(append(lines, alike.Lines(all, site.HostLogDir+" has their logs")...), "\n")
}

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
