package install

import (
	"fmt"
	"io"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/alike"
)

// writeHosts writes the result of each host, equal ones together, and the fingerprints of keys that sign backups.
func writeHosts(w io.Writer, hosts []fleet.Joined) {
	var said []alike.Said
	for _, h := range hosts {
		text := fmt.Sprintf("done (%d steps ran, %d were up to date)", h.Changed, h.Unchanged)
		switch {
		case h.Error != "":
			text = "did not join"
		case h.Changed == 0:
			text = fmt.Sprintf("nothing to do, all %d steps are up to date", h.Unchanged)
		}
		said = append(said, alike.Said{Host: h.Node, Text: text})
	}
	for _, g := range alike.Groups(said) {
		fmt.Fprintf(w, "%s: %s\n", g.Name(), g.Text)
	}
	for _, h := range hosts {
		if h.Error == "" && h.Changed > 0 {
			site.WriteBackupKey(w, h.Node, h.BackupKey)
		}
	}
}
