package inventory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/advice"
)

const kubesprayINI = `# made by the bank's CMDB
[all]
cp1 ansible_host=10.0.0.11 ip=10.0.0.11 access_ip=10.0.0.11
node[01:03] ansible_user=ops
gpu1:2222 ansible_host=mgmt1.bank ip=10.0.1.1 rack="row b" # the new one

[all:vars]
ansible_ssh_private_key_file = '~/.ssh/id_ed25519'

[kube_control_plane]
cp1

[etcd]
cp1

[kube_node:children]
row_a

[row_a]
node[01:03]
gpu1
[row_a:vars]
rack=a
ansible_user=root

[gpu]
gpu1

[k8s_cluster:children]
kube_control_plane
kube_node
`

// TestKubespray: groups are roles, hosts have the variables of their groups, and the nearest value is used.
func TestKubespray(t *testing.T) {
	ini := strings.NewReplacer("node[01:03] ansible_user=ops\n", "node01 ansible_host=10.0.0.21 ansible_user=ops\nnode02 ansible_host=10.0.0.22\nnode03 ip=10.0.0.23\n").Replace(kubesprayINI)
	for format, text := range map[Format]string{INI: ini, YAML: `
all:
  hosts:
    cp1: {ansible_host: 10.0.0.11, ip: 10.0.0.11, access_ip: 10.0.0.11}
    node01: {ansible_host: 10.0.0.21, ansible_user: ops}
    node02: {ansible_host: 10.0.0.22}
    node03: {ip: 10.0.0.23}
    gpu1: {ansible_host: mgmt1.bank, ansible_port: 2222, ip: 10.0.1.1, rack: row b}
  vars:
    ansible_ssh_private_key_file: ~/.ssh/id_ed25519
  children:
    etcd: {hosts: {cp1: }}
    gpu: {hosts: {gpu1: }}
    k8s_cluster:
      children:
        kube_control_plane: {hosts: {cp1: }}
        kube_node:
          children:
            row_a:
              vars: {rack: a, ansible_user: root}
              hosts:
                node[01:03]:
                gpu1:
`} {
		result, err := Parse(Options{File: "hosts", Format: format}, []byte(text))
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, result.Write(&b))
		assert.Equal(t, `# 5 nodes: 1 control-plane, 4 worker, 1 gpu; 2 racks
nodes:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane], ssh: {identityFile: ~/.ssh/id_ed25519}}
  - {name: node01, address: 10.0.0.21, roles: [worker], rack: a, ssh: {user: ops, identityFile: ~/.ssh/id_ed25519}}
  - {name: node02, address: 10.0.0.22, roles: [worker], rack: a, ssh: {user: root, identityFile: ~/.ssh/id_ed25519}}
  - {name: node03, address: 10.0.0.23, roles: [worker], rack: a, ssh: {user: root, identityFile: ~/.ssh/id_ed25519}}
  - {name: gpu1, address: 10.0.1.1, roles: [worker, gpu], rack: row b, ssh: {address: mgmt1.bank, user: root, port: 2222, identityFile: ~/.ssh/id_ed25519}}
`, b.String())
	}
}

// TestCSV: as spreadsheets write it, with a mark, semicolons, empty rows and spaces.
func TestCSV(t *testing.T) {
	for _, text := range []string{
		"name,address,roles,rack,gpu,ssh_user,ssh_port\ncp1,10.0.0.11,control-plane,,,,\nnode[1-2],10.0.0.[21-22],worker,r 1,yes,ops,2222\n",
		"\ufeffHostname;IP;Role;Rack;GPU;SSH user;SSH-Port\r\n cp1 ; 10.0.0.11;control-plane;;no;;\r\n;;;;;;\r\n" +
			"node1;10.0.0.21;worker gpu;\"r 1\";;ops;2222\r\nnode2;10.0.0.22;worker,gpu;r 1;1;ops;2222\r\n",
		"# all hosts\nname\taddress\trole\track\tgpu\tssh_user\tssh_port\ncp1\t10.0.0.11\tcontrol-plane\t\t\t\t\nnode[1-2]\t10.0.0.[21-22]\tworker\tr 1\ty\tops\t2222\n",
	} {
		result, err := Parse(Options{File: "hosts.csv", Format: CSV}, []byte(strings.TrimPrefix(text, "# all hosts\n")))
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, result.Write(&b))
		assert.Equal(t, `# 3 nodes: 1 control-plane, 2 worker, 2 gpu; 1 rack
nodes:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
  - {name: node1, address: 10.0.0.21, roles: [worker, gpu], rack: r 1, ssh: {user: ops, port: 2222}}
  - {name: node2, address: 10.0.0.22, roles: [worker, gpu], rack: r 1, ssh: {user: ops, port: 2222}}
`, b.String())
	}
}

