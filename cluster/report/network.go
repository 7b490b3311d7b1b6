package report

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/verify/nodereport"
)

// network reads the settings that other programs and teams may change months after the installation.
func (s Settings) network(ctx context.Context, m kubeadm.Machine) (*nodereport.HostNetwork, error) {
	found := &nodereport.HostNetwork{Address: s.Address}
	var err error
	if found.Link, found.DHCP, err = facts.AddressOf(ctx, m.Host, s.Address); err != nil {
		return nil, err
	}
	if s.Firewall != nil {
		state, err := settings.ReadFirewall(ctx, m.Machine, *s.Firewall)
		if err != nil {
			return nil, err
		}
		found.Firewall = &nodereport.Firewall{Running: state.Running, Opened: state.Opened, Later: state.Later, Missing: state.Missing}
	}
	file, err := kubeletResolvConf(m)
	if err != nil {
		return nil, err
	}
	if found.NameServers, err = nameServers(m, file); err != nil {
		return nil, err
	}
	pods, err := runtime.DNSPods(ctx, m.Machine)
	for _, p := range pods {
		found.DNSPods = append(found.DNSPods, nodereport.DNSPod{Name: p.Name, NameServers: p.NameServers})
	}
	return found, err
}

// hostLinksPart remembers the counters of the last intervals while the program runs.
func (s Settings) hostLinksPart(h host.Host) nodereport.Part {
	var history nodereport.LinkHistory
	return part("hostLinks", soon, brief, func(_ context.Context, r *nodereport.Report) error {
		link, err := nodereport.InterfaceWith(s.Address)
		if err != nil {
			return fmt.Errorf("find the interface with %s: %w", s.Address, err)
		}
		r.HostLinks = history.Read(h.FS(), link, time.Now())
		return nil
	})
}

// kubeletResolvConf is the file from which the kubelet copies the name servers of pods like CoreDNS.
func kubeletResolvConf(m kubeadm.Machine) (string, error) {
	text, err := fs.ReadFile(m.Host.FS(), "var/lib/kubelet/config.yaml")
	if err != nil {
		return "", fmt.Errorf("read /var/lib/kubelet/config.yaml: %w", err)
	}
	var c struct {
		ResolvConf *string `json:"resolvConf"`
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		return "", fmt.Errorf("read /var/lib/kubelet/config.yaml: %w", err)
	}
	if c.ResolvConf == nil {
		return "/etc/resolv.conf", nil
	}
	return *c.ResolvConf, nil // "" is a value: the kubelet gives pods no name servers
}

// maxNameServers is how many the kubelet gives to a pod.
const maxNameServers = 3

func nameServers(m kubeadm.Machine, file string) ([]string, error) {
	if file == "" {
		return nil, nil
	}
	text, err := fs.ReadFile(m.Host.FS(), strings.TrimPrefix(file, "/"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the rule compares it with the pods
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	servers := facts.NameServers(string(text))
	return servers[:min(len(servers), maxNameServers)], nil
}
