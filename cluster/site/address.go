package site

import (
	"net"
	"strconv"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/registry"
)

// CheckAddress wants HOST:PORT for what is named.
func CheckAddress(what, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" || n == 0 {
		return advice.Usagef("%s %q: want ADDRESS:PORT such as 10.0.0.11:%d", what, addr, registry.DefaultPort)
	}
	return nil
}
