package sshconfig

import (
	"cmp"
	"os/exec"
	"strings"
	"testing"
)

// TestAsOpenSSH compares the settings with those that the installed ssh prints (ssh -G).
func TestAsOpenSSH(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("ssh is not on this machine")
	}
	for _, text := range []string{
		"User ops\nHost node2\nUser other\nPort 2222\n",
		"Host node?\n  User ops\n  HostName %h.bank\n",
		"Host node* !node2\n User ops\nHost !node3\n Port 2\nHost !node3 *\n Port 3\n",
		"host=node2\nUSER = ops\nPort=\"2222\" # a comment\n",
		"Host \"node2\" other\n  HostKeyAlias \"a b\"\n",
		"Host node2\nProxyJump ops@bastion:2222,inner\nProxyJump other\n",
		"Host node2\nProxyJump none\nHost *\nProxyJump bastion\n",
		"ProxyCommand none\nProxyJump bastion\n",
		"Match all\nUser ops\nMatch host node2,other\nPort 7\n",
		"Match host other\nPort 1\nMatch !host other\nPort 2\n",
		"User ops\nMatch user ops\nPort 2222\nMatch user nobody\nHostKeyAlias x\n",
		"Match host node2 user ops\nPort 1\nMatch host node2\nUser ops\nMatch user ops\nPort 2\n",
		"Match originalhost node*,!node2\nPort 1\nMatch originalhost node*\nPort 5\n",
		"Host NODE2\nPort 4\n",
		"Match host NODE2\nPort 4\n",
		"Host *.bank\nPort 4\nHost n*2\nPort 6\n",
		"\tHost\tnode2\n\tPort\t9\n",
	} {
		file := written(t, t.TempDir(), "config", text)
		out, err := exec.Command("ssh", "-G", "-F", file, "node2").CombinedOutput()
		if err != nil {
			t.Fatalf("%s\n%s", text, out)
		}
		want := map[string]string{}
		for line := range strings.Lines(string(out)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			want[key] = value
		}
		s, err := Read(file, Query{Names: []string{"node2"}, Local: "root", Home: "/root"})
		if err != nil {
			t.Fatal(err)
		}
		jump := s.ProxyJump.Text
		if jump == "none" {
			jump = ""
		}
		for _, c := range []struct{ key, got string }{
			{"hostname", cmp.Or(s.HostName.Text, "node2")}, {"port", cmp.Or(s.Port.Text, "22")}, {"proxyjump", jump}, {"hostkeyalias", s.HostKeyAlias.Text},
			{"user", cmp.Or(s.User.Text, want["user"])},
		} {
			if c.got != want[c.key] {
				t.Errorf("%q: %s is %q, ssh has %q", text, c.key, c.got, want[c.key])
			}
		}
		if s.User.Text == "" && want["user"] == "ops" {
			t.Errorf("%q: ssh has the user ops", text)
		}
	}
}
