package fleet

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
)

// TestProblemsAreGrouped: 40 hosts with the same error have one line and one hint.
func TestProblemsAreGrouped(t *testing.T) {
	f := &Fleet{}
	for i := 1; i <= 99; i++ {
		m := &Member{Node: config.Node{Name: fmt.Sprintf("node%03d", i), Address: fmt.Sprintf("10.0.0.%d", i)}}
		switch {
		case i > 10 && i <= 50:
			m.Err = advice.Add(fmt.Errorf("dial tcp %s:22: connect: connection refused", m.Node.Address), "start sshd on %s", m.Node.Name)
		case i == 60:
			m.Err = errors.New("become root on node060: not in the sudoers file")
		}
		f.Members = append(f.Members, m)
	}
	err := f.Problems(t.Context(), "login failed", "run it again")
	require.Error(t, err)
	assert.Equal(t, strings.Join([]string{
		"41 of 99 other hosts: login failed",
		"  node[011-050] (40 hosts): dial tcp HOST:22: connect: connection refused",
		"    hint: start sshd on HOST",
		"  node060: become root on node060: not in the sudoers file",
	}, "\n"), err.Error())
	assert.Equal(t, "run it again", advice.Of(err))
}
