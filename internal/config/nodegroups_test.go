package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/remote"
)

const (
	fullNodes = "  - name: w1\n    address: 10.0.0.12\n    roles: [worker]\n    ssh: {user: ops, port: 2222}\n"

	manyNodes = `  - name: node[001-100]
    address: 10.1.0.[11-110]
    rack: r1
  - name: node[101-102,104]
    address: 10.1.1.[11,13-14]
    ssh: {address: "mgmt[1-2,4].bank", port: 2022}
  - {name: gpu1, address: 10.1.2.1, group: gpu}
  - {name: "gpu[2-3]", address: "10.1.2.[2-3]", group: gpu, rack: r9}
nodeDefaults:
  roles: [worker]
nodeGroups:
  gpu: {roles: [worker, gpu], rack: r8, ssh: {user: gpuops, port: 22022}}
`
)

func withNodes(t *testing.T, nodes string) string {
	t.Helper()
	text := full(t)
	require.Contains(t, text, fullNodes)
	return strings.Replace(text, fullNodes, nodes, 1)
}

// TestExpand: ranges, groups and defaults give the nodes that someone could have written one by one.
func TestExpand(t *testing.T) {
	c, err := Parse("airgap.yaml", []byte(withNodes(t, manyNodes)))
	require.NoError(t, err)
	require.Len(t, c.Nodes, 1+100+3+3)
	for i, want := range map[int]Node{
		0:   {Name: "cp1", Address: "10.0.0.11", Roles: []Role{ControlPlane}},
		1:   {Name: "node001", Address: "10.1.0.11", Roles: []Role{Worker}, Rack: "r1"},
		100: {Name: "node100", Address: "10.1.0.110", Roles: []Role{Worker}, Rack: "r1"},
		102: {Name: "node102", Address: "10.1.1.13", Roles: []Role{Worker}, SSH: &remote.Override{Address: "mgmt2.bank", Port: 2022}},
		103: {Name: "node104", Address: "10.1.1.14", Roles: []Role{Worker}, SSH: &remote.Override{Address: "mgmt4.bank", Port: 2022}},
		104: {Name: "gpu1", Address: "10.1.2.1", Group: "gpu", Roles: []Role{Worker, GPU}, Rack: "r8", SSH: &remote.Override{User: "gpuops", Port: 22022}},
		106: {Name: "gpu3", Address: "10.1.2.3", Group: "gpu", Roles: []Role{Worker, GPU}, Rack: "r9", SSH: &remote.Override{User: "gpuops", Port: 22022}},
	} {
		assert.Equal(t, want, c.Nodes[i])
	}

	stored, err := ParseStored("airgap.yaml of bundle bank", []byte(withNodes(t, manyNodes)))
	require.NoError(t, err)
	assert.Equal(t, c.Nodes, stored.Nodes)
}

