package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/preflight/replay"
)

// TestFirmwareAndTimeZone: a host without a DMI table, or with a copy of the zone's file, has unknown values and no error.
func TestFirmwareAndTimeZone(t *testing.T) {
	const dmi = "-- fs/sys/class/dmi/id/product_name --\nPowerEdge R650 \n-- fs/sys/class/dmi/id/bios_version --\n1.14.1\n"
	for name, c := range map[string]struct {
		recorded string
		firmware Firmware
		zone     string
	}{
		"a server":      {dmi + "-- run/readlink /etc/localtime --\n../usr/share/zoneinfo/Asia/Seoul\n", Firmware{"PowerEdge R650", "1.14.1"}, "Asia/Seoul"},
		"absolute link": {"-- run/readlink /etc/localtime --\n/usr/share/zoneinfo/UTC\n", Firmware{}, "UTC"},
		"another link":  {"-- run/readlink /etc/localtime --\n/opt/bank/zone\n", Firmware{}, ""},
		"a copy":        {"-- fail/1/readlink /etc/localtime --\n", Firmware{}, ""},
		"nothing":       {"", Firmware{}, ""},
		"denied":        {"-- denied/sys/class/dmi/id/bios_version --\npermission denied\n", Firmware{}, ""},
	} {
		h, err := replay.Host([]byte(c.recorded))
		require.NoError(t, err, name)
		f, err := Gather(t.Context(), h)
		require.NoError(t, err, name)
		assert.Equal(t, c.firmware, f.Firmware, name)
		assert.Equal(t, c.zone, f.Time.Zone, name)
		assert.Empty(t, f.Why("firmware", "timeZone"), name)
	}
}
