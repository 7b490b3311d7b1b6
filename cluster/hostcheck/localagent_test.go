package hostcheck

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestLocalAgent: the agent of this host is a process of its own, so that it can give up the privileges that
// this process needs.
func TestLocalAgent(t *testing.T) {
	link := LocalAgent(t.Context())
	defer link.In.Close()
	line, err := bufio.NewReader(link.Out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if id, err := strconv.Atoi(strings.TrimSpace(line)); err != nil || id == os.Getpid() {
		t.Errorf("the agent says %q; this process is %d", line, os.Getpid())
	}
}
