package registry

import _ "embed"

// UnitName is the systemd unit that serves a host's store.
const UnitName = "airgap-registry.service"

//go:embed airgap-registry.service
var unit []byte

// Unit is the systemd unit, for airgap.rpm. It takes more arguments for
// `airgap registry serve` from OPTIONS in /etc/sysconfig/airgap-registry.
func Unit() []byte { return append([]byte(nil), unit...) }
