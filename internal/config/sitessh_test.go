package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/remote"
)

func siteFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ssh.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func threeNodes() []Node {
	return []Node{{Name: "cp1", Address: "10.0.0.1"}, {Name: "node2", Address: "10.0.0.2", SSH: &remote.Override{User: "n2", Port: 9}}, {Name: "node3", Address: "10.0.0.3"}}
}

// TestSiteSSH: the fields of the file replace those of airgap.yaml, and no others. The configuration itself stays.
func TestSiteSSH(t *testing.T) {
	section := remote.Config{User: "ops", PasswordFile: "/root/passwords", Parallel: 20}
	section.Default()
	c := &Cluster{SSH: &section, Nodes: threeNodes()}
	file := siteFile(t, "ssh:\n  user: ops2\n  proxyJump: [guard@bastion]\n  passwordCommand: [/bin/vault]\n"+
		"nodes:\n- name: node[2-3]\n  ssh: {port: 2222}\n- name: node3\n  ssh: {user: n3, address: n3.mgmt}\n")
	s, err := ReadSiteSSH(file)
	if err != nil {
		t.Fatal(err)
	}
	got, note, err := s.Apply(c, c.Nodes)
	if err != nil {
		t.Fatal(err)
	}
	if want := file + " replaces in airgap.yaml: ssh.user, ssh.proxyJump, ssh.passwordCommand, nodes[node2].ssh, nodes[node3].ssh"; note != want {
		t.Errorf("note: %s", note)
	}
	if got.SSH.User != "ops2" || got.SSH.Port != 22 || got.SSH.Parallel != 20 || got.SSH.PasswordFile != "" || got.SSH.ProxyJump[0] != "guard@bastion" || got.SSH.Written().Port != 0 {
		t.Errorf("section: %+v", got.SSH)
	}
	if got.Nodes[0].SSH != nil || !reflect.DeepEqual(got.Nodes[1].SSH, &remote.Override{User: "n2", Port: 2222}) ||
		!reflect.DeepEqual(got.Nodes[2].SSH, &remote.Override{User: "n3", Port: 2222, Address: "n3.mgmt"}) {
		t.Errorf("nodes: %+v, %+v", got.Nodes[1].SSH, got.Nodes[2].SSH)
	}
	if c.SSH.User != "ops" || c.Nodes[1].SSH.Port != 9 || c.Nodes[2].SSH != nil {
		t.Error("the configuration of the bundle was changed")
	}
}

// TestSiteSSHAlone: the file can bring SSH to a cluster whose airgap.yaml has none.
func TestSiteSSHAlone(t *testing.T) {
	s, err := ReadSiteSSH(siteFile(t, "ssh: {user: ops}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := s.Apply(&Cluster{Nodes: threeNodes()[:1]}, threeNodes())
	if err != nil || got.SSH.User != "ops" || got.SSH.Parallel != 5 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestBadSiteSSH: file, line and the expected value. Nothing is started.
func TestBadSiteSSH(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "FILE:1:1: the file is empty",
		"ssh: [":                         "FILE:1:1: ",
		"ssh:\n  usr: ops\n":             `FILE:2:3: ssh.usr: unknown field; known here: `,
		"ssh: {user: ops}\nname: bank\n": "FILE:2:1: name: unknown field: the file has ssh, and nodes with name and ssh",
		"nodes:\n- name: node2\n  ssh: {port: 1}\n  roles: [worker]\n": "FILE:4:3: nodes[0].roles: unknown field: the file has ssh, and nodes with name and ssh",
		"ssh:\n  port: x\n":                                       "FILE:2:9: ssh.port: want integer",
		"ssh:\n  user: a\n  user: b\n":                            "FILE:3:3: ssh.user: written twice, first in line 2",
		"ssh:\n  proxyJump: ['ssh://b']\n":                        `FILE:2:14: ssh.proxyJump: Invalid value: "ssh://b": "ssh://b": want [USER@]HOST[:PORT]`,
		"ssh:\n  password: hunter2\n":                             "FILE:2:3: ssh.password: inline credential",
		"nodes:\n- name: node2\n":                                 "FILE:2:3: nodes[0].ssh: missing",
		"nodes:\n- ssh: {port: 1}\n":                              "FILE:2:3: nodes[0].name: missing",
		"nodes:\n- name: nod2\n  ssh: {port: 1}\n":                `FILE:2:9: nodes[0].name: "nod2": airgap.yaml has no node of that name; did you mean "node2"?`,
		"nodes:\n- name: node[2-4]\n  ssh: {port: 1}\n":           `FILE:2:9: nodes[0].name: "node4": airgap.yaml has no node of that name`,
		"nodes:\n- name: node[2-\n  ssh: {port: 1}\n":             `FILE:2:9: nodes[0].name: "node[2-"`,
		"nodes:\n- name: node[2-3]\n  ssh: {address: 'n[1-3]'}\n": `FILE:3:18: nodes[0].ssh.address: "n[1-3]": want one address, or a range with the length of node[2-3]`,
		"nodes:\n- name: node[2-3]\n  ssh: {hostKey: 'SHA256:uNiVztksCsDhcc0u9e8BrwCUQ7O4PA2wSl2mCgBPzRQ'}\n": "FILE:3:18: nodes[0].ssh.hostKey: node[2-3] stands for several servers",
	} {
		file := siteFile(t, text)
		s, err := ReadSiteSSH(file)
		if err == nil {
			_, _, err = s.Apply(&Cluster{Nodes: threeNodes()}, threeNodes())
		}
		want = strings.ReplaceAll(want, "FILE", file)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(advice.Of(err), "nothing was started") || !advice.IsUsage(err) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v\nhint: %s\nwant %s", text, err, advice.Of(err), want)
		}
	}
	file := siteFile(t, "ssh: {user: ops}\n")
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSiteSSH(file); err == nil || !strings.Contains(err.Error(), "others can change it") {
		t.Errorf("got %v", err)
	}
	if _, err := ReadSiteSSH("/nowhere/ssh.yaml"); err == nil || !strings.Contains(err.Error(), "read the file of --ssh-config: open /nowhere/ssh.yaml") {
		t.Errorf("got %v", err)
	}
}

// TestGateway: PSM for SSH has one address for all hosts, and a user for each.
func TestGateway(t *testing.T) {
	section := remote.Config{}
	section.Default()
	c := &Cluster{SSH: &section, Nodes: threeNodes(), origins: make([]origin, 3)}
	for i := range c.Nodes {
		c.Nodes[i].SSH = &remote.Override{Address: "psmp.bank", User: "vault@root@" + c.Nodes[i].Address}
	}
	if all := c.validateSSH(nil); len(all) > 0 {
		t.Error(all)
	}
	c.Nodes[2].SSH.User = c.Nodes[1].SSH.User
	if all := c.validateSSH(nil); len(all) != 1 {
		t.Error(all)
	}
}
