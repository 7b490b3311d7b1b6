package release

import (
	"strings"
	"testing"
)

func TestUpgradePath(t *testing.T) {
	for _, tc := range []struct{ from, to, says string }{
		{"1.35.8", "1.36.3", ""},
		{"1.36.0", "1.36.3", ""},
		{"1.36.3", "1.36.3", ""},
		{"1.35.8", "1.37.0", "1.36 comes next"},
		{"1.36.3", "2.0.0", "one minor at a time"},
		{"1.36.3", "1.36.2", "older"},
		{"1.36.3", "1.35.9", "older"},
		{"1.36", "1.36.3", "read the cluster's version"},
		{"1.36.3", "next", "read the bundle's version"},
	} {
		err := UpgradePath(tc.from, tc.to)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s to %s: %v, want %q", tc.from, tc.to, err, tc.says)
		}
	}
}
