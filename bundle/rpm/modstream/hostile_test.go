package modstream

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"gopkg.in/yaml.v3"
)

// TestHostileRequirements: modules without a solution together, and with many alternatives, end within the steps.
func TestHostileRequirements(t *testing.T) {
	var builds []Build
	enabled := map[string]string{}
	add := func(name, stream, requires string) {
		var b Build
		assert.NoError(t, yaml.Unmarshal(fmt.Appendf(nil, "{name: %s, stream: %s, version: 1, dependencies: [{requires: {%s}}]}", name, stream, requires), &b))
		builds = append(builds, b)
	}
	for i := range 60 {
		name := fmt.Sprintf("m%02d", i)
		enabled[name] = "s"
		for other := range 5 {
			add(name, "s", fmt.Sprintf("n%02d: [s%d]", i, other))
			add(fmt.Sprintf("n%02d", i), fmt.Sprintf("s%d", other), "")
		}
	}
	enabled["y"], enabled["z"] = "s", "s"
	add("y", "s", "x: [s1]")
	add("z", "s", "x: [s2]")
	add("x", "s1", "")
	add("x", "s2", "")
	c := Choose(builds, nil, enabled, "el9")
	assert.Negative(t, c.steps, "no search without end")
	assert.NotEmpty(t, c.Blocked)
}
