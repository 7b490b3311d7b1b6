package node

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/runtime"
)

// AwaitNode waits for the kubelet, then for the node. A kubelet that cannot make
// the pods' cgroups answers for a moment before it ends: it must be healthy
// again at the end.
func AwaitNode(ctx context.Context, m host.Machine, atMost time.Duration, ready func(context.Context) error) error {
	return await.Until(ctx, atMost, func(ctx context.Context) error {
		if err := KubeletHealthy(ctx, m); err != nil {
			return err
		}
		if err := ready(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(await.Interval(ctx)):
		}
		return KubeletHealthy(ctx, m)
	})
}

// KubeletHealthy asks the kubelet, unless its configuration disables that: systemd
// may restart an active unit repeatedly.
func KubeletHealthy(ctx context.Context, m host.Machine) error {
	at, err := kubeletHealthz(m)
	if err != nil || at == "" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/healthz", nil)
	if err != nil {
		return err
	}
	client := httpclient.New(&http.Transport{Proxy: kube.Direct, DisableKeepAlives: true})
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask the kubelet whether it is healthy: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		return fmt.Errorf("the kubelet is not healthy: %s %s", response.Status, said)
	}
	return nil
}

// kubeletHealthz is where the kubelet answers, by KubeletConfiguration v1beta1,
// and "" if nowhere.
func kubeletHealthz(m host.Machine) (string, error) {
	data, err := os.ReadFile(m.Path(runtime.KubeletConfig))
	if err != nil {
		return "", fmt.Errorf("read the kubelet's configuration: %w", err)
	}
	config := struct {
		Address string `json:"healthzBindAddress"`
		Port    *int   `json:"healthzPort"`
	}{Address: "127.0.0.1"}
	if err := yaml.Unmarshal(data, &config); err != nil {
		return "", fmt.Errorf("read the kubelet's configuration: %w", err)
	}
	port := 10248
	if config.Port != nil {
		port = *config.Port
	}
	if port == 0 {
		return "", nil
	}
	if ip := net.ParseIP(config.Address); ip != nil && ip.IsUnspecified() {
		config.Address = "127.0.0.1"
	}
	return net.JoinHostPort(config.Address, strconv.Itoa(port)), nil
}

// FetchKubeletConfig gives the kubelet the configuration that the cluster has for all
// of them, with the patches of this host.
func FetchKubeletConfig(ctx context.Context, m host.Machine) error {
	args := []string{"node", "phase", "kubelet-config"}
	if _, err := os.Stat(m.Path(PatchesDir)); err == nil {
		args = append(args, "--patches", m.Path(PatchesDir))
	}
	if err := Kubeadm(ctx, m, nil, nil, "upgrade", args...); err != nil {
		return err
	}
	return RestartKubelet(ctx, m)
}

// RestartKubelet waits up to a minute until the kubelet is healthy again.
func RestartKubelet(ctx context.Context, m host.Machine) error {
	if err := m.Run(ctx, "systemctl", "restart", "kubelet"); err != nil {
		return runtime.Explain(ctx, m, host.Failure{What: "start the kubelet", Err: err, Unit: "kubelet"})
	}
	return await.Until(ctx, time.Minute, func(ctx context.Context) error { return KubeletHealthy(ctx, m) })
}
