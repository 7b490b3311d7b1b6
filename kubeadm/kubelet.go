package kubeadm

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/runtime"
)

// nodeSettles is how long that postcondition may take to hold after kubeadm: on a busy host
// kubelet and API server may be late with one answer.
const nodeSettles = 30 * time.Second

// nodeHolds is the postcondition of init and join.
func (m Machine) nodeHolds(ctx context.Context, ready func(context.Context) error) (bool, error) {
	s, err := m.state()
	if err != nil || s != ended {
		return false, err
	}
	runs, err := m.UnitRuns(ctx, "kubelet")
	if err != nil || !runs {
		return false, err
	}
	return m.kubeletHealthy(ctx) == nil && ready(ctx) == nil, nil
}

// awaitNode waits for the kubelet, then for the node. A kubelet that cannot make
// the pods' cgroups answers for a moment before it ends: it has to be healthy
// once more at the end.
func (m Machine) awaitNode(ctx context.Context, atMost time.Duration, ready func(context.Context) error) error {
	return await.Until(ctx, atMost, func(ctx context.Context) error {
		if err := m.kubeletHealthy(ctx); err != nil {
			return err
		}
		if err := ready(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(await.Beat(ctx)):
		}
		return m.kubeletHealthy(ctx)
	})
}

// kubeletHealthy asks the kubelet itself, where its configuration has not
// switched that off: an active unit may be one that systemd starts again and
// again.
func (m Machine) kubeletHealthy(ctx context.Context) error {
	at, err := m.kubeletHealthz()
	if err != nil || at == "" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/healthz", nil)
	if err != nil {
		return err
	}
	client := httpclient.New(&http.Transport{Proxy: direct, DisableKeepAlives: true})
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
func (m Machine) kubeletHealthz() (string, error) {
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

// repair brings a finished node back up: its kubelet may only be stopped.
func (m Machine) repair(ctx context.Context, ready func(context.Context) error) error {
	if err := m.Run(ctx, "systemctl", "enable", "--now", "kubelet"); err != nil {
		return runtime.Explain(ctx, m.Machine, host.Failure{What: "start the kubelet", Err: err, Unit: "kubelet"})
	}
	if err := m.awaitNode(ctx, 2*time.Minute, ready); err != nil {
		return runtime.Explain(ctx, m.Machine, host.Failure{What: "wait for the node", Err: err, Unit: "kubelet"})
	}
	return nil
}

// NodeReady reports whether the cluster takes the node for ready.
func NodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// AgreementStep holds when host, runtime and kubelet agree. running asks the kubelet for the
// driver that it runs by.
func AgreementStep(m Machine, running func(context.Context) (string, error)) step.Step {
	return runtime.AgreementStep(m.Machine, runtime.Kubelet{Running: running, Restart: m.restartKubelet, Fetch: m.fetchKubeletConfig})
}

// fetchKubeletConfig gives the kubelet the configuration that the cluster has for all
// of them.
func (m Machine) fetchKubeletConfig(ctx context.Context) error {
	if err := m.kubeadm(ctx, nil, nil, "upgrade", "node", "phase", "kubelet-config"); err != nil {
		return err
	}
	return m.restartKubelet(ctx)
}

func (m Machine) restartKubelet(ctx context.Context) error {
	if err := m.Run(ctx, "systemctl", "restart", "kubelet"); err != nil {
		return runtime.Explain(ctx, m.Machine, host.Failure{What: "start the kubelet", Err: err, Unit: "kubelet"})
	}
	return await.Until(ctx, time.Minute, m.kubeletHealthy)
}
