package facts

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMedia: the modules are in the output of the script, also of an older one.
func TestMedia(t *testing.T) {
	const tree = "-- fs/proc/sys/kernel/osrelease --\n4.18.0-553.el8\n-- fs/lib/modules/4.18.0-553.el8/modules.builtin --\next4.ko\n" +
		"-- fs/lib/modules/4.18.0-553.el8/modules.dep --\nvfat.ko.xz:\nxfs.ko.xz:\nudf.ko.xz:\nisofs.ko.xz:\ndm-crypt.ko.xz:\n" +
		"-- fs/sys/module/xfs/ --\n-- fs/etc/modprobe.d/cis.conf --\n# CIS 1.1.1.7\ninstall udf /bin/false\nblacklist isofs\ninstall xfs /bin/false\n"
	f, err := ReadSurvey(t.Context(), strings.NewReader(tree+"-- end/ --\n"))
	require.NoError(t, err)
	for name, want := range map[string]Module{"ext4": BuiltIn, "vfat": Loadable, "xfs": Loaded, "udf": Blocked, "isofs": Blocked, "dm_crypt": Loadable, "exfat": Missing, "ntfs3": Missing} {
		assert.Equal(t, want, f.Media.Modules[name], name)
	}
	require.NotEmpty(t, f.Media.Blocked)
	assert.Equal(t, "/etc/modprobe.d/cis.conf line 2", f.Media.Blocked[0].String())

	f, err = ReadSurvey(t.Context(), strings.NewReader("-- fs/proc/sys/kernel/osrelease --\n6.1\n"+surveyedEnd()))
	require.NoError(t, err)
	assert.Empty(t, f.Media.Modules)
	assert.Empty(t, f.Why("media"))
}
