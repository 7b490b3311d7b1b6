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
				t.Errorf("%s uses %s, which the systemd of EL8 does not support", name, newer)
			}
		}
	}
}

// TestUnitIsInFIPSMode: cmd/airgap's testdata/push checks such a registry with openssl.
func TestUnitIsInFIPSMode(t *testing.T) {
	units, err := Units()
	must(t, err)
	if !strings.Contains(string(units[UnitName]), "\nEnvironment=GODEBUG=fips140=on\n") {
		t.Error("the registry would accept ChaCha20 with TLS 1.3")
	}
}
