package kubeadm

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
)

// formerHost returns files of a control-plane host in kubeadm's format.
func formerHost() map[string]string {
	manifest := func(image string, args ...string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: %s\n    command: [prog, %q]\n", image, strings.Join(args, `", "`))
	}
	quoted := func(text string) string { return strings.ReplaceAll(text, `\"`, `"`) }
	return map[string]string{
		node.ManifestOf(node.APIServer):         quoted(manifest("registry.k8s.io/kube-apiserver:v1.36.3", "--service-cluster-ip-range=10.96.0.0/16", "--encryption-provider-config=/x")),
		node.ManifestOf(node.ControllerManager): manifest("registry.k8s.io/kube-controller-manager:v1.36.3", "--cluster-cidr=10.244.0.0/16"),
		node.ManifestOf(node.Etcd):              manifest("registry.k8s.io/etcd:3.6.8-0", "--name=cp2"),
		kube.AdminConf: "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
			"users: [{name: u, user: {}}]\nclusters: [{name: c, cluster: {server: 'https://192.0.2.5:6443'}}]\n",
	}
}

func readFrom(files map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		text, is := files[path]
		if !is {
			return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
		}
		return []byte(text), nil
	}
}

func TestReadIdentity(t *testing.T) {
	id, err := ReadIdentity(readFrom(formerHost()))
	want := Identity{Node: "cp2", Version: "1.36.3", Endpoint: "192.0.2.5:6443", PodSubnet: "10.244.0.0/16", ServiceSubnet: "10.96.0.0/16", Encrypted: true}
	if err != nil || id != want {
		t.Fatalf("got %+v, %v", id, err)
	}
	for path := range formerHost() {
		for name, text := range map[string]string{"missing": "", "spoiled": "a: [", "of something else": "kind: Pod"} {
			files := formerHost()
			if files[path] = text; text == "" {
				delete(files, path)
			}
			if _, err := ReadIdentity(readFrom(files)); err == nil || !strings.HasPrefix(err.Error(), "read the cluster's identity: ") {
				t.Errorf("%s is %s: got %v, want an error", path, name, err)
			}
		}
	}
}

func TestAgrees(t *testing.T) {
	id, err := ReadIdentity(readFrom(formerHost()))
	if err != nil {
		t.Fatal(err)
	}
	const same = "version: 1.36.9\ncontrolPlaneEndpoint: 192.0.2.5:6443\n"
	for text, says := range map[string]string{
		same: "",
		"version: 1.36.3\ncontrolPlaneEndpoint: 192.0.2.6:6443":                                                    "the API's address was 192.0.2.5:6443, and is 192.0.2.6:6443",
		"version: 1.37.0\ncontrolPlaneEndpoint: 192.0.2.5:6443":                                                    "Kubernetes was 1.36.3, and is 1.37.0: restore with a bundle of 1.36",
		same + "podSubnet: 10.245.0.0/16":                                                                          "the pod network was 10.244.0.0/16",
		same + "serviceSubnet: 10.97.0.0/16":                                                                       "the Service network was 10.96.0.0/16",
		same + "encryptionAtRest: none":                                                                            "encryption of Secrets was on, and is off",
		same + "overrides: {clusterConfiguration: {etcd: {local: {dataDir: /data}}}}":                              "configures another etcd",
		same + "overrides: {clusterConfiguration: {etcd: {external: {endpoints: [a]}}}}":                           "configures another etcd",
		same + "overrides: {clusterConfiguration: {etcd: {local: {dataDir: /var/lib/etcd, extraArgs: [{a: b}]}}}}": "",
	} {
		err := id.Matches(section(t, text))
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: got %v, want %q", text, err, says)
		}
	}
}
