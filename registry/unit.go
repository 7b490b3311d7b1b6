package registry

import "embed"

// Names of the systemd units: UnitName serves a host's store and starts RenewTimer,
// which has the certificate renewed in time.
const (
	UnitName     = "airgap-registry.service"
	RenewTimer   = "airgap-registry-renew.timer"
	renewService = "airgap-registry-renew.service"
)

//go:embed airgap-registry.service airgap-registry-renew.service airgap-registry-renew.timer
var units embed.FS

// Units are the systemd units by their names, for airgap.rpm. UnitName takes more
// arguments for `airgap registry serve` from OPTIONS in /etc/sysconfig/airgap-registry.
func Units() (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, name := range []string{UnitName, RenewTimer, renewService} {
		text, err := units.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all[name] = text
	}
	return all, nil
}
