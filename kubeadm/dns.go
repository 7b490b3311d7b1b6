package kubeadm

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/manifests"
)

// Values of Config.DNS.
const (
	SiteDNS = "site" // CoreDNS forwards names outside the cluster to the name servers of its node
	NoDNS   = "none" // the site has no name server
)

const corefile = "Corefile" // key in CoreDNS' ConfigMap, which kubeadm creates

// NoForwarding removes the forward plugin from CoreDNS' configuration at a site without name
// servers: CoreDNS does not start if its node has no name server. The Corefile is one field that
// kubeadm and users change, so the step edits the current text instead of applying a new one. It
// has no undo: a reset of the hosts removes the cluster.
func NoForwarding(m Machine) step.Step {
	return step.Step{
		Name: "dns", Title: "Let CoreDNS answer for the cluster only: the site has no name server",
		Done: func(ctx context.Context) (bool, error) {
			text, err := m.readCorefile(ctx)
			return err == nil && withoutForward(text) == text, err
		},
		Plan: func(context.Context) ([]string, error) {
			return []string{"change ConfigMap kube-system/coredns: remove the forward plugin"}, nil
		},
		Run: m.stopForwarding,
	}
}

func (m Machine) readCorefile(ctx context.Context) (string, error) {
	client, err := kube.Client(m.Machine, kube.AdminConf)
	if err != nil {
		return "", err
	}
	config, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "coredns", metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read CoreDNS' configuration: %w", err)
	}
	return config.Data[corefile], nil
}

func (m Machine) stopForwarding(ctx context.Context) error {
	client, err := kube.Client(m.Machine, kube.AdminConf)
	if err != nil {
		return err
	}
	maps := client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		config, err := maps.Get(ctx, "coredns", metav1.GetOptions{})
		if err != nil {
			return err
		}
		text := withoutForward(config.Data[corefile])
		if text == config.Data[corefile] {
			return nil // another writer has removed it
		}
		config.Data[corefile] = text
		_, err = maps.Update(ctx, config, metav1.UpdateOptions{FieldManager: manifests.FieldManager})
		return err
	})
	if err != nil {
		return fmt.Errorf("change CoreDNS' configuration: %w", err)
	}
	return nil
}

// withoutForward removes the forward plugin, with its block, from a Corefile.
func withoutForward(text string) string {
	var kept strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case inside:
			inside = len(words) == 0 || words[0] != "}"
		case len(words) > 0 && words[0] == "forward":
			inside = words[len(words)-1] == "{"
		default:
			kept.WriteString(line)
		}
	}
	return kept.String()
}
