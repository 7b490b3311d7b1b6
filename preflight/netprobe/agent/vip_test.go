package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/preflight/netprobe"
)

// TestPersistenceAfterChecks: a client of which the first answers come from other hosts, while the
// health checks find the hosts, is stuck. One with answers of several hosts until the end is not.
func TestPersistenceAfterChecks(t *testing.T) {
	for name, test := range map[string]struct {
		answers []int
		want    bool
	}{
		"one host":         {[]int{0, 0, 0, 0, 0, 0, 0, 0}, true},
		"too few":          {[]int{0, 0, 0, 0, 0, 0, 0}, false},
		"first another":    {[]int{1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0}, true},
		"at last another":  {[]int{0, 0, 0, 0, 0, 0, 0, 0, 1}, false},
		"one by one":       {[]int{0, 1, 2, 0, 1, 2, 0, 1, 2}, false},
		"another, too few": {[]int{1, 0, 0, 0, 0, 0, 0, 0}, false},
	} {
		v := &netprobe.VIP{Hits: map[int]int{}}
		asking := &vipTest{agent: &agent{vip: v}}
		for _, from := range test.answers {
			v.Hits[from]++
			asking.follow(from)
		}
		assert.Equal(t, test.want, v.Stuck(), name)
	}
	assert.False(t, (&netprobe.VIP{Hits: map[int]int{0: 1, 1: 1}, Row: 1 << 30}).Stuck(), "more answers in a row than in all")
}
