package access

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/remote"
)

func TestExpandFindsTheHomeThatHasIt(t *testing.T) {
	admin, root := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := &Access{homes: []string{admin, root}}
	for file, want := range map[string]string{"~/key": root + "/key", "~/none": admin + "/none", "/abs": "/abs", "": ""} {
		if got := a.Expand(file); got != want {
			t.Errorf("Expand(%q) = %q, want %q", file, got, want)
		}
	}
}

// accessOf returns the settings of a section ssh and a ~/.ssh/config.
func accessOf(t *testing.T, section remote.Config, openSSH string) *Access {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, ".ssh")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(openSSH), 0o600); err != nil {
		t.Fatal(err)
	}
	section.Default()
	return &Access{config: &config.Cluster{SSH: &section}, own: section.Written(), homes: []string{home}, file: filepath.Join(dir, "config"), local: "admin"}
}

// way is a login and its jump hosts, in the order of the connections.
func way(h remote.Host) string {
	text := h.User + "@" + h.Addr()
	if h.Via != nil {
		text = way(*h.Via) + " " + text
	}
	return text
}

// TestLogin: airgap.yaml comes before ~/.ssh/config, which comes before the defaults. The notes name the places.
func TestLogin(t *testing.T) {
	const bastion = "Host bastion\n HostName 10.9.9.9\n User guard\n Port 2022\n"
	for name, tc := range map[string]struct {
		section remote.Config
		node    *remote.Override
		openSSH string
		want    string // the way; the problem after "!"
		note    string
	}{
		"nothing":                {remote.Config{}, nil, "", "root@10.0.0.12:22", ""},
		"airgap.yaml":            {remote.Config{User: "ops", Port: 2222}, nil, "User other\nPort 1\n", "ops@10.0.0.12:2222", "user ops: airgap.yaml"},
		"of the node":            {remote.Config{User: "ops"}, &remote.Override{User: "n2", Port: 9, Address: "n2.mgmt"}, "HostName other\n", "n2@n2.mgmt:9", "address n2.mgmt: airgap.yaml"},
		"OpenSSH":                {remote.Config{}, nil, "Host node2\n User ops\n Port 2222\n HostName n2.mgmt\n", "ops@n2.mgmt:2222", "user ops: FILE:2"},
		"root in airgap.yaml":    {remote.Config{User: "root", Port: 22}, nil, "User ops\nPort 2222", "root@10.0.0.12:22", ""},
		"a jump host":            {remote.Config{User: "ops", ProxyJump: []string{"guard@bastion.bank:2222"}}, nil, "", "guard@bastion.bank:2222 ops@10.0.0.12:22", "jump host bastion.bank: airgap.yaml"},
		"its user":               {remote.Config{User: "ops", ProxyJump: []string{"bastion.bank"}}, nil, "", "ops@bastion.bank:22 ops@10.0.0.12:22", ""},
		"two jump hosts":         {remote.Config{ProxyJump: []string{"a@outer", "b@inner"}}, nil, "", "a@outer:22 b@inner:22 root@10.0.0.12:22", ""},
		"known to OpenSSH":       {remote.Config{User: "ops", ProxyJump: []string{"bastion"}}, nil, bastion, "guard@10.9.9.9:2022 ops@10.0.0.12:22", ""},
		"none for the node":      {remote.Config{ProxyJump: []string{"bastion"}}, &remote.Override{ProxyJump: []string{"none"}}, "", "root@10.0.0.12:22", ""},
		"another one":            {remote.Config{ProxyJump: []string{"bastion"}}, &remote.Override{ProxyJump: []string{"other"}}, "", "root@other:22 root@10.0.0.12:22", ""},
		"OpenSSH's jump host":    {remote.Config{}, nil, bastion + "Host node*\n ProxyJump bastion\n", "guard@10.9.9.9:2022 root@10.0.0.12:22", "jump host bastion: FILE:6"},
		"for all":                {remote.Config{}, nil, bastion + "Host *\n ProxyJump bastion\n", "guard@10.9.9.9:2022 root@10.0.0.12:22", ""},
		"before the jump host":   {remote.Config{}, nil, bastion + " ProxyJump outer\nHost node*\n ProxyJump bastion\n", "root@outer:22 guard@10.9.9.9:2022 root@10.0.0.12:22", ""},
		"not OpenSSH's":          {remote.Config{ProxyJump: []string{"none"}}, nil, "ProxyJump bastion", "root@10.0.0.12:22", ""},
		"a program":              {remote.Config{}, nil, "Host node*\nProxyCommand nc %h %p", "! FILE:2: ProxyCommand nc %h %p is a program that airgap does not run", ""},
		"a program, replaced":    {remote.Config{ProxyJump: []string{"bastion"}}, nil, "Host node*\nProxyCommand nc %h %p", "root@bastion:22 root@10.0.0.12:22", ""},
		"a program to the jump":  {remote.Config{ProxyJump: []string{"bastion"}}, nil, "Host bastion\nProxyCommand nc %h %p", "! FILE:2: ProxyCommand nc", ""},
		"a Match":                {remote.Config{}, nil, "Match exec true\nUser x\nHostName y", "! FILE:2: user is in a block with Match exec", ""},
		"a Match, decided":       {remote.Config{User: "ops"}, &remote.Override{Address: "n2"}, "Match exec true\nUser x\nHostName y", "ops@n2:22", ""},
		"a bad port":             {remote.Config{}, nil, "Port ssh", "! FILE:1: Port ssh: want a number", ""},
		"a bad jump host":        {remote.Config{}, nil, "ProxyJump ssh://bastion", "! FILE:1: ProxyJump \"ssh://bastion\": want [USER@]HOST", ""},
		"a loop of jump hosts":   {remote.Config{}, nil, "Host a\nProxyJump b\nHost b\nProxyJump a\nHost node2\nProxyJump a", "! more than 8 jump hosts in a row", ""},
		"PSM for SSH for all":    {remote.Config{User: "vault@root@{address}"}, &remote.Override{Address: "psmp.bank"}, "", "vault@root@10.0.0.12@psmp.bank:22", ""},
		"PSM for SSH as a login": {remote.Config{User: "vault@root@10.0.0.12"}, &remote.Override{Address: "psmp.bank"}, "", "vault@root@10.0.0.12@psmp.bank:22", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := accessOf(t, tc.section, tc.openSSH)
			l, err := a.Login(config.Node{Name: "node2", Address: "10.0.0.12", SSH: tc.node})
			inFile := func(text string) string { return strings.ReplaceAll(text, "FILE", a.file) }
			if problem, is := strings.CutPrefix(tc.want, "! "); is {
				if err == nil || !strings.Contains(err.Error(), inFile(problem)) {
					t.Errorf("got %v, want %q", err, inFile(problem))
				}
				return
			}
			if err != nil || way(l.Host) != tc.want {
				t.Errorf("got %s, %v, want %s", way(l.Host), err, tc.want)
			}
			if tc.note != "" && !slices.Contains(l.Notes, inFile(tc.note)) {
				t.Errorf("%q is not in %q", inFile(tc.note), l.Notes)
			}
		})
	}
}

