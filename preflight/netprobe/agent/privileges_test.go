package agent

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrivileges reads the state of each thread of an agent that listens. The other tests of this package
// measure with such agents.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	p := n.ready(0)
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.cmd.Process.Pid))
	if err != nil || len(threads) < atOnce {
		t.Fatalf("the agent has the threads %q, %v", threads, err)
	}
	const capabilities = "0000000000003000" // CAP_NET_ADMIN, CAP_NET_RAW
	const id = "65534\t65534\t65534\t65534"
	want := map[string]string{
		"Uid": id, "Gid": id, "Groups": "", "NoNewPrivs": "1",
		"CapInh": capabilities, "CapPrm": capabilities, "CapEff": capabilities, "CapBnd": capabilities, "CapAmb": capabilities,
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, ":")
			if _, is := want[name]; is {
				got[name] = strings.TrimSpace(value)
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", thread, got, want)
		}
	}
	p.in.Close()
	_ = p.cmd.Wait() // its input ended early
}
