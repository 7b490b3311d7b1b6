package config

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUpgradeSection: the speed of an upgrade is a number or a part of all workers.
func TestUpgradeSection(t *testing.T) {
	for text, want := range map[string]string{"10%": "10%", `"10%"`: "10%", "12": "12", `"12"`: "12"} {
		c, err := Parse("airgap.yaml", []byte(full(t)+"upgrade: {batch: "+text+", byRack: true, maxUnavailable: 15}\n"))
		require.NoError(t, err, text)
		assert.Equal(t, want, string(c.Upgrade.Batch), text)
		assert.True(t, c.Upgrade.ByRack)
		assert.Equal(t, 15, c.Upgrade.MaxUnavailable)
	}
	line := "airgap.yaml:" + lines(full(t)+"upgrade:")
	for text, want := range map[string][]string{
		"{batch: 10 %}":         {line, "upgrade.batch", "want a number of workers such as 12, or a part of all workers such as 10%"},
		"{batch: 0}":            {line, "upgrade.batch", "want a number of workers such as 12"},
		"{batch: 101%}":         {line, "upgrade.batch", "such as 10%"},
		"{batch: 2.5}":          {line, "upgrade.batch"},
		"{batch: [1]}":          {line, "upgrade.batch", "got array"},
		"{maxUnavailable: 0}":   {line, "upgrade.maxUnavailable"},
		"{maxUnavailable: 10%}": {line, "upgrade.maxUnavailable", "want integer"},
		"{byRacks: true}":       {line, "upgrade.byRacks: unknown field", "byRack"},
		"{byRack: rack}":        {line, "upgrade.byRack", "want boolean"},
	} {
		_, err := Parse("airgap.yaml", []byte(full(t)+"upgrade: "+text+"\n"))
		require.Error(t, err, text)
		for _, part := range want {
			assert.ErrorContains(t, err, part, text)
		}
	}
}

// lines is the number of the last line.
func lines(text string) string { return strconv.Itoa(strings.Count(text, "\n") + 1) }
