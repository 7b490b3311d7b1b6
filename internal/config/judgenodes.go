package config

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// NodeProblem is one thing wrong with a node of a list that is not an airgap.yaml.
type NodeProblem struct {
	Index   int    // of the node
	Field   string // ssh.port
	Message string
	Same    int // index of the node that has the same value; -1 for other problems
}

// JudgeNodes judges nodes as those of an airgap.yaml. It does not judge the number of control-plane
// nodes, because the list can be a part of all nodes.
func JudgeNodes(nodes []Node) ([]NodeProblem, error) {
	text, err := (&NodeList{Nodes: nodes}).yaml("")
	if err != nil {
		return nil, err
	}
	doc, err := parse("nodes", append([]byte("nodes:\n"), text...))
	if err != nil {
		return nil, err
	}
	schema, err := nodesSchema()
	if err != nil {
		return nil, err
	}
	problems, err := doc.judge(schema)
	if err != nil {
		return nil, err
	}
	c := Cluster{Nodes: nodes}
	errs := c.expand()
	errs = append(errs, c.validateNodes(field.NewPath("nodes"))...)
	problems = append(problems, doc.semantic(errs, problems)...)
	var found []NodeProblem
	for _, p := range problems.sorted() {
		keys := split(p.Path)
		if len(keys) < 2 {
			continue // about all nodes
		}
		i, err := strconv.Atoi(keys[1])
		if err != nil {
			return nil, fmt.Errorf("judge nodes: %s", p.Message)
		}
		one := NodeProblem{Index: i, Field: join(keys[2:]), Message: p.Message, Same: -1}
		if m := hasIt.FindStringSubmatch(p.Message); m != nil {
			one.Message = strings.TrimSuffix(p.Message, m[0])
			one.Same, _ = strconv.Atoi(m[1])
		}
		found = append(found, one)
	}
	return found, nil
}

// nodesSchema is the schema of a file with nothing but nodes.
func nodesSchema() ([]byte, error) {
	text, err := Schema()
	if err != nil {
		return nil, err
	}
	var all struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	return json.Marshal(map[string]any{"type": "object", "properties": map[string]json.RawMessage{"nodes": all.Properties["nodes"]}})
}
