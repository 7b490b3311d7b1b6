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
