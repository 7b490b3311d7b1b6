// Package access decides how airgap logs in on the other hosts: from the file of --ssh-config, airgap.yaml and
// ~/.ssh/config, in this order.
package access

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/sshconfig"
)

// Access is the settings of the logins. It is immutable.
type Access struct {
	Dialer *remote.Dialer

	config *config.Cluster
	own    remote.Config // the section ssh, without its defaults
	homes  []string      // of the user that ran sudo, and of root
	file   string        // of OpenSSH; "" for none
	local  string        // the user who runs airgap
}

// Login is a host with its settings.
type Login struct {
	remote.Host

	Notes []string // which file each setting is from
}

// Open reads the files that airgap.yaml names.
func Open(c *config.Cluster) (*Access, error) {
	a := &Access{config: c, own: c.SSH.Written(), homes: homes(), local: cmp.Or(os.Getenv("SUDO_USER"), "root")}
	a.file = a.Expand(cmp.Or(a.own.ConfigFile, "~/.ssh/config"))
	if a.own.ConfigFile == remote.NoConfig {
		a.file = ""
	} else if a.own.ConfigFile != "" && !site.Exists(a.file) {
		return nil, fmt.Errorf("read ssh.configFile %s: %w", a.file, os.ErrNotExist)
	}
	known := &remote.KnownHosts{Files: []string{"/etc/ssh/ssh_known_hosts"}, Own: site.KnownHostsFile}
	keys := &remote.Keys{Socket: os.Getenv("SSH_AUTH_SOCK")}
	for _, home := range a.homes {
		keys.Defaults = append(keys.Defaults, remote.DefaultKeys(home)...)
		known.Files = append(known.Files, filepath.Join(home, ".ssh/known_hosts"))
	}
	for _, file := range a.own.KnownHosts {
		known.Files = append(known.Files, a.Expand(file))
	}
	if a.own.HostKeys != "" {
		var err error
		if known.Listed, err = remote.ReadHostKeys(a.Expand(a.own.HostKeys)); err != nil {
			return nil, err
		}
	}
	a.Dialer = &remote.Dialer{Keys: keys, Known: known}
	return a, nil
}

// homes returns the home directories with SSH keys and known hosts: those of the user that ran sudo, and of root.
func homes() []string {
	var all []string
	if name := os.Getenv("SUDO_USER"); name != "" && name != "root" {
		if u, err := user.Lookup(name); err == nil {
			all = append(all, u.HomeDir)
		}
	}
	if u, err := user.Current(); err == nil {
		all = append(all, u.HomeDir)
	}
	return all
}

// Expand replaces ~ with the first home directory that has the file, or else with the first home directory.
func (a *Access) Expand(file string) string {
	rest, inHome := strings.CutPrefix(file, "~/")
	if !inHome || len(a.homes) == 0 {
		return file
	}
	for _, home := range a.homes {
		if path := filepath.Join(home, rest); site.Exists(path) {
			return path
		}
	}
	return filepath.Join(a.homes[0], rest)
}

// Logins returns the settings of nodes. The error has each problem of ~/.ssh/config once, with its hosts.
func (a *Access) Logins(nodes []config.Node) (all []Login, err error) {
	hosts := map[string][]string{}
	var texts []string
	for _, n := range nodes {
		l, err := a.Login(n)
		all = append(all, l)
		for _, text := range problemsOf(err) {
			if hosts[text] == nil {
				texts = append(texts, text)
			}
			hosts[text] = append(hosts[text], n.Name)
		}
	}
	if len(texts) == 0 {
		return all, nil
	}
	for i, text := range texts {
		texts[i] = "  " + text + " (" + hostrange.Join(hosts[text]) + ")"
	}
	return nil, advice.Add(errors.New("read the SSH settings:\n"+strings.Join(texts, "\n")),
		"set ssh.proxyJump in airgap.yaml or in the file of --ssh-config (a jump host, or none), or ssh.configFile: none to ignore ~/.ssh/config; nothing was started")
}

// problems are settings that airgap cannot follow.
type problems []string

func (p problems) Error() string { return strings.Join(p, "\n") }

func problemsOf(err error) []string {
	if all, is := errors.AsType[problems](err); is {
		return all
	}
	if err != nil {
		return []string{err.Error()}
	}
	return nil
}

// Login returns the settings of a node.
func (a *Access) Login(n config.Node) (Login, error) {
	var o remote.Override
	if n.SSH != nil {
		o = *n.SSH
	}
	s, err := a.read(cmp.Or(o.User, a.own.User), n.Name, cmp.Or(o.Address, n.Address))
	if err != nil {
		return Login{}, err
	}
	l := Login{Host: remote.Host{Name: n.Name, HostKey: o.HostKey}}
	l.Address = l.text("address", sshconfig.Value{Text: o.Address, From: ownFile}, s.HostName, sshconfig.Value{Text: n.Address})
	l.User = l.text("user", sshconfig.Value{Text: cmp.Or(o.User, a.own.User), From: ownFile}, s.User, sshconfig.Value{Text: "root"})
	l.User = remote.ForNode(l.User, n.Name, n.Address)
	if l.Port, err = l.port(cmp.Or(o.Port, a.own.Port), s.Port); err != nil {
		return l, err
	}
	a.keys(&l, cmp.Or(o.IdentityFile, a.own.IdentityFile), s)
	jumps := slices.Concat(o.ProxyJump)
	if len(jumps) == 0 {
		jumps = a.own.ProxyJump
	}
	from := ownFile
	if len(jumps) == 0 && s.ProxyJump.Text != "" {
		jumps, from = strings.Split(s.ProxyJump.Text, ","), s.ProxyJump.From
	}
	if l.Via, err = a.jumps(jumps, from, 0); err != nil {
		return l, err
	}
	if l.Via != nil {
		l.note("jump host %s: %s", l.Via.Name, from)
	}
	return l, left(s, map[string]bool{
		"hostname": o.Address != "", "user": o.User+a.own.User != "", "port": o.Port+a.own.Port != 0, "proxyjump": from == ownFile && len(jumps) > 0,
		"proxycommand": from == ownFile && len(jumps) > 0,
	})
}

