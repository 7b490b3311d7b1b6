package status

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/outlier"
)

// TestAllHostsAreGrouped: 100 hosts fit on a terminal, and those that need attention are at the end.
func TestAllHostsAreGrouped(t *testing.T) {
	all := &AllHosts{}
	for i := 1; i <= 100; i++ {
		st := &Status{Kernel: "kernel 5.14.0-570", Program: "1.4", Steps: []stepStatus{{State: stepOK}}, Conclusion: "all 33 steps are up to date"}
		st.Traits = []outlier.Trait{{Name: "kernel", Value: "5.14.0-570"}, {Name: "time zone", Value: "Asia/Seoul"}, {Name: "firmware of R650", Value: "1.14"}}
		h := HostStatus{Host: fmt.Sprintf("node%03d", i), Status: st}
		switch i {
		case 44, 45:
			st.Steps[0].State, st.Conclusion, st.Next = stepDrifted, "drifted: sysctl; run the same airgap join again to put it right", []string{"run airgap support-bundle"}
		case 60:
			st.Kernel = "kernel 5.14.0-503"
			st.Traits[1].Value = "UTC"
		case 71:
			h.Status, h.Error = nil, "connect: no answer within 10 s"
		}
		all.Hosts = append(all.Hosts, h)
	}
	var b strings.Builder
	require.NoError(t, all.Write(&b))
	assert.Equal(t, `note   kernel: kernel 5.14.0-570 on 98 hosts
       but kernel 5.14.0-503 on node060
note   time zone: Asia/Seoul on 98 hosts
       but UTC on node060
node[001-043,046-070,072-100] (97 of 100)
  all 33 steps are up to date
node[044-045] (2 of 100)
  drifted: sysctl; run the same airgap join again to put it right
  next: run airgap support-bundle
node071 (1 of 100)
  unknown: connect: no answer within 10 s
`, b.String())
}
