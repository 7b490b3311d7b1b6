package registry

import "embed"

// Names of the systemd units. UnitName serves a host's store, and starts RenewTimer, which renews the
// certificate in time.
const (
	UnitName     = "airgap-registry.service"
	RenewTimer   = "airgap-registry-renew.timer"
	renewService = "airgap-registry-renew.service"
)

//go:embed airgap-registry.service airgap-registry-renew.service airgap-registry-renew.timer
var units embed.FS

// Units returns the systemd units by name, for airgap.rpm. UnitName reads more arguments of `airgap
// registry serve` from OPTIONS in /etc/sysconfig/airgap-registry.
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
