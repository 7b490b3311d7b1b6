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

// Hosts are servers that the lab has not created: a hosts file names them, and the lab
// reaches them through plain SSH. Relative paths start at the directory of the file.
type Hosts struct {
	// Config is the site's airgap.yaml. It defines the bundle: versions, repositories,
	// registries, credentials. Its nodes are the hosts.
	Config string `json:"config"`

	// KnownHosts is a file with the hosts' keys, in OpenSSH's format. No other key is accepted.
	KnownHosts string `json:"knownHosts"`

	// Skip lists the preflight checks and verify rules to skip.
	Skip []string `json:"skip"`

	Login        // default for all hosts
	Hosts []Host `json:"hosts"`

	Cluster string `json:"-"` // name of the cluster, from Config
}

// Host is one host of a hosts file.
type Host struct {
	Name    string `json:"name"`    // of its node
	Address string `json:"address"` // of sshd; default: the node's address
	Login

	node netip.Addr // the address for the other hosts
}

// Login is the SSH login. Any user except root needs sudo without a password.
type Login struct {
	User         string `json:"user"`         // default: root
	Port         int    `json:"port"`         // default: 22
	IdentityFile string `json:"identityFile"` // a private key, not encrypted
}

// ReadHosts reads a hosts file and the files to which it refers. Its error contains all
// mistakes. It contacts no host.
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

// complete sets the defaults, puts the hosts in the order of the cluster's nodes, and checks
// that every host has a usable login.
func (h *Hosts) complete(dir string) error {
	if h.Config == "" || h.KnownHosts == "" || len(h.Hosts) == 0 {
		return errors.New("config, knownHosts and hosts are required")
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

// below resolves a path of the hosts file: ~/ is the home directory, and a relative path
// starts at dir.
func below(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(os.Getenv("HOME"), rest)
	}
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// addr returns HOST:PORT of sshd.
func (h Host) addr() string { return net.JoinHostPort(h.Address, strconv.Itoa(h.Port)) }

// sshConfig returns the login on a host. It accepts only the host key that is in KnownHosts.
func (h Hosts) sshConfig(host Host) (*ssh.ClientConfig, error) {
	text, err := os.ReadFile(host.IdentityFile)
	if err != nil {
		return nil, fmt.Errorf("read identityFile: %w", err)
	}
	key, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("read identityFile %s (it must be a private key that is not encrypted): %w", host.IdentityFile, err)
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

// siteCluster contains the fields of airgap.yaml that describe the hosts.
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

// readCluster reads the site's airgap.yaml and checks that the scenarios support this
// cluster: one control-plane host, and other hosts that join with their own command.
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
		if controlPlane := slices.Contains(n.Roles, "control-plane"); controlPlane != (i == 0) {
			wrong = append(wrong, "the first node must be its only control-plane host")
			break
		}
	}
	if c.SSH != nil {
		wrong = append(wrong, "it has ssh:, but the scenarios run the join command on each host")
	}
	if c.Runtime.Name != "" && c.Runtime.Name != "containerd" {
		wrong = append(wrong, "its runtime is "+c.Runtime.Name+", but the scenarios read containerd's files")
	}
	if len(wrong) > 0 {
		return c, fmt.Errorf("check %s: %s", file, strings.Join(wrong, "; "))
	}
	return c, nil
}

// match puts the hosts in the order of the nodes. Each node must be one of the hosts.
func (c siteCluster) match(hosts []Host) ([]Host, error) {
	byName := map[string]Host{}
	for _, host := range hosts {
		byName[host.Name] = host
	}
	var matched []Host
	var errs []error
	for _, n := range c.Nodes {
		host, ok := byName[n.Name]
		if !ok {
			errs = append(errs, fmt.Errorf("node %s of config is not in hosts", n.Name))
		}
		delete(byName, n.Name)
		host.node, host.Address = n.Address, cmp.Or(host.Address, n.Address.String())
		matched = append(matched, host)
	}
	for name := range byName {
		errs = append(errs, fmt.Errorf("host %q is not a node of config", name))
	}
	if len(errs) == 0 && len(matched) != len(hosts) {
		errs = append(errs, errors.New("a host is listed twice"))
	}
	return matched, errors.Join(errs...)
}
