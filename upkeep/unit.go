// Package upkeep is what hosts of a cluster do by themselves every day, by timers of systemd: a
// control-plane host verifies the cluster, and each host has its certificates renewed before they
// end.
package upkeep

import "embed"

const (
	// VerifyTimer verifies the cluster; a bad verdict is a failed VerifyService.
	VerifyTimer   = "airgap-verify.timer"
	VerifyService = "airgap-verify.service"
	// RenewTimer renews the certificates of the host that end within 60 days.
	RenewTimer   = "airgap-certs-renew.timer"
	RenewService = "airgap-certs-renew.service"
	// MetricsDir has the last verdict for node_exporter's textfile collector.
	MetricsDir = "/var/lib/airgap/metrics"
)

//go:embed *.service *.timer
var units embed.FS

// Timers are those of a host.
func Timers(controlPlane bool) []string {
	if controlPlane {
		return []string{VerifyTimer, RenewTimer}
	}
	return []string{RenewTimer}
}

// Units are the systemd units by their names, for airgap.rpm.
func Units() (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, name := range []string{VerifyTimer, VerifyService, RenewTimer, RenewService} {
		text, err := units.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all[name] = text
	}
	return all, nil
}
