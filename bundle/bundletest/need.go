package bundletest

import (
	"os"
	"os/exec"
	"testing"
)

// Need skips the test if one of the programs is not installed. With
// AIRGAP_REQUIRE_TOOLS=1 a missing program fails the test.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err == nil {
			continue
		} else if os.Getenv("AIRGAP_REQUIRE_TOOLS") == "1" {
			t.Fatal(err)
		}
		t.Skipf("%s is not installed", p)
	}
}