// TestKeysOfOpenSSH: keys, certificates and known hosts of ~/.ssh/config. A key in airgap.yaml replaces its keys.
func TestKeysOfOpenSSH(t *testing.T) {
	const openSSH = "IdentitiesOnly yes\nIdentityFile ~/.ssh/a\nIdentityFile /b\nCertificateFile /c.pub\nUserKnownHostsFile /k\nHostKeyAlias n2\n"
	a := accessOf(t, remote.Config{}, openSSH)
	l, err := a.Login(config.Node{Name: "node2", Address: "10.0.0.12"})
	want := remote.Host{
		Name: "node2", Address: "10.0.0.12", Port: 22, User: "root", Identities: []string{a.homes[0] + "/.ssh/a", "/b"}, OnlyIdentities: true,
		Certificates: []string{"/c.pub"}, KnownHosts: []string{"/k"}, KeyAlias: "n2",
	}
	if err != nil || !reflect.DeepEqual(l.Host, want) {
		t.Errorf("got %+v, %v", l.Host, err)
	}
	a = accessOf(t, remote.Config{IdentityFile: "/own"}, openSSH)
	if l, err = a.Login(config.Node{Name: "node2", Address: "10.0.0.12"}); err != nil || l.IdentityFile != "/own" || l.Identities != nil {
		t.Errorf("got %+v, %v", l.Host, err)
	}
}

// TestProblemsOnce: a line of ~/.ssh/config is one problem, also for many hosts.
func TestProblemsOnce(t *testing.T) {
	a := accessOf(t, remote.Config{}, "Host node*\nProxyCommand nc %h %p\n")
	var nodes []config.Node
	for _, name := range []string{"node1", "node2", "node3", "other"} {
		nodes = append(nodes, config.Node{Name: name, Address: "10.0.0.1"})
	}
	_, err := a.Logins(nodes)
	if err == nil || strings.Count(err.Error(), "ProxyCommand") != 1 || !strings.Contains(err.Error(), "(node[1-3])") || !strings.Contains(advice.Of(err), "ssh.configFile: none") {
		t.Errorf("got %v\nhint: %s", err, advice.Of(err))
	}
	a.file = ""
	if _, err := a.Logins(nodes); err != nil {
		t.Error(err)
	}
}
