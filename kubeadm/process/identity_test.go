package process

import (
	"os"
	"testing"
)

// TestRunsAsUser reads the format of this kernel.
func TestRunsAsUser(t *testing.T) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	if !runsAsUser(string(status), int64(os.Getuid())) || runsAsUser(string(status), int64(os.Getuid())+1) {
		t.Errorf("%s", status)
	}
}
