// Package upkeep provides the systemd timers that run every day on the hosts of a cluster. A
// control-plane host verifies the cluster. Every host renews its certificates before they expire.
package upkeep

import "embed"

const (
	// VerifyTimer verifies the cluster. VerifyService fails if the result is not ok.
	VerifyTimer   = "airgap-verify.timer"
	VerifyService = "airgap-verify.service"
	// RenewTimer renews the certificates of the host that expire within 60 days.
	RenewTimer   = "airgap-certs-renew.timer"
	RenewService = "airgap-certs-renew.service"
	// MetricsDir contains the last result of airgap verify, for node_exporter's textfile collector.
	MetricsDir = "/var/lib/airgap/metrics"
)

//go:embed *.service *.timer
var units embed.FS

// Timers returns the names of the timers of a host.
func Timers(controlPlane bool) []string {
	if controlPlane {
		return []string{VerifyTimer, RenewTimer}
	}
	return []string{RenewTimer}
}

// Units returns the systemd units by name, for airgap.rpm.
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