// ownFile is the place of settings of airgap.yaml, also of those that the file of --ssh-config replaces.
const ownFile = "airgap.yaml"

// left returns the problems with settings that airgap.yaml does not decide.
func left(s *sshconfig.Settings, decided map[string]bool) error {
	var all problems
	for _, p := range s.Problems {
		if !decided[p.Keyword] {
			all = append(all, p.Text)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

func (a *Access) read(user string, names ...string) (*sshconfig.Settings, error) {
	if a.file == "" {
		return &sshconfig.Settings{}, nil
	}
	return sshconfig.Read(a.file, sshconfig.Query{Names: names, User: user, Local: a.local, Home: filepath.Dir(filepath.Dir(a.file))})
}

func (l *Login) note(format string, args ...any) {
	l.Notes = append(l.Notes, fmt.Sprintf(format, args...))
}

// text returns the first value, and notes its file.
func (l *Login) text(name string, values ...sshconfig.Value) string {
	for _, v := range values {
		if v.Text == "" {
			continue
		}
		if v.From != "" {
			l.note("%s %s: %s", name, v.Text, v.From)
		}
		return v.Text
	}
	return ""
}

func (l *Login) port(own int, other sshconfig.Value) (int, error) {
	switch {
	case own != 0:
		l.note("port %d: %s", own, ownFile)
		return own, nil
	case other.Text != "":
		n, err := other.Number()
		l.note("port %d: %s", n, other.From)
		return n, err
	}
	return 22, nil
}

// keys sets the keys to offer, and the files with the keys of the host.
func (a *Access) keys(l *Login, own string, s *sshconfig.Settings) {
	if own != "" {
		l.IdentityFile = a.Expand(own)
		l.note("key %s: %s", l.IdentityFile, ownFile)
	} else {
		l.OnlyIdentities = strings.EqualFold(s.IdentitiesOnly.Text, "yes")
		for _, v := range s.IdentityFiles {
			l.Identities = append(l.Identities, v.Text)
			l.note("key %s: %s", v.Text, v.From)
		}
	}
	for _, v := range s.CertificateFiles {
		l.Certificates = append(l.Certificates, v.Text)
		l.note("certificate %s: %s", v.Text, v.From)
	}
	for _, v := range s.KnownHosts {
		l.KnownHosts = append(l.KnownHosts, v.Text)
		l.note("known hosts %s: %s", v.Text, v.From)
	}
	l.KeyAlias = l.text("HostKeyAlias", s.HostKeyAlias)
}

// maxDepth is the limit of jump hosts that ~/.ssh/config puts in front of jump hosts.
const maxDepth = 8

// jumps returns the last of these jump hosts, with the others in front of it.
func (a *Access) jumps(texts []string, from string, depth int) (via *remote.Host, err error) {
	hops, err := remote.ParseHops(texts)
	if err != nil {
		return nil, fmt.Errorf("%s: ProxyJump %w", from, err)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("%s: more than %d jump hosts in a row", from, maxDepth)
	}
	for i, hop := range hops {
		s, err := a.read(cmp.Or(hop.User, a.own.User), hop.Host)
		if err != nil {
			return nil, err
		}
		l := Login{Host: remote.Host{Name: hop.Host, Jump: true, Via: via}}
		l.Address = cmp.Or(s.HostName.Text, hop.Host)
		l.User = cmp.Or(hop.User, s.User.Text, a.own.User, "root")
		if l.Port, err = l.port(hop.Port, s.Port); err != nil {
			return nil, err
		}
		a.keys(&l, a.own.IdentityFile, s)
		if i == 0 && s.ProxyJump.Text != "" && s.ProxyJump.Text != texts[0] && s.ProxyJump.Text != hop.Host { // not with ProxyJump below "Host *"
			if l.Via, err = a.jumps(strings.Split(s.ProxyJump.Text, ","), s.ProxyJump.From, depth+1); err != nil {
				return nil, err
			}
		}
		if err := left(s, map[string]bool{"user": hop.User != "", "port": hop.Port != 0, "proxyjump": i > 0, "proxycommand": i > 0}); err != nil {
			return nil, err
		}
		via = &l.Host
	}
	return via, nil
}

// JumpNames returns the names of the jump hosts, for the file of passwords.
func JumpNames(logins []Login) (all []string) {
	for _, l := range logins {
		for via := l.Via; via != nil; via = via.Via {
			if !slices.Contains(all, via.Name) {
				all = append(all, via.Name)
			}
		}
	}
	return all
}
