package site

import (
	"net"
	"strconv"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// CheckAddress returns a usage error unless addr is HOST:PORT. what begins the error.
func CheckAddress(what, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" || n == 0 {
		return advice.Usagef("%s %q: want ADDRESS:PORT such as 10.0.0.11:%d", what, addr, registry.DefaultPort)
	}
	return nil
}

// CheckRegistry returns a usage error unless addr is ADDRESS:PORT and caHash is the hash of a CA, sha256:….
// airgap install prints both. command begins the errors.
func CheckRegistry(command, addr, caHash string) error {
	switch {
	case caHash == "":
		return advice.Usagef("%s --ca-hash is missing; airgap install prints the complete command", command)
	case !trust.IsCAHash(caHash):
		return advice.Usagef("%s --ca-hash %q: want sha256: and 64 hexadecimal digits, as in the output of airgap install", command, caHash)
	}
	return CheckAddress(command, addr)
}
