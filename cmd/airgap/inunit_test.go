package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLongCommandsExist: a renamed command must stay in the list.
func TestLongCommandsExist(t *testing.T) {
	unused := map[string]bool{}
	for _, flag := range shortWith() {
		unused[flag] = true
	}
	for _, name := range longCommands() {
		cmd, rest, err := commands().Find(strings.Fields(name))
		require.NoError(t, err, name)
		assert.Empty(t, rest, name)
		assert.Equal(t, "airgap "+name, cmd.CommandPath())
		for flag := range unused {
			if cmd.Flags().Lookup(flag) != nil {
				delete(unused, flag)
			}
		}
	}
	assert.Empty(t, unused, "no long command has these flags")
}

// TestUnitWithoutName: a mistake of the caller does not start a unit.
func TestUnitWithoutName(t *testing.T) {
	var out, errs strings.Builder
	assert.Equal(t, 2, run(t.Context(), []string{"run-unit"}, strings.NewReader(""), &out, &errs))
}
