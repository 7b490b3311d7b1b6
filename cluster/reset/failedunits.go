package reset

import (
	"context"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// forgetFailed removes airgap's services from systemd's list of failed units. A service that ended with an error while
// it was stopped stays there, also without its unit file: the kubelet does so in its first second.
func forgetFailed(ctx context.Context, h host.Host) error {
	out, err := h.Run(ctx, host.Cmd{Name: "systemctl", Args: []string{"list-units", "--all", "--state=failed", "--plain", "--no-legend", "--full"}, Env: []string{"LC_ALL=C"}})
	if err != nil {
		return err
	}
	if units := removedUnits(string(out)); len(units) > 0 {
		_, err = h.Run(ctx, host.Cmd{Name: "systemctl", Args: append([]string{"reset-failed", "--"}, units...)})
	}
	return err
}

// removedUnits returns the services of airgap without a unit file from a list of units.
func removedUnits(list string) []string {
	var units []string
	for line := range strings.Lines(list) {
		words := strings.Fields(strings.TrimLeft(line, "●* "))
		if len(words) < 2 || words[1] != "not-found" {
			continue
		}
		if slices.Contains([]string{"kubelet.service", "containerd.service", "crio.service"}, words[0]) || strings.HasPrefix(words[0], "airgap-") {
			units = append(units, words[0])
		}
	}
	return units
}
