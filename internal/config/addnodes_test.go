package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/remote"
)

// TestAddNodes: only lines are added, at the end of the list.
func TestAddNodes(t *testing.T) {
	w1 := Node{Name: "w1", Address: "10.0.0.12", Roles: []Role{Worker}, SSH: &remote.Override{User: "ops", Port: 2222}}
	w2 := Node{Name: "w2", Address: "10.0.0.22", Roles: []Role{Worker}, Rack: "r2"}
	const line = "- {name: w2, address: 10.0.0.22, roles: [worker], rack: r2}\n"
	sections := strings.Split(full(t), "nodes:\n")
	items, rest, _ := strings.Cut(sections[1], "ssh:\n")
	rest = "ssh:\n" + rest
	unindented := strings.ReplaceAll(strings.TrimPrefix(strings.ReplaceAll("\n"+items, "\n  ", "\n"), "\n"), "\r", "")
	for name, tc := range map[string]struct{ before, after string }{
		"in the middle":      {sections[0] + "nodes:\n" + items, rest},
		"comments behind":    {sections[0] + "nodes: # all\n" + items, "\n# how to log in\n" + rest},
		"at the end":         {sections[0] + rest + "nodes:\n" + items, ""},
		"without a newline":  {sections[0] + rest + strings.TrimSuffix("nodes:\n"+items, "\n"), ""},
		"not indented":       {sections[0] + "nodes:\n" + unindented, rest},
		"several lines":      {sections[0] + "nodes:\n" + items + "  - {name: w3,\n     address: 10.0.0.13, roles: [worker]\n     }\n", rest},
		"with a document":    {"---\n" + sections[0] + "nodes:\n" + items, rest},
		"a range in the way": {sections[0] + "nodes:\n" + items + "  - {name: \"x[1-9]\", address: \"10.9.0.[1-9]\", roles: [worker]}\n", rest},
	} {
		t.Run(name, func(t *testing.T) {
			text, added, err := AddNodes("airgap.yaml", []byte(tc.before+tc.after), []Node{w1, w2})
			require.NoError(t, err)
			assert.Equal(t, []Node{w2}, added)
			indentation := "  "
			if name == "not indented" {
				indentation = ""
			}
			assert.Equal(t, strings.TrimSuffix(tc.before, "\n")+"\n"+indentation+line+tc.after, string(text))

			again, added, err := AddNodes("airgap.yaml", text, []Node{w1, w2})
			require.NoError(t, err)
			assert.Empty(t, added)
			assert.Equal(t, string(text), string(again))
		})
	}
}

// TestAddAllNodes: the file has no list yet.
func TestAddAllNodes(t *testing.T) {
	sections := strings.Split(full(t), "nodes:\n")
	_, rest, _ := strings.Cut(sections[1], "ssh:\n")
	nodes := []Node{{Name: "cp1", Address: "10.0.0.11", Roles: []Role{ControlPlane}}}
	for _, text := range []string{sections[0] + "ssh:\n" + rest, sections[0] + "nodes:\nssh:\n" + rest, strings.TrimSuffix(sections[0]+"ssh:\n"+rest+"nodes:", "\n")} {
		got, added, err := AddNodes("airgap.yaml", []byte(text), nodes)
		require.NoError(t, err)
		assert.Equal(t, nodes, added)
		assert.Contains(t, string(got), "\nnodes:\n  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}\n")
	}
}

// TestAddNodesWithDefaults: a node gets the defaults of the file, and the same import later adds nothing.
func TestAddNodesWithDefaults(t *testing.T) {
	w2 := Node{Name: "w2", Address: "10.0.0.22", Roles: []Role{Worker}}
	file := strings.Replace(full(t), "nodes:\n", "nodeDefaults:\n  rack: r1\n  ssh: {user: clerk}\nnodes:\n", 1)
	text, added, err := AddNodes("airgap.yaml", []byte(file), []Node{w2})
	require.NoError(t, err)
	assert.Equal(t, []Node{w2}, added)
	again, added, err := AddNodes("airgap.yaml", text, []Node{w2})
	require.NoError(t, err)
	assert.Empty(t, added)
	assert.Equal(t, string(text), string(again))
}

func TestAddNodesProblems(t *testing.T) {
	w2 := Node{Name: "w2", Address: "10.0.0.22", Roles: []Role{Worker}}
	_, goodNodes, _ := strings.Cut(full(t), "nodes:\n")
	goodNodes, _, _ = strings.Cut(goodNodes, "ssh:\n")
	goodNodes = "nodes:\n" + goodNodes
	for name, tc := range map[string]struct {
		old, new string
		add      Node
		want     []string
	}{
		"other fields": {"", "", Node{Name: "w1", Address: "10.0.0.99", Roles: []Role{Worker}}, []string{
			"airgap.yaml:16:5: nodes[1]: w1 is here as {name: w1, address: 10.0.0.12", "and in the list as {name: w1, address: 10.0.0.99"}},
		"address of another": {"", "", Node{Name: "w9", Address: "10.0.0.12", Roles: []Role{Worker}}, []string{"airgap.yaml:16:5: nodes[1]: w9 is here as {name: w1, "}},
		"two control planes": {"", "", Node{Name: "cp2", Address: "10.0.0.13", Roles: []Role{ControlPlane}}, []string{"airgap.yaml with these nodes:", "want 1, 3, 5 or 7"}},
		"in braces":          {goodNodes, "nodes: [{name: cp1, address: 10.0.0.11, roles: [control-plane]}]\n", w2, []string{"airgap.yaml:12:8: nodes: want a list"}},
		"no list":            {goodNodes, "nodes: 5\n", w2, []string{"airgap.yaml:12:8: nodes: want array, got number"}},
		"no YAML":            {"nodes:\n", "nodes:\n\t- x\n", w2, []string{"airgap.yaml:13:1:", "tab"}},
		"broken before":      {"el9", "el5", w2, []string{"airgap.yaml with these nodes:", "packages.os"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, added, err := AddNodes("airgap.yaml", []byte(strings.Replace(full(t), tc.old, tc.new, 1)), []Node{tc.add})
			require.Error(t, err)
			assert.True(t, lineWith(err.Error(), tc.want), err.Error())
			assert.Empty(t, text)
			assert.Empty(t, added)
		})
	}
}

// FuzzAddNodes: a text to which nodes were added has all nodes.
func FuzzAddNodes(f *testing.F) {
	f.Add(full(f))
	f.Add("a: 1\nnodes:\n- {name: a}\n# c\nb: 2")
	f.Add("nodes: &x\n  - *x\n")
	f.Fuzz(func(t *testing.T, text string) {
		w2 := Node{Name: "w2", Address: "10.0.0.22", Roles: []Role{Worker}}
		got, added, err := AddNodes("airgap.yaml", []byte(text), []Node{w2})
		if err != nil || len(added) == 0 {
			return
		}
		c, err := Parse("airgap.yaml", got)
		if err != nil || c.Nodes[len(c.Nodes)-1].Name != "w2" {
			t.Errorf("%v\n%s", err, got)
		}
	})
}
