package unitfile

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestShownRestrictions: a default that systemctl shows as a value is none, also with its name in show.
func TestShownRestrictions(t *testing.T) {
	usual := map[string]string{
		"PrivateTmp": "no", "ProtectSystem": "no", "CapabilityBoundingSet": "cap_chown cap_sys_ptrace", "SecureBits": "0", "TasksMax": "4096", "LimitNOFILE": "4096",
		"RuntimeMaxUSec": "infinity", "CPUQuotaPerSecUSec": "infinity", "ProtectProc": "default", "DevicePolicy": "auto", "MountFlags": "", "User": "",
	}
	for _, test := range []struct {
		key, value string
		want       []string
	}{
		{"PrivateTmp", "no", nil},
		{"PrivateTmp", "yes", []string{"PrivateTmp=yes"}},
		{"ProtectSystem", "full", []string{"ProtectSystem=full"}},
		{"CapabilityBoundingSet", "cap_chown", []string{"CapabilityBoundingSet=cap_chown"}},
		{"SecureBits", "noroot", []string{"SecureBits=noroot"}},
		{"DevicePolicy", "closed", []string{"DevicePolicy=closed"}},
		{"TasksMax", "infinity", nil},
		{"LimitNOFILE", "1024", nil}, // a warning of preflight
		{"RuntimeMaxUSec", "1h", nil},
		{"CPUQuotaPerSecUSec", "500ms", nil},
		{"ProtectProc", "invisible", []string{"ProtectProc=invisible"}},
		{"User", "kube", []string{"User=kube"}},
	} {
		shown := maps.Clone(usual)
		shown[test.key] = test.value
		var got []string
		for _, r := range ShownRestrictions(shown, usual) {
			got = append(got, r.Key+"="+r.Value)
			assert.NotEmpty(t, r.Why)
		}
		assert.Equal(t, test.want, got, test.key)
	}
	assert.Empty(t, ShownRestrictions(nil, nil))
	assert.Contains(t, ShownKeys(), "RuntimeMaxUSec")
	assert.NotContains(t, ShownKeys(), "CPUQuota")
}
