package build

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/program"
)

// TestCompleteBundle: the operators need the key and the next step of a complete bundle, too. The first output may
// be lost.
func TestCompleteBundle(t *testing.T) {
	dir := t.TempDir()
	keys, err := program.CheckKeys(t.Context(), program.KeyOptions{Dir: dir, New: true})
	require.NoError(t, err)
	require.NoError(t, keys.Make())
	for own, want := range map[bool]string{
		false: "",
		true:  "\n  signed with " + keys.Fingerprint() + ": pass it to airgap install with --require-key",
	} {
		keys.Own = own
		var out strings.Builder
		r := &Result{Dir: "usb/bank", Report: bundle.Report{Complete: true}, keys: keys}
		require.NoError(t, r.Write(&out))
		assert.Equal(t, "usb/bank is already complete; nothing was written"+want+"\n  RPM key "+keys.RPMFingerprint()+
			": send this fingerprint to the operators at the servers, but not on the USB drive\n  next: on the servers, follow INSTALL.txt in that directory\n", out.String())
	}
}