// TestLeftOut: the result lists the parts that the user leaves out, and groups get a meaning.
func TestLeftOut(t *testing.T) {
	text := `jump ansible_host=10.0.9.9
[bastion]
jump
[managers]
cp1 ansible_host=10.0.0.11 etcd_member_name=etcd1 ansible_become=true
[apps]
w[1:2] ansible_become=true
[apps:vars]
ansible_python_interpreter=/usr/bin/python3
[row7]
w1 ansible_host=10.0.0.21
w2 ansible_host=10.0.0.22
[prod]
cp1
w1
`
	o := Options{File: "hosts", Format: INI, Ignore: []string{"bastion", "etcd_member_name", "ansible_become", "ansible_python_interpreter"},
		Groups: []string{"managers=control-plane", "apps=worker", "row7=rack"}}
	result, err := Parse(o, []byte(text))
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, result.Write(&b))
	assert.Equal(t, `# left out: variable etcd_member_name (line 5)
# left out: variable ansible_become (2 times, first in line 5)
# left out: variable ansible_python_interpreter (line 9)
# left out: host jump (line 1): only in groups that are left out
# left out: group bastion (line 2)
# left out: group prod (line 13): it gives no role and no rack; --group prod=MEANING gives it one
# 3 nodes: 1 control-plane, 2 worker; 1 rack
nodes:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
  - {name: w1, address: 10.0.0.21, roles: [worker], rack: row7}
  - {name: w2, address: 10.0.0.22, roles: [worker], rack: row7}
`, b.String())

	o.Ignore = append(o.Ignore, "ansible_becom")
	_, err = Parse(o, []byte(text))
	assert.ErrorContains(t, err, `no variable, column or group "ansible_becom", which a flag names; did you mean "ansible_become"?`)
	_, err = Parse(Options{File: "hosts", Format: INI, Groups: []string{"apps=werker"}}, []byte(text))
	assert.ErrorContains(t, err, `did you mean "worker"?`)
	assert.True(t, advice.IsUsage(err))
}

// TestGroupPriority: among groups of the same depth the priority decides, and then the name.
func TestGroupPriority(t *testing.T) {
	list := `[kube_node]
w1 ansible_host=10.0.0.21
[kube_control_plane]
cp1 ansible_host=10.0.0.11
[a]
w1
cp1
[b]
w1
cp1
[kube_node:vars]
rack=r0
[a:vars]
rack=ra
ansible_group_priority=PRIORITY
[b:vars]
rack=rb
`
	for priority, rack := range map[string]string{"1": "r0", "10": "ra", "-3": "r0"} {
		result, err := Parse(Options{File: "hosts", Format: INI}, []byte(strings.ReplaceAll(list, "PRIORITY", priority)))
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, result.Write(&b))
		assert.Contains(t, b.String(), "{name: w1, address: 10.0.0.21, roles: [worker], rack: "+rack+"}", priority)
	}
	_, err := Parse(Options{File: "hosts", Format: INI}, []byte(strings.ReplaceAll(list, "PRIORITY", "high")))
	assert.ErrorContains(t, err, "hosts:15:1: ansible_group_priority: want an integer, such as 10")
}

// TestIgnoredColumn: another column for the same field is used.
func TestIgnoredColumn(t *testing.T) {
	result, err := Parse(Options{File: "hosts.csv", Format: CSV, Ignore: []string{"address"}}, []byte("name,address,ip,role\nw1,row 7,10.0.0.21,worker\n"))
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, result.Write(&b))
	assert.Contains(t, b.String(), "{name: w1, address: 10.0.0.21, roles: [worker]}")
}

// TestImportInto: only --into writes, and only if both files are good.
func TestImportInto(t *testing.T) {
	dir := t.TempDir()
	list, into := filepath.Join(dir, "hosts.csv"), filepath.Join(dir, "airgap.yaml")
	before := `apiVersion: airgap.dev/v1alpha1
kind: Cluster
name: bank
kubernetes: {version: "1.36.3"}
nodes:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]} # the first
packages: {os: el9, repositories: [{name: baseos, baseURL: "https://dl.example.com/", gpgKeys: ["https://dl.example.com/key"]}]}
`
	require.NoError(t, os.WriteFile(into, []byte(before), 0o640))
	for name, tc := range map[string]struct{ list, want, wrong string }{
		"two":         {"name,address,roles\ncp1,10.0.0.11,control-plane\nw1,10.0.0.21,worker\n", "added to " + into + ": 1 node; with the same fields there before: 1\n", ""},
		"other":       {"name,address,roles\ncp1,10.0.0.12,control-plane\n", "", "cp1 is here as {name: cp1, address: 10.0.0.11, roles: [control-plane]}, and in the list as"},
		"without ssh": {"name,address,roles,ssh_user\nw1,10.0.0.21,worker,ops\n", "", "add ssh: {} at the top"},
		"bad list":    {"name,address,roles\nw1,10.0.0.21,werker\n", "", "hosts.csv:2:1: w1.roles[0]: want one of control-plane, worker, gpu"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(into, []byte(before), 0o640))
			require.NoError(t, os.WriteFile(list, []byte(tc.list), 0o600))
			result, err := Import(Options{File: list, Into: into})
			after, readErr := os.ReadFile(into)
			require.NoError(t, readErr)
			if tc.wrong != "" {
				require.ErrorContains(t, err, tc.wrong)
				assert.True(t, advice.IsUsage(err))
				assert.Equal(t, before, string(after))
				return
			}
			require.NoError(t, err)
			var b strings.Builder
			require.NoError(t, result.Write(&b))
			assert.Equal(t, tc.want, b.String())
			assert.Equal(t, strings.Replace(before, "# the first\n", "# the first\n  - {name: w1, address: 10.0.0.21, roles: [worker]}\n", 1), string(after))
			info, err := os.Stat(into)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o640), info.Mode().Perm())
		})
	}
}

// TestImportFiles: a directory, a missing file, a long one; directories of variables are named.
func TestImportFiles(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{"": "is a directory", "none.csv": "no such file", "long.csv": "more than 1 MiB"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "long.csv"), make([]byte, maxSize+1), 0o600))
		_, err := Import(Options{File: filepath.Join(dir, name)})
		assert.ErrorContains(t, err, want)
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "group_vars"), 0o700))
	list := filepath.Join(dir, "hosts")
	require.NoError(t, os.WriteFile(list, []byte("[workers]\nw1 ansible_host=10.0.0.21\n"), 0o600))
	result, err := Import(Options{File: list})
	require.NoError(t, err)
	require.Len(t, result.LeftOut, 1)
	assert.Contains(t, result.LeftOut[0].String(), "directory group_vars: airgap reads only the file; ansible-inventory")
}