// TestExpandProblems: line and field are those of the file, not of the nodes after the expansion.
func TestExpandProblems(t *testing.T) {
	for name, tc := range map[string]struct {
		old, new string
		want     []string
	}{
		"no range":            {"node[001-100]", "node[100-001]", []string{"airgap.yaml:16:11: nodes[1].name", "not a range", "[001-100]"}},
		"Ansible's range":     {"node[001-100]", "node[001:100]", []string{"airgap.yaml:16:11: nodes[1].name", "FIRST-LAST"}},
		"open bracket":        {"node[001-100]", "node[001-100", []string{"airgap.yaml:16:11: nodes[1].name", "bracket without its pair"}},
		"one address":         {"10.1.0.[11-110]", "10.1.0.11", []string{"airgap.yaml:17:14: nodes[1].address", "has 1 of the 100 values that node[001-100] needs"}},
		"an address less":     {"10.1.0.[11-110]", "10.1.0.[11-109]", []string{"airgap.yaml:17:14: nodes[1].address", "has 99 of the 100"}},
		"no range of address": {"10.1.0.[11-110]", "10.1.0.[x]", []string{"airgap.yaml:17:14: nodes[1].address", "not a range"}},
		"addresses of no net": {"10.1.0.[11-110]", "10.1.0.[200-299]", []string{"airgap.yaml:17:14: nodes[1].address", `"10.1.0.256": want an IPv4 address`}},
		"one address of sshd": {"mgmt[1-2,4].bank", "mgmt.bank", []string{"nodes[2].ssh.address", "has 1 of the 3 values"}},
		"one key":             {"port: 2022", "hostKey: SHA256:uNiVztksCsDhcc0u9e8BrwCUQ7O4PA2wSl2mCgBPzRQ", []string{"nodes[2].ssh.hostKey", "each has its own key"}},
		"a host twice":        {"node[101-102,104]", "node[100,102,104]", []string{"airgap.yaml:19:11: nodes[2].name", `Duplicate value: "node100": nodes[1] has it too`}},
		"an address twice":    {"10.1.1.[11,13-14]", "10.1.0.[110-112]", []string{"airgap.yaml:20:14: nodes[2].address", `"10.1.0.110": nodes[1] has it too`}},
		"too many":            {"node[001-100]", "node[1-5001]", []string{"airgap.yaml:16:11: nodes[1].name", "at most 5000"}},
		"no such group":       {"group: gpu}", "group: gpus}", []string{"airgap.yaml:22:44: nodes[3].group", `did you mean "gpu"?`}},
		"no groups":           {"nodeGroups:\n  gpu: {roles: [worker, gpu], rack: r8, ssh: {user: gpuops, port: 22022}}\n", "", []string{"airgap.yaml:22:44: nodes[3].group", "add nodeGroups.gpu"}},
		"no roles":            {"nodeDefaults:\n  roles: [worker]\n", "", []string{"airgap.yaml:16:5: nodes[1].roles", "Required", "nodeDefaults"}},
		"roles of a group":    {"roles: [worker, gpu]", "roles: [gpu]", []string{"airgap.yaml:27:16: nodeGroups.gpu.roles", "worker too"}},
		"unknown in a group":  {"rack: r8", "racks: r8", []string{"airgap.yaml:27:31: nodeGroups.gpu.racks: unknown field; known here: rack, roles, ssh", `did you mean "rack"?`}},
		"rack with a tab":     {"rack: r8", "rack: \"r\\t8\"", []string{"airgap.yaml:27:37: nodeGroups.gpu.rack", "printable text in one line"}},
		"rack in spaces":      {"rack: r8", "rack: ' r8'", []string{"airgap.yaml:27:37: nodeGroups.gpu.rack", "without spaces around it"}},
		"rack of a group":     {"rack: r8", "rack: " + strings.Repeat("r", 64), []string{"airgap.yaml:27:37: nodeGroups.gpu.rack", "63"}},
		"port of a group":     {"port: 22022", "port: 70000", []string{"airgap.yaml:27:", "nodeGroups.gpu.ssh.port"}},
		"address of a group":  {"port: 22022", "address: 10.0.0.1", []string{"airgap.yaml:27:", "nodeGroups.gpu.ssh.address", "belongs to one server"}},
		"password of a group": {"port: 22022", "password: hunter2", []string{"airgap.yaml:27:", "nodeGroups.gpu.ssh.password", "inline credential"}},
		"no section ssh":      {"ssh:\n  identityFile: ~/.ssh/id_ed25519\n  parallel: 3\n", "", []string{"airgap.yaml:27:46: nodeGroups.gpu.ssh", "add ssh: {}"}},
		"in the pods' subnet": {"10.1.0.[11-110]", "10.244.1.[11-110]", []string{"airgap.yaml:17:14: nodes[1].address", "is in kubernetes.podSubnet 10.244.0.0/16"}},
		"in Services' subnet": {"10.1.0.[11-110]", "10.96.1.[11-110]", []string{"airgap.yaml:17:14: nodes[1].address", "is in kubernetes.serviceSubnet 10.96.0.0/16"}},
		"a long name":         {"gpu1", "g" + strings.Repeat("p", 63), []string{"airgap.yaml:22:12: nodes[3].name", "63"}},
		"multicast":           {"10.1.2.1,", "224.0.0.1,", []string{"nodes[3].address", "IPv4"}},
		"broadcast":           {"10.1.2.1,", "255.255.255.255,", []string{"nodes[3].address", "IPv4"}},
		"number for a name":   {"gpu1", "17", []string{"nodes[3].name", "put it in quotes"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := withNodes(t, manyNodes)
			require.Contains(t, text, tc.old)
			_, err := Parse("airgap.yaml", []byte(strings.Replace(text, tc.old, tc.new, 1)))
			require.Error(t, err)
			assert.True(t, lineWith(err.Error(), tc.want), "no line with all of %q in:\n%s", tc.want, err)
			assert.NotContains(t, err.Error(), "hunter2")
			assert.LessOrEqual(t, strings.Count(err.Error(), "\n"), 1, "one mistake, many lines:\n%s", err)
		})
	}
}

// TestEverySettingIsInherited: a new field of ssh is inherited, or refused in a group.
func TestEverySettingIsInherited(t *testing.T) {
	perServer := []string{"Address", "HostKey"}
	var shared remote.Override
	value := reflect.ValueOf(&shared).Elem()
	for i := range value.NumField() {
		switch f := value.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int:
			f.SetInt(7)
		case reflect.Slice:
			f.Set(reflect.ValueOf([]string{"x"}))
		default:
			require.Fail(t, "no value for the field", value.Type().Field(i).Name)
		}
	}
	var n Node
	n.inherit(NodeDefaults{SSH: &shared}, &origin{}, nil)
	for i := range value.NumField() {
		name := value.Type().Field(i).Name
		inherited := !reflect.ValueOf(*n.SSH).Field(i).IsZero()
		assert.NotEqual(t, slices.Contains(perServer, name), inherited, name)
	}
}

// TestMostNodes: as many nodes as a cluster has are read at once, and one more is an error.
func TestMostNodes(t *testing.T) {
	var nodes strings.Builder
	for i := range 25 {
		fmt.Fprintf(&nodes, "  - {name: \"r%d-[1-200]\", address: \"10.1.%d.[1-200]\", roles: [worker]}\n", i, i)
	}
	text := withNodes(t, nodes.String())
	_, err := Parse("airgap.yaml", []byte(text))
	assert.ErrorContains(t, err, "a cluster has at most 5000 nodes")
	c, err := Parse("airgap.yaml", []byte(strings.Replace(strings.Replace(text, "r0-[1-200]", "r0-[1-199]", 1), "10.1.0.[1-200]", "10.1.0.[1-199]", 1)))
	require.NoError(t, err)
	assert.Len(t, c.Nodes, 5000)

	c = &Cluster{Nodes: make([]Node, 5001)}
	assert.Len(t, c.expand(), 1)
	assert.Len(t, c.origins, len(c.Nodes))
}
