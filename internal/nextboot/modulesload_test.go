package nextboot

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadLoads: the first directory wins for each name of a file, also with an empty file.
func TestReadLoads(t *testing.T) {
	loads, err := ReadLoads(files(map[string]string{
		"etc/modules-load.d/b.conf":           "# overlay\n; overlay\n\n  br-netfilter  \nsctp\n",
		"etc/modules-load.d/masked.conf":      "",
		"usr/lib/modules-load.d/masked.conf":  "overlay\n",
		"run/modules-load.d/a.conf":           "nf_tables\n", // lost at the boot
		"usr/local/lib/modules-load.d/a.conf": "vxlan\r\n",
		"usr/lib/modules-load.d/a.conf":       "nf_tables\n", // hidden by the file in /usr/local/lib
		"usr/lib/modules-load.d/c.conf":       "xt_set\n",
		"etc/modules-load.d/readme":           "overlay\n",
	}), []string{"overlay", "br_netfilter", "vxlan", "nf_tables", "xt_set"})
	require.NoError(t, err)
	assert.Equal(t, []Load{
		{"vxlan", Place{"/usr/local/lib/modules-load.d/a.conf", 1}},
		{"br_netfilter", Place{"/etc/modules-load.d/b.conf", 4}},
		{"xt_set", Place{"/usr/lib/modules-load.d/c.conf", 1}},
	}, loads)
	none, err := ReadLoads(fstest.MapFS{}, []string{"overlay"})
	require.NoError(t, err)
	assert.Empty(t, none)
	_, err = ReadLoads(files(map[string]string{"etc/modules-load.d/a.conf": string(make([]byte, mostBytes+1))}), nil)
	require.ErrorContains(t, err, "/etc/modules-load.d/a.conf")
}

// TestLoadsOfCommandLine: a hyphen is an underscore in both names.
func TestLoadsOfCommandLine(t *testing.T) {
	for cmdline, want := range map[string]bool{
		"ro modules_load=overlay,br-netfilter": true, "modules-load=br_netfilter": true, "rd.modules_load=br_netfilter": false,
		"ro": false, "modules_load=overlay": false, "module_blacklist=br_netfilter": false,
	} {
		assert.Equal(t, want, Loads(cmdline, "br_netfilter"), cmdline)
	}
}
