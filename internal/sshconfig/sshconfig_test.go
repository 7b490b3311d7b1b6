package sshconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func written(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// shown is the settings in one line, with their lines.
func shown(s *Settings) string {
	var all []string
	for _, v := range []struct {
		name string
		of   []Value
	}{
		{"host", []Value{s.HostName}},
		{"user", []Value{s.User}},
		{"port", []Value{s.Port}},
		{"jump", []Value{s.ProxyJump}},
		{"alias", []Value{s.HostKeyAlias}},
		{"only", []Value{s.IdentitiesOnly}},
		{"keys", s.IdentityFiles},
		{"certs", s.CertificateFiles},
		{"known", s.KnownHosts},
	} {
		for _, one := range v.of {
			if one.Text != "" {
				all = append(all, fmt.Sprintf("%s %s@%s", v.name, one.Text, one.From[strings.LastIndexByte(one.From, ':')+1:]))
			}
		}
	}
	for _, p := range s.Problems {
		all = append(all, p.Text)
	}
	return strings.Join(all, ", ")
}

// TestSettings: the host is node2, 10.0.0.12.
func TestSettings(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"empty":              {"", ""},
		"before a Host":      {"User ops\n", "user ops@1"},
		"a name":             {"Host node2\n  User ops\n  Port 2222\n", "user ops@2, port 2222@3"},
		"an address":         {"Host 10.0.0.*\n\tUser ops\n", "user ops@2"},
		"another host":       {"Host node3 node4\n User ops\nHost node?2 10.0.0.1\n Port 1\n", ""},
		"the first counts":   {"Host node2\n User first\nHost *\n User second\n Port 2222\n", "user first@2, port 2222@5"},
		"negated":            {"Host * !node2\n User ops\nHost !node3 node*\n Port 2222", "port 2222@4"},
		"negated by address": {"Host node* !10.0.0.12\n User ops\n", ""},
		"only negated":       {"Host !node3\n User ops\n", ""},
		"equals":             {"host=node2\nUSER = ops\nPort=2222", "user ops@2, port 2222@3"},
		"quotes, comments":   {"# ours\nHost \"node2\" # all\n  IdentityFile \"~/my keys/id\"\n", "keys /home/a/my keys/id@3"},
		"files add up": {"IdentityFile ~/.ssh/a\nHost node2\nIdentityFile ~/.ssh/%n\nIdentityFile none\nCertificateFile /etc/c.pub\nIdentitiesOnly yes",
			"only yes@6, keys /home/a/.ssh/a@1, keys /home/a/.ssh/node2@3, certs /etc/c.pub@5"},
		"known hosts":       {"UserKnownHostsFile ~/.ssh/k1 /k2\nUserKnownHostsFile /k3\nHostKeyAlias n2", "alias n2@3, known /home/a/.ssh/k1@1, known /k2@1"},
		"HostName":          {"Host node2\nHostName %h.bank\n", "host node2.bank@2"},
		"ProxyJump":         {"Host node*\nProxyJump ops@bastion:2222, inner\nProxyCommand nc %h %p", "jump ops@bastion:2222,inner@2"},
		"no ProxyJump":      {"Host node2\nProxyJump none\nHost *\nProxyJump bastion", "jump none@2"},
		"ssh -W":            {"ProxyCommand ssh -q -W %h:%p ops@bastion", "jump ops@bastion@1"},
		"ssh bastion -W":    {"ProxyCommand /usr/bin/ssh bastion -W %h:%p", "jump bastion@1"},
		"no ProxyCommand":   {"ProxyCommand none\nProxyJump bastion", "jump none@1"},
		"ProxyCommand":      {"ProxyCommand nc -X 5 %h %p", "jump none@1, FILE:1: ProxyCommand nc -X 5 %h %p is a program that airgap does not run"},
		"harmless":          {"ServerAliveInterval 5\nForwardAgent yes\nGSSAPIAuthentication yes\nSendEnv LANG\nStrictHostKeyChecking no", ""},
		"Match all":         {"Host other\nUser x\nMatch all\nUser ops", "user ops@4"},
		"Match host":        {"Match host node* user root\nPort 2222\nMatch host other\nPort 1", "port 2222@2"},
		"Match user":        {"User ops\nMatch user ops\nPort 2222\nMatch user root\nHostKeyAlias x", "user ops@1, port 2222@3"},
		"Match not":         {"Match !host node2\nPort 1\nMatch !host node9 localuser a*\nPort 2", "port 2@4"},
		"Match exec":        {"Match host node2 exec \"/usr/bin/true %h\"\nProxyJump bastion\nCompression yes", "FILE:2: proxyjump is in a block with Match exec, which airgap cannot decide"},
		"Match exec, other": {"Match host node9 exec \"true\"\nProxyJump bastion", ""},
		"Match exec, set":   {"User ops\nMatch exec true\nUser other\nCompression yes", "user ops@1"},
		"Match exec, harmless": {
			"Match exec true\nCompression yes", ""},
		"Match final":         {"Match final all\nPort 2222", "FILE:2: port is in a block with Match final, which airgap cannot decide"},
		"Match tagged, after": {"Match tagged bank\nUser a\nHost node2\nPort 22", "port 22@4, FILE:2: user is in a block with Match tagged, which airgap cannot decide"},
	} {
		t.Run(name, func(t *testing.T) {
			file := written(t, t.TempDir(), "config", tc.text)
			s, err := Read(file, Query{Names: []string{"node2", "10.0.0.12"}, Local: "admin", Home: "/home/a"})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := shown(s), strings.ReplaceAll(tc.want, "FILE", file); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

// TestInclude: a file in a block counts for its hosts alone. The Host lines of the file do not reach beyond it.
func TestInclude(t *testing.T) {
	dir := t.TempDir()
	written(t, dir, "bank.conf", "User ops\nHost other\nUser x\n")
	written(t, dir, "not.conf", "Port 1\nHost *\nPort 2\n")
	file := written(t, dir, "config", "Host node2\n  Include bank.conf /nowhere/*.conf\n  Port 2222\nHost node9\n  Include not.conf\n")
	s, err := Read(file, Query{Names: []string{"node2"}, Home: dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(s); got != "user ops@1, port 2222@3" || s.User.From != filepath.Join(dir, "bank.conf")+":1" {
		t.Errorf("got %q from %s", got, s.User.From)
	}
	loop := written(t, dir, "loop", "Include loop\n")
	if _, err := Read(loop, Query{Names: []string{"node2"}, Home: dir}); err == nil || !strings.Contains(err.Error(), "levels of Include") {
		t.Errorf("a loop: %v", err)
	}
}

// TestBadConfigs: the error has the file and the line.
func TestBadConfigs(t *testing.T) {
	for text, want := range map[string]string{
		"Host node2\nUser":            "FILE:2: User has no value",
		"\nUser \"ops":                `FILE:2: a quote (") is not closed`,
		"Match host":                  "FILE:1: Match host has no value",
		strings.Repeat("#", 2<<20):    "FILE: larger than",
		"Host node2\nInclude [a\n":    "FILE:2: Include",
		"Host other\nInclude [a\n":    "",
		"Host node2\nPort 99999\n":    "",
		"Unknown keyword here\nFoo b": "",
	} {
		file := written(t, t.TempDir(), "config", text)
		s, err := Read(file, Query{Names: []string{"node2"}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(want, "FILE", file))) {
			t.Errorf("%.30q: got %v, want %q", text, err, want)
		}
		if err == nil && s.Port.Text != "" {
			if _, err := s.Port.Number(); err == nil || !strings.Contains(err.Error(), file+":2: Port 99999: want a number") {
				t.Errorf("got %v", err)
			}
		}
	}
	file := written(t, t.TempDir(), "config", "User ops\n")
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file, Query{Names: []string{"node2"}}); err == nil || !strings.Contains(err.Error(), "others can change it") {
		t.Errorf("a file that others can change: %v", err)
	}
	if s, err := Read("/nowhere/config", Query{Names: []string{"node2"}}); err != nil || shown(s) != "" {
		t.Errorf("no file: %v, %v", s, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("Host node2\nMatch host a exec b\nProxyCommand ssh -W\nInclude x")
	f.Add("ProxyCommand \"\"\nHost=\nMatch !")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ToLower(text), "include") {
			return
		}
		file := written(t, t.TempDir(), "config", text)
		_, _ = Read(file, Query{Names: []string{"node2", "10.0.0.12"}})
	})
}
