package site

import (
	"net"
	"strconv"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// CheckAddress wants HOST:PORT for what is named.
func CheckAddress(what, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" || n == 0 {
		return advice.Usagef("%s %q: want ADDRESS:PORT such as 10.0.0.11:%d", what, addr, registry.DefaultPort)
	}
	return nil
}

// CheckRegistry wants ADDRESS:PORT of a registry and the hash of its authority, sha256:…, as
// airgap install prints both; command begins the errors.
func CheckRegistry(command, addr, caHash string) error {
	switch {
	case caHash == "":
		return advice.Usagef("%s --ca-hash is missing; airgap install prints the whole line", command)
	case !trust.IsCAHash(caHash):
		return advice.Usagef("%s --ca-hash %q: want sha256: and 64 hexadecimal digits, as airgap install prints it", command, caHash)
	}
	return CheckAddress(command, addr)
}
