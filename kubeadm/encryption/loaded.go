package encryption

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// fileHash is how the API server names the file that it has loaded.
func fileHash(text []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(text)) }

// APIServers are the addresses of the cluster's API servers by node, each on
// its own: the one endpoint of them all would answer for any.
func APIServers(ctx context.Context, client kubernetes.Interface) (map[string]string, error) {
	pods, err := client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "component=kube-apiserver"})
	if err != nil {
		return nil, fmt.Errorf("list the API servers: %w", err)
	}
	at := map[string]string{}
	for _, pod := range pods.Items {
		at[pod.Spec.NodeName] = pod.Annotations["kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"]
	}
	if len(at) == 0 {
		return nil, errors.New("list the API servers: kube-system has no pod of one")
	}
	return at, nil
}

// Loaded is nil when the API server at address has loaded a file of keys with
// this hash.
func Loaded(ctx context.Context, config *rest.Config, address, hash string) error {
	config = rest.CopyConfig(config)
	config.Host, config.Timeout = "https://"+address, 10*time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	text, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("ask the API server at %s which keys it has loaded: %w", address, err)
	}
	has, err := loadedHash(text)
	if err != nil {
		return fmt.Errorf("ask the API server at %s which keys it has loaded: %w", address, err)
	}
	if has != hash {
		return fmt.Errorf("the API server at %s has not loaded them", address)
	}
	return nil
}

// loadedHash is in the API server's metrics since Kubernetes 1.34.
func loadedHash(metrics []byte) (string, error) {
	lines := bufio.NewScanner(bytes.NewReader(metrics))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		labels, is := strings.CutPrefix(lines.Text(), "apiserver_encryption_config_controller_last_config_info{")
		if !is {
			continue
		}
		_, value, _ := strings.Cut(labels, `,hash="`)
		hash, _, ok := strings.Cut(value, `"`)
		if ok {
			return hash, nil
		}
	}
	return "", errors.Join(errors.New("its metrics do not tell"), lines.Err())
}
