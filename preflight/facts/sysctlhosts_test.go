package facts

import (
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/sysctld"
)

// TestSurveyedProfiles: the filter of the script keeps the lines of a tuned profile that set kernel
// parameters, and their numbers.
func TestSurveyedProfiles(t *testing.T) {
	script, err := SurveyScript()
	require.NoError(t, err)
	var filter string
	for line := range strings.Lines(string(script)) {
		if strings.HasPrefix(line, "profile()") {
			filter = line
		}
	}
	const text = "#\n# x\n\n[main]\nsummary=TOKEN\ninclude = a\n[variables]\nisolated=1\n[ours]\ntype=sysctl\n kernel.panic = 5\n[sysfs]\n/sys/x/y.z=TOKEN\n[script]\nscript=TOKEN\n"
	cmd := exec.Command("sh", "-c", filter+"profile")
	cmd.Stdin = strings.NewReader(text)
	kept, err := cmd.Output()
	require.NoError(t, err)
	assert.NotContains(t, string(kept), "TOKEN")
	for _, profile := range []string{text, string(kept)} {
		b, err := sysctld.Read(fstest.MapFS{
			"etc/tuned/active_profile": {Data: []byte("p")}, "usr/lib/tuned/p/tuned.conf": {Data: []byte(profile)}, "usr/lib/tuned/a/tuned.conf": {Data: []byte("[sysctl]\nvm.swappiness=1\n")},
		})
		require.NoError(t, err)
		panicking, _ := b.Of("kernel.panic")
		swappiness, _ := b.Of("vm.swappiness")
		assert.Equal(t, []sysctld.Setting{{Key: "kernel.panic", Value: "5", File: "/usr/lib/tuned/p/tuned.conf", Line: 11}, {Key: "vm.swappiness", Value: "1", File: "/usr/lib/tuned/a/tuned.conf", Line: 2}},
			[]sysctld.Setting{panicking, swappiness})
	}
}
