package registry

import (
	"strings"
	"testing"
)

func TestUnitKnowsNothingNewerThanSystemd239(t *testing.T) {
	units, err := Units()
	must(t, err)
	for name, text := range units {
		for _, newer := range []string{"ProtectHostname", "ProtectClock", "ProtectKernelLogs", "RestrictSUIDSGID", "ProtectProc", "ProcSubset", "%d", "Type=exec"} {
			if strings.Contains(string(text), newer) {
				t.Errorf("%s has %s, which EL8's systemd does not know", name, newer)
			}
		}
	}
}

// TestUnitIsInFIPSMode: what openssl says of such a registry is in cmd/airgap's
// testdata/push.
func TestUnitIsInFIPSMode(t *testing.T) {
	units, err := Units()
	must(t, err)
	if !strings.Contains(string(units[UnitName]), "\nEnvironment=GODEBUG=fips140=on\n") {
		t.Error("the registry would take ChaCha20 with TLS 1.3")
	}
}
