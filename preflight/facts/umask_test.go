package facts

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/preflight/unitfile"
)

// TestUmaskOfUnits: drop-ins apply in the order of their names, across all services and the unit.
// The file from the hint of the check takes effect.
func TestUmaskOfUnits(t *testing.T) {
	const all, kubelet = "etc/systemd/system/service.d/", "etc/systemd/system/kubelet.service.d/"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string // of the kubelet
	}{
		{"none", nil, ""},
		{"for all", map[string]string{all + "10-cis.conf": "0077"}, "0077 /" + all + "10-cis.conf line 2"},
		{"the vendor's file is the last one", map[string]string{"usr/lib/systemd/system/service.d/20-vendor.conf": "0022", all + "10-cis.conf": "0077"},
			"0022 /usr/lib/systemd/system/service.d/20-vendor.conf line 2"},
		{"the kubelet's after it", map[string]string{all + "10-cis.conf": "0077", kubelet + "99-umask.conf": "0022"},
			"0022 /" + kubelet + "99-umask.conf line 2"},
		{"the kubelet's before it", map[string]string{all + "zz-cis.conf": "0077", kubelet + "99-umask.conf": "0022"},
			"0077 /" + all + "zz-cis.conf line 2"},
		{"the kubelet's hides it", map[string]string{all + "cis.conf": "0077", kubelet + "cis.conf": "0022"},
			"0022 /" + kubelet + "cis.conf line 2"},
	} {
		files := fstest.MapFS{}
		for name, mask := range test.files {
			files[name] = &fstest.MapFile{Data: []byte("[Service]\nUMask=" + mask + "\n")}
		}
		var f Facts
		require.NoError(t, readUnitFiles(t.Context(), reader{fs: files}, &f), test.name)
		got := ""
		if mask := unitfile.Last(f.SettingsOf("kubelet"), "UMask"); mask.Value != "" {
			got = mask.Value + " " + mask.At()
		}
		assert.Equal(t, test.want, got, test.name)
	}
}
