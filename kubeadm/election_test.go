package kubeadm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestElectionTimeout: etcd's default, unless the site sets the argument.
func TestElectionTimeout(t *testing.T) {
	for value, want := range map[string]time.Duration{"": time.Second, "2500": 2500 * time.Millisecond, "5s": time.Second, "-1": time.Second} {
		var c Config
		if value != "" {
			c.Overrides.ClusterConfiguration = object{"etcd": object{"local": object{"extraArgs": []any{object{"name": "election-timeout", "value": value}}}}}
		}
		assert.Equal(t, want, c.ElectionTimeout(), value)
	}
}
