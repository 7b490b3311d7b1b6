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
		text := m.Err.Error()
		if next := advice.Of(m.Err); next != "" {
			text += "\nhint: " + next
		}
		all = append(all, alike.Said{Host: m.Node.Name, Address: cmp.Or(m.host.Address, m.Node.Address), Text: text})
	}
	lines := []string{fmt.Sprintf("%d of %s: %s", len(failed), ui.Count(of, "other host"), what)}
	return strings.Join(append(lines, alike.Lines(all, site.HostLogDir+" has their logs")...), "\n")
}
