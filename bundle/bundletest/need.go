package bundletest

import (
	"os"
	"os/exec"
	"testing"
)

// Need skips the test where one of the programs is not installed. With
// AIRGAP_REQUIRE_TOOLS=1 they have to be there.
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
