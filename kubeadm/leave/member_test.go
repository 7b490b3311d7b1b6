package leave

import (
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
)

// newMember is a host that runs systemd, with an empty file system.
func newMember(t *testing.T) (*hosttest.Fake, Member) {
	t.Helper()
	f, m := hosttest.New(t)
	return f, Member{Machine: m}
}
