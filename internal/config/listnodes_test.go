package config

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestListNodes: a message names few nodes with their addresses, and many as ranges.
func TestListNodes(t *testing.T) {
	var nodes []Node
	for i := range 100 {
		nodes = append(nodes, Node{Name: fmt.Sprintf("node%03d", i+1), Address: fmt.Sprintf("10.0.0.%d", i+1)})
	}
	assert.Equal(t, "node001 (10.0.0.1), node002 (10.0.0.2)", ListNodes(nodes[:2]))
	assert.Equal(t, "node[001-100]", ListNodes(nodes))
}
