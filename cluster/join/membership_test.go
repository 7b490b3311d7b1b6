package join

import (
	"strings"
	"testing"

	"airgap.dev/airgap/internal/advice"
)

func TestOtherCluster(t *testing.T) {
	for _, tc := range []struct {
		here    Membership
		cluster string
		fine    bool
	}{
		{Membership{}, "", true},
		{Membership{}, "sha256:a", true},
		{Membership{Joined: true, Cluster: "sha256:a"}, "sha256:a", true},
		{Membership{Joined: true, Cluster: "sha256:b"}, "sha256:a", false},
		{Membership{Joined: true, Cluster: "sha256:b"}, "", false}, // this host has none yet
	} {
		err := OtherCluster("node2", tc.here, tc.cluster)
		if (err == nil) != tc.fine {
			t.Errorf("%+v against %q: %v", tc.here, tc.cluster, err)
		}
		if next := advice.Of(err); err != nil && strings.Contains(next, "airgap join here") != (tc.cluster == "") {
			t.Errorf("%+v against %q: hint %q", tc.here, tc.cluster, next)
		}
	}
}
