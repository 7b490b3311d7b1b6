package lab

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
	"sigs.k8s.io/yaml"
)

// Hosts are servers that the lab has not made: a file names them, and plain SSH
// leads there. Relative paths begin where the file lies.
type Hosts struct {
	// Config is the site's airgap.yaml. By it the bundle is made: versions, repositories,
	// registries, credentials. Its nodes are the hosts.
	Config string `json:"config"`

	// KnownHosts has the hosts' keys, in OpenSSH's form. No other key is taken.
	KnownHosts string `json:"knownHosts"`

	// Skip are preflight checks, and rules of verify, to leave out on them.
	Skip []string `json:"skip"`

	Login        // on hosts that say nothing else
	Hosts []Host `json:"hosts"`

	Cluster string `json:"-"` // its name, by Config
}

// Host is one of them.
type Host struct {
	Name    string `json:"name"`    // of its node
	Address string `json:"address"` // where sshd answers; the node's, when left out
	Login

	node netip.Addr // where the other hosts reach it
}

// Login says who logs in. Anybody but root becomes root by sudo, without a password.
type Login struct {
	User         string `json:"user"`         // root, when left out
	Port         int    `json:"port"`         // 22, when left out
	IdentityFile string `json:"identityFile"` // a private key, not encrypted
}

// ReadHosts reads a file of hosts and what it refers to. Its error has all that
// is wrong; no host was asked anything.
func ReadHosts(file string) (Hosts, error) {
	var h Hosts
	data, err := os.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(data, &h)
	}
	if err == nil {
		err = h.complete(filepath.Dir(file))
	}
	if err != nil {
		return h, fmt.Errorf("read the hosts in %s: %w", file, err)
	}
	return h, nil
}

// complete fills in what was left out, in the order of the cluster's nodes, and
// wants every host to be one that can be logged in on.
func (h *Hosts) complete(dir string) error {
	if h.Config == "" || h.KnownHosts == "" || len(h.Hosts) == 0 {
		return errors.New("want config, the site's airgap.yaml, knownHosts, a file with the hosts' keys, and hosts")
	}
	h.Config, h.KnownHosts = below(dir, h.Config), below(dir, h.KnownHosts)
	c, err := readCluster(h.Config)
	if err != nil {
		return err
	}
	h.Cluster = c.Name
	if h.Hosts, err = c.match(h.Hosts); err != nil {
		return err
	}
	var errs []error
	for i := range h.Hosts {
		host := &h.Hosts[i]
		host.User = cmp.Or(host.User, h.User, "root")
		host.Port = cmp.Or(host.Port, h.Port, 22)
		host.IdentityFile = below(dir, cmp.Or(host.IdentityFile, h.IdentityFile))
		if _, err := h.sshConfig(*host); err != nil {
			errs = append(errs, fmt.Errorf("host %s: %w", host.Name, err))
		}
	}
	return errors.Join(errs...)
}

// below is a path as the file means it.
func below(dir, path string) string {
	if rest, is := strings.CutPrefix(path, "~/"); is {
		return filepath.Join(os.Getenv("HOME"), rest)
	}
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// addr is where sshd answers.
func (h Host) addr() string { return net.JoinHostPort(h.Address, strconv.Itoa(h.Port)) }

// sshConfig lets in who logs in on the host, by the key that is known of it.
func (h Hosts) sshConfig(host Host) (*ssh.ClientConfig, error) {
	text, err := os.ReadFile(host.IdentityFile)
	if err != nil {
		return nil, fmt.Errorf("read its identityFile: %w", err)
	}
	key, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("read its identityFile %s (want a private key that is not encrypted): %w", host.IdentityFile, err)
	}
	check, algorithms, err := knownKey(h.KnownHosts, host.addr())
	if err != nil {
		return nil, err
	}
	return &ssh.ClientConfig{
		User: host.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(key)},
		HostKeyCallback: check, HostKeyAlgorithms: algorithms,
	}, nil
}

// siteCluster is as much of airgap.yaml as says what the hosts are.
type siteCluster struct {
	Name  string
	Nodes []struct {
		Name    string
		Address netip.Addr
		Roles   []string
	}
	SSH     map[string]any
	Runtime struct{ Name string }
}

// readCluster reads the site's airgap.yaml and wants it to be of a cluster that
// the scenarios can make: one control-plane host, and others that join it by hand.
func readCluster(file string) (c siteCluster, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return c, err
	}
	if err := yaml.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("read %s: %w", file, err)
	}
	var wrong []string
	for i, n := range c.Nodes {
		if master := slices.Contains(n.Roles, "control-plane"); master != (i == 0) {
			wrong = append(wrong, "the first of its nodes, and no other, has to be of the control plane")
			break
		}
	}
	if c.SSH != nil {
		wrong = append(wrong, "it has ssh:, and the scenarios join each host by its line")
	}
	if c.Runtime.Name != "" && c.Runtime.Name != "containerd" {
		wrong = append(wrong, "its runtime is "+c.Runtime.Name+", and the scenarios look at containerd's files")
	}
	if len(wrong) > 0 {
		return c, fmt.Errorf("%s will not do: %s", file, strings.Join(wrong, "; "))
	}
	return c, nil
}

// match puts the hosts in the order of the nodes, each of which has to be one of them.
func (c siteCluster) match(hosts []Host) ([]Host, error) {
	byName := map[string]Host{}
	for _, host := range hosts {
		byName[host.Name] = host
	}
	var matched []Host
	var errs []error
	for _, n := range c.Nodes {
		host, is := byName[n.Name]
		if !is {
			errs = append(errs, fmt.Errorf("node %s of config is none of the hosts", n.Name))
		}
		delete(byName, n.Name)
		host.node, host.Address = n.Address, cmp.Or(host.Address, n.Address.String())
		matched = append(matched, host)
	}
	for name := range byName {
		errs = append(errs, fmt.Errorf("host %q is no node of config", name))
	}
	if len(errs) == 0 && len(matched) != len(hosts) {
		errs = append(errs, errors.New("a host is there twice"))
	}
	return matched, errors.Join(errs...)
}
