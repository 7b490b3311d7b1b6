package fleet

import (
	"cmp"
	"fmt"
	"strings"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/alike"
	"airgap.dev/airgap/internal/ui"
)

// problems is the text of the hosts that failed, among this many. Hosts with the same error are together.
func problems(failed []*Member, of int, what string) string {
	var all []alike.Said
	for _, m := range failed {
		all = append(all, alike.Said{Host: m.Node.Name, Address: m.address(), Text: withHint(m.Err)})
	}
	lines := []string{fmt.Sprintf("%d of %s: %s", len(failed), ui.Count(of, "other host"), what)}
	return strings.Join(append(lines, grouped(all)...), "\n")
}

func grouped(all []alike.Said) []string { return alike.Lines(all, site.HostLogDir+" has their logs") }

// withHint is an error and its hint.
func withHint(err error) string {
	if next := advice.Of(err); next != "" {
		return err.Error() + "\nhint: " + next
	}
	return err.Error()
}

// address is the one of the login.
func (m *Member) address() string { return cmp.Or(m.host.Address, m.Node.Address) }
