package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// DNSPod is a CoreDNS pod on this host with the name servers that it got at its start.
type DNSPod struct {
	Name        string
	NameServers []string
}

// DNSPods asks the runtime. The kubelet copies the name servers of the host once, when it creates a pod.
func DNSPods(ctx context.Context, m host.Machine) ([]DNSPod, error) {
	endpoint := engineOn(m).endpoint()
	crictl := func(args ...string) ([]byte, error) {
		return m.Host.Run(ctx, host.Cmd{Name: "crictl", Args: append([]string{"--runtime-endpoint", endpoint}, args...)})
	}
	out, err := crictl("pods", "--state", "Ready", "--namespace", "kube-system", "--label", "k8s-app=kube-dns", "--output", "json")
	if err != nil {
		return nil, fmt.Errorf("list the CoreDNS pods of this host: %w", err)
	}
	var list struct {
		Items []struct {
			ID       string                `json:"id"`
			Metadata struct{ Name string } `json:"metadata"`
		} `json:"items"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("list the CoreDNS pods of this host: %w", err)
	}
	var pods []DNSPod
	for _, p := range list.Items {
		out, err := crictl("inspectp", "--output", "json", p.ID)
		if err != nil {
			return nil, fmt.Errorf("inspect pod %s: %w", p.Metadata.Name, err)
		}
		servers, err := sandboxServers(m, out)
		if err != nil {
			return nil, fmt.Errorf("inspect pod %s: %w", p.Metadata.Name, err)
		}
		pods = append(pods, DNSPod{p.Metadata.Name, servers})
	}
	return pods, nil
}

// sandboxServers reads the file that the runtime mounts at /etc/resolv.conf of the pod, or containerd's copy of the
// kubelet's request.
func sandboxServers(m host.Machine, text []byte) ([]string, error) {
	var sandbox struct {
		Info struct {
			Config struct {
				DNS *struct {
					Servers []string `json:"servers"`
				} `json:"dns_config"`
			} `json:"config"`
			RuntimeSpec struct {
				Mounts []struct {
					Destination string `json:"destination"`
					Source      string `json:"source"`
				} `json:"mounts"`
			} `json:"runtimeSpec"`
		} `json:"info"`
	}
	if err := json.Unmarshal(text, &sandbox); err != nil {
		return nil, err
	}
	if dns := sandbox.Info.Config.DNS; dns != nil {
		return dns.Servers, nil
	}
	for _, mount := range sandbox.Info.RuntimeSpec.Mounts {
		if mount.Destination != "/etc/resolv.conf" {
			continue
		}
		file, err := fs.ReadFile(m.Host.FS(), strings.TrimPrefix(mount.Source, "/"))
		if err != nil {
			return nil, err
		}
		return resolvServers(string(file)), nil
	}
	return nil, fmt.Errorf("the runtime does not report its name servers")
}

func resolvServers(text string) []string {
	var servers []string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "nameserver" {
			servers = append(servers, words[1])
		}
	}
	return servers
}
