// Package netnstest runs tests in network namespaces.
package netnstest

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netns"
)

// NeedRoot skips the test without root, or fails it if AIRGAP_REQUIRE_TOOLS is set.
func NeedRoot(t testing.TB) {
	t.Helper()
	if os.Getuid() == 0 {
		return
	}
	if os.Getenv("AIRGAP_REQUIRE_TOOLS") != "" {
		t.Fatal("network namespaces need root")
	}
	t.Skip("network namespaces need root")
}

// Enter moves the test's thread into a new network namespace until the test ends. The namespace of the
// machine never changes.
func Enter(t testing.TB) {
	t.Helper()
	NeedRoot(t)
	runtime.LockOSThread()
	before, err := netns.Get()
	require.NoError(t, err)
	inside, err := netns.New()
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, netns.Set(before))
		before.Close()
		inside.Close()
		runtime.UnlockOSThread()
	})
}
