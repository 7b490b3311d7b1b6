package build

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/bundle/medium"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/config/configtest"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/preflight/facts"
)

// TestReaders: with SSH only the first host reads the drive. Without it each server installs airgap.rpm from there.
func TestReaders(t *testing.T) {
	c := configtest.On(t, "el8", configtest.Kubernetes)
	c.Nodes = append(c.Nodes, config.Node{Name: "w1", Address: "192.0.2.21", Roles: []config.Role{config.Worker}})
	f := &facts.Facts{Host: "w1"}
	byNode := map[string]*facts.Facts{"w1": f}
	first := medium.Server{Name: c.Master().Name, OS: "el8", First: true}
	c.SSH = nil
	assert.Equal(t, []medium.Server{first, {Name: "w1", OS: "el8", Facts: f}}, readers(c, byNode))
	c.SSH = &remote.Config{}
	assert.Equal(t, []medium.Server{first}, readers(c, byNode))
}
