package registry

import (
	"strings"
	"testing"
)

func TestUnitKnowsNothingNewerThanSystemd239(t *testing.T) {
	for _, newer := range []string{"ProtectHostname", "ProtectClock", "ProtectKernelLogs", "RestrictSUIDSGID", "ProtectProc", "ProcSubset", "%d", "Type=exec"} {
		if strings.Contains(string(Unit()), newer) {
			t.Errorf("the unit has %s, which EL8's systemd does not know", newer)
		}
	}
}

// TestUnitIsInFIPSMode: what openssl says of such a registry is in cmd/airgap's
// testdata/push.
func TestUnitIsInFIPSMode(t *testing.T) {
	if !strings.Contains(string(Unit()), "\nEnvironment=GODEBUG=fips140=on\n") {
		t.Error("the registry would take ChaCha20 with TLS 1.3")
	}
}
