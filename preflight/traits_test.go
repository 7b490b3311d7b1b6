package preflight

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/outlier"
	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/replay"
)

// TestOutliersOfHosts: the hosts with another time zone or firmware are named, and the firmware is compared only
// between servers of the same kind.
func TestOutliersOfHosts(t *testing.T) {
	assert.Equal(t, []outlier.Trait{{Name: "firmware", Value: "1"}}, traitsOf(&facts.Facts{Firmware: facts.Firmware{Version: "1"}}))
	var all []outlier.Host
	for i := 1; i <= 100; i++ {
		f := &facts.Facts{Time: facts.Time{Zone: "Asia/Seoul"}, Firmware: facts.Firmware{Product: "PowerEdge R650", Version: "1.14.1"}}
		switch {
		case i == 7:
			f.Time.Zone = "UTC"
		case i == 8:
			f.Time.Zone = ""
		case i == 44 || i == 45:
			f.Firmware.Version = "1.5.5"
		case i > 90:
			f.Firmware = facts.Firmware{Product: "ProLiant DL380", Version: "U46"}
		}
		all = append(all, outlier.Host{Name: fmt.Sprintf("node%03d", i), Traits: traitsOf(f)})
	}
	var b strings.Builder
	require.NoError(t, outlier.Write(&b, outlier.Find(all)))
	assert.Equal(t, `note   time zone: Asia/Seoul on 98 hosts
       but UTC on node007
note   firmware of PowerEdge R650: 1.14.1 on 88 hosts
       but 1.5.5 on node[044-045]
`, b.String())
}

// TestTraitsOfAHost: the facts of the status come from files and short commands, also on a host with few of them.
func TestTraitsOfAHost(t *testing.T) {
	h, err := replay.Host([]byte("-- fs/etc/resolv.conf --\nsearch bank\nnameserver 10.0.0.53\n-- run/readlink /etc/localtime --\n/usr/share/zoneinfo/UTC\n" +
		"-- fs/sys/class/dmi/id/bios_version --\n1.0\n"))
	require.NoError(t, err)
	var got []string
	for _, trait := range Traits(t.Context(), h) {
		got = append(got, trait.Name+": "+trait.Value)
	}
	assert.Equal(t, []string{"SELinux: disabled", "name servers: 10.0.0.53", "search domains: bank", "time zone: UTC", "firmware: 1.0"}, got)
}
